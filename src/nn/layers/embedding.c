/* Embedding: a table weight[V, D] whose rows are chosen by ids: y[..., D] = weight[ids[...]]. The
 * row padding_idx begins as zeros and receives no gradient. */
#include "adze/nn/embedding.h"

#include <string.h>

#include "adze/nn/init.h"
#include "adze/ops/convert.h"
#include "adze/ops/index.h"
#include "adze/ops/shape.h"
#include "nn/layers/embedding.h"
#include "nn/module.h"
#include "ops/convert/q8_0.h"
#include "base/error.h"
#include "adze/options.h"

typedef struct {
    adz_embedding_module_options o;
    int64_t num_embeddings, embedding_dim;
    adz_embedding_options options; /* its padding_idx is 0 .. V-1, or ADZ_NO_PADDING */
} embedding_state;

static const adz_field fields[] = {
    ADZ_FIELD(embedding_state, num_embeddings, ADZ_SIZE_FROM(0), .shown = ADZ_SHOWN_BARE),
    ADZ_FIELD(embedding_state, embedding_dim, ADZ_SIZE_FROM(0), .shown = ADZ_SHOWN_BARE),
    ADZ_FIELD(adz_embedding_module_options, padding_idx, .value = ADZ_NO_PADDING,
        .shown = ADZ_SHOWN_CHANGED),
    ADZ_FIELD(adz_embedding_module_options, scale_grad_by_freq, .value = false,
        .shown = ADZ_SHOWN_CHANGED),
    ADZ_FIELD(adz_embedding_module_options, sparse, .value = false, .shown = ADZ_SHOWN_NEVER),
    ADZ_FIELD_PARAMETER_DTYPE(adz_embedding_module_options),
};

ADZ_OPTIONS_TABLE(adz_embedding_module_options, ADZ_EMBEDDING_MODULE_OPTIONS, fields)

/* Rows of a table in blocks of Q8_0: their bytes are looked up, and then widened. */
static adz_tensor *from_blocks(
    adz_tensor *ids, adz_tensor *weight, const adz_embedding_options *options)
{
    const int64_t blocks = weight->sizes[1];
    adz_tensor *rows = adz_reshape(weight, ADZ_SHAPE(weight->sizes[0], blocks * ADZI_Q8_0_BYTES));
    adz_tensor *y = rows != NULL ? adz_embedding(ids, rows, options) : NULL;
    if (y == NULL) {
        return NULL;
    }
    adz_shape shape = adz_shape_of(y->rank, y->sizes);
    shape.sizes[shape.rank - 1] = blocks;
    shape.sizes[shape.rank++] = ADZI_Q8_0_BYTES;
    return adz_dequantize_q8_0(adz_reshape(y, shape));
}

static adz_tensor *forward(adz_module *self, adz_tensor *ids)
{
    const embedding_state *state = self->state;
    adz_tensor *weight = adzi_parameter(self, 0);
    if (weight != NULL && adzi_is_q8_0(weight)) {
        return from_blocks(ids, weight, &state->options);
    }
    adz_tensor *y = adz_embedding(ids, weight, &state->options);
    return y != NULL && adzi_is_half((adz_dtype)y->dtype) ? adz_to(y, ADZ_F32) : y;
}

adz_status adzi_embedding_reset(adz_tensor *weight, int64_t padding_idx)
{
    if (adz_init_normal_(weight, 0, 1, NULL) == NULL) {
        return adz_error_code();
    }
    /* The program may have replaced the weight by one that has no such row. */
    if (padding_idx != ADZ_NO_PADDING && weight->rank == 2 && padding_idx < weight->sizes[0]) {
        const size_t row = (size_t)weight->sizes[1] * adzi_item_size(weight);
        if (row > 0) {
            memset(weight->data + (size_t)padding_idx * row, 0, row);
        }
    }
    return ADZ_OK;
}

static adz_status reset_parameters(adz_module *self)
{
    const embedding_state *state = self->state;
    return adzi_embedding_reset(adzi_parameter(self, 0), state->options.padding_idx);
}

static const adz_module_type embedding_type = {
    .size = sizeof(adz_module_type),
    .name = "Embedding",
    .forward = forward,
    .reset_parameters = reset_parameters,
    ADZI_MODULE_FIELDS(fields),
    .half_parameters = 1,
    .block_parameters = 1,
};

adz_status adz_embedding_get_options(
    const adz_module *module, adz_embedding_options *options, size_t size)
{
    static const char op[] = "adz_embedding_get_options";
    if (!adzi_check_module(op, "module", module)) {
        return adz_error_code();
    }
    if (module->identity != &embedding_type) {
        return adzi_error(op, ADZ_ERR_ARGUMENT,
            "the module is of type %s, but must be an Embedding", module->type.name);
    }
    const adz_embedding_options *all = &((const embedding_state *)module->state)->options;
    return adz_options_fill(op, options, size, all, sizeof *all);
}

adz_module *adz_embedding_new(
    int64_t num_embeddings, int64_t embedding_dim, const adz_embedding_module_options *options)
{
    static const char op[] = "adz_embedding_new";
    embedding_state s = { .num_embeddings = num_embeddings,
        .embedding_dim = embedding_dim,
        .options = ADZ_EMBEDDING_OPTIONS };
    int64_t *row = &s.o.padding_idx;
    if (!adz_options_take(op, &adz_embedding_module_options_table, &s, options)) {
        return NULL;
    }
    if (s.o.sparse) {
        return adzi_fail(op, ADZ_ERR_UNSUPPORTED, "gradients are dense: leave sparse off");
    }
    if (*row != ADZ_NO_PADDING && (*row < -num_embeddings || *row >= num_embeddings)) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT, "padding_idx %lld is no row of %lld",
            (long long)*row, (long long)num_embeddings);
    }
    *row += *row < 0 && *row != ADZ_NO_PADDING ? num_embeddings : 0;
    s.options.padding_idx = *row;
    s.options.scale_grad_by_freq = s.o.scale_grad_by_freq;
    adzi_build build = adzi_build_begin();
    adz_module *self = adzi_module_of(&embedding_type, &s, sizeof s);
    const bool good = self != NULL &&
                      adz_module_add_parameter(self, "weight",
                          adz_empty(ADZ_SHAPE(num_embeddings, embedding_dim), s.o.dtype)) != NULL &&
                      reset_parameters(self) == ADZ_OK;
    return adzi_build_end(build, self, good);
}
