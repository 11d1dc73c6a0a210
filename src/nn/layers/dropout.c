#include "nn/layers/dropout.h"

#include "adze/ops/dropout.h"
#include "nn/module.h"
#include "base/error.h"
#include "base/options.h"

adz_tensor *adzi_next_mask(adz_module *self)
{
    adzi_masks *masks = self->masks;
    return masks->next < masks->count
               ? masks->items[masks->next++]
               : adzi_fail(self->type.name, ADZ_ERR_STATE,
                     "no mask is left of the %zu that are to be replayed", masks->count);
}

adz_tensor *adzi_dropout_forward(adz_module *self, adz_tensor *x)
{
    const adzi_dropout_state *state = self->state;
    bool active = self->training || state->always;
    if (self->masks != NULL && active && state->p > 0) {
        return adz_dropout_mask(x, adzi_next_mask(self), 1 - state->p);
    }
    return adz_dropout(x, state->p, active, state->generator);
}

bool adzi_dropout_step(adz_module *self, adz_bias_activation_options *step)
{
    const adzi_dropout_state *state = self->state;
    step->dropout = state->p;
    step->training = self->training || state->always;
    step->generator = state->generator;
    return self->masks == NULL;
}

size_t adzi_dropout_repr(adz_module *self, char *buffer, size_t size)
{
    const adzi_dropout_state *state = self->state;
    return (size_t)snprintf(buffer, size, "p=%s, inplace=False", adzi_text_float(state->p));
}

static const adz_module_type dropout_type = {
    .size = sizeof(adz_module_type),
    .name = "Dropout",
    .forward = adzi_dropout_forward,
    .extra_repr = adzi_dropout_repr,
    .elementwise_step = adzi_dropout_step,
};

ADZI_OPTIONS_INIT(adz_dropout_options_init, adz_dropout_options, ADZ_DROPOUT_OPTIONS)

adz_module *adzi_dropout_new(
    const char *op, const adz_module_type *type, double p, const adz_dropout_options *options)
{
    adz_dropout_options o = ADZ_DROPOUT_OPTIONS;
    if (!ADZI_OPTIONS_READ(op, ADZ_DROPOUT_OPTIONS, &o, options)) {
        return NULL;
    }
    if (!(p >= 0 && p <= 1)) {
        return adzi_fail(
            op, ADZ_ERR_ARGUMENT, "p is %s, but must be in [0, 1]", adzi_text_number(p));
    }
    adz_module *self = adz_module_new(type, sizeof(adzi_dropout_state));
    if (self != NULL) {
        *(adzi_dropout_state *)self->state = (adzi_dropout_state){ p, false, o.generator };
    }
    return self;
}

adz_module *adz_dropout_new(double p, const adz_dropout_options *options)
{
    return adzi_dropout_new("adz_dropout_new", &dropout_type, p, options);
}

void adzi_module_replay(adz_module *module, adzi_masks *masks)
{
    module->masks = masks;
    for (size_t i = 0; i < module->n_children; ++i) {
        adzi_module_replay(adzi_child_at(module, i), masks);
    }
}
