#include "adze/nn/darts.h"

#include <string.h>

#include "nn/layers/dropout.h"
#include "nn/module.h"
#include "base/error.h"
#include "base/options.h"

/* ---- MonteCarloDropout ---------------------------------------------------------------------- */

static const adz_module_type monte_carlo_dropout_type = {
    .size = sizeof(adz_module_type),
    .name = "MonteCarloDropout",
    .forward = adzi_dropout_forward,
    .extra_repr = adzi_dropout_repr,
    .elementwise_step = adzi_dropout_step,
};

adz_module *adz_darts_monte_carlo_dropout_new(double p, const adz_dropout_options *options)
{
    return adzi_dropout_new(
        "adz_darts_monte_carlo_dropout_new", &monte_carlo_dropout_type, p, options);
}

static adz_status set_always(adz_module *module, void *on)
{
    if (module->identity == &monte_carlo_dropout_type) {
        ((adzi_dropout_state *)module->state)->always = *(const bool *)on;
    }
    return ADZ_OK;
}

adz_status adz_module_mc_dropout(adz_module *module, bool on)
{
    return module != NULL ? adz_module_apply(module, set_always, &on)
                          : adzi_error_null("adz_module_mc_dropout", "module");
}

/* ---- feed-forward networks ------------------------------------------------------------------ */

/* The options with a MonteCarloDropout in the place of a Dropout, which the caller ends; false with
 * the error recorded. */
static bool read_options(
    const char *op, const adz_feed_forward_options *options, adz_feed_forward_options *all)
{
    *all = (adz_feed_forward_options)ADZ_FEED_FORWARD_OPTIONS;
    if (!ADZI_OPTIONS_READ(op, ADZ_FEED_FORWARD_OPTIONS, all, options)) {
        return false;
    }
    adz_dropout_options dropout = ADZ_DROPOUT_OPTIONS;
    dropout.generator = all->generator;
    all->size = sizeof *all;
    all->dropout_module = adz_darts_monte_carlo_dropout_new(all->dropout, &dropout);
    return all->dropout_module != NULL;
}

adz_module *adz_darts_feed_forward_new(
    int64_t d_model, int64_t d_ff, const adz_feed_forward_options *options)
{
    adz_feed_forward_options o;
    if (!read_options("adz_darts_feed_forward_new", options, &o)) {
        return NULL;
    }
    adz_module *self = adz_feed_forward_new(d_model, d_ff, &o);
    adz_module_free(&o.dropout_module);
    return self;
}

static adz_tensor *variant_forward(adz_module *self, adz_tensor *x)
{
    return adz_module_forward(adz_module_child_at(self, 0), x);
}

#define VARIANT(text)                                                             \
    {                                                                             \
        .size = sizeof(adz_module_type), .name = text, .forward = variant_forward \
    }

static const adz_module_type variant_types[] = {
    VARIANT("ReLU"),
    VARIANT("GELU"),
    VARIANT("GLU"),
    VARIANT("Bilinear"),
    VARIANT("ReGLU"),
    VARIANT("GEGLU"),
    VARIANT("SwiGLU"),
};

/* The type of a variant, whose name adz_feed_forward_variant_new has checked. */
static const adz_module_type *type_of(const char *variant)
{
    size_t i = sizeof variant_types / sizeof *variant_types - 1;
    while (i > 0 && strcmp(variant_types[i].name, variant) != 0) {
        --i;
    }
    return &variant_types[i];
}

adz_module *adz_darts_glu_variant_new(
    const char *variant, int64_t d_model, int64_t d_ff, const adz_feed_forward_options *options)
{
    adz_feed_forward_options o;
    if (!read_options("adz_darts_glu_variant_new", options, &o)) {
        return NULL;
    }
    adz_module *ffn = adz_feed_forward_variant_new(variant, d_model, d_ff, &o);
    adz_module *self = ffn != NULL ? adz_module_new(type_of(variant), 0) : NULL;
    adz_module_free(&o.dropout_module);
    if (self == NULL) {
        adz_module_free(&ffn);
    } else if (adz_module_add_child(self, "ffn", ffn) == NULL) {
        adz_module_free(&self);
    }
    return self;
}
