/**
 * @file unpool.h
 * Elements put back where a pooling has found them.
 */
#ifndef ADZE_OPS_UNPOOL_H
#define ADZE_OPS_UNPOOL_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of adz_max_unpool1d, 2d and 3d: those of the pooling. Start from ADZ_MAX_UNPOOL_OPTIONS.
 */
typedef struct adz_max_unpool_options {
    size_t size;           /**< sizeof(adz_max_unpool_options) */
    adz_shape stride;      /**< from one window to the next, 1 or more; rank 0 for kernel_size */
    adz_shape padding;     /**< positions before and behind y, 0 or more; rank 0 for none */
    adz_shape output_size; /**< the last sizes of y, one for each dimension of a window; less than
                                the stride away from the default. Rank 0 for the default */
} adz_max_unpool_options;

/** The defaults. */
#define ADZ_MAX_UNPOOL_OPTIONS                                                              \
    {                                                                                       \
        ADZ_MEMBER(size, sizeof(adz_max_unpool_options)), ADZ_MEMBER(stride, { 0, { 0 } }), \
            ADZ_MEMBER(padding, { 0, { 0 } }), ADZ_MEMBER(output_size, { 0, { 0 } })        \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_max_unpool_options) as the caller knows it
 */
ADZ_API void adz_max_unpool_options_init(adz_max_unpool_options *options, size_t size);

/**
 * A signal that is 0 but at the positions where adz_max_pool1d has found the elements of x.
 *
 *     y[n][c] = 0, then y[n][c][indices[n][c][i]] = x[n][c][i]
 *     size of y = (L - 1) stride - 2 padding + kernel_size
 *
 * Of several elements at one position the last one stays, and the others have gradient 0, where
 * PyTorch gives them that of the position.
 *
 * @param x            x[N, C, L] or x[C, L], any dtype but f16 and bf16; L 1 or more
 * @param indices      shaped like x, i64: from 0, as adz_max_pool1d counts them
 * @param kernel_size  positions of a window, 1 or more
 * @param options      NULL for the defaults
 * @return             y, borrowed from the scope, or NULL
 * @errors             ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_INDEX, ADZ_ERR_MEMORY
 * @grad               x, to any order; saves the indices
 * @see                torch.nn.functional.max_unpool1d
 */
ADZ_API adz_tensor *adz_max_unpool1d(
    adz_tensor *x, adz_tensor *indices, int64_t kernel_size, const adz_max_unpool_options *options);

/**
 * An image that is 0 but at the positions where adz_max_pool2d has found the elements of x.
 *
 * Sizes and equal positions follow in each dimension from the rules of adz_max_unpool1d.
 *
 * @param x            x[N, C, H, W] or x[C, H, W], any dtype but f16 and bf16; H and W 1 or more
 * @param indices      shaped like x, i64: from 0, as adz_max_pool2d counts them
 * @param kernel_size  rows and columns of a window, or one number for both; 1 or more
 * @param options      NULL for the defaults
 * @return             y, borrowed from the scope, or NULL
 * @errors             ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_INDEX, ADZ_ERR_MEMORY
 * @grad               x, to any order; saves the indices
 * @see                torch.nn.functional.max_unpool2d
 */
ADZ_API adz_tensor *adz_max_unpool2d(adz_tensor *x, adz_tensor *indices, adz_shape kernel_size,
    const adz_max_unpool_options *options);

/**
 * A volume that is 0 but at the positions where adz_max_pool3d has found the elements of x.
 *
 * Sizes and equal positions follow in each dimension from the rules of adz_max_unpool1d.
 *
 * @param x            x[N, C, D, H, W] or x[C, D, H, W], any dtype but f16 and bf16
 * @param indices      shaped like x, i64: from 0, as adz_max_pool3d counts them
 * @param kernel_size  slices, rows and columns of a window, or one number for all; 1 or more
 * @param options      NULL for the defaults
 * @return             y, borrowed from the scope, or NULL
 * @errors             ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_INDEX, ADZ_ERR_MEMORY
 * @grad               x, to any order; saves the indices
 * @see                torch.nn.functional.max_unpool3d
 */
ADZ_API adz_tensor *adz_max_unpool3d(adz_tensor *x, adz_tensor *indices, adz_shape kernel_size,
    const adz_max_unpool_options *options);

#ifdef __cplusplus
}
#endif

#endif
