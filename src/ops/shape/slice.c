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

const adzi_op adzi_op_slice = { .name = "slice", .backward = backward, ADZI_FIELDS(fields) };

/* The derivative of slice_backward: the upstream gradient of the elements that dy was copied to. */
static adz_status spread_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const slice_attr *at = adzi_attr(node, slice_attr);
    dx[0] = adz_slice(dy[0], at->dim, at->start, at->end, at->step);
    return adzi_status(dx[0]);
}

static const adzi_op adzi_op_spread = {
    .name = "slice_backward", .backward = spread_backward, ADZI_FIELDS(fields)
};

/* Computes the sizes of the slice and returns the offset of its first element, in elements. An
 * empty slice has offset 0, which is inside the storage. */
static int64_t view_of(const slice_attr *at, const adz_tensor *x, int64_t *sizes)
{
    for (int i = 0; i < x->rank; ++i) {
        sizes[i] = x->sizes[i];
    }
    sizes[at->dim] = at->end > at->start ? (at->end - at->start - 1) / at->step + 1 : 0;
    return at->start < x->sizes[at->dim] ? at->start * x->strides[at->dim] : 0;
}

/* The stride of the sliced dimension. If it overflows 64 bits, the step is larger than the size,
 * the slice has one element at most, and any stride will do. */
static int64_t stride_of(const slice_attr *at, int64_t stride)
{
    int64_t stepped;
    return adzi_multiply(stride, at->step, &stepped) ? stepped : stride;
}

static adz_tensor *spread(adz_tensor *dy, adz_shape shape, const slice_attr *at)
{
    adzi_call call;
    if (!ADZI_ENTER(&call, spread, dy)) {
        return NULL;
    }
    adz_tensor *y = adzi_new(&call, (adz_dtype)dy->dtype, shape.rank, shape.sizes);
    if (y == NULL || !adzi_record(&call, 1, &y, at, sizeof *at)) {
        return NULL;
    }
    /* The elements outside the slice had no influence on its result. */
    adzi_fill(y, 0);
    /* `window` is the slice of y, described by a header on the stack. */
    adz_tensor window = *y;
    int64_t offset = view_of(at, y, window.sizes);
    window.data += offset * (int64_t)adzi_item_size(y);
    window.strides[at->dim] = stride_of(at, window.strides[at->dim]);
    window.numel = dy->numel;
    adzi_copy(&window, dy);
    return adzi_leave(&call, y);
}

/* A bound by Python's rules: a negative one counts from the end, and all are clamped to 0 ..
 * size. */
static int64_t bound(int64_t at, int64_t size)
{
    at = at < 0 ? at + size : at;
    return at < 0 ? 0 : at > size ? size : at;
}

/* `end` may be any large number for the end of the dimension. */
adz_tensor *adz_slice(adz_tensor *x, int dim, int64_t start, int64_t end, int64_t step)
{
    adzi_call call;
    if (!ADZI_ENTER(&call, slice, x)) {
        return NULL;
    }
    if (x->rank == 0) {
        return adzi_fail("slice", ADZ_ERR_DIM, "a scalar cannot be sliced");
    }
    int d = adzi_dim("slice", x, dim);
    if (d < 0) {
        return NULL;
    }
    if (step < 1) {
        return adzi_fail(
            "slice", ADZ_ERR_ARGUMENT, "step is %lld; it must be 1 or more", (long long)step);
    }
    int64_t size = x->sizes[d];
    /* The attributes hold resolved bounds, so the backward needs no rules. */
    slice_attr attr = { d, bound(start, size), bound(end, size), step };
    int64_t sizes[ADZ_MAX_RANK], strides[ADZ_MAX_RANK];
    int64_t offset = view_of(&attr, x, sizes);
    for (int i = 0; i < x->rank; ++i) {
        strides[i] = i == d ? stride_of(&attr, x->strides[i]) : x->strides[i];
    }
    adz_tensor *y = adzi_new_view(&call, x, x->rank, sizes, strides, offset);
    if (y == NULL || !adzi_record(&call, 1, &y, &attr, sizeof attr)) {
        return NULL;
    }
    return y;
}
