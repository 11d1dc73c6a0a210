#include "nn/zoo/fastai/dropout.h"

#include <math.h>

#include "adze/ops/arithmetic.h"
#include "adze/ops/dropout.h"
#include "nn/layers/embedding.h"
#include "base/error.h"
#include "base/options.h"

/* ---- masks ---------------------------------------------------------------------------------- */

bool adzi_check_probability(const char *op, const char *name, double p)
{
    if (!(p >= 0 && p <= 1)) {
        adzi_error(
            op, ADZ_ERR_ARGUMENT, "%s is %s, but must be in [0, 1]", name, adzi_text_number(p));
        return false;
    }
    return true;
}

adz_tensor *adz_fastai_dropout_mask(
    adz_shape shape, adz_dtype dtype, double p, adz_generator *generator)
{
    if (!adzi_check_probability("adz_fastai_dropout_mask", "p", p)) {
        return NULL;
    }
    return adz_dropout(adz_ones(shape, dtype), p, true, generator);
}

adz_tensor *adzi_fastai_mask(
    adz_module *self, adz_shape shape, adz_dtype dtype, double p, adz_generator *generator)
{
    return self->masks != NULL
               ? adz_dropout_mask(adz_ones(shape, dtype), adzi_next_mask(self), 1 - p)
               : adz_fastai_dropout_mask(shape, dtype, p, generator);
}

/* ---- RNNDropout ----------------------------------------------------------------------------- */

static adz_tensor *rnn_forward(adz_module *self, adz_tensor *x)
{
    const adzi_dropout_state *state = self->state;
    const char *name = self->type.name;
    if (!adzi_check_tensor(name, "x", x)) {
        return NULL;
    }
    if (x->rank != 3) {
        return adzi_fail(name, ADZ_ERR_SHAPE, "x%s must be [B, T, W]", adzi_text_shape(x));
    }
    if (!self->training || state->p == 0) {
        return x;
    }
    return adz_mul(x, adzi_fastai_mask(self, ADZ_SHAPE(x->sizes[0], 1, x->sizes[2]),
                          (adz_dtype)x->dtype, state->p, state->generator));
}

static const adz_module_type rnn_dropout_type = {
    .size = sizeof(adz_module_type),
    .name = "RNNDropout",
    .forward = rnn_forward,
};

adz_module *adz_fastai_rnn_dropout_new(double p, const adz_dropout_options *options)
{
    return adzi_dropout_new("adz_fastai_rnn_dropout_new", &rnn_dropout_type, p, options);
}

/* ---- EmbeddingDropout ----------------------------------------------------------------------- */

typedef struct {
    double p, scale;
    adz_generator *generator;
} embedding_state;

/* Dropping the rows that are looked up, instead of rows of the table, gives the same numbers and
 * touches no more than them. */
static adz_tensor *embedding_forward(adz_module *self, adz_tensor *ids)
{
    const embedding_state *state = self->state;
    const adz_module *emb = adzi_child_at(self, 0);
    const adz_tensor *weight = adzi_parameter(emb, 0);
    adz_embedding_options options = *adzi_embedding_options(emb);
    if (options.padding_idx == ADZ_NO_PADDING) {
        options.padding_idx = -1;
    }
    adz_tensor *y = adz_embedding(ids, adzi_parameter(emb, 0), &options);
    if (y != NULL && self->training && state->p > 0) {
        adz_tensor *mask = adzi_fastai_mask(self, ADZ_SHAPE(weight->sizes[0], 1),
            (adz_dtype)weight->dtype, state->p, state->generator);
        y = adz_mul(y, adz_embedding(ids, mask, NULL));
    }
    return y != NULL && state->scale != 1 ? adz_mul_number(y, state->scale) : y;
}

static const adz_module_type embedding_dropout_type = {
    .size = sizeof(adz_module_type),
    .name = "EmbeddingDropout",
    .forward = embedding_forward,
};

ADZI_OPTIONS_INIT(adz_fastai_embedding_dropout_options_init, adz_fastai_embedding_dropout_options,
    ADZ_FASTAI_EMBEDDING_DROPOUT_OPTIONS)

adz_module *adz_fastai_embedding_dropout_new(
    adz_module *emb, double embed_p, const adz_fastai_embedding_dropout_options *options)
{
    static const char op[] = "adz_fastai_embedding_dropout_new";
    adz_fastai_embedding_dropout_options o = ADZ_FASTAI_EMBEDDING_DROPOUT_OPTIONS;
    if (!ADZI_OPTIONS_READ(op, ADZ_FASTAI_EMBEDDING_DROPOUT_OPTIONS, &o, options)) {
        adz_module_free(&emb);
        return NULL;
    }
    bool good = emb != NULL && adzi_check_probability(op, "embed_p", embed_p);
    if (emb == NULL) {
        adzi_error_null(op, "emb");
    } else if (good && !isfinite(o.scale)) {
        adzi_error(
            op, ADZ_ERR_ARGUMENT, "scale is %s, but must be finite", adzi_text_number(o.scale));
        good = false;
    } else if (good && adzi_embedding_options(emb) == NULL) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "emb is a module of type %s, but must be an Embedding",
            emb->type.name);
        good = false;
    }
    adz_module *self =
        good ? adz_module_new(&embedding_dropout_type, sizeof(embedding_state)) : NULL;
    if (self == NULL) {
        adz_module_free(&emb);
        return NULL;
    }
    *(embedding_state *)self->state = (embedding_state){ embed_p, o.scale, o.generator };
    if (adz_module_add_child(self, "emb", emb) == NULL) {
        adz_module_free(&self);
    }
    return self;
}
