/* The dtypes in which operators compute, by the rules of torch.result_type. */
#include "ops/op.h"

/* PyTorch's order of kinds: bool below integers below floating point. */
static int category(adz_dtype dtype)
{
    return dtype == ADZ_BOOL ? 0 : dtype == ADZ_I32 || dtype == ADZ_I64 || dtype == ADZ_U8 ? 1 : 2;
}

adz_dtype adzi_number_result_type(adz_dtype tensor, adz_dtype number)
{
    return category(number) > category(tensor) ? adz_promote_types(tensor, number) : tensor;
}

/* torch.result_type of two tensors. */
static adz_dtype result_type(const adz_tensor *a, const adz_tensor *b)
{
    adz_dtype ta = (adz_dtype)a->dtype, tb = (adz_dtype)b->dtype;
    if ((a->rank == 0) == (b->rank == 0)) {
        return adz_promote_types(ta, tb);
    }
    return a->rank == 0 ? adzi_number_result_type(tb, ta) : adzi_number_result_type(ta, tb);
}

bool adzi_convert(adzi_call *call, int i, adz_dtype dtype)
{
    if (call->in[i]->dtype == dtype) {
        return true;
    }
    call->in[i] = adz_to(call->in[i], dtype);
    adzi_trace_open(true); /* this operator goes on */
    return call->in[i] != NULL;
}

bool adzi_promote(adzi_call *call, int i, int j)
{
    if (call->in[i]->dtype == call->in[j]->dtype) {
        return adzi_want_computable(call, i);
    }
    if (!adzi_want_computable(call, i) || !adzi_want_computable(call, j)) {
        return false;
    }
    adz_dtype dtype = result_type(call->in[i], call->in[j]);
    if (call->inplace && dtype != call->in[0]->dtype) {
        adzi_error(call->op->name, ADZ_ERR_DTYPE,
            "the result is %s and cannot be written to %s in place", adz_dtype_name(dtype),
            adz_dtype_name((adz_dtype)call->in[0]->dtype));
        return false;
    }
    return adzi_convert(call, i, dtype) && adzi_convert(call, j, dtype);
}
