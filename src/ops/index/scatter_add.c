#include "ops/index/scatter_add.kernel.h"

#include "ops/index/gather.h"
#include "ops/index/indices.h"

/* Adds elements at indices along one dimension, torch.scatter_add.
 *
 *     y           = x;  y[index[i][j][k]][j][k] += src[i][j][k]      (dim 0 of rank 3)
 *     dx          = dy
 *     dsrc[i][j][k] = dy[index[i][j][k]][j][k]
 *
 * x has any shape. index is i64 or i32 with the rank of x. Its sizes are at most those of src, and
 * of x along the other dimensions. Elements of src beyond the index are not added and get gradient
 * 0. The node saves the index only. index is not differentiable. */

KERNEL_TABLE_ALL(scatter_add);
KERNEL_TABLE_FLOAT(scatter_add_wide);
KERNEL_TABLE_FLOAT(scatter_add_slice);

/* Slices of an f32 index longer than this are summed in f64, because f32 sums of many elements lose
 * digits. */
enum { LONG_SLICE = 16 };

typedef struct {
    int dim; /* the dimension along which the index counts, 0 or more */
} scatter_attr;

/* The elements of dy at the index. One that is a list, expanded over the other dimensions, needs no
 * memory for its copies. */
static adz_tensor *read_at(adz_tensor *dy, int dim, adz_tensor *index)
{
    bool list = dy->rank > 1;
    for (int d = 0; d < dy->rank && list; ++d) {
        list = d == dim || (index->strides[d] == 0 && index->sizes[d] == dy->sizes[d]);
    }
    adz_tensor *numbers = index;
    for (int d = dy->rank - 1; d >= 0 && list && numbers != NULL; --d) {
        numbers = d != dim ? adz_select(numbers, d, 0) : numbers;
    }
    return list ? adz_index_select(dy, dim, numbers) : adz_gather(dy, dim, index);
}

/* dx = dy and dsrc = dy read at the index. Where src is larger than the index, dsrc is padded with
 * zeros. gather is an operator, so the gradient can be differentiated again. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    if (adzi_needs(node, 0)) {
        dx[0] = dy[0];
    }
    if (!adzi_needs(node, 2)) {
        return ADZ_OK;
    }
    adz_tensor *index = adzi_saved_input(node, 1);
    if (index != NULL && index->numel == 0) { /* which has any shape */
        dx[2] = adz_zeros(adzi_input_shape(node, 2), (adz_dtype)dy[0]->dtype);
        return adzi_status(dx[2]);
    }
    adz_tensor *read =
        index != NULL ? read_at(dy[0], adzi_attr(node, scatter_attr)->dim, index) : NULL;
    if (read == NULL) {
        return adzi_status(NULL);
    }
    /* Padding goes behind the elements that the index covers, from the last dimension to the
     * first. */
    adz_shape shape = adzi_input_shape(node, 2);
    int64_t pads[2 * ADZ_MAX_RANK];
    for (int d = 0; d < shape.rank; ++d) {
        pads[2 * (shape.rank - 1 - d)] = 0;
        pads[2 * (shape.rank - 1 - d) + 1] = shape.sizes[d] - read->sizes[d];
    }
    dx[2] = adz_pad(read, pads, 2 * (size_t)shape.rank, 0);
    return adzi_status(dx[2]);
}

/* Reads dy at the index without checking the index again, which the forward has done. An index
 * smaller than src takes the expression, which pads, and so does one that was expanded. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const adz_shape shape = adzi_input_shape(node, 2);
    adz_tensor *index = adzi_saved_input(node, 1);
    /* True if the index covers all of src, so that dsrc needs no padding. */
    bool same =
        index != NULL && index->rank == shape.rank && index->numel > 0 && adzi_is_contiguous(index);
    for (int d = 0; d < shape.rank && same; ++d) {
        same = index->sizes[d] == shape.sizes[d];
    }
    if (!same || !adzi_needs(node, 2)) {
        return backward(node, dx, dy);
    }
    dx[2] = adzi_scratch("scatter_add", (adz_dtype)dy[0]->dtype, shape.rank, shape.sizes);
    if (dx[2] == NULL) {
        return adzi_status(NULL);
    }
    adzi_gather_into(dx[2], dy[0], index, adzi_attr(node, scatter_attr)->dim);
    if (adzi_needs(node, 0)) {
        dx[0] = dy[0];
    }
    return ADZ_OK;
}

static const adz_field fields[] = { ADZI_FIELD(scatter_attr, dim) };

/* What a call gets. The node keeps the attributes alone. */
typedef struct {
    scatter_attr at;
    adz_tensor *sums; /* the f64 copy of y in which sums are made, or NULL for y itself */
} scatter_arguments;

/* An empty index fits any shape, as in PyTorch. */
bool adzi_scatter_check(adzi_call *call, void *block)
{
    const char *op = call->op->name;
    scatter_attr *at = block;
    const adz_tensor *x = call->in[0], *index = call->in[1], *src = call->in[2];
    const int dim = at->dim = adzi_dim(op, x, at->dim);
    if (dim < 0 || !adzi_want_index(call, 1) || !adzi_want_computable(call, 0)) {
        return false;
    }
    /* Nothing is promoted, as in PyTorch. */
    if (x->dtype != src->dtype) {
        adzi_error(op, ADZ_ERR_DTYPE, "x is %s, src %s; convert one with adz_to",
            adz_dtype_name((adz_dtype)x->dtype), adz_dtype_name((adz_dtype)src->dtype));
        return false;
    }
    return (index->numel == 0 || (adzi_index_fits(op, index, x, "x", dim) &&
                                     adzi_index_fits(op, index, src, "src", -1))) &&
           adzi_want_strided_indices(
               call, 1, x->rank > 0 ? x->sizes[dim] : 1, "positions of a dimension of x", x);
}

/* True if slices of f32 are so long that they are summed in f64. */
static bool is_wide(const adz_tensor *y, const adz_tensor *index, int dim)
{
    return y->dtype == ADZ_F32 && y->rank > 0 && index->rank > 0 && index->sizes[dim] > LONG_SLICE;
}

/* A slice of y of at most ADZI_SCATTER_SLICE elements has its f64 sums on the stack of the kernel.
 * A longer one needs an f64 copy of y, which this function's caller has to provide. */
bool adzi_scatter_fits(const adz_tensor *y, const adz_tensor *index, int dim)
{
    return !is_wide(y, index, dim) || y->sizes[dim] <= ADZI_SCATTER_SLICE;
}

/* Units are slices of the index along `dim`: all elements of a slice go to one slice of y, so no
 * two units write to one element. */
void adzi_scatter_launch(
    adzi_kernel kernel, adz_tensor *y, const adz_tensor *src, const adz_tensor *index, int dim)
{
    adzi_scatter_args args = {
        .y = y->data, .from = src->data, .index = adzi_index_data(index), .n = 1
    };
    for (int d = 0; d < index->rank; ++d) {
        if (d == dim) {
            args.n = index->sizes[d];
            args.length = y->sizes[d];
            args.y_along = y->strides[d];
            args.from_along = src->strides[d];
            args.index_along = index->strides[d];
            continue;
        }
        /* The other dimensions number the slices. */
        args.sizes[args.rank] = index->sizes[d];
        args.y_strides[args.rank] = y->strides[d];
        args.from_strides[args.rank] = src->strides[d];
        args.index_strides[args.rank++] = index->strides[d];
    }
    adzi_launch(kernel, adzi_scatter_args, &args, index->numel / args.n,
        adzi_grain_of(ADZI_POINTWISE_GRAIN, args.n));
}

/* Adds src to y at the index. y may be an f64 copy of an f32 tensor. */
void adzi_scatter_into(adz_tensor *y, const adz_tensor *src, const adz_tensor *index, int dim)
{
    const adzi_kernel kernel = y->dtype != src->dtype   ? KERNEL_FOR(scatter_add_wide, src->dtype)
                               : is_wide(y, index, dim) ? KERNEL_FOR(scatter_add_slice, src->dtype)
                                                        : KERNEL_FOR(scatter_add, src->dtype);
    adzi_scatter_launch(kernel, y, src, index, dim);
}

/* The f64 copy takes memory, so it is made before the recording. */
static bool prepare(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    scatter_arguments *a = block;
    const bool wide = in[1]->numel > 0 && !adzi_scatter_fits(y[0], in[1], a->at.dim);
    (void)call;
    a->sums = wide ? adzi_scratch("scatter_add", ADZ_F64, y[0]->rank, y[0]->sizes) : NULL;
    return !wide || a->sums != NULL;
}

/* In place, y is x and holds its elements already. */
static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const scatter_arguments *a = block;
    adz_tensor *sums = a->sums != NULL ? a->sums : y[0];
    if (sums != in[0]) {
        adzi_copy(sums, in[0]);
    }
    if (in[1]->numel > 0) {
        adzi_scatter_into(sums, in[2], in[1], a->at.dim);
    }
    if (sums != y[0]) {
        adzi_copy(y[0], sums);
    }
}

/* The kernels take strides, so nothing is copied. */
const adzi_op adzi_op_scatter_add = { .name = "scatter_add",
    .backward = backward,
    .fused = fused,
    ADZI_ATTRIBUTES(scatter_attr, fields),
    .strided_inputs = 1u << 0 | 1u << 1 | 1u << 2,
    .saved_inputs = 1u << 1 };

static const adzi_steps steps = {
    .check = adzi_scatter_check, .prepare = prepare, .launch = launch
};

/* The result is a new tensor; x is copied. */
adz_tensor *adz_scatter_add(adz_tensor *x, int dim, adz_tensor *index, adz_tensor *src)
{
    return ADZI_RUN_STEPS(
        &adzi_op_scatter_add, steps, &(scatter_arguments){ .at = { dim } }, x, index, src);
}

/* The result is x itself. The backward does not read the old x, so no copy is kept. */
adz_tensor *adz_scatter_add_(adz_tensor *x, int dim, adz_tensor *index, adz_tensor *src)
{
    return ADZI_RUN_STEPS_(
        &adzi_op_scatter_add, steps, &(scatter_arguments){ .at = { dim } }, x, index, src);
}
