/**
 * @file convert.h
 * Conversions, copies, and views outside the graph.
 */
#ifndef ADZE_OPS_CONVERT_H
#define ADZE_OPS_CONVERT_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Converts a tensor to another dtype.
 *
 * @param x      any shape and dtype
 * @param dtype  any dtype; a float outside the range of an integer dtype gives an undefined integer
 * @return       x itself if it has the dtype, else a contiguous tensor borrowed from the scope; or
 *               NULL
 * @errors       ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad         x, to any order, between f32 and f64; saves nothing
 * @see          torch.Tensor.to
 */
ADZ_API adz_tensor *adz_to(adz_tensor *x, adz_dtype dtype);

/** Weights in a block of Q8_0. */
#define ADZ_Q8_0_VALUES 32
/** Bytes of a block of Q8_0: 1.06 for each weight. */
#define ADZ_Q8_0_BYTES 34

/**
 * Weights in blocks of Q8_0, as GGUF files hold them: 32 values become a scale in f16, lowest byte
 * first, and 32 signed bytes q.
 *
 *     scale = max |x| / 127,   q = x / scale, rounded to the nearest, ties away from zero
 *
 * An error of a weight is at most 0.57 scales while the scale is a normal f16: half a step, and 127
 * times the rounding of the scale, of which q knows nothing. adz_linear reads such weights where
 * they are. A block with NaN or an infinity, or with a magnitude above 127 * 65504, gets a scale
 * that is not finite.
 *
 * @param x  x[..., D], f32, rank 1 to 7; D is a multiple of 32
 * @return   u8[..., D / 32, 34], borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     none
 */
ADZ_API adz_tensor *adz_quantize_q8_0(adz_tensor *x);

/**
 * The weights that blocks of Q8_0 stand for.
 *
 *     y = scale * q
 *
 * Every such value is exact in f32.
 *
 * @param x  u8[..., B, 34], rank 2 to 8, as adz_quantize_q8_0 makes it
 * @return   f32[..., 32 B], borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_MEMORY
 * @grad     none
 */
ADZ_API adz_tensor *adz_dequantize_q8_0(adz_tensor *x);

/**
 * A contiguous copy.
 *
 * @param x  any shape and dtype
 * @return   y, shaped like x, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_MEMORY
 * @grad     x, to any order; saves nothing
 * @see      torch.clone
 */
ADZ_API adz_tensor *adz_clone(adz_tensor *x);

/**
 * The tensor itself if it is contiguous, else a contiguous copy.
 *
 * @param x  any shape and dtype
 * @return   x, or y shaped like it and borrowed from the scope, or NULL
 * @errors   ADZ_ERR_MEMORY
 * @grad     x, to any order; saves nothing
 * @see      torch.Tensor.contiguous
 */
ADZ_API adz_tensor *adz_contiguous(adz_tensor *x);

/**
 * A view of a tensor that is outside the graph: backward stops at it.
 *
 * @param x  any shape and dtype
 * @return   a view of x that wants no gradient, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_MEMORY
 * @grad     none
 * @see      torch.Tensor.detach
 */
ADZ_API adz_tensor *adz_detach(adz_tensor *x);

/**
 * Copies values into a tensor, broadcast to its shape and converted to its dtype.
 *
 *     x = y
 *
 * @param x  any shape and dtype
 * @param y  broadcasts to x
 * @return   x, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_INPLACE, ADZ_ERR_MEMORY
 * @grad     y, to any order; the gradient of the old values of x is zero; saves nothing
 * @see      torch.Tensor.copy_
 */
ADZ_API adz_tensor *adz_copy_(adz_tensor *x, adz_tensor *y);

#ifdef __cplusplus
}
#endif

#endif
