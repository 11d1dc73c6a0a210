/* Operators that move elements or make tensors of given shapes. */
#include <string.h>

#include "adze/autograd.h"
#include "adze/ops/arithmetic.h"
#include "adze/ops/compare.h"
#include "adze/ops/convert.h"
#include "adze/ops/index.h"
#include "adze/ops/math.h"
#include "adze/ops/shape.h"
#include "run.h"

/* ---- shapes --------------------------------------------------------------------------------- */

/* 0 keeps a size, -1 takes what is left. */
static adz_tensor *run_reshape(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    adz_shape shape;
    if (x == NULL || !adzi_reader_shape(call, "shape", 1, &shape)) {
        return NULL;
    }
    if (shape.rank < 0) {
        return adzi_reader_fail(call, ADZ_ERR_FORMAT, "the shape is missing");
    }
    for (int d = 0; d < shape.rank; ++d) {
        if (shape.sizes[d] != 0 || adzi_reader_int(call, "allowzero", 0) != 0) {
            continue;
        }
        if (d >= adz_tensor_rank(x)) {
            return adzi_reader_fail(call, ADZ_ERR_SHAPE,
                "the shape keeps dimension %d, which x%s does not have", d, adz_text_shape(x));
        }
        shape.sizes[d] = adz_tensor_size(x, d);
    }
    return adz_reshape(x, shape);
}

static adz_tensor *run_transpose(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    adz_shape list;
    adz_dims dims = { 0 };
    if (x == NULL || !adzi_reader_shape(call, "perm", NO_VALUE, &list)) {
        return NULL;
    }
    dims.count = adz_tensor_rank(x);
    if (list.rank >= 0 && list.rank != dims.count) {
        return adzi_reader_fail(
            call, ADZ_ERR_SHAPE, "perm has %d entries, but x%s", list.rank, adz_text_shape(x));
    }
    for (int d = 0; d < dims.count; ++d) {
        dims.dims[d] =
            list.rank >= 0 ? adzi_reader_dim(call, list.sizes[d], dims.count) : dims.count - 1 - d;
        if (dims.dims[d] < 0) {
            return NULL;
        }
    }
    return dims.count == 0 ? x : adz_permute(x, dims);
}

static adz_tensor *run_squeeze(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    adz_dims dims;
    adz_shape shape = ADZ_SHAPE_SCALAR;
    if (x == NULL || !adzi_reader_dims(call, "axes", 1, adz_tensor_rank(x), &dims)) {
        return NULL;
    }
    bool named[ADZ_MAX_RANK] = { false };
    for (int k = 0; k < dims.count; ++k) {
        named[dims.dims[k]] = true;
        if (adz_tensor_size(x, dims.dims[k]) != 1) {
            return adzi_reader_fail(call, ADZ_ERR_SHAPE, "dimension %d of x%s does not have size 1",
                dims.dims[k], adz_text_shape(x));
        }
    }
    const bool all = adzi_reader_attribute(call->node, "axes") == NULL && !adzi_reader_has(call, 1);
    for (int d = 0; d < adz_tensor_rank(x); ++d) {
        const int64_t size = adz_tensor_size(x, d);
        if (all ? size != 1 : !named[d]) {
            shape.sizes[shape.rank++] = size;
        }
    }
    return adz_reshape(x, shape);
}

static adz_tensor *run_unsqueeze(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    adz_shape list;
    if (x == NULL || !adzi_reader_shape(call, "axes", 1, &list)) {
        return NULL;
    }
    adz_shape shape = { .rank = adz_tensor_rank(x) + (list.rank > 0 ? list.rank : 0) };
    bool named[2 * ADZ_MAX_RANK] = { false };
    for (int k = 0; k < list.rank; ++k) {
        const int d = adzi_reader_dim(call, list.sizes[k], shape.rank);
        if (d < 0 || named[d]) {
            return adzi_reader_fail(call, ADZ_ERR_DIM, "an axis is named twice");
        }
        named[d] = true;
    }
    if (shape.rank > ADZ_MAX_RANK) {
        return adzi_reader_fail(
            call, ADZ_ERR_UNSUPPORTED, "%d dimensions are more than adze holds", shape.rank);
    }
    for (int d = 0, from = 0; d < shape.rank; ++d) {
        shape.sizes[d] = named[d] ? 1 : adz_tensor_size(x, from++);
    }
    return adz_reshape(x, shape);
}

static adz_tensor *run_flatten(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    if (x == NULL) {
        return NULL;
    }
    const int rank = adz_tensor_rank(x);
    const int64_t axis = adzi_reader_int(call, "axis", 1);
    int64_t rows = 1, columns = 1;
    if (axis < -rank || axis > rank) {
        return adzi_reader_fail(
            call, ADZ_ERR_DIM, "axis %lld is none of x%s", (long long)axis, adz_text_shape(x));
    }
    for (int d = 0; d < rank; ++d) {
        *(d < (axis < 0 ? axis + rank : axis) ? &rows : &columns) *= adz_tensor_size(x, d);
    }
    return adz_reshape(x, ADZ_SHAPE(rows, columns));
}

/* To the shape that x and the list are broadcast to. */
static adz_tensor *run_expand(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    adz_shape shape;
    if (x == NULL || !adzi_reader_shape(call, NULL, 1, &shape)) {
        return NULL;
    }
    adz_shape all = { .rank = shape.rank > adz_tensor_rank(x) ? shape.rank : adz_tensor_rank(x) };
    for (int d = 1; d <= all.rank; ++d) {
        const int64_t a = d <= adz_tensor_rank(x) ? adz_tensor_size(x, -d) : 1;
        const int64_t b = d <= shape.rank ? shape.sizes[shape.rank - d] : 1;
        all.sizes[all.rank - d] = b == 1 ? a : b;
    }
    return adz_expand(x, all);
}

/* ---- parts ---------------------------------------------------------------------------------- */

static adz_tensor *run_concat(const reader_call *call)
{
    const size_t n = call->node->n_inputs;
    adz_tensor **list = adzi_reader_alloc(&call->run->arena, n, sizeof *list);
    for (size_t i = 0; i < n && list != NULL; ++i) {
        list[i] = adzi_reader_in(call, i);
        if (list[i] == NULL) {
            return NULL;
        }
    }
    const int dim = list != NULL ? adzi_reader_dim(call, adzi_reader_int(call, "axis", 1),
                                       adz_tensor_rank(list[0]))
                                 : -1;
    return dim >= 0 ? adz_cat(list, n, dim) : NULL;
}

/* One dimension of Slice. */
static adz_tensor *slice(adz_tensor *x, int dim, int64_t start, int64_t end, int64_t step)
{
    const int64_t n = adzi_reader_slice(adz_tensor_size(x, dim), &start, &end, &step);
    if (step > 0) {
        return adz_slice(x, dim, start, n > 0 ? end : start, step);
    }
    /* from the back: the range from the front, reversed */
    const int64_t first = n > 0 ? start + (n - 1) * step : 0;
    x = adz_slice(x, dim, first, n > 0 ? start + 1 : first, -step);
    return adz_flip(x, adz_dims_of(1, &dim));
}

static adz_tensor *run_slice(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    adz_shape starts, ends, axes, steps;
    if (x == NULL || !adzi_reader_shape(call, "starts", 1, &starts) ||
        !adzi_reader_shape(call, "ends", 2, &ends) || !adzi_reader_shape(call, "axes", 3, &axes) ||
        !adzi_reader_shape(call, NULL, 4, &steps)) {
        return NULL;
    }
    if (starts.rank < 0 || ends.rank != starts.rank || (axes.rank >= 0 && axes.rank != ends.rank) ||
        (steps.rank >= 0 && steps.rank != ends.rank)) {
        return adzi_reader_fail(
            call, ADZ_ERR_FORMAT, "starts, ends, axes and steps differ in length");
    }
    for (int k = 0; k < starts.rank; ++k) {
        const int dim =
            adzi_reader_dim(call, axes.rank >= 0 ? axes.sizes[k] : k, adz_tensor_rank(x));
        const int64_t step = steps.rank >= 0 ? steps.sizes[k] : 1;
        if (dim < 0 || step == 0) {
            return dim < 0 ? NULL : adzi_reader_fail(call, ADZ_ERR_FORMAT, "a step is 0");
        }
        x = slice(x, dim, starts.sizes[k], ends.sizes[k], step);
        if (x == NULL) {
            return NULL;
        }
    }
    return x;
}

/* x[..., i, ...] for each i of an index of any shape. */
static adz_tensor *run_gather(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0), *index = adzi_reader_in(call, 1);
    if (x == NULL || index == NULL) {
        return NULL;
    }
    const int rank = adz_tensor_rank(x);
    const int dim = adzi_reader_dim(call, adzi_reader_int(call, "axis", 0), rank);
    if (dim < 0) {
        return NULL;
    }
    adz_shape shape = { .rank = rank - 1 + adz_tensor_rank(index) };
    if (shape.rank > ADZ_MAX_RANK) {
        return adzi_reader_fail(
            call, ADZ_ERR_UNSUPPORTED, "%d dimensions are more than adze holds", shape.rank);
    }
    for (int d = 0, at = 0; d < rank; ++d) {
        for (int k = 0; d == dim && k < adz_tensor_rank(index); ++k) {
            shape.sizes[at++] = adz_tensor_size(index, k);
        }
        if (d != dim) {
            shape.sizes[at++] = adz_tensor_size(x, d);
        }
    }
    adz_tensor *flat =
        adz_reshape(adzi_reader_positions(call, 1, adz_tensor_size(x, dim)), ADZ_SHAPE(-1));
    return adz_reshape(adz_index_select(x, dim, flat), shape);
}

static adz_tensor *run_split(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    const size_t n = call->node->n_outputs;
    reader_numbers list;
    bool given = false;
    if (x == NULL || !adzi_reader_list(call, "split", 1, &list, &given)) {
        return NULL;
    }
    const int dim = adzi_reader_dim(call, adzi_reader_int(call, "axis", 0), adz_tensor_rank(x));
    const int64_t parts = adzi_reader_int(call, "num_outputs", (int64_t)n);
    int64_t *sizes = adzi_reader_alloc(&call->run->arena, n, sizeof *sizes);
    adz_tensor **out = adzi_reader_alloc(&call->run->arena, n, sizeof *out);
    if (dim < 0 || sizes == NULL || out == NULL) {
        return NULL;
    }
    if (parts != (int64_t)n || n == 0 || (given && list.n != n)) {
        return adzi_reader_fail(call, ADZ_ERR_FORMAT, "%zu outputs do not fit the parts", n);
    }
    const int64_t size = adz_tensor_size(x, dim), each = (size + parts - 1) / parts;
    int64_t left = size;
    for (size_t i = 0; i < n; ++i) {
        sizes[i] = given ? list.at[i].i : left < each ? left : each;
        left -= given ? 0 : sizes[i];
    }
    if (adz_split_sizes(x, sizes, n, dim, out) != ADZ_OK) {
        return NULL;
    }
    for (size_t i = 1; i < n; ++i) {
        adzi_reader_set(call, i, out[i]);
    }
    return out[0];
}

static adz_tensor *run_tile(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    adz_shape repeats;
    return x != NULL && adzi_reader_shape(call, NULL, 1, &repeats) ? adz_repeat(x, repeats) : NULL;
}

/* ---- new tensors ---------------------------------------------------------------------------- */

/* x rounded to half precision, as f32. The gradient passes as if nothing was rounded. */
static adz_tensor *through_half(adz_tensor *x, adz_dtype half)
{
    adz_tensor *y = adz_to(adz_to(adz_detach(x), half), ADZ_F32);
    if (!adz_tensor_requires_grad(x)) {
        return y;
    }
    x = adz_to(x, ADZ_F32);
    return adz_where(adz_isfinite(x), adz_add(x, adz_sub(y, adz_detach(x))), y);
}

/* Halves are rounded as their type has it and computed with as f32. */
static adz_tensor *cast(const reader_call *call, adz_tensor *x, int64_t element)
{
    adz_dtype dtype;
    if (x == NULL || !adzi_reader_target(call, element, &dtype)) {
        return NULL;
    }
    const bool floats = adz_tensor_dtype(x) == ADZ_F32 || adz_tensor_dtype(x) == ADZ_F64;
    if ((element == ELEMENT_FLOAT16 || element == ELEMENT_BFLOAT16) && dtype == ADZ_F32) {
        return through_half(x, element == ELEMENT_FLOAT16 ? ADZ_F16 : ADZ_BF16);
    }
    if (floats && (element == ELEMENT_UINT8 || element == ELEMENT_INT8)) {
        x = adz_to(x, ADZ_I64); /* whose low bits are kept */
    }
    return element == ELEMENT_INT8 ? adz_to(adzi_reader_wrapped(adz_to(x, ADZ_I64)), dtype)
                                   : adz_to(x, dtype);
}

static adz_tensor *run_cast(const reader_call *call)
{
    return cast(call, adzi_reader_in(call, 0), adzi_reader_int(call, "to", 0));
}

/* To the type of input 1. */
static adz_tensor *run_cast_like(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0), *like = adzi_reader_in(call, 1);
    const int element = call->run->model->values[call->node->inputs[1]].element;
    if (element != 0) {
        return cast(call, x, element);
    }
    return like != NULL ? adz_to(x, adz_tensor_dtype(like)) : NULL;
}

/* Conversions to types that adze does not have would skip their rounding. */
static adz_status check_cast(const reader_model *model, const reader_node *node)
{
    const reader_attribute *a = adzi_reader_attribute(node, "to");
    const int64_t to = a != NULL ? a->i : 0;
    adz_dtype dtype;
    if (to < 1 || to > 255 || !adzi_reader_dtype(model, (int)to, &dtype)) {
        return adzi_reader_refuse(node, "attribute \"to\" is %s (%lld), which is not supported",
            adzi_reader_element_name(to > 0 && to < 256 ? (int)to : 0), (long long)to);
    }
    return ADZ_OK;
}

static adz_tensor *run_constant_of_shape(const reader_call *call)
{
    const reader_attribute *a = adzi_reader_attribute(call->node, "value");
    adz_shape shape;
    adz_dtype dtype = call->run->model->f64 ? ADZ_F64 : ADZ_F32;
    if (!adzi_reader_shape(call, NULL, 0, &shape)) {
        return NULL;
    }
    if (a == NULL) {
        return adz_zeros(shape, dtype);
    }
    dtype = adz_tensor_dtype(a->t);
    if (dtype == ADZ_I64) {
        return adz_expand(adz_reshape(a->t, ADZ_SHAPE_SCALAR), shape);
    }
    return adz_full(shape, a->f, dtype);
}

static adz_status check_constant_of_shape(const reader_model *model, const reader_node *node)
{
    const reader_attribute *a = adzi_reader_attribute(node, "value");
    (void)model;
    return a == NULL || adz_tensor_numel(a->t) == 1
               ? ADZ_OK
               : adzi_reader_refuse(node, "attribute \"value\" must have one element");
}

/* Constants become values at loading. */
static adz_status check_constant(const reader_model *model, const reader_node *node)
{
    (void)model;
    return node->n_attributes == 1
               ? ADZ_OK
               : adzi_reader_refuse(node, "it must have one attribute with its value");
}

static adz_tensor *run_nothing(const reader_call *call)
{
    return adzi_reader_fail(call, ADZ_ERR_UNSUPPORTED, "this can only be computed on the host");
}

static adz_tensor *run_range(const reader_call *call)
{
    const reader_numbers *start = adzi_reader_host(call, 0), *limit = adzi_reader_host(call, 1),
                         *delta = adzi_reader_host(call, 2);
    if (start == NULL || limit == NULL || delta == NULL) {
        return NULL;
    }
    if (start->n != 1 || limit->n != 1 || delta->n != 1) {
        return adzi_reader_fail(
            call, ADZ_ERR_SHAPE, "start, limit and delta must be single numbers");
    }
    const bool whole = start->dtype != ADZ_F32 && start->dtype != ADZ_F64;
    const double from = whole ? (double)start->at[0].i : start->at[0].f;
    const double to = whole ? (double)limit->at[0].i : limit->at[0].f;
    const double by = whole ? (double)delta->at[0].i : delta->at[0].f;
    const bool empty = (by > 0 && to <= from) || (by < 0 && to >= from);
    return adz_arange(from, empty ? from : to, by, start->dtype);
}

/* clang-format off */
const reader_operator adzi_reader_shapes[] = {
    { "Cast", 6, 0, 1, 1, 1, "to:i", 0, run_cast, NULL, NULL, check_cast },
    { "Cast", 19, 0, 1, 1, 1, "to:i saturate:i round_mode:s", 0, run_cast, NULL, NULL, check_cast },
    { "CastLike", 15, 0, 2, 2, 1, "saturate:i round_mode:s", 2, run_cast_like, NULL, NULL, NULL },
    { "Concat", 6, 0, 1, MANY, 1, "axis:i", 0, run_concat, NULL, NULL, NULL },
    { "Constant", 6, 0, 0, 0, 1, "value:t value_int:i value_ints:I value_float:f value_floats:F", ALL_FIXED, run_nothing, NULL, NULL, check_constant },
    { "ConstantOfShape", 9, 0, 1, 1, 1, "value:t", ALL_FIXED, run_constant_of_shape, NULL, NULL, check_constant_of_shape },
    { "Expand", 8, 0, 2, 2, 1, "", 2, run_expand, NULL, NULL, NULL },
    { "Flatten", 6, 0, 1, 1, 1, "axis:i", 0, run_flatten, NULL, NULL, NULL },
    { "Gather", 6, 0, 2, 2, 1, "axis:i", 2, run_gather, NULL, NULL, NULL },
    { "Range", 11, 0, 3, 3, 1, "", ALL_FIXED, run_range, NULL, NULL, NULL },
    { "Reshape", 6, 0, 2, 2, 1, "allowzero:i", 2, run_reshape, NULL, NULL, NULL },
    { "Shape", 6, 0, 1, 1, 1, "start:i end:i", ALL_FIXED, run_nothing, NULL, NULL, NULL },
    { "Size", 6, 0, 1, 1, 1, "", ALL_FIXED, run_nothing, NULL, NULL, NULL },
    { "Slice", 6, 0, 1, 1, 1, "starts:I ends:I axes:I", 0, run_slice, NULL, NULL, NULL },
    { "Slice", 10, 0, 3, 5, 1, "", 0x1e, run_slice, NULL, NULL, NULL },
    { "Split", 6, 0, 1, 1, MANY, "axis:i split:I", 0, run_split, NULL, NULL, NULL },
    { "Split", 13, 0, 1, 2, MANY, "axis:i num_outputs:i", 2, run_split, NULL, NULL, NULL },
    { "Squeeze", 6, 0, 1, 1, 1, "axes:I", 0, run_squeeze, NULL, NULL, NULL },
    { "Squeeze", 13, 0, 1, 2, 1, "", 2, run_squeeze, NULL, NULL, NULL },
    { "Tile", 6, 0, 2, 2, 1, "", 2, run_tile, NULL, NULL, NULL },
    { "Transpose", 6, 0, 1, 1, 1, "perm:I", 0, run_transpose, NULL, NULL, NULL },
    { "Unsqueeze", 6, 0, 1, 1, 1, "axes:I", 0, run_unsqueeze, NULL, NULL, NULL },
    { "Unsqueeze", 13, 0, 2, 2, 1, "", 2, run_unsqueeze, NULL, NULL, NULL },
    { .name = NULL },
};
/* clang-format on */
