#include "autograd/ops/compare/compare.h"

static adz_tensor *finish(adzi_call *call, adzi_kernel kernel)
{
    int rank;
    int64_t sizes[ADZ_MAX_RANK];
    if (!adzi_broadcast_inputs(call, &rank, sizes)) {
        return NULL;
    }
    adz_tensor *y = adzi_new(call, ADZ_BOOL, rank, sizes);
    if (y == NULL) {
        return NULL;
    }
    adzi_pointwise(kernel, y, call->n_in, call->in, NULL);
    return adzi_leave(call, y);
}

static bool enter_two(adzi_call *call, const adzi_op *op, adz_tensor *a, adz_tensor *b)
{
    return adzi_enter(call, op, "a, b", (adz_tensor *[]){ a, b }, 2, 0);
}

adz_tensor *adzi_compare(const adzi_op *op, adz_tensor *a, adz_tensor *b, adzi_all_kernels kernels)
{
    adzi_call call;
    if (!enter_two(&call, op, a, b) || !adzi_promote(&call, 0, 1)) {
        return NULL;
    }
    return finish(&call, kernels[adzi_cpu_level][call.in[0]->dtype]);
}

adz_tensor *adzi_logical(const adzi_op *op, adz_tensor *a, adz_tensor *b, adzi_kernel kernel)
{
    adzi_call call;
    if (!enter_two(&call, op, a, b) || !adzi_want_computable(&call, 0) ||
        !adzi_want_computable(&call, 1) || !adzi_convert(&call, 0, ADZ_BOOL) ||
        !adzi_convert(&call, 1, ADZ_BOOL)) {
        return NULL;
    }
    return finish(&call, kernel);
}

adz_tensor *adzi_test(const adzi_op *op, adz_tensor *x, adzi_all_kernels kernels)
{
    adzi_call call;
    if (!adzi_enter(&call, op, "x", &x, 1, 0) || !adzi_want_computable(&call, 0)) {
        return NULL;
    }
    return finish(&call, kernels[adzi_cpu_level][x->dtype]);
}
