#include "ops/math/division.h"

#include "ops/numbers.h"
#include "tensor/range.h"

/* The remainder of a division whose quotient is cut off, torch.fmod, and what remainder shares with
 * it.
 *
 *     y  = a - b trunc(a / b), with the sign of a
 *     da = dy,   db = -dy trunc(a / b) = -dy (a - y) / b
 *
 * a and b have any shapes that broadcast to y. Their dtypes are promoted to one. The node saves
 * both, and y, if b wants a gradient. */

KERNEL_TABLE_ALL(fmod);

adz_tensor *adzi_remainder_of(
    const adzi_op *op, adz_tensor *a, adz_tensor *b, adzi_all_kernels kernels)
{
    adzi_call call;
    int rank;
    int64_t sizes[ADZ_MAX_RANK];
    if (!adzi_enter(&call, op, "a, b", (adz_tensor *[]){ a, b }, 2, 0) ||
        !adzi_promote(&call, 0, 1) || !adzi_refuse_bool(&call, 0, "numbers") ||
        !adzi_broadcast(op->name, &rank, sizes, call.in[0], call.in[1])) {
        return NULL;
    }
    if (adzi_is_integer((adz_dtype)call.in[1]->dtype) &&
        adzi_assert_all(op->name, adz_ne_number(call.in[1], 0),
            "an integer is divided by 0; convert the operands to floats with adz_to") != ADZ_OK) {
        return NULL;
    }
    adz_tensor *y = adzi_new(&call, (adz_dtype)call.in[0]->dtype, rank, sizes);
    if (y == NULL || !adzi_record(&call, 1, &y, NULL, 0)) {
        return NULL;
    }
    if (adzi_wants(&call, 1)) {
        adzi_save_input(&call, 0);
        adzi_save_input(&call, 1);
        adzi_save_result(&call, 0, y);
    }
    adzi_pointwise(kernels[adzi_cpu_level][y->dtype], y, 2, call.in, NULL);
    return adzi_leave(&call, y);
}

/* q is next to (a - y) / b, which is whole but for rounding. It is not the rounded a / b cut off: 1
 * / 0.1 rounds to 10, and 1 = 9 * 0.1 + 0.0999... PyTorch 2.15 takes 10 for fmod. The quotients are
 * subtracted, because a - y may overflow. If y is b, then q is -1: remainder has moved a small a,
 * whose sign is not that of b, which may be infinite. */
adz_status adzi_remainder_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    dx[0] = adzi_needs(node, 0) ? dy[0] : NULL;
    if (adzi_needs(node, 1)) {
        adz_tensor *a = adz_detach(adzi_saved_input(node, 0));
        adz_tensor *b = adz_detach(adzi_saved_input(node, 1));
        adz_tensor *y = adz_detach(adzi_saved_result(node, 0));
        adz_tensor *q = adz_round(adz_sub(adz_div(a, b), adz_div(y, b)));
        dx[1] = adz_neg(adz_mul(dy[0], adz_masked_fill(q, adz_eq(y, b), -1)));
        return adzi_status(dx[1]);
    }
    return ADZ_OK;
}

const adzi_op adzi_op_fmod = { .name = "fmod", .backward = adzi_remainder_backward };

adz_tensor *adz_fmod(adz_tensor *a, adz_tensor *b)
{
    return adzi_remainder_of(&adzi_op_fmod, a, b, fmod_kernels);
}

adz_tensor *adz_fmod_number(adz_tensor *a, double number)
{
    return adz_fmod(a, adzi_number("fmod", a, number));
}
