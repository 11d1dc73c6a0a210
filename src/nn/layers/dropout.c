/* Dropout: in training, each element of x becomes 0 with probability p, and the others are divided
 * by 1 - p. In evaluation y = x. Masks come from a generator, or from a replay of given masks. */
#include "nn/layers/dropout.h"

#include "adze/ops/dropout.h"
#include "nn/module.h"
#include "base/error.h"
#include "adze/options.h"

typedef struct {
    adz_dropout_options o;
    double p;
    bool inplace; /* always false; printed as in PyTorch */
} dropout_state;

static const adz_field fields[] = {
    ADZ_FIELD(dropout_state, p, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(dropout_state, inplace, .value = false),
};

ADZ_OPTIONS_TABLE(adz_dropout_options, ADZ_DROPOUT_OPTIONS, fields)

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

adz_tensor *adzi_module_drop(adz_module *module, adz_tensor *x, double p, adz_generator *generator)
{
    const bool drops = module->training && p > 0;
    adz_tensor *mask = drops ? adz_module_next_mask(module) : ADZ_NONE;
    return mask == ADZ_NONE ? adz_dropout(x, p, module->training, generator)
                            : adz_dropout_mask(x, mask, 1 - p);
}

static adz_tensor *forward(adz_module *self, adz_tensor *x)
{
    const dropout_state *state = self->state;
    return adzi_module_drop(self, x, state->p, state->o.generator);
}

/* Declares the dropout, so that the linear layer before it can compute it. */
static bool elementwise_step(adz_module *self, adz_bias_activation_options *step)
{
    const dropout_state *state = self->state;
    step->dropout = state->p;
    step->training = self->training;
    step->generator = state->o.generator;
    return true;
}

static const adz_module_type dropout_type = {
    .size = sizeof(adz_module_type),
    .name = "Dropout",
    .forward = forward,
    ADZI_MODULE_FIELDS(fields),
    .elementwise_step = elementwise_step,
};

adz_module *adz_dropout_new(double p, const adz_dropout_options *options)
{
    dropout_state state = { .p = p };
    return adz_options_take("adz_dropout_new", &adz_dropout_options_table, &state, options)
               ? adzi_module_of(&dropout_type, &state, sizeof state)
               : NULL;
}

void adzi_module_replay(adz_module *module, adzi_masks *masks)
{
    module->masks = masks;
    for (size_t i = 0; i < module->n_children; ++i) {
        adzi_module_replay(adzi_child_at(module, i), masks);
    }
}
