#include "ops/op.h"
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

const adzi_op adzi_op_mul = { .name = "mul", .backward = backward, .fused = fused };

/* Computes all public calls of this file. In place the product overwrites a, which the gradient
 * of b needs. adzi_begin_inplace then copies the old values, and only if b wants a gradient. */
static adz_tensor *mul(adz_tensor *a, adz_tensor *b, bool inplace)
{
    adzi_call call;
    if (!ADZI_ENTER(&call, mul, a, b) ||
        (inplace && !adzi_begin_inplace(&call, adzi_wants(&call, 1))) ||
        !adzi_promote(&call, 0, 1)) {
        return NULL;
    }
    int rank; /* the rank and the sizes to which a and b broadcast */
    int64_t sizes[ADZ_MAX_RANK];
    if (!adzi_broadcast("mul", &rank, sizes, call.in[0], call.in[1])) {
        return NULL;
    }
    adz_tensor *y = adzi_new(&call, (adz_dtype)call.in[0]->dtype, rank, sizes);
    if (y == NULL || !adzi_record(&call, 1, &y, NULL, 0)) {
        return NULL;
    }
    /* The gradient of input i reads the other operand. */
    for (int i = 0; i < 2; ++i) {
        if (adzi_wants(&call, i)) {
            adzi_save_input(&call, 1 - i); /* in place input 0 is the copy of the old values */
        }
    }
    if (call.in[0]->is_zero || call.in[1]->is_zero) {
        adzi_fill_zeros(y);
    } else {
        adzi_pointwise(KERNEL_FOR(mul, y->dtype), y, 2, call.in, NULL);
    }
    return adzi_leave(&call, y);
}

adz_tensor *adz_mul(adz_tensor *a, adz_tensor *b)
{
    return mul(a, b, false);
}

/* A number becomes a tensor of rank 0, so that one kernel and one rule of promotion serve both. */
adz_tensor *adz_mul_number(adz_tensor *a, double number)
{
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
