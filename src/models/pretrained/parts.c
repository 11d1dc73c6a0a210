/* Parts of published models. */
#include "pretrained/parts.h"

#include <stdio.h>

#include "adze/nn/layer_norm.h"
#include "adze/nn/linear.h"
#include "adze/ops/compare.h"
#include "adze/ops/convert.h"
#include "adze/ops/index.h"
#include "adze/ops/shape.h"

adz_module *adzi_models_or_free(bool good, adz_module *module)
{
    if (!good) {
        adz_module_release(&module);
    }
    return module;
}

bool adzi_models_add(adz_module *parent, const char *name, adz_module *child)
{
    return adz_module_add_child(parent, name, child) != NULL;
}

/* ---- layers --------------------------------------------------------------------------------- */

/* The layer is made without features, so that no weight is drawn, and then gets those of the file.
 */
adz_module *adzi_models_linear(
    models_weights *weights, const char *path, int64_t in, int64_t out, bool bias)
{
    adz_linear_options o = ADZ_LINEAR_OPTIONS;
    o.bias = bias;
    o.dtype = weights->dtype;
    adz_tensor *w = adzi_models_take_stored(weights, path, "weight", ADZ_SHAPE(out, in));
    adz_tensor *b = bias ? adzi_models_take(weights, path, "bias", ADZ_SHAPE(out)) : ADZ_NONE;
    adz_module *self = w != NULL && b != NULL ? adz_linear_new(0, 0, &o) : NULL;
    const bool good = self != NULL && adz_module_set_parameter(self, "weight", w) != NULL &&
                      (!bias || adz_module_set_parameter(self, "bias", b) != NULL);
    return adzi_models_or_free(good, self);
}

/* The features of a weight, which may be in blocks of Q8_0. */
static int64_t width_of(const adz_tensor *weight)
{
    return adz_tensor_size(weight, 1) * (adz_tensor_dtype(weight) == ADZ_U8 ? ADZ_Q8_0_VALUES : 1);
}

adz_module *adzi_models_head(models_weights *w, adz_tensor *table, bool tied)
{
    static const char path[] = "lm_head";
    if (table == NULL) {
        return NULL;
    }
    const int64_t rows = adz_tensor_size(table, 0), width = width_of(table);
    if (!tied) {
        return adzi_models_linear(w, path, width, rows, false);
    }
    if (adzi_models_has(w, path, "weight")) { /* some files have it twice */
        adz_tensor *own = adzi_models_take_stored(w, path, "weight", ADZ_SHAPE(rows, width));
        if (own == NULL) {
            return NULL;
        }
        if (!adz_equal(own, table)) {
            return models_fail(w->op, ADZ_ERR_FORMAT,
                "%s: lm_head.weight is not the weight of the tokens, but config.json ties both",
                w->file);
        }
    }
    adz_linear_options o = ADZ_LINEAR_OPTIONS;
    o.bias = false;
    o.dtype = w->dtype;
    adz_module *self = adz_linear_new(0, 0, &o);
    return adzi_models_or_free(
        self != NULL && adz_module_set_parameter(self, "weight", table) != NULL, self);
}

/* Rows of a table in blocks of Q8_0, u8[rows, blocks, 34]: their bytes are looked up, and widened.
 */
static adz_tensor *look_up_blocks(adz_tensor *ids, adz_tensor *weight)
{
    const int64_t rows = adz_tensor_size(weight, 0), blocks = adz_tensor_size(weight, 1);
    adz_tensor *bytes = adz_reshape(weight, ADZ_SHAPE(rows, blocks * ADZ_Q8_0_BYTES));
    adz_tensor *y = bytes != NULL ? adz_embedding(ids, bytes, NULL) : NULL;
    if (y == NULL) {
        return NULL;
    }
    adz_shape shape = adz_tensor_shape(y);
    shape.sizes[shape.rank - 1] = blocks;
    shape.sizes[shape.rank++] = ADZ_Q8_0_BYTES;
    return adz_dequantize_q8_0(adz_reshape(y, shape));
}

typedef struct {
    int64_t padding; /* the row without a gradient */
} table_state;

static adz_tensor *look_up(adz_module *self, adz_tensor *ids)
{
    adz_embedding_options o = ADZ_EMBEDDING_OPTIONS;
    o.padding_idx = ((const table_state *)models_state(self))->padding;
    adz_tensor *weight = adz_module_parameter_at(self, 0);
    if (adz_tensor_dtype(weight) == ADZ_U8) {
        return look_up_blocks(ids, weight);
    }
    adz_tensor *rows = adz_embedding(ids, weight, &o);
    const adz_dtype dtype = rows != NULL ? adz_tensor_dtype(rows) : ADZ_F32;
    return dtype == ADZ_F16 || dtype == ADZ_BF16 ? adz_to(rows, ADZ_F32) : rows;
}

static size_t table_repr(adz_module *self, char *buffer, size_t size)
{
    const adz_tensor *weight = adz_module_parameter_at(self, 0);
    return (size_t)snprintf(buffer, size, "%lld, %lld", (long long)adz_tensor_size(weight, 0),
        (long long)width_of(weight));
}

static const adz_module_type table_type = { .size = sizeof(adz_module_type),
    .name = "Embedding",
    .forward = look_up,
    .extra_repr = table_repr,
    .half_parameters = 1,
    .block_parameters = 1 };

adz_module *adzi_models_table(
    models_weights *weights, const char *path, int64_t rows, int64_t width, int64_t padding)
{
    adz_tensor *w = adzi_models_take_stored(weights, path, "weight", ADZ_SHAPE(rows, width));
    adz_module *self = w != NULL ? adz_module_new(&table_type, sizeof(table_state)) : NULL;
    if (self != NULL) {
        *(table_state *)models_state(self) = (table_state){ padding };
    }
    return adzi_models_or_free(
        self != NULL && adz_module_add_parameter(self, "weight", w) != NULL, self);
}

adz_module *adzi_models_layer_norm(
    models_weights *weights, const char *path, int64_t width, double eps)
{
    adz_layer_norm_options o = ADZ_LAYER_NORM_OPTIONS;
    o.eps = eps;
    o.dtype = weights->dtype;
    adz_tensor *w = adzi_models_take(weights, path, "weight", ADZ_SHAPE(width));
    adz_tensor *b = adzi_models_take(weights, path, "bias", ADZ_SHAPE(width));
    adz_module *self = w != NULL && b != NULL ? adz_layer_norm_new(ADZ_SHAPE(width), &o) : NULL;
    const bool good = self != NULL && adz_module_set_parameter(self, "weight", w) != NULL &&
                      adz_module_set_parameter(self, "bias", b) != NULL;
    return adzi_models_or_free(good, self);
}

adz_module *adzi_models_rms_norm(
    models_weights *weights, const char *path, int64_t width, double eps)
{
    adz_rms_norm_options o = ADZ_RMS_NORM_OPTIONS;
    o.eps = eps;
    o.dtype = weights->dtype;
    adz_tensor *w = adzi_models_take(weights, path, "weight", ADZ_SHAPE(width));
    adz_module *self = w != NULL ? adz_rms_norm_new(ADZ_SHAPE(width), &o) : NULL;
    return adzi_models_or_free(
        self != NULL && adz_module_set_parameter(self, "weight", w) != NULL, self);
}

/* ---- forward passes ------------------------------------------------------------------------- */

adz_tensor *adzi_models_split_heads(adz_tensor *x, int64_t heads)
{
    if (x == NULL) {
        return NULL;
    }
    return adz_reshape(x, ADZ_SHAPE(adz_tensor_size(x, 0), adz_tensor_size(x, 1), heads,
                              adz_tensor_size(x, 2) / heads));
}

adz_tensor *adzi_models_merge_heads(adz_tensor *x)
{
    adz_tensor *rows = adz_permute(x, ADZ_DIMS(0, 2, 1, 3));
    return rows == NULL
               ? NULL
               : adz_reshape(rows, ADZ_SHAPE(adz_tensor_size(rows, 0), adz_tensor_size(rows, 1),
                                       adz_tensor_size(rows, 2) * adz_tensor_size(rows, 3)));
}

adz_tensor *adzi_models_forward(const adz_module *parent, size_t child, adz_tensor *x)
{
    return adz_module_forward(models_child(parent, child), x);
}

bool adzi_models_check_ids(const adz_module *module, const char *name, const adz_tensor *ids)
{
    if (!adz_check_tensor(adz_module_name(module), name, ids)) {
        return false;
    }
    if (adz_tensor_rank(ids) != 2 || adz_tensor_dtype(ids) != ADZ_I64) {
        adz_error_format(adz_module_name(module), ADZ_ERR_SHAPE,
            "%s%s is %s, but must be int64 [B, T]", name, adz_text_shape(ids),
            adz_dtype_name(adz_tensor_dtype(ids)));
        return false;
    }
    return true;
}

adz_tensor *adzi_models_key_mask(
    const adz_module *module, adz_tensor *mask, int64_t batch, int64_t keys)
{
    if (mask == NULL || models_is_none(mask)) {
        return mask;
    }
    if (adz_tensor_rank(mask) != 2 || adz_tensor_size(mask, 0) != batch ||
        adz_tensor_size(mask, 1) != keys) {
        return models_fail(adz_module_name(module), ADZ_ERR_SHAPE,
            "attention_mask%s must be [%lld, %lld]", adz_text_shape(mask), (long long)batch,
            (long long)keys);
    }
    if (adz_tensor_dtype(mask) != ADZ_BOOL) {
        mask = adz_ne_number(mask, 0);
    }
    return mask != NULL ? adz_reshape(mask, ADZ_SHAPE(batch, 1, 1, keys)) : NULL;
}

adz_tensor *adzi_models_kept(
    const adz_module *module, const adz_values *in, size_t at, adz_tensor *h)
{
    static const char argument[] = "logits_to_keep";
    const char *name = adz_module_name(module);
    const adz_tensor *keep = adz_values_argument(in, at, argument);
    if (h == NULL || keep == ADZ_NONE) {
        return h;
    }
    if (!adz_check_tensor(name, argument, keep)) {
        return NULL;
    }
    if (adz_tensor_numel(keep) != 1 || adz_tensor_dtype(keep) != ADZ_I64) {
        return models_fail(
            name, ADZ_ERR_SHAPE, "%s%s must be one int64", argument, adz_text_shape(keep));
    }
    const int64_t count = adz_item_i64(keep), length = adz_tensor_size(h, 1);
    if (count < 0 || count > length) {
        return models_fail(name, ADZ_ERR_ARGUMENT, "%s is %lld, but there are %lld positions",
            argument, (long long)count, (long long)length);
    }
    return count == 0 || count == length ? h : adz_narrow(h, 1, length - count, count);
}
