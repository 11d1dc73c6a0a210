#include "ops/compare/compare.h"

/* The common part of all comparisons (eq, lt and so on), tests (isnan and so on) and logical
 * operators (logical_and and so on). For a comparison:
 *
 *     y[i] = 1 if a[i] < b[i] (or the other relation), else 0;   y is bool
 *
 * Inputs have any shapes that broadcast to y. Nothing is recorded and nothing is saved, because the
 * derivative of a truth value is 0 wherever it exists. The result never requires a gradient. So a
 * product with a comparison that was converted to float treats the comparison as a constant. */

/* Broadcasts the inputs, makes the result and computes it. The kernel fits the inputs' dtype. */
static adz_tensor *broadcast_and_run(adzi_call *call, adzi_kernel kernel)
{
    int rank;
    int64_t sizes[ADZ_MAX_RANK];
    if (!adzi_broadcast_inputs(call, &rank, sizes)) {
        return NULL;
    }
    /* The result becomes part of no graph. */
    adz_tensor *y = adzi_new(call, ADZ_BOOL, rank, sizes);
    if (y == NULL || !adzi_record_nothing(call, y, NULL, 0)) {
        return NULL;
    }
    adzi_pointwise(kernel, y, call->n_in, call->in, NULL);
    return adzi_leave(call, y);
}

/* Names the inputs "a" and "b" in messages. */
static bool enter_two(adzi_call *call, const adzi_op *op, adz_tensor *a, adz_tensor *b)
{
    return adzi_enter(call, op, "a, b", (adz_tensor *[]){ a, b }, 2, 0);
}

/* Compares values, so both inputs are promoted to one dtype first: an i64 next to an f32 tensor is
 * compared as f32, as in PyTorch. NaN compares false, except by ne. */
adz_tensor *adzi_compare(const adzi_op *op, adz_tensor *a, adz_tensor *b, adzi_all_kernels kernels)
{
    adzi_call call;
    if (!enter_two(&call, op, a, b) || !adzi_promote(&call, 0, 1)) {
        return NULL;
    }
    return broadcast_and_run(&call, kernels[adzi_cpu_level][call.in[0]->dtype]);
}

/* Combines truth values, so each input is converted to bool by itself: a fraction is true, although
 * it would become 0 as an integer. NaN is true. */
adz_tensor *adzi_logical(const adzi_op *op, adz_tensor *a, adz_tensor *b, adzi_kernel kernel)
{
    adzi_call call;
    if (!enter_two(&call, op, a, b) || !adzi_want_computable(&call, 0) ||
        !adzi_want_computable(&call, 1) || !adzi_convert(&call, 0, ADZ_BOOL) ||
        !adzi_convert(&call, 1, ADZ_BOOL)) {
        return NULL;
    }
    return broadcast_and_run(&call, kernel);
}

/* Tests one tensor in its own dtype. The result has the shape of x. */
adz_tensor *adzi_test(const adzi_op *op, adz_tensor *x, adzi_all_kernels kernels)
{
    adzi_call call;
    if (!adzi_enter(&call, op, "x", &x, 1, 0) || !adzi_want_computable(&call, 0)) {
        return NULL;
    }
    return broadcast_and_run(&call, kernels[adzi_cpu_level][x->dtype]);
}
