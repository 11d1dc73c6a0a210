/**
 * @file shape.h
 * Changes of shape; views wherever the strides allow.
 */
#ifndef ADZE_OPS_SHAPE_H
#define ADZE_OPS_SHAPE_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Swaps two dimensions.
 *
 * @param x     any shape and dtype
 * @param dim0  0 .. rank-1, or -rank .. -1 counted from the last
 * @param dim1  likewise
 * @return      a view, borrowed from the scope, or NULL
 * @errors      ADZ_ERR_DIM, ADZ_ERR_MEMORY
 * @grad        x, to any order; saves nothing
 * @see         torch.transpose
 */
ADZ_API adz_tensor *adz_transpose(adz_tensor *x, int dim0, int dim1);

/**
 * The same elements in another shape.
 *
 * @param x      any shape and dtype
 * @param shape  as many elements as x; one size may be -1 and is worked out
 * @return       a view where the strides allow, else a copy; borrowed from the scope, or NULL
 * @errors       ADZ_ERR_SHAPE, ADZ_ERR_MEMORY
 * @grad         x, to any order; saves nothing
 * @see          torch.reshape
 */
ADZ_API adz_tensor *adz_reshape(adz_tensor *x, adz_shape shape);

/**
 * Repeats dimensions of size 1, and new ones in front, without copying.
 *
 * @param x      any shape and dtype
 * @param shape  x broadcasts to it; -1 keeps a size
 * @return       a view, borrowed from the scope, or NULL
 * @errors       ADZ_ERR_SHAPE, ADZ_ERR_MEMORY
 * @grad         x, to any order; saves nothing
 * @see          torch.Tensor.expand
 */
ADZ_API adz_tensor *adz_expand(adz_tensor *x, adz_shape shape);

#ifdef __cplusplus
}
#endif

#endif
