/* Elements picked and written by their indices. */
#include <stdlib.h>
#include <string.h>

#include "adze/ops.h"
#include "run.h"

/** The dimension of attribute axis; -1 with an error recorded. */
static int axis_of(const reader_call *call, const adz_tensor *x, int64_t otherwise)
{
    int rank = adz_tensor_rank(x);
    return rank < 0 ? -1 : adzi_reader_dim(call, adzi_reader_int(call, "axis", otherwise), rank);
}

static adz_tensor *gather_elements(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    int dim = axis_of(call, x, 0);
    return dim < 0 ? NULL
                   : adz_gather(x, dim,
                         adzi_reader_from_front(adzi_reader_in(call, 1), adz_tensor_size(x, dim)));
}

/* ---- coordinates ---------------------------------------------------------------------------- */

/** Subtensors of data at coordinates: data as rows, and the numbers of the rows. */
typedef struct rows {
    adz_tensor *data;  /* [rows, elements of a subtensor] */
    adz_tensor *index; /* [n] */
    adz_shape result;  /* of the subtensors that the coordinates name */
    int64_t n, width;
} rows;

/** The number of the row at each coordinate. A coordinate outside of its dimension would name an
 * element of another row, so it gets the number behind the last row, which is refused as an index.
 *
 * @param index  [..., depth], where ... begins with the `batch` first sizes of d
 */
static adz_tensor *row_numbers(
    adz_tensor *index, const adz_shape *d, int batch, int depth, int64_t count)
{
    const adz_shape i = adz_tensor_shape(index);
    adz_tensor *number = adz_zeros(adz_shape_of(i.rank - 1, i.sizes), ADZ_I64);
    adz_tensor *outside = adz_zeros(adz_shape_of(i.rank - 1, i.sizes), ADZ_BOOL);
    for (int k = 0; k < batch + depth; k++) {
        adz_tensor *at;
        if (k < batch) {
            at = adzi_reader_along(adz_arange(0, (double)d->sizes[k], 1, ADZ_I64), i.rank - 1, k);
        } else {
            at = adzi_reader_from_front(adz_select(index, -1, k - batch), d->sizes[k]);
            outside = adz_logical_or(outside, adz_lt_number(at, 0));
            outside = adz_logical_or(outside, adz_ge_number(at, (double)d->sizes[k]));
        }
        number = adz_add(adz_mul_number(number, (double)d->sizes[k]), at);
    }
    return adz_masked_fill(number, outside, (double)count);
}

/** The numbers of rows from the last dimension of `index`, which holds one coordinate for each
 * dimension of `data` behind the `batch` first ones. */
static bool rows_at(const reader_call *call, int64_t batch, rows *r)
{
    adz_tensor *data = adzi_reader_in(call, 0), *index = adzi_reader_in(call, 1);
    adz_shape d = adz_tensor_shape(data), i = adz_tensor_shape(index);
    if (d.rank < 0 || i.rank < 0) {
        return false;
    }
    int depth = i.rank > 0 ? (int)i.sizes[i.rank - 1] : 0;
    if (batch < 0 || i.rank < 1 || batch > i.rank - 1 || depth < 1 || batch + depth > d.rank ||
        i.sizes[i.rank - 1] > ADZ_MAX_RANK || i.rank - 1 + d.rank - batch - depth > ADZ_MAX_RANK ||
        memcmp(d.sizes, i.sizes, (size_t)batch * sizeof(int64_t)) != 0) {
        adzi_reader_fail(call, ADZ_ERR_SHAPE, "data%s and indices%s do not fit", adz_text_sizes(d),
            adz_text_sizes(i));
        return false;
    }
    int64_t count = 1;
    r->width = r->n = 1;
    r->result = (adz_shape){ .rank = 0 };
    for (int k = 0; k < i.rank - 1; k++) {
        r->n *= i.sizes[k];
        r->result.sizes[r->result.rank++] = i.sizes[k];
    }
    for (int k = 0; k < d.rank; k++) {
        if (k >= batch + depth) {
            r->width *= d.sizes[k];
            r->result.sizes[r->result.rank++] = d.sizes[k];
        } else {
            count *= d.sizes[k];
        }
    }
    r->data = adz_reshape(data, ADZ_SHAPE(count, r->width));
    r->index = adz_reshape(row_numbers(index, &d, (int)batch, depth, count), ADZ_SHAPE(r->n));
    return r->index != NULL;
}

static adz_tensor *gather_nd(const reader_call *call)
{
    rows r;
    if (!rows_at(call, adzi_reader_int(call, "batch_dims", 0), &r)) {
        return NULL;
    }
    return adz_reshape(adz_index_select(r.data, 0, r.index), r.result);
}

/* ---- writing -------------------------------------------------------------------------------- */

/** The extremes are of opset 18; some writers use them in opset 17, where they can mean nothing
 * else. */
#define REDUCTION "reduction:s=none|add|mul|min|max"

static adz_tensor *written(
    const reader_call *call, adz_tensor *x, int dim, adz_tensor *index, adz_tensor *updates)
{
    const char *reduction = adzi_reader_string(call, "reduction", "none");
    if (strcmp(reduction, "none") == 0) {
        return adz_scatter(x, dim, index, updates);
    }
    if (strcmp(reduction, "add") == 0) {
        return adz_scatter_add(x, dim, index, updates);
    }
    adz_scatter_reduction by = strcmp(reduction, "mul") == 0   ? ADZ_SCATTER_PROD
                               : strcmp(reduction, "min") == 0 ? ADZ_SCATTER_AMIN
                                                               : ADZ_SCATTER_AMAX;
    return adz_scatter_reduce(x, dim, index, updates, by, true);
}

static adz_tensor *scatter_elements(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    int dim = axis_of(call, x, 0);
    if (dim < 0) {
        return NULL;
    }
    adz_tensor *index = adzi_reader_from_front(adzi_reader_in(call, 1), adz_tensor_size(x, dim));
    return written(call, x, dim, index, adzi_reader_in(call, 2));
}

static adz_tensor *scatter_nd(const reader_call *call)
{
    rows r;
    if (!rows_at(call, 0, &r)) {
        return NULL;
    }
    adz_tensor *updates = adz_reshape(adzi_reader_in(call, 2), ADZ_SHAPE(r.n, r.width));
    adz_tensor *index = adz_expand(adz_unsqueeze(r.index, 1), ADZ_SHAPE(r.n, r.width));
    adz_tensor *y = written(call, r.data, 0, index, updates);
    return adz_reshape(y, adz_tensor_shape(adzi_reader_in(call, 0)));
}

static adz_tensor *tensor_scatter(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0), *update = adzi_reader_in(call, 1);
    int rank = adz_tensor_rank(x), dim = axis_of(call, x, -2);
    if (dim < 0 || update == NULL) {
        return NULL;
    }
    if (dim == 0 || adz_tensor_rank(update) != rank) {
        return adzi_reader_fail(call, ADZ_ERR_SHAPE, "cache%s and update%s do not fit",
            adz_text_shape(x), adz_text_shape(update));
    }
    adz_tensor *index = adz_arange(0, (double)adz_tensor_size(update, dim), 1, ADZ_I64);
    index = adzi_reader_along(index, rank, dim);
    if (adzi_reader_has(call, 2)) {
        index = adz_add(index, adzi_reader_along(adzi_reader_in(call, 2), rank, 0));
    }
    if (strcmp(adzi_reader_string(call, "mode", "linear"), "circular") == 0) {
        index = adz_remainder_number(index, (double)adz_tensor_size(x, dim));
    }
    return adz_scatter(x, dim, adz_expand(index, adz_tensor_shape(update)), update);
}

/* ---- one number for each class ------------------------------------------------------------- */

static adz_tensor *one_hot(const reader_call *call)
{
    adz_tensor *ids = adzi_reader_in(call, 0), *values = adzi_reader_in(call, 2);
    const reader_numbers *depth = adzi_reader_host(call, 1);
    if (ids == NULL || values == NULL || depth == NULL) {
        return NULL;
    }
    int rank = adz_tensor_rank(ids) + 1;
    int dim = adzi_reader_dim(call, adzi_reader_int(call, "axis", -1), rank);
    bool whole = depth->dtype != ADZ_F32 && depth->dtype != ADZ_F64;
    double n = depth->n != 1 ? -1 : whole ? (double)depth->at[0].i : depth->at[0].f;
    if (dim < 0 || !(n >= 0 && n <= INT32_MAX)) {
        return dim < 0 ? NULL : adzi_reader_fail(call, ADZ_ERR_ARGUMENT, "depth is no size");
    }
    if (rank > ADZ_MAX_RANK) {
        return adzi_reader_fail(
            call, ADZ_ERR_UNSUPPORTED, "%d dimensions are more than adze holds", rank);
    }
    adz_tensor *classes = adzi_reader_along(adz_arange(0, n, 1, ADZ_I64), rank, dim);
    adz_tensor *here = adz_eq(adz_unsqueeze(adzi_reader_from_front(ids, (int64_t)n), dim), classes);
    return adz_where(here, adz_select(values, 0, 1), adz_select(values, 0, 0));
}

/* ---- numbers of elements that depend on the elements ---------------------------------------- */

static adz_tensor *compress(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    adz_tensor *kept = adz_select(adz_nonzero(adzi_reader_in(call, 1)), 1, 0);
    if (adzi_reader_attribute(call->node, "axis") == NULL) {
        return adz_index_select(adz_flatten(x, 0, -1), 0, kept);
    }
    int dim = axis_of(call, x, 0);
    return dim < 0 ? NULL : adz_index_select(x, dim, kept);
}

static adz_tensor *nonzero(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    if (adz_tensor_rank(x) == 0) { /* [0, N], since a single number has no coordinates */
        adz_tensor *none = adz_nonzero(adz_unsqueeze(x, 0));
        return adz_narrow(adz_transpose(none, 0, 1), 0, 0, 0);
    }
    return adz_transpose(adz_nonzero(x), 0, 1);
}

/* ---- order reversed ------------------------------------------------------------------------- */

static adz_tensor *reverse_sequence(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0), *lengths = adzi_reader_in(call, 1);
    int64_t time = adzi_reader_int(call, "time_axis", 0);
    int64_t batch = adzi_reader_int(call, "batch_axis", 1);
    int rank = adz_tensor_rank(x);
    if (x == NULL || lengths == NULL) {
        return NULL;
    }
    if (rank < 2 || time < 0 || time > 1 || batch != 1 - time) {
        return adzi_reader_fail(call, ADZ_ERR_ARGUMENT, "axes of time and batch must be 0 and 1");
    }
    adz_tensor *at = adz_arange(0, (double)adz_tensor_size(x, (int)time), 1, ADZ_I64);
    at = adzi_reader_along(at, rank, (int)time);
    adz_tensor *length = adzi_reader_along(lengths, rank, (int)batch);
    adz_tensor *reversed = adz_sub(adz_add_number(length, -1), at);
    adz_tensor *index = adz_where(adz_lt(at, length), reversed, at);
    return adz_gather(x, (int)time, adz_expand(index, adz_tensor_shape(x)));
}

const reader_operator adzi_reader_indices[] = {
    ROW("Compress", 9, 0, 2, 2, 1, "axis:i", 2, compress),
    ROW("GatherElements", 11, 0, 2, 2, 1, "axis:i", 2, gather_elements),
    ROW("GatherND", 11, 11, 2, 2, 1, "", 2, gather_nd),
    ROW("GatherND", 12, 0, 2, 2, 1, "batch_dims:i", 2, gather_nd),
    ROW("NonZero", 9, 0, 1, 1, 1, "", ALL_FIXED, nonzero),
    ROW("OneHot", 9, 0, 3, 3, 1, "axis:i", 3, one_hot),
    ROW("ReverseSequence", 10, 0, 2, 2, 1, "batch_axis:i time_axis:i", 2, reverse_sequence),
    ROW("Scatter", 9, 10, 3, 3, 1, "axis:i", 2, scatter_elements),
    ROW("ScatterElements", 11, 15, 3, 3, 1, "axis:i", 2, scatter_elements),
    ROW("ScatterElements", 16, 0, 3, 3, 1, "axis:i " REDUCTION, 2, scatter_elements),
    ROW("ScatterND", 11, 15, 3, 3, 1, "", 2, scatter_nd),
    ROW("ScatterND", 16, 0, 3, 3, 1, REDUCTION, 2, scatter_nd),
    ROW("TensorScatter", 24, 0, 2, 3, 1, "axis:i mode:s=linear|circular", 4, tensor_scatter),
    { .name = NULL },
};
