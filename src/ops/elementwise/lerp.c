#include "ops/elementwise/elementwise.h"

/* Linear interpolation, torch.lerp.
 *
 *     y      = start + weight (end - start)
 *     dstart = dy (1 - weight),   dend = dy weight,   dweight = dy (end - start)
 *
 * start, end and weight have any shapes that broadcast to y, f32 or f64. From the weight 1/2 on the
 * kernel starts at the end, end + (weight - 1) (end - start), so that the weight 1 gives exactly
 * `end`. The gradients of both ends are interpolations between dy and 0, so they have this rule as
 * well. The node saves the weight if an end wants a gradient, and both ends if the weight does.
 *
 * It has its own file: the columns of the table are for one and for two tensors. */

KERNEL_TABLE_FLOAT(lerp);
KERNEL_TABLE_FLOAT(lerp_number);

/* Fails with ADZ_ERR_DTYPE unless both ends are f32 or f64. */
static bool want_ends(const adzi_call *call)
{
    const adz_tensor *start = call->in[0], *t = start->dtype > ADZ_F64 ? start : call->in[1];
    if (t->dtype > ADZ_F64) {
        adzi_error(call->op->name, ADZ_ERR_DTYPE,
            "an end is %s, but both must be float32 or float64; use adz_to",
            adz_dtype_name((adz_dtype)t->dtype));
        return false;
    }
    return true;
}

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *zero = adz_scalar(0, adz_tensor_dtype(dy[0]));
    for (int i = 0; i < 2; ++i) {
        if (adzi_needs(node, i)) {
            adz_tensor *weight = adzi_saved_input(node, 2);
            dx[i] = i == 0 ? adz_lerp(dy[0], zero, weight) : adz_lerp(zero, dy[0], weight);
            if (dx[i] == NULL) {
                return adzi_status(NULL);
            }
        }
    }
    if (adzi_needs(node, 2)) {
        dx[2] = adz_mul(dy[0], adz_sub(adzi_saved_input(node, 1), adzi_saved_input(node, 0)));
        return adzi_status(dx[2]);
    }
    return ADZ_OK;
}

/* The forward as an expression. Both choices are made before the product. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    (void)attr;
    adz_tensor *near = adz_lt_number(adz_abs(adz_detach(in[2])), 0.5);
    adz_tensor *from = adz_where(near, in[0], in[1]);
    adz_tensor *factor = adz_where(near, in[2], adz_sub_number(in[2], 1));
    y[0] = adz_add(from, adz_mul(factor, adz_sub(in[1], in[0])));
    return adzi_status(y[0]);
}

/* The step `check` of both operators. */
static bool check(adzi_call *call, void *attr)
{
    (void)attr;
    return want_ends(call) && adzi_promote_inputs(call, 0, ADZ_PROMOTION_DEFAULT);
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *attr)
{
    (void)attr;
    adzi_pointwise(KERNEL_FOR(lerp, y[0]->dtype), y[0], 3, in, NULL);
}

static const uint32_t saved_for[] = { 1u << 2, 1u << 2, 1u << 0 | 1u << 1 };

const adzi_op adzi_op_lerp = { .name = "lerp",
    .backward = backward,
    .expression = expression,
    .saved_for = saved_for,
    .strided_inputs = 1u << 0 | 1u << 1 | 1u << 2,
    .broadcasts = true };

adz_tensor *adz_lerp(adz_tensor *start, adz_tensor *end, adz_tensor *weight)
{
    static const adzi_steps steps = { .check = check, .launch = launch };
    return ADZI_RUN_STEPS(&adzi_op_lerp, steps, NULL, start, end, weight);
}

/* ---- with one weight, torch.lerp with a number ----------------------------------------------- */

/* The node keeps the weight as an attribute and saves nothing. */
typedef struct {
    double weight;
} lerp_attr;

/* Interpolations between dy and 0. */
static adz_status number_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
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

/* The forward as an expression, with the choice of the kernel. */
static adz_status number_expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    const double weight = ((const lerp_attr *)attr)->weight;
    const bool near = weight < 0.5 && weight > -0.5;
    adz_tensor *step = adz_mul_number(adz_sub(in[1], in[0]), near ? weight : weight - 1);
    y[0] = adz_add(in[near ? 0 : 1], step);
    return adzi_status(y[0]);
}

static const adz_field number_fields[] = { ADZI_FIELD(lerp_attr, weight) };

/* The kernel reads the weight as p[0], in the dtype of y as PyTorch does. */
static void launch_number(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const lerp_attr *at = block;
    adzi_pointwise(KERNEL_FOR(lerp_number, y[0]->dtype), y[0], 2, in,
        (double[ADZI_POINTWISE_PARAMS]){ at->weight });
}

const adzi_op adzi_op_lerp_number = { .name = "lerp_number",
    .backward = number_backward,
    ADZI_ATTRIBUTES(lerp_attr, number_fields),
    .expression = number_expression,
    .strided_inputs = 1u << 0 | 1u << 1,
    .broadcasts = true };

adz_tensor *adz_lerp_number(adz_tensor *start, adz_tensor *end, double weight)
{
    static const adzi_steps steps = { .check = check, .launch = launch_number };
    return ADZI_RUN_STEPS(&adzi_op_lerp_number, steps, &(lerp_attr){ weight }, start, end);
}
