#include "ops/op.h"
#include "ops/elementwise/elementwise.h"
#include "ops/numbers.h"

/* The elementwise product, torch.mul.
 *
 *     y  = a b
 *     da = dy b
 *     db = dy a
 *
 * a and b have any shapes that broadcast to y. Their dtypes are promoted to one. Each operand is
 * saved only if the other one wants a gradient: a product with a constant saves the constant.
 *
 * Products of integers wrap. The product of two bools is their logical and. In place y is a
 * itself, so y must have the shape and the dtype of a.
 *
 * It has its own file, because a product with zeros is not computed, and the last
 * gradient is written over dy. */

KERNEL_TABLE_ALL(mul);
KERNEL_TABLE_FLOAT(mul_number);

/* dy times t, and t itself if dy is known to be 1. */
static adz_tensor *times(adz_tensor *dy, adz_tensor *t)
{
    return dy->is_one && t != NULL && adzi_same_sizes(dy, t) ? t : adz_mul(dy, t);
}

/* Each input's gradient is dy times the other operand. The engine then sums the gradients of
 * broadcast inputs over the broadcast dimensions. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    for (int i = 0; i < 2; ++i) {
        if (adzi_needs(node, i)) {
            dx[i] = times(dy[0], adzi_saved_input(node, 1 - i));
            if (dx[i] == NULL) {
                return adzi_status(NULL);
            }
        }
    }
    return ADZ_OK;
}

/* The last product is written over dy where the engine is dy's only owner. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const int last = adzi_needs(node, 1) ? 1 : 0;
    if (last == 1 && adzi_needs(node, 0)) {
        dx[0] = adz_mul(dy[0], adzi_saved_input(node, 1));
        if (dx[0] == NULL) {
            return adzi_status(NULL);
        }
    }
    adz_tensor *other = adzi_saved_input(node, 1 - last);
    dx[last] = other != NULL ? adzi_scratch_over("mul", dy[0], dy[0]) : NULL;
    if (dx[last] == NULL) {
        return adzi_status(NULL);
    }
    adzi_pointwise(
        KERNEL_FOR(mul, dy[0]->dtype), dx[last], 2, (adz_tensor *[]){ dy[0], other }, NULL);
    return ADZ_OK;
}

static bool check(adzi_call *call, void *attr)
{
    (void)attr;
    return adzi_promote(call, 0, 1);
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *attr)
{
    (void)attr;
    if (in[0]->is_zero || in[1]->is_zero) {
        adzi_fill_zeros(y[0]);
    } else {
        adzi_pointwise(KERNEL_FOR(mul, y[0]->dtype), y[0], 2, in, NULL);
    }
}

/* The gradient of an operand reads the other one. In place the product overwrites a, whose old
 * values are copied only if b wants a gradient. */
static const uint32_t saved_for[] = { 1u << 1, 1u << 0 };

const adzi_op adzi_op_mul = { .name = "mul",
    .backward = backward,
    .fused = fused,
    .saved_for = saved_for,
    .strided_inputs = 1u << 0 | 1u << 1,
    .broadcasts = true };

static adz_tensor *mul(adz_tensor *a, adz_tensor *b, bool inplace)
{
    static const adzi_steps steps = { .check = check, .launch = launch };
    return ADZI_RUN_AS(inplace, NULL, &adzi_op_mul, steps, NULL, a, b);
}

adz_tensor *adz_mul(adz_tensor *a, adz_tensor *b)
{
    return mul(a, b, false);
}

/* A number becomes a tensor of rank 0, so that one kernel and one rule of promotion serve both,
 * unless the number can be a parameter of a kernel. */
adz_tensor *adz_mul_number(adz_tensor *a, double number)
{
    if (adzi_takes_number(a, number) && !adzi_would_record(a)) {
        return adzi_call_number(&adzi_op_mul, mul_number_kernels, a, ADZ_NONE, number, NULL);
    }
    return mul(a, adzi_number("mul", a, number), false);
}

adz_tensor *adz_mul_(adz_tensor *a, adz_tensor *b)
{
    return mul(a, b, true);
}

/* Needs no copy of the old a, because the number wants no gradient. */
adz_tensor *adz_mul_number_(adz_tensor *a, double number)
{
    return mul(a, adzi_number("mul", a, number), true);
}
