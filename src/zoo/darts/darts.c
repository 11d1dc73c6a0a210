/* The modules of darts: MonteCarloDropout, which can be active in evaluation too, and feed-forward
 * networks with it. */
#include "adze/zoo/darts.h"

#include <stdio.h>
#include <string.h>

#include "zoo.h"

/* ---- MonteCarloDropout ---------------------------------------------------------------------- */

/* True if the dropout changes its argument: in training, or always after adz_darts_set_mc_dropout.
 */
static bool is_active(const adz_module *self)
{
    const zoo_dropout_state *state = zoo_state(self);
    return adz_module_is_training(self) || state->always;
}

static adz_tensor *monte_carlo_forward(adz_module *self, adz_tensor *x)
{
    const zoo_dropout_state *state = zoo_state(self);
    return adzi_zoo_apply_dropout(self, x, state->p, is_active(self), state->generator);
}

/* Declares the dropout, so that the linear layer before it can compute it. */
static bool monte_carlo_step(adz_module *self, adz_bias_activation_options *step)
{
    const zoo_dropout_state *state = zoo_state(self);
    step->dropout = state->p;
    step->training = is_active(self);
    step->generator = state->generator;
    return true;
}

static size_t monte_carlo_repr(adz_module *self, char *buffer, size_t size)
{
    const zoo_dropout_state *state = zoo_state(self);
    return (size_t)snprintf(buffer, size, "p=%s, inplace=False", adz_text_float(state->p));
}

static const adz_module_type monte_carlo_dropout_type = {
    .size = sizeof(adz_module_type),
    .name = "MonteCarloDropout",
    .forward = monte_carlo_forward,
    .extra_repr = monte_carlo_repr,
    .elementwise_step = monte_carlo_step,
};

adz_module *adz_darts_monte_carlo_dropout_new(double p, const adz_dropout_options *options)
{
    return adzi_zoo_dropout_new(
        "adz_darts_monte_carlo_dropout_new", &monte_carlo_dropout_type, p, options);
}

static adz_status set_always(adz_module *module, void *on)
{
    if (adz_module_type_of(module) != &monte_carlo_dropout_type) {
        return ADZ_OK;
    }
    ((zoo_dropout_state *)zoo_state(module))->always = *(const bool *)on;
    return adz_module_forward_changed(module);
}

adz_status adz_darts_set_mc_dropout(adz_module *module, bool on)
{
    return module != NULL ? adz_module_apply(module, set_always, &on)
                          : adz_error_null("adz_darts_set_mc_dropout", "module");
}

/* ---- feed-forward networks ------------------------------------------------------------------ */

/* Reads the caller's options into `all` and makes a MonteCarloDropout as all->dropout_module, which
 * the caller frees. False with the error recorded. */
static bool read_options(
    const char *op, const adz_feed_forward_options *options, adz_feed_forward_options *all)
{
    *all = (adz_feed_forward_options)ADZ_FEED_FORWARD_OPTIONS;
    if (!ADZ_OPTIONS_READ(op, ADZ_FEED_FORWARD_OPTIONS, all, options)) {
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
    adz_module_release(&o.dropout_module);
    return self;
}

/* Forward of a variant: a module around the feed-forward network, which darts calls "ffn". */
static adz_tensor *variant_forward(adz_module *self, adz_tensor *x)
{
    return adz_module_forward(adz_module_child_at(self, 0), x);
}

/* The module type of one variant: in darts each has its own class. */
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

/* The module type of a variant. adz_feed_forward_variant_new has checked that the name is known. */
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
    adz_module_release(&o.dropout_module);
    if (self == NULL) {
        adz_module_release(&ffn);
    } else if (adz_module_add_child(self, "ffn", ffn) == NULL) {
        adz_module_release(&self);
    }
    return self;
}
