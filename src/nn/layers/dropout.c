/* Dropout: in training, each element of x becomes 0 with probability p, and the others are divided
 * by 1 - p. In evaluation y = x. Masks come from a generator, or from a replay of given masks. */
#include "nn/layers/dropout.h"

#include "adze/ops/dropout.h"
#include "nn/module.h"
#include "base/error.h"
#include "adze/options.h"

typedef struct {
    double p;
    adz_generator *generator;
} dropout_state;

adz_tensor *adz_module_next_mask(adz_module *module)
{
    if (!adzi_check_module("adz_module_next_mask", "module", module)) {
        return NULL;
    }
    adzi_masks *masks = module->masks;
    if (masks == NULL) {
        return ADZ_NONE;
    }
    return masks->next < masks->count
               ? masks->items[masks->next++]
               : adzi_fail(module->type.name, ADZ_ERR_STATE,
                     "no mask is left of the %zu that are to be replayed", masks->count);
}

static adz_tensor *forward(adz_module *self, adz_tensor *x)
{
    const dropout_state *state = self->state;
    const bool drops = self->training && state->p > 0;
    adz_tensor *mask = drops ? adz_module_next_mask(self) : ADZ_NONE;
    return mask == ADZ_NONE ? adz_dropout(x, state->p, self->training, state->generator)
                            : adz_dropout_mask(x, mask, 1 - state->p);
}

/* Declares the dropout, so that the linear layer before it can compute it. */
static bool elementwise_step(adz_module *self, adz_bias_activation_options *step)
{
    const dropout_state *state = self->state;
    step->dropout = state->p;
    step->training = self->training;
    step->generator = state->generator;
    return true;
}

static size_t repr(adz_module *self, char *buffer, size_t size)
{
    const dropout_state *state = self->state;
    return (size_t)snprintf(buffer, size, "p=%s, inplace=False", adzi_text_float(state->p));
}

static const adz_module_type dropout_type = {
    .size = sizeof(adz_module_type),
    .name = "Dropout",
    .forward = forward,
    .extra_repr = repr,
    .elementwise_step = elementwise_step,
};

ADZ_OPTIONS_INIT(adz_dropout_options_init, adz_dropout_options, ADZ_DROPOUT_OPTIONS)

adz_module *adz_dropout_new(double p, const adz_dropout_options *options)
{
    static const char op[] = "adz_dropout_new";
    adz_dropout_options o = ADZ_DROPOUT_OPTIONS;
    if (!ADZ_OPTIONS_READ(op, ADZ_DROPOUT_OPTIONS, &o, options)) {
        return NULL;
    }
    if (!(p >= 0 && p <= 1)) {
        return adzi_fail(
            op, ADZ_ERR_ARGUMENT, "p is %s, but must be in [0, 1]", adzi_text_number(p));
    }
    adz_module *self = adz_module_new(&dropout_type, sizeof(dropout_state));
    if (self != NULL) {
        *(dropout_state *)self->state = (dropout_state){ p, o.generator };
    }
    return self;
}

void adzi_module_replay(adz_module *module, adzi_masks *masks)
{
    module->masks = masks;
    for (size_t i = 0; i < module->n_children; ++i) {
        adzi_module_replay(adzi_child_at(module, i), masks);
    }
}
