#include "ops/elementwise/elementwise.h"
#include "ops/numbers.h"

/* True division, torch.div.
 *
 *     y  = a / b
 *     da = dy / b
 *     db = -dy ((a / b) / b)
 *
 * a and b have any shapes that broadcast to y. y is a float even if both operands are integers.
 * b is saved for both gradients, and a only if b wants a gradient. y is not saved: it is cheap to
 * compute again, and a result that is not saved may be changed in place.
 *
 * A division by 0 gives an infinity or NaN, by IEEE 754. In place y is a itself, so a must be a
 * float and y must have the shape and the dtype of a.
 *
 * It has its own file, because numbers and calls in place have dtypes of their own, and
 * the kernel of db reads three tensors. */

KERNEL_TABLE_FLOAT(div);
KERNEL_TABLE_FLOAT(div_slope);
KERNEL_TABLE_FLOAT(div_number);
KERNEL_TABLE_FLOAT(number_div);

/* The derivative with respect to b is computed before it is multiplied by dy. For a = 0 and a tiny
 * b the product (dy / b) (a / b) would be infinity times 0, which is NaN. The engine then sums the
 * gradients of broadcast inputs over the broadcast dimensions. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *b = adzi_saved_input(node, 1);
    if (adzi_needs(node, 0)) {
        dx[0] = adz_div(dy[0], b);
        if (dx[0] == NULL) {
            return adzi_status(NULL);
        }
    }
    if (adzi_needs(node, 1)) {
        /* a / b^2, without b^2, which could overflow or become 0. */
        adz_tensor *slope = adz_div(adz_div(adzi_saved_input(node, 0), b), b);
        dx[1] = adz_neg(adz_mul(dy[0], slope));
        return adzi_status(dx[1]);
    }
    return ADZ_OK;
}

/* The kernel of db takes the other order, -(dy / b) (a / b), where a / b^2 leaves the range: it is
 * right wherever da and y are. PyTorch's gradient, and that with a graph, is 0 or infinite there.
 */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *b = adzi_saved_input(node, 1);
    if (b == NULL) {
        return adzi_status(NULL);
    }
    if (adzi_needs(node, 1)) {
        adz_tensor *a = adzi_saved_input(node, 0);
        dx[1] = a != NULL ? adzi_scratch_like("div", dy[0]) : NULL;
        if (dx[1] == NULL) {
            return adzi_status(NULL);
        }
        adz_tensor *in[] = { dy[0], a, b };
        adzi_pointwise(KERNEL_FOR(div_slope, b->dtype), dx[1], 3, in, NULL);
    }
    if (adzi_needs(node, 0)) {
        dx[0] = adz_div(dy[0], b);
        return adzi_status(dx[0]);
    }
    return ADZ_OK;
}

/* Brings both operands to one float dtype. In place an integer a cannot take the result. */
static bool check(adzi_call *call, void *attr)
{
    (void)attr;
    if (call->inplace && !adzi_is_float((adz_dtype)call->in[0]->dtype) &&
        !adzi_is_float((adz_dtype)call->in[1]->dtype)) {
        if (adzi_want_computable(call, 0) && adzi_want_computable(call, 1)) {
            adzi_error("div", ADZ_ERR_DTYPE,
                "a%s is %s, and a quotient is a float: it cannot be written there; use adz_div",
                adzi_text_shape(call->in[0]), adz_dtype_name((adz_dtype)call->in[0]->dtype));
        }
        return false;
    }
    return adzi_promote_floats(call);
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *attr)
{
    (void)attr;
    adzi_pointwise(KERNEL_FOR(div, y[0]->dtype), y[0], 2, in, NULL);
}

/* In place the quotient overwrites a, whose old values are copied only if b wants a gradient. */
static const uint32_t saved_for[] = { 1u << 1, 1u << 0 | 1u << 1 };

const adzi_op adzi_op_div = { .name = "div",
    .backward = backward,
    .fused = fused,
    .saved_for = saved_for,
    .strided_inputs = 1u << 0 | 1u << 1,
    .broadcasts = true };

static adz_tensor *divide(adz_tensor *a, adz_tensor *b, bool inplace)
{
    static const adzi_steps steps = { .check = check, .launch = launch };
    return ADZI_RUN_AS(inplace, NULL, &adzi_op_div, steps, NULL, a, b);
}

adz_tensor *adz_div(adz_tensor *a, adz_tensor *b)
{
    return divide(a, b, false);
}

/* A number as an operand of a division, as a tensor of rank 0. It is f32 also next to an integer
 * tensor, because the integer dtype might not hold it. */
static adz_tensor *number_beside(adz_tensor *a, double number)
{
    adz_tensor *t = adzi_number("div", a, number);
    if (t != NULL && !adzi_is_float((adz_dtype)t->dtype)) {
        t = adzi_scratch("div", ADZ_F32, 0, NULL);
        if (t != NULL) {
            adzi_fill_constant(t, number);
        }
    }
    return t;
}

adz_tensor *adz_div_number(adz_tensor *a, double number)
{
    if (adzi_takes_number(a, number) && !adzi_would_record(a)) {
        return adzi_call_number(&adzi_op_div, div_number_kernels, a, ADZ_NONE, number, NULL);
    }
    return divide(a, number_beside(a, number), false);
}

/* PyTorch writes it number / a. */
adz_tensor *adz_number_div(double number, adz_tensor *a)
{
    if (adzi_takes_number(a, number) && !adzi_would_record(a)) {
        return adzi_call_number(&adzi_op_div, number_div_kernels, ADZ_NONE, a, number, NULL);
    }
    return divide(number_beside(a, number), a, false);
}

adz_tensor *adz_div_(adz_tensor *a, adz_tensor *b)
{
    return divide(a, b, true);
}

/* Uses adzi_number(), which keeps a whole number an integer next to an integer tensor. check()
 * then refuses the call with its own message, which names adz_div. */
adz_tensor *adz_div_number_(adz_tensor *a, double number)
{
    return divide(a, adzi_number("div", a, number), true);
}
