/* The dtypes in which operators compute, by the rules of torch.result_type. */
#include "ops/op.h"

/* PyTorch's order of kinds: bool below integers below floating point. */
static int category(adz_dtype dtype)
{
    return dtype == ADZ_BOOL ? 0 : dtype == ADZ_I32 || dtype == ADZ_I64 || dtype == ADZ_U8 ? 1 : 2;
}

/* torch.result_type of a tensor with dimensions and a number, which is a tensor of rank 0. */
static adz_dtype number_result_type(adz_dtype tensor, adz_dtype number)
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
    return a->rank == 0 ? number_result_type(tb, ta) : number_result_type(ta, tb);
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

/* Whether input i takes part in a promotion. */
static bool takes_part(const adzi_call *call, int i, unsigned others)
{
    return (others >> i & 1) == 0 && !adzi_is_none(call->in[i]);
}

/* torch.result_type of several inputs. Tensors with dimensions decide among themselves. Tensors of
 * rank 0 count as numbers: they matter only if they are of a higher category. The categories are
 * bool, integers and floats, in rising order. */
static adz_dtype common_type(const adzi_call *call, unsigned others)
{
    /* Index 0 is for tensors with dimensions, index 1 for tensors of rank 0. */
    adz_dtype of[2] = { ADZ_BOOL, ADZ_BOOL };
    bool found[2] = { false, false };
    for (int i = 0; i < call->n_in; ++i) {
        if (takes_part(call, i, others)) {
            const int k = call->in[i]->rank == 0;
            const adz_dtype dtype = (adz_dtype)call->in[i]->dtype;
            of[k] = found[k] ? adz_promote_types(of[k], dtype) : dtype;
            found[k] = true;
        }
    }
    /* Where all inputs are of one kind, that kind decides alone. */
    if (!found[0] || !found[1]) {
        return of[found[0] ? 0 : 1];
    }
    return number_result_type(of[0], of[1]);
}

/* Integers become f32 directly and not first their common integer dtype. That dtype may be unable
 * to hold an operand of rank 0, as u8 cannot hold -1. */
bool adzi_promote_inputs(adzi_call *call, unsigned others, adz_promotion promotion)
{
    for (int i = 0; i < call->n_in; ++i) {
        if (takes_part(call, i, others) && !adzi_want_computable(call, i)) {
            return false;
        }
    }
    adz_dtype dtype = common_type(call, others);
    dtype = promotion == ADZ_PROMOTION_INT_TO_FLOAT && !adzi_is_float(dtype) ? ADZ_F32 : dtype;
    /* Checked before anything is converted, so that the message names the result's dtype. */
    if (call->inplace && dtype != call->in[0]->dtype) {
        adzi_error(call->op->name, ADZ_ERR_DTYPE,
            "the result is %s and cannot be written to %s in place", adz_dtype_name(dtype),
            adz_dtype_name((adz_dtype)call->in[0]->dtype));
        return false;
    }
    /* call->in[i] becomes the converted tensor, which is the one to save and to compute with. */
    for (int i = 0; i < call->n_in; ++i) {
        if (takes_part(call, i, others) && !adzi_convert(call, i, dtype)) {
            return false;
        }
    }
    return true;
}
