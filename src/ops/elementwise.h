/* The common part of elementwise operators: the forward and the fused backward of functions of one
 * tensor, the common dtype and the common shape of several inputs, and checks of dtypes. */
#ifndef ADZI_OPS_ELEMENTWISE_H
#define ADZI_OPS_ELEMENTWISE_H

#include "ops/op.h"

/** A table of kernels as a function's argument: [level][dtype], as KERNEL_TABLE_FLOAT declares it
 * for f32 and f64, or KERNEL_TABLE_ALL for the six dtypes that arithmetic knows. */
typedef const adzi_kernel (*adzi_float_kernels)[2];
typedef const adzi_kernel (*adzi_all_kernels)[6];

/** Which tensor a function y = f(x) saves for its gradient: its input x or its result y. */
typedef enum { ADZI_SAVES_X, ADZI_SAVES_Y } adzi_saves;

/**
 * The forward of a float function, y = f(x): enters, records, saves and computes.
 *
 * @param x        any shape; y has its dtype if that is f32 or f64, and f32 if it is an integer or
 *                 bool; f16 and bf16 are refused
 * @param kernels  compute y from x
 * @param saves    which of x and y the backward reads
 * @return         y, borrowed from the scope, or NULL with the error recorded
 */
adz_tensor *adzi_unary(
    const adzi_op *op, adz_tensor *x, adzi_float_kernels kernels, adzi_saves saves);

/**
 * The fused backward of a function of one tensor: dx[0] = k(dy, saved) by one kernel. May write dx
 * over dy. A `saved` of NULL means that reading it failed, and gives that error's status.
 */
adz_status adzi_unary_fused(adzi_node *node, adz_tensor **dx, adz_tensor *dy, adz_tensor *saved,
    adzi_float_kernels kernels);

/** adzi_unary_fused() with `saved` being the node's result 0, for operators that saved it. */
adz_status adzi_unary_fused_of_result(
    adzi_node *node, adz_tensor **dx, adz_tensor *dy, adzi_float_kernels kernels);

/** The forward of a function that keeps the dtype of x and saves nothing. Refuses bool with the
 * advice to use `instead`, unless that is NULL. */
adz_tensor *adzi_unary_kept(
    const adzi_op *op, adz_tensor *x, adzi_all_kernels kernels, const char *instead);

/** The backward of a function that is constant between its jumps. */
adz_status adzi_backward_zeros(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);

/** The forward of a float function of two tensors, which broadcast: y = f(a, b). Two integers are
 * converted to f32. The node saves both inputs. */
adz_tensor *adzi_binary(
    const adzi_op *op, adz_tensor *a, adz_tensor *b, adzi_float_kernels kernels);

/** Brings both inputs to one float dtype: f32 if both are integers or bool. */
bool adzi_promote_floats(adzi_call *call);

/** Brings the inputs from `first` on to their common dtype, torch.result_type of them all. The
 * conversions are recorded. In place it fails where the common dtype is not that of input 0. */
bool adzi_promote_from(adzi_call *call, int first);

/** Finds the broadcast shape of all inputs. Fails with ADZ_ERR_SHAPE where they do not fit. */
bool adzi_broadcast_inputs(adzi_call *call, int *rank, int64_t *sizes);

/**
 * dy times a number, for a backward. If the rows of dy are one row in memory and the gradient gets
 * no graph, that row is multiplied once, and the result is expanded as well. Each pass of a
 * Jacobian by rows begins with such a dy.
 */
adz_tensor *adzi_scaled_gradient(adz_tensor *dy, double number);

/** Fails with ADZ_ERR_DTYPE unless input i is bool. */
bool adzi_want_mask(adzi_call *call, int i);

/** Fails with ADZ_ERR_DTYPE when input i is bool. `instead` tells the caller what to use. */
bool adzi_refuse_bool(adzi_call *call, int i, const char *instead);

#endif
