/* Order, running sums, triangles and blocks. */
#include <string.h>

#include "adze/ops.h"
#include "run.h"

/* ---- order ---------------------------------------------------------------------------------- */

static adz_tensor *top_k(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0), *indices = NULL;
    int rank = adz_tensor_rank(x);
    int dim = rank < 0 ? -1 : adzi_reader_dim(call, adzi_reader_int(call, "axis", -1), rank);
    int64_t k = adzi_reader_int(call, "k", -1);
    if (call->node->opset >= 10) {
        const reader_numbers *number = adzi_reader_host(call, 1);
        if (number == NULL) {
            return NULL;
        }
        k = number->n == 1 ? number->at[0].i : -1;
    }
    if (dim < 0) {
        return NULL;
    }
    adz_tensor *y = adz_topk(x, k, dim, adzi_reader_int(call, "largest", 1) != 0, &indices);
    if (adzi_reader_wants(call, 1)) {
        adzi_reader_set(call, 1, indices);
    }
    return y;
}

/** The first position of each value: the least one among those that `inverse` sends to it. */
static adz_tensor *first_positions(adz_tensor *inverse, int64_t n)
{
    int64_t size = adz_tensor_numel(inverse);
    adz_tensor *at = adz_arange(0, (double)size, 1, ADZ_I64);
    adz_tensor *last = adz_full(ADZ_SHAPE(n), (double)size, ADZ_I64);
    return adz_scatter_reduce(last, 0, inverse, at, ADZ_SCATTER_AMIN, true);
}

/** Distinct elements or, with attribute axis, distinct slices; in ascending order or in that of
 * their first occurrence. */
static adz_tensor *unique(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0), *inverse = NULL, *counts = NULL, *y;
    bool whole = adzi_reader_attribute(call->node, "axis") == NULL;
    int dim = 0, rank = adz_tensor_rank(x);
    if (x == NULL ||
        (!whole && (dim = adzi_reader_dim(call, adzi_reader_int(call, "axis", 0), rank)) < 0)) {
        return NULL;
    }
    y = whole ? adz_unique(x, &inverse, &counts) : adz_unique_dim(x, dim, &inverse, &counts);
    if (y == NULL) {
        return NULL;
    }
    inverse = adz_flatten(inverse, 0, -1);
    adz_tensor *first = first_positions(inverse, adz_tensor_size(y, dim));
    if (adzi_reader_int(call, "sorted", 1) == 0) {
        adz_tensor *order = adz_argsort(first, 0, false);
        y = adz_index_select(y, dim, order);
        first = adz_index_select(first, 0, order);
        counts = adz_index_select(counts, 0, order);
        inverse = adz_index_select(adz_argsort(order, 0, false), 0, inverse);
    }
    adz_tensor *others[] = { first, inverse, counts };
    for (size_t i = 1; i <= 3; i++) {
        if (adzi_reader_wants(call, i)) {
            adzi_reader_set(call, i, others[i - 1]);
        }
    }
    return y;
}

/* ---- running sums and products -------------------------------------------------------------- */

static adz_tensor *running(
    const reader_call *call, adz_tensor *(*f)(adz_tensor *, int), double neutral)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    const reader_numbers *axis = adzi_reader_host(call, 1);
    int rank = adz_tensor_rank(x);
    if (x == NULL || axis == NULL || axis->n != 1) {
        return axis == NULL || x == NULL
                   ? NULL
                   : adzi_reader_fail(call, ADZ_ERR_SHAPE, "axis is not one number");
    }
    int dim = adzi_reader_dim(call, axis->at[0].i, rank);
    bool back = adzi_reader_int(call, "reverse", 0) != 0;
    if (dim < 0) {
        return NULL;
    }
    adz_tensor *y = back ? adz_flip(x, ADZ_DIMS(dim)) : x;
    if (adzi_reader_int(call, "exclusive", 0) != 0 && adz_tensor_size(y, dim) > 0) {
        int64_t pads[2 * ADZ_MAX_RANK] = { 0 };
        size_t last = 2 * (size_t)(rank - 1 - dim);
        pads[last] = 1;
        pads[last + 1] = -1;
        y = adz_pad(y, pads, last + 2, neutral);
    }
    y = adz_to(f(y, dim), adz_tensor_dtype(x));
    return back ? adz_flip(y, ADZ_DIMS(dim)) : y;
}

static adz_tensor *cumsum(const reader_call *call)
{
    return running(call, adz_cumsum, 0);
}

static adz_tensor *cumprod(const reader_call *call)
{
    return running(call, adz_cumprod, 1);
}

/* ---- triangles and diagonals ---------------------------------------------------------------- */

static adz_tensor *trilu(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    int64_t k = 0;
    if (adzi_reader_has(call, 1)) {
        const reader_numbers *number = adzi_reader_host(call, 1);
        if (number == NULL || number->n != 1) {
            return number == NULL ? NULL
                                  : adzi_reader_fail(call, ADZ_ERR_SHAPE, "k is not one number");
        }
        k = number->at[0].i;
    }
    return adzi_reader_int(call, "upper", 1) != 0 ? adz_triu(x, k) : adz_tril(x, k);
}

static adz_tensor *eye_like(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    adz_dtype dtype = adz_tensor_dtype(x);
    if (x == NULL || adz_tensor_rank(x) != 2) {
        return x == NULL ? NULL : adzi_reader_fail(call, ADZ_ERR_SHAPE, "input 0 is no matrix");
    }
    if (adzi_reader_attribute(call->node, "dtype") != NULL &&
        !adzi_reader_target(call, adzi_reader_int(call, "dtype", 1), &dtype)) {
        return NULL;
    }
    adz_tensor *row = adz_arange(0, (double)adz_tensor_size(x, 0), 1, ADZ_I64);
    adz_tensor *column = adz_arange(0, (double)adz_tensor_size(x, 1), 1, ADZ_I64);
    row = adz_add_number(adz_unsqueeze(row, 1), (double)adzi_reader_int(call, "k", 0));
    return adz_to(adz_eq(row, column), dtype);
}

/* ---- blocks --------------------------------------------------------------------------------- */

enum { LARGEST_BLOCK = 1 << 15 }; /* its square fits into 32 bits */

/** Depth [b, c, h, w] into blocks. DCR: the block's row and column come before the channel. */
static adz_tensor *depth_to_space(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    adz_shape s = adz_tensor_shape(x);
    int64_t size = adzi_reader_int(call, "blocksize", 0);
    if (s.rank != 4 || size < 1 || size > LARGEST_BLOCK || s.sizes[1] % (size * size) != 0) {
        return s.rank < 0 ? NULL
                          : adzi_reader_fail(call, ADZ_ERR_SHAPE, "no blocks of %lld in %s",
                                (long long)size, adz_text_sizes(s));
    }
    int64_t b = s.sizes[0], c = s.sizes[1] / (size * size), h = s.sizes[2], w = s.sizes[3];
    adz_tensor *y;
    if (strcmp(adzi_reader_string(call, "mode", "DCR"), "DCR") == 0) {
        y = adz_reshape(x, ADZ_SHAPE(b, size, size, c, h, w));
        y = adz_permute(y, ADZ_DIMS(0, 3, 4, 1, 5, 2));
    } else {
        y = adz_reshape(x, ADZ_SHAPE(b, c, size, size, h, w));
        y = adz_permute(y, ADZ_DIMS(0, 1, 4, 2, 5, 3));
    }
    return adz_reshape(y, ADZ_SHAPE(b, c, h * size, w * size));
}

static adz_tensor *space_to_depth(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    adz_shape s = adz_tensor_shape(x);
    int64_t size = adzi_reader_int(call, "blocksize", 0);
    if (s.rank != 4 || size < 1 || size > LARGEST_BLOCK || s.sizes[2] % size != 0 ||
        s.sizes[3] % size != 0) {
        return s.rank < 0 ? NULL
                          : adzi_reader_fail(call, ADZ_ERR_SHAPE, "no blocks of %lld in %s",
                                (long long)size, adz_text_sizes(s));
    }
    int64_t b = s.sizes[0], c = s.sizes[1], h = s.sizes[2] / size, w = s.sizes[3] / size;
    adz_tensor *y = adz_reshape(x, ADZ_SHAPE(b, c, h, size, w, size));
    bool dcr = strcmp(adzi_reader_string(call, "mode", "DCR"), "DCR") == 0;
    y = adz_permute(y, dcr ? ADZ_DIMS(0, 3, 5, 1, 2, 4) : ADZ_DIMS(0, 1, 3, 5, 2, 4));
    return adz_reshape(y, ADZ_SHAPE(b, c * size * size, h, w));
}

const reader_operator adzi_reader_orders[] = {
    ROW("CumProd", 26, 0, 2, 2, 1, "exclusive:i reverse:i", 2, cumprod),
    ROW("CumSum", 11, 0, 2, 2, 1, "exclusive:i reverse:i", 2, cumsum),
    ROW("DepthToSpace", 1, 10, 1, 1, 1, "blocksize:i", 0, depth_to_space),
    ROW("DepthToSpace", 11, 0, 1, 1, 1, "blocksize:i mode:s=DCR|CRD", 0, depth_to_space),
    ROW("EyeLike", 9, 0, 1, 1, 1, "dtype:i k:i", ALL_FIXED, eye_like),
    ROW("SpaceToDepth", 1, 27, 1, 1, 1, "blocksize:i", 0, space_to_depth),
    ROW("SpaceToDepth", 28, 0, 1, 1, 1, "blocksize:i mode:s=DCR|CRD", 0, space_to_depth),
    ROW("TopK", 1, 9, 1, 1, 2, "axis:i k:i", 0, top_k),
    ROW("TopK", 10, 10, 2, 2, 2, "axis:i", 2, top_k),
    ROW("TopK", 11, 0, 2, 2, 2, "axis:i largest:i sorted:i", 2, top_k),
    ROW("Trilu", 14, 0, 1, 2, 1, "upper:i", 2, trilu),
    ROW("Unique", 11, 0, 1, 1, 4, "axis:i sorted:i", 0, unique),
    { .name = NULL },
};
