#include "adze/nn/darts.h"

#include "nn/layers/dropout.h"
#include "nn/layers/feed_forward.h"
#include "nn/module.h"
#include "base/error.h"

/* ---- MonteCarloDropout ---------------------------------------------------------------------- */

static const adz_module_type monte_carlo_dropout_type = {
    .size = sizeof(adz_module_type),
    .name = "MonteCarloDropout",
    .forward = adzi_dropout_forward,
    .extra_repr = adzi_dropout_repr,
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

adz_module *adz_darts_feed_forward_new(
    int64_t d_model, int64_t d_ff, const adz_feed_forward_options *options)
{
    return adzi_feed_forward_new(
        "adz_darts_feed_forward_new", d_model, d_ff, options, adz_darts_monte_carlo_dropout_new);
}

static adz_tensor *variant_forward(adz_module *self, adz_tensor *x)
{
    return adz_module_forward(adzi_child_at(self, 0), x);
}

#define VARIANT(text)                                                             \
    {                                                                             \
        .size = sizeof(adz_module_type), .name = text, .forward = variant_forward \
    }

/* In the order of adzi_feed_forward_variant's numbers. */
static const adz_module_type variant_types[ADZI_FEED_FORWARD_VARIANTS] = {
    VARIANT("ReLU"),
    VARIANT("GELU"),
    VARIANT("GLU"),
    VARIANT("Bilinear"),
    VARIANT("ReGLU"),
    VARIANT("GEGLU"),
    VARIANT("SwiGLU"),
};

adz_module *adz_darts_glu_variant_new(
    const char *variant, int64_t d_model, int64_t d_ff, const adz_feed_forward_options *options)
{
    static const char op[] = "adz_darts_glu_variant_new";
    adz_feed_forward_options o;
    int number = adzi_feed_forward_variant(op, variant, options, &o);
    adz_module *self = number >= 0 ? adz_module_new(&variant_types[number], 0) : NULL;
    if (self != NULL && adz_module_add_child(self, "ffn",
                            adzi_feed_forward_new(op, d_model, d_ff, &o,
                                adz_darts_monte_carlo_dropout_new)) == NULL) {
        adz_module_free(&self);
    }
    return self;
}
