/* Dropout: in training, each element of x becomes 0 with probability p, and the others are divided
 * by 1 - p. In evaluation y = x. Masks come from a generator, or from a replay of given masks.
 * Dropout1d, 2d and 3d drop whole channels. AlphaDropout and FeatureAlphaDropout keep mean and
 * variance. */
#include "nn/layers/dropout.h"

#include "adze/ops/convert.h"
#include "adze/ops/dropout.h"
#include "ops/dropout/dropout.h"
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

static adz_module *dropout_new(
    const char *op, const adz_module_type *type, double p, const adz_dropout_options *options)
{
    dropout_state state = { .p = p };
    return adz_options_take(op, &adz_dropout_options_table, &state, options)
               ? adzi_module_of(type, &state, sizeof state)
               : NULL;
}

adz_module *adz_dropout_new(double p, const adz_dropout_options *options)
{
    return dropout_new("adz_dropout_new", &dropout_type, p, options);
}

/* ---- of channels, and alpha dropout -------------------------------------------------------- */

typedef adz_tensor *(*drop)(adz_tensor *x, double p, bool training, adz_generator *generator);

/* Draws by `function`, or applies the next mask of a replay. */
static adz_tensor *drop_by(adz_module *self, adz_tensor *x, drop function, bool alpha)
{
    const dropout_state *state = self->state;
    const bool drops = self->training && state->p > 0;
    adz_tensor *mask = drops ? adz_module_next_mask(self) : ADZ_NONE;
    if (mask == ADZ_NONE) {
        return function(x, state->p, self->training, state->o.generator);
    }
    return alpha ? adzi_alpha_dropout_mask(x, adz_to(mask, (adz_dtype)x->dtype), state->p)
                 : adz_dropout_mask(x, mask, 1 - state->p);
}

/* The type and the constructor of a module that draws by adz_<function>. */
#define DROPOUT(function, its_name, alpha)                                                   \
    static adz_tensor *function(adz_module *self, adz_tensor *x)                             \
    {                                                                                        \
        return adzi_check_tensor(its_name, "x", x) ? drop_by(self, x, adz_##function, alpha) \
                                                   : NULL;                                   \
    }                                                                                        \
    static const adz_module_type function##_type = { .size = sizeof(adz_module_type),        \
        .name = its_name,                                                                    \
        .forward = function,                                                                 \
        ADZI_MODULE_FIELDS(fields) };                                                        \
    adz_module *adz_##function##_new(double p, const adz_dropout_options *options)           \
    {                                                                                        \
        return dropout_new("adz_" #function "_new", &function##_type, p, options);           \
    }

DROPOUT(dropout1d, "Dropout1d", false)
DROPOUT(dropout2d, "Dropout2d", false)
DROPOUT(dropout3d, "Dropout3d", false)
DROPOUT(alpha_dropout, "AlphaDropout", true)
DROPOUT(feature_alpha_dropout, "FeatureAlphaDropout", true)

void adzi_module_replay(adz_module *module, adzi_masks *masks)
{
    module->masks = masks;
    for (size_t i = 0; i < module->n_children; ++i) {
        adzi_module_replay(adzi_child_at(module, i), masks);
    }
}
