#include "ops/elementwise.h"
#include "ops/math/lerp.h"

/* Linear interpolation with one weight, torch.lerp with a number.
 *
 *     y      = start + weight (end - start)
 *     dstart = dy (1 - weight),   dend = dy weight
 *
 * start and end have any shapes that broadcast to y, f32 or f64. The node keeps the weight as an
 * attribute and saves nothing. math/lerp.c says what the kernel computes. */

KERNEL_TABLE_FLOAT(lerp_number);

typedef struct {
    double weight;
} lerp_attr;

/* Interpolations between dy and 0. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const double weight = adzi_attr(node, lerp_attr)->weight;
    adz_tensor *zero = adz_scalar(0, adz_tensor_dtype(dy[0]));
    dx[0] = adzi_needs(node, 0) ? adz_lerp_number(dy[0], zero, weight) : NULL;
    if (dx[0] == NULL && adzi_needs(node, 0)) {
        return adzi_status(NULL);
    }
    dx[1] = adzi_needs(node, 1) ? adz_lerp_number(zero, dy[0], weight) : NULL;
    return adzi_needs(node, 1) ? adzi_status(dx[1]) : ADZ_OK;
}

/* The forward as an expression, with the choice of math/lerp.c. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    const double weight = ((const lerp_attr *)attr)->weight;
    const bool near = weight < 0.5 && weight > -0.5;
    adz_tensor *step = adz_mul_number(adz_sub(in[1], in[0]), near ? weight : weight - 1);
    y[0] = adz_add(in[near ? 0 : 1], step);
    return adzi_status(y[0]);
}

static const adz_field fields[] = { ADZI_FIELD(lerp_attr, weight) };

const adzi_op adzi_op_lerp_number = {
    .name = "lerp_number", .backward = backward, ADZI_FIELDS(fields), .expression = expression
};

/* The kernel reads the weight as p[0], in the dtype of y as PyTorch does. */
adz_tensor *adz_lerp_number(adz_tensor *start, adz_tensor *end, double weight)
{
    adzi_call call;
    int rank;
    int64_t sizes[ADZ_MAX_RANK];
    if (!adzi_want_ends("lerp_number", start, end) || !ADZI_ENTER(&call, lerp_number, start, end) ||
        !adzi_promote_from(&call, 0) || !adzi_broadcast_inputs(&call, &rank, sizes)) {
        return NULL;
    }
    const lerp_attr attr = { weight };
    adz_tensor *y = adzi_new(&call, (adz_dtype)call.in[0]->dtype, rank, sizes);
    if (y == NULL || !adzi_record(&call, 1, &y, &attr, sizeof attr)) {
        return NULL;
    }
    adzi_pointwise(KERNEL_FOR(lerp_number, y->dtype), y, 2, call.in,
        (double[ADZI_POINTWISE_PARAMS]){ weight });
    return adzi_leave(&call, y);
}
