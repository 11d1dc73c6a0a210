/* fastai's RNNDropout, which drops the same features in all time steps, and EmbeddingDropout, which
 * drops whole words. */
#include "adze/zoo/fastai_dropout.h"

#include <math.h>

#include "adze/ops/arithmetic.h"
#include "adze/nn/embedding.h"
#include "adze/ops/convert.h"
#include "adze/ops/dropout.h"
#include "zoo.h"

/* ---- masks ---------------------------------------------------------------------------------- */

adz_tensor *adz_fastai_dropout_mask(
    adz_shape shape, adz_dtype dtype, double p, adz_generator *generator)
{
    if (!adz_check_probability("adz_fastai_dropout_mask", "p", p)) {
        return NULL;
    }
    return adz_dropout(adz_ones(shape, dtype), p, true, generator);
}

/* The mask by which a module multiplies in training, with elements 0 or 1 / (1 - p). It is drawn,
 * or is the next mask of a replay. */
static adz_tensor *mask_of(
    adz_module *self, adz_shape shape, adz_dtype dtype, double p, adz_generator *generator)
{
    adz_tensor *mask = adz_module_next_mask(self);
    return zoo_is_none(mask) ? adz_fastai_dropout_mask(shape, dtype, p, generator)
                             : adz_dropout_mask(adz_ones(shape, dtype), mask, 1 - p);
}

/* ---- RNNDropout ----------------------------------------------------------------------------- */

/* y = x * mask, where mask[B, 1, W] is broadcast over the time of x[B, T, W]. */
static adz_tensor *rnn_forward(adz_module *self, adz_tensor *x)
{
    const zoo_dropout_state *state = zoo_state(self);
    const char *name = adz_module_name(self);
    if (!adz_check_tensor(name, "x", x)) {
        return NULL;
    }
    if (adz_tensor_rank(x) != 3) {
        return zoo_fail(name, ADZ_ERR_SHAPE, "x%s must be [B, T, W]", adz_text_shape(x));
    }
    if (!adz_module_is_training(self) || state->p == 0) {
        return x;
    }
    return adz_mul(x, mask_of(self, ADZ_SHAPE(adz_tensor_size(x, 0), 1, adz_tensor_size(x, 2)),
                          adz_tensor_dtype(x), state->p, state->generator));
}

static const adz_module_type rnn_dropout_type = {
    .size = sizeof(adz_module_type),
    .name = "RNNDropout",
    .forward = rnn_forward,
};

adz_module *adz_fastai_rnn_dropout_new(double p, const adz_dropout_options *options)
{
    return adzi_zoo_dropout_new("adz_fastai_rnn_dropout_new", &rnn_dropout_type, p, options);
}

/* ---- EmbeddingDropout ----------------------------------------------------------------------- */

typedef struct {
    double p, scale;
    adz_generator *generator;
} embedding_state;

/* Looks up the ids and multiplies each row by its word's element of a mask[V, 1]. fastai multiplies
 * the whole table, which gives the same result but reads and writes all V rows. */
static adz_tensor *embedding_forward(adz_module *self, adz_tensor *ids)
{
    const embedding_state *state = zoo_state(self);
    const adz_module *emb = zoo_child(self, 0);
    const adz_tensor *weight = zoo_parameter(emb, 0);
    adz_embedding_options options;
    if (adz_embedding_get_options(emb, &options, sizeof options) != ADZ_OK) {
        return NULL; /* the child was replaced by a module that is no Embedding */
    }
    if (options.padding_idx == ADZ_NO_PADDING) {
        options.padding_idx = -1;
    }
    adz_tensor *y = adz_embedding(ids, zoo_parameter(emb, 0), &options);
    if (y != NULL && adz_tensor_dtype(y) != ADZ_F64) {
        y = adz_to(y, ADZ_F32); /* from a table in half precision */
    }
    if (y != NULL && adz_module_is_training(self) && state->p > 0) {
        adz_tensor *mask = mask_of(self, ADZ_SHAPE(adz_tensor_size(weight, 0), 1),
            adz_tensor_dtype(y), state->p, state->generator);
        y = adz_mul(y, adz_embedding(ids, mask, NULL));
    }
    return state->scale != 1 ? adz_mul_number(y, state->scale) : y;
}

static const adz_module_type embedding_dropout_type = {
    .size = sizeof(adz_module_type),
    .name = "EmbeddingDropout",
    .forward = embedding_forward,
};

static const adz_field fields[] = {
    ADZ_FIELD(adz_fastai_embedding_dropout_options, scale, .value = 1, ADZ_FINITE),
};

ADZ_OPTIONS_TABLE(
    adz_fastai_embedding_dropout_options, ADZ_FASTAI_EMBEDDING_DROPOUT_OPTIONS, fields)

adz_module *adz_fastai_embedding_dropout_new(
    adz_module *emb, double embed_p, const adz_fastai_embedding_dropout_options *options)
{
    static const char op[] = "adz_fastai_embedding_dropout_new";
    adz_fastai_embedding_dropout_options o;
    if (!adz_options_take(op, &adz_fastai_embedding_dropout_options_table, &o, options)) {
        adz_module_release(&emb);
        return NULL;
    }
    adz_embedding_options known;
    bool good = emb != NULL && adz_check_probability(op, "embed_p", embed_p);
    if (emb == NULL) {
        adz_error_null(op, "emb");
    } else if (good && adz_embedding_get_options(emb, &known, sizeof known) != ADZ_OK) {
        adz_error_format(op, ADZ_ERR_ARGUMENT,
            "emb is a module of type %s, but must be an Embedding", adz_module_name(emb));
        good = false;
    }
    adz_module *self =
        good ? adz_module_new(&embedding_dropout_type, sizeof(embedding_state)) : NULL;
    if (self == NULL) {
        adz_module_release(&emb);
        return NULL;
    }
    *(embedding_state *)zoo_state(self) = (embedding_state){ embed_p, o.scale, o.generator };
    if (adz_module_add_child(self, "emb", emb) == NULL) {
        adz_module_release(&self);
    }
    return self;
}
