#include "ops/op.h"

/* A range of a dimension with a step, Python's x[start:end:step].
 *
 *     y[i]  = x[start + i * step]
 *     dx    = zeros; dx[start + i * step] = dy[i]
 *
 * y is a view of x. Bounds may be negative and are clamped as in Python; the step is 1 or more. The
 * node saves no tensor: the bounds are attributes. The gradient is a second operator in this file,
 * slice_backward, whose derivative is the slice again. */

/* The attributes of both operators of this file. */
typedef struct {
    int dim;
    int64_t start, end, step; /* resolved: 0 <= start <= end <= size, step >= 1 */
} slice_attr;

static const adz_field fields[] = { ADZI_FIELD(slice_attr, dim), ADZI_FIELD(slice_attr, start),
    ADZI_FIELD(slice_attr, end), ADZI_FIELD(slice_attr, step) };

static adz_tensor *spread(adz_tensor *dy, adz_shape shape, const slice_attr *at);

/* The gradient has the shape of x, with dy in the elements of the slice and 0 elsewhere. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    dx[0] = spread(dy[0], adzi_input_shape(node, 0), adzi_attr(node, slice_attr));
    return adzi_status(dx[0]);
}

/* The derivative of slice_backward: the upstream gradient of the elements that dy was copied to. */
static adz_status spread_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const slice_attr *at = adzi_attr(node, slice_attr);
    dx[0] = adz_slice(dy[0], at->dim, at->start, at->end, at->step);
    return adzi_status(dx[0]);
}

/* Computes the size of the slice along its dimension, and returns the offset of its first element,
 * in elements. An empty slice has offset 0, which is inside the storage. */
static int64_t view_of(const slice_attr *at, const adz_tensor *x, int64_t *size)
{
    *size = at->end > at->start ? (at->end - at->start - 1) / at->step + 1 : 0;
    return at->start < x->sizes[at->dim] ? at->start * x->strides[at->dim] : 0;
}

/* The stride of the sliced dimension. If it overflows 64 bits, the step is larger than the size,
 * the slice has one element at most, and any stride will do. */
static int64_t stride_of(const slice_attr *at, int64_t stride)
{
    int64_t stepped;
    return adzi_multiply(stride, at->step, &stepped) ? stepped : stride;
}

/* ---- the gradient as an operator ------------------------------------------------------------- */

/* What a call of slice_backward gets. The node keeps the attributes alone. */
typedef struct {
    slice_attr at;
    adz_shape shape; /* of the result */
} spread_arguments;

static adz_status spread_shape(adz_result *y, adz_tensor *const *in, void *block)
{
    (void)in;
    y->shape = ((const spread_arguments *)block)->shape;
    return ADZ_OK;
}

/* The elements outside the slice had no influence on its result. `window` is the slice of y,
 * described by a header on the stack. */
static void launch_spread(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const slice_attr *at = block;
    adz_tensor window = *y[0];
    const int64_t offset = view_of(at, y[0], &window.sizes[at->dim]);
    adzi_fill(y[0], 0);
    window.data += offset * (int64_t)adzi_item_size(y[0]);
    window.strides[at->dim] = stride_of(at, window.strides[at->dim]);
    window.numel = in[0]->numel;
    adzi_copy(&window, in[0]);
}

static const adzi_op adzi_op_spread = { .name = "slice_backward",
    .backward = spread_backward,
    ADZI_ATTRIBUTES(slice_attr, fields),
    .shape_rule = spread_shape,
    .strided_inputs = 1u << 0 };

static adz_tensor *spread(adz_tensor *dy, adz_shape shape, const slice_attr *at)
{
    return ADZI_RUN(spread, launch_spread, (&(spread_arguments){ *at, shape }), dy);
}

/* ---- the operator ---------------------------------------------------------------------------- */

/* A bound by Python's rules: a negative one counts from the end, and all are clamped to 0 ..
 * size. */
static int64_t bound(int64_t at, int64_t size)
{
    at = at < 0 ? at + size : at;
    return at < 0 ? 0 : at > size ? size : at;
}

/* The attributes get resolved bounds, so the backward needs no rules. */
static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    slice_attr *at = block;
    const adz_tensor *x = in[0];
    if (x->rank == 0) {
        return adzi_error("slice", ADZ_ERR_DIM, "a scalar cannot be sliced");
    }
    at->dim = adzi_dim("slice", x, at->dim);
    if (at->dim < 0) {
        return adzi_status(NULL);
    }
    if (at->step < 1) {
        return adzi_error(
            "slice", ADZ_ERR_ARGUMENT, "step is %lld; it must be 1 or more", (long long)at->step);
    }
    const int64_t size = x->sizes[at->dim];
    at->start = bound(at->start, size);
    at->end = bound(at->end, size);
    y->offset = view_of(at, x, &y->shape.sizes[at->dim]);
    y->strides[at->dim] = stride_of(at, x->strides[at->dim]);
    return ADZ_OK;
}

const adzi_op adzi_op_slice = { .name = "slice",
    .backward = backward,
    ADZI_ATTRIBUTES(slice_attr, fields),
    .shape_rule = shape_rule,
    .view = true };

/* `end` may be any large number for the end of the dimension. */
adz_tensor *adz_slice(adz_tensor *x, int dim, int64_t start, int64_t end, int64_t step)
{
    return ADZI_RUN(slice, NULL, (&(slice_attr){ dim, start, end, step }), x);
}
