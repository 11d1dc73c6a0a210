/* What elementwise operators share: their entry, their dtypes, their shapes. */
#ifndef ADZI_AUTOGRAD_OPS_ELEMENTWISE_H
#define ADZI_AUTOGRAD_OPS_ELEMENTWISE_H

#include "autograd/op.h"

/** A table that KERNEL_TABLE_FLOAT or KERNEL_TABLE_ALL declared, as an argument. */
typedef const adzi_kernel (*adzi_float_kernels)[2];
typedef const adzi_kernel (*adzi_all_kernels)[6];

/** What a function of one tensor needs for its gradient. */
typedef enum { ADZI_SAVES_X, ADZI_SAVES_Y } adzi_saves;

/** y = f(x) for a float function: f32 or f64 as x, and f32 for an integer or bool x. */
adz_tensor *adzi_unary(
    const adzi_op *op, adz_tensor *x, adzi_float_kernels kernels, adzi_saves saves);

/** dx = f(dy, saved) by one kernel: the fused backward of such a function. NULL saved fails. */
adz_status adzi_unary_fused(adzi_node *node, adz_tensor **dx, adz_tensor *dy, adz_tensor *saved,
    adzi_float_kernels kernels);

/** The same of result 0, which the operator saved. */
adz_status adzi_unary_fused_of_result(
    adzi_node *node, adz_tensor **dx, adz_tensor *dy, adzi_float_kernels kernels);

/** Brings the inputs from `first` on to their common dtype (torch.result_type of them all). */
bool adzi_promote_from(adzi_call *call, int first);

/** The broadcast shape of all inputs. */
bool adzi_broadcast_inputs(adzi_call *call, int *rank, int64_t *sizes);

/** Fails with ADZ_ERR_DTYPE unless input i is bool. */
bool adzi_want_mask(adzi_call *call, int i);

/** Fails with ADZ_ERR_DTYPE when input i is bool, for what bool does not have. */
bool adzi_refuse_bool(adzi_call *call, int i, const char *instead);

#endif
