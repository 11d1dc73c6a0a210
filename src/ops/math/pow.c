#include "ops/elementwise.h"
#include "ops/numbers.h"

/* Powers with a tensor of exponents, torch.pow.
 *
 *     y  = a^b
 *     da = dy b a^(b - 1), and 0 where b = 0
 *     db = dy y log a,     and 0 where a = 0 and b >= 0
 *
 * a and b have any shapes that broadcast to y. Their dtypes are promoted to one. The node saves a
 * and b, which both gradients read, and y if b wants a gradient. Integer powers wrap. */

KERNEL_TABLE_ALL(pow);

/* Where b is 0, y is 1 for every a. At a = 0 the formula has 0 times infinity there. dy and b are
 * masked, and not the product: the derivatives of the formula have the same infinity. Elsewhere
 * nothing is masked, because the derivative of the gradient by b is 1 / a where b is 0. */
static adz_tensor *base_gradient(adzi_node *node, adz_tensor *dy)
{
    adz_tensor *a = adzi_saved_input(node, 0), *b = adzi_saved_input(node, 1);
    adz_tensor *flat =
        adz_logical_and(adz_eq_number(b, 0), adz_logical_not(adz_gt_number(adz_abs(a), 0)));
    adz_tensor *exponent = adz_masked_fill(b, flat, 1);
    adz_tensor *slope = adz_mul(exponent, adz_pow(a, adz_sub_number(exponent, 1)));
    return adz_mul(adz_masked_fill(dy, flat, 0), slope);
}

/* 0^b is 0 for every b > 0, so the derivative at a = 0 is 0 although log a is -inf. PyTorch
 * gives 0 for b = 0 as well. The logarithm is taken of 1 there, so that derivatives of the gradient
 * are 0, too, where PyTorch 2.15 gives NaN. */
static adz_tensor *exponent_gradient(adzi_node *node, adz_tensor *dy)
{
    adz_tensor *a = adzi_saved_input(node, 0), *b = adzi_saved_input(node, 1);
    /* The logarithm of a negative a is NaN, and so is the gradient of its exponent. */
    adz_tensor *flat = adz_logical_and(adz_eq_number(a, 0), adz_ge_number(b, 0));
    return adz_mul(dy, adz_mul(adzi_saved_result(node, 0), adz_log(adz_masked_fill(a, flat, 1))));
}

/* The engine sums the gradients of broadcast inputs over the broadcast dimensions. A fused
 * backward would save passes over memory alone, and not the powers and logarithms. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    if (adzi_needs(node, 0)) {
        dx[0] = base_gradient(node, dy[0]);
        if (dx[0] == NULL) {
            return adzi_status(NULL);
        }
    }
    if (adzi_needs(node, 1)) {
        dx[1] = exponent_gradient(node, dy[0]);
        return adzi_status(dx[1]);
    }
    return ADZ_OK;
}

const adzi_op adzi_op_pow = { .name = "pow", .backward = backward };

/* Two bools are refused, because a power of truth values has no meaning. Between integers a
 * negative exponent is allowed here, since a tensor may hold exponents of both signs:
 * integer_power.h. */
adz_tensor *adz_pow(adz_tensor *a, adz_tensor *b)
{
    adzi_call call;
    int rank;
    int64_t sizes[ADZ_MAX_RANK];
    if (!ADZI_ENTER(&call, pow, a, b) || !adzi_promote(&call, 0, 1) ||
        !adzi_refuse_bool(&call, 0, "an integer dtype") ||
        !adzi_broadcast("pow", &rank, sizes, call.in[0], call.in[1])) {
        return NULL;
    }
    adz_tensor *y = adzi_new(&call, (adz_dtype)call.in[0]->dtype, rank, sizes);
    if (y == NULL || !adzi_record(&call, 1, &y, NULL, 0)) {
        return NULL;
    }
    adzi_save_input(&call, 0);
    adzi_save_input(&call, 1);
    if (adzi_wants(&call, 1)) {
        adzi_save_result(&call, 0, y);
    }
    adzi_pointwise(KERNEL_FOR(pow, y->dtype), y, 2, call.in, NULL);
    return adzi_leave(&call, y);
}

/* The number becomes a tensor of rank 0 that wants no gradient. */
adz_tensor *adz_number_pow(double number, adz_tensor *x)
{
    return adz_pow(adzi_number("pow", x, number), x);
}
