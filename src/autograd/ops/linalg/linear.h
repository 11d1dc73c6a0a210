/* The affine map, for operators that contain one. Their inputs are x, weight and bias in this
 * order; the bias may be ADZ_NONE. */
#ifndef ADZI_AUTOGRAD_OPS_LINALG_LINEAR_H
#define ADZI_AUTOGRAD_OPS_LINALG_LINEAR_H

#include "autograd/op.h"
#include "autograd/ops/linalg/linear.kernel.h"
#include "tensor/gemm/gemm.h"

enum { ADZI_LINEAR_X, ADZI_LINEAR_WEIGHT, ADZI_LINEAR_BIAS };

/** Checks a call's inputs, makes its result and fills the product that computes it; nothing is
 * recorded yet. NULL with the error recorded. */
adz_tensor *adzi_linear_begin(adzi_call *call, adzi_gemm_args *product);

/** After adzi_record: saves what the gradients below read. */
void adzi_linear_save(adzi_call *call);

/** dx = g w,  dw = g^T x,  db = sum of g's rows, as expressions; x and g read as [N, D], [N, H]. */
adz_status adzi_linear_gradients(adzi_node *node, adz_tensor **dx, adz_tensor *g);

/** The same products without views and nodes in between; g is contiguous. */
adz_status adzi_linear_gradients_fused(adzi_node *node, adz_tensor **dx, const adz_tensor *g);

/** Whether the above takes a layer of few inputs or outputs, which one pass over its few rows
 * serves. */
bool adzi_linear_is_narrow(
    const adzi_node *node, const adz_tensor *g, adzi_linear_narrow_args *layer);

/** The gradients of a narrow layer, with the sizes that the above has found. Of g counts, times
 * `layer->factor`, what stands where `layer->y` is not 0 or less; all of it where that is NULL, as
 * it is unless set and must be for more than ADZI_LINEAR_FEW outputs if the gradient of x is asked
 * for. g is contiguous. */
adz_status adzi_linear_gradients_narrow(
    adzi_node *node, adz_tensor **dx, const adz_tensor *g, adzi_linear_narrow_args *layer);

#endif
