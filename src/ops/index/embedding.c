#include "ops/index/indices.h"
#include "ops/index/rows.h"
#include "ops/options.h"

/* Rows of a table by their numbers, torch.nn.functional.embedding.
 *
 *     y[..., :]     = weight[ids[...], :]
 *     dweight[v, :] = sum of dy[i, :] over the positions i with ids[i] = v
 *
 * ids[...] are i64 or i32, weight[V, D], y[..., D]. The row padding_idx is read like any other and
 * receives no gradient. With scale_grad_by_freq, dy[i] is divided by the number of times ids[i]
 * occurs. The node saves the ids and not the weight: the gradient needs the number of rows only.
 * ids are not differentiable. */

typedef struct {
    int64_t padding_idx;     /* the row without a gradient, resolved; -1 for none */
    bool scale_grad_by_freq; /* gradients are divided by how often their row was looked up */
} embedding_attr;

/* The ids, with -1 instead of the padding row. adzi_rows_sum drops what is summed into row -1. */
static adz_tensor *without_padding(adz_tensor *ids, int64_t padding)
{
    return ids != NULL && padding >= 0
               ? adz_masked_fill(ids, adz_eq_number(ids, (double)padding), -1)
               : ids;
}

/* 1 / how often each id occurs, shaped like the ids with a dimension of size 1 behind. Counts and
 * quotients are f64, so that they are exact or rounded once. */
static adz_tensor *frequencies(adz_tensor *ids, int64_t rows, adz_dtype dtype)
{
    adz_shape shape = adz_shape_of(ids->rank, ids->sizes);
    shape.sizes[shape.rank++] = 1;
    adz_tensor *flat = adz_reshape(ids, ADZ_SHAPE(ids->numel));
    adz_tensor *ones = adz_ones(ADZ_SHAPE(ids->numel), ADZ_F64);
    adz_tensor *count = adz_scatter_add(adz_zeros(ADZ_SHAPE(rows), ADZ_F64), 0, flat, ones);
    adz_tensor *share = adz_reciprocal(adz_gather(count, 0, flat));
    return adz_to(adz_reshape(share, shape), dtype);
}

/* dweight is a sum of rows, a separate operator, so that it can be differentiated again.
 * Gradients are scaled before they are summed. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const embedding_attr *at = adzi_attr(node, embedding_attr);
    /* The ids have no gradient, so there is nothing else to compute. */
    if (!adzi_needs(node, 1)) {
        return ADZ_OK;
    }
    int64_t rows = adzi_input_shape(node, 1).sizes[0];
    adz_tensor *ids = adzi_saved_input(node, 0), *g = dy[0];
    if (ids != NULL && at->scale_grad_by_freq) {
        g = adz_mul(g, frequencies(ids, rows, (adz_dtype)g->dtype));
    }
    dx[1] = adzi_rows_sum(g, 0, without_padding(ids, at->padding_idx), rows);
    return adzi_status(dx[1]);
}

static const adz_field fields[] = { ADZI_FIELD(embedding_attr, padding_idx),
    ADZI_FIELD(embedding_attr, scale_grad_by_freq) };

static const adz_field options_rows[] = {
    ADZ_FIELD(adz_embedding_options, padding_idx, .value = ADZ_NO_PADDING),
    ADZ_FIELD(adz_embedding_options, scale_grad_by_freq, .value = false),
    ADZ_FIELD(adz_embedding_options, sparse, .value = false),
};

ADZ_OPTIONS_TABLE(adz_embedding_options, ADZ_EMBEDDING_OPTIONS, options_rows)

/* What a call gets. The node keeps the attributes alone. */
typedef struct {
    embedding_attr at;
    adz_embedding_options o;
} embedding_call;

/* Checks the weight and the options, and turns a padding_idx counted from the end into a row.
 * padding_idx -1 is then free to mean that there is no padding. */
static bool resolve(const adz_tensor *weight, const adz_embedding_options *o, embedding_attr *attr)
{
    if (weight->rank != 2) {
        adzi_error("embedding", ADZ_ERR_SHAPE, "weight%s needs two dimensions, [rows, features]",
            adzi_text_shape(weight));
        return false;
    }
    /* A sparse gradient would save memory and have the values of the dense one. */
    if (o->sparse) {
        adzi_error("embedding", ADZ_ERR_UNSUPPORTED,
            "there are no sparse gradients; leave sparse false: the dense gradient has the same values and every optimizer takes it");
        return false;
    }
    int64_t rows = weight->sizes[0], padding = o->padding_idx;
    attr->scale_grad_by_freq = o->scale_grad_by_freq;
    attr->padding_idx = -1;
    if (padding != ADZ_NO_PADDING) {
        if (padding < -rows || padding >= rows) {
            adzi_error("embedding", ADZ_ERR_INDEX,
                "padding_idx %lld is outside -%lld .. %lld of weight%s", (long long)padding,
                (long long)rows, (long long)rows - 1, adzi_text_shape(weight));
            return false;
        }
        attr->padding_idx = padding < 0 ? padding + rows : padding;
    }
    return true;
}

/* The range of the ids is checked before anything is computed. */
static bool check(adzi_call *call, void *block)
{
    embedding_call *c = block;
    const adz_tensor *weight = call->in[1];
    return resolve(weight, &c->o, &c->at) && adzi_want_indices(call, 0) &&
           adzi_indices_within(
               "embedding", call->in[0], weight->sizes[0], "rows of weight", weight);
}

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    (void)block;
    y->dtype = (adz_dtype)in[1]->dtype;
    return adzi_form_status(adzi_rows_sizes("embedding", in[1], 0, in[0], &y->shape));
}

/* Rows are copied as blocks of bytes, which needs a contiguous weight. */
static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    (void)block;
    adzi_rows_copy(y[0], in[1], 0, in[0]);
}

const adzi_op adzi_op_embedding = { .name = "embedding",
    .backward = backward,
    ADZI_ATTRIBUTES(embedding_attr, fields),
    .shape_rule = shape_rule,
    .saved_inputs = 1u << 0,
    .strided_inputs = 1u << 0 }; /* the check has made the ids contiguous */

adz_tensor *adz_embedding(adz_tensor *ids, adz_tensor *weight, const adz_embedding_options *options)
{
    static const adzi_steps steps = { .check = check, .launch = launch };
    embedding_call c;
    return ADZI_OPTIONS_TAKE(
               "embedding", adz_embedding_options, ADZ_EMBEDDING_OPTIONS, &c.o, options)
               ? ADZI_RUN_STEPS(&adzi_op_embedding, steps, &c, ids, weight)
               : NULL;
}
