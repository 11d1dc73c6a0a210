/* The affine map x w^T + b, for operators that contain one: linear and linear_relu. Their inputs
 * are x, weight and bias in this order; the bias may be ADZ_NONE. */
#ifndef ADZI_OPS_LINALG_LINEAR_H
#define ADZI_OPS_LINALG_LINEAR_H

#include "ops/op.h"
#include "ops/linalg/linear.kernel.h"
#include "ops/linalg/matmul.h"
#include "tensor/gemm/gemm.h"

enum { ADZI_LINEAR_X, ADZI_LINEAR_WEIGHT, ADZI_LINEAR_BIAS };

/** The step `check` of a call: shapes and dtypes of the inputs. False with the error recorded. */
bool adzi_linear_check(adzi_call *call);

/** Gives y, which comes with the shape of x, its last size: the number of outputs. `op` is for the
 * message if y has too many elements. */
adz_status adzi_linear_shape(adz_result *y, const char *op, adz_tensor *const *in);

/** The product that computes y. x and the bias are contiguous, and `weight` is the matrix of
 * adzi_linear_matrix, which may be a copy. The weight is passed to the product as it is stored: [H,
 * D] read as its transpose, or a transposed view read as [D, H]. Leading dimensions of 0 are not
 * allowed in BLAS, so empty matrices get 1. Inlined, because a call would copy the struct. */
static inline adzi_gemm_args adzi_linear_product(
    const adz_tensor *y, adz_tensor *const *in, const adzi_matrix *weight)
{
    const adz_tensor *x = in[ADZI_LINEAR_X], *bias = in[ADZI_LINEAR_BIAS];
    const int64_t h = in[ADZI_LINEAR_WEIGHT]->sizes[0], d = x->sizes[x->rank - 1];
    /* One product over all rows, so there is no batch. */
    return (adzi_gemm_args){ .dtype = (adz_dtype)x->dtype,
        .tb = !weight->transposed,
        .b_stored = weight->stored,
        .m = adzi_numel(x->rank - 1, x->sizes),
        .n = h,
        .k = d,
        .alpha = 1,
        .a = x->data,
        .lda = d > 0 ? d : 1,
        .b = weight->data,
        .ldb = weight->ld,
        .c = y->data,
        .ldc = h > 0 ? h : 1,
        .bias = adzi_is_none(bias) ? NULL : bias->data,
        .batch = 1 };
}

/** The weight as the product reads it, copied first if it cannot be read where it is. Blocks of
 * Q8_0 count as [H, D]. Returns the weight or the copy; NULL if memory was refused. */
adz_tensor *adzi_linear_matrix(const char *op, adz_tensor *weight, adzi_matrix *matrix);

/** The step `save` of a call: what the gradients below read. */
void adzi_linear_save(adzi_call *call);

/** dx = g w,  dw = g^T x,  db = sum of g's rows, as expressions; x and g read as [N, D], [N, H]. */
adz_status adzi_linear_gradients(adzi_node *node, adz_tensor **dx, adz_tensor *g);

/** The gradients of adzi_linear_gradients by kernels, without recording. g is contiguous. */
adz_status adzi_linear_gradients_fused(adzi_node *node, adz_tensor **dx, const adz_tensor *g);

/** Tells whether the layer has so few inputs or outputs, and so few rows, that linear_narrow
 * computes its gradients. Fills the sizes of `layer`, and y and factor for no mask. */
bool adzi_linear_is_narrow(
    const adzi_node *node, const adz_tensor *g, adzi_linear_narrow_args *layer);

/**
 * The gradients of a narrow layer, by linear_narrow. `layer` comes from adzi_linear_is_narrow. To
 * mask g by a ReLU, set layer->y and layer->factor: g counts as 0 where y[i] <= 0, and as
 * g[i] * factor elsewhere. With more than ADZI_LINEAR_NARROW outputs a mask is allowed only if no
 * gradient of x is wanted. g is contiguous.
 */
adz_status adzi_linear_gradients_narrow(
    adzi_node *node, adz_tensor **dx, const adz_tensor *g, adzi_linear_narrow_args *layer);

#endif
