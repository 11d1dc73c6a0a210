/**
 * @file dropout.h
 * Dropout.
 */
#ifndef ADZE_OPS_DROPOUT_H
#define ADZE_OPS_DROPOUT_H

#include "adze/random.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Sets elements to zero at random and scales the others.
 *
 *     y = x mask / (1 - p), mask = 1 with probability 1 - p
 *
 * @param x          any shape, f32 or f64
 * @param p          probability of zeroing, in [0, 1]
 * @param training   false returns x itself
 * @param generator  drawn from unless p is 0 or 1; NULL for the default one
 * @return           y, shaped like x, borrowed from the scope; x itself in evaluation; or NULL
 * @errors           ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad             x, to any order; saves the mask, one bit per element
 * @see              torch.nn.functional.dropout
 */
ADZ_API adz_tensor *adz_dropout(adz_tensor *x, double p, bool training, adz_generator *generator);

/**
 * Dropout with a mask of the caller's. Use it to apply one mask twice, or to drop whole rows.
 *
 *     y = x mask / keep
 *
 * @param x     any shape, f32 or f64
 * @param mask  broadcasts with x; bool, or numbers that are 0 or 1
 * @param keep  probability with which the mask keeps an element, in (0, 1]
 * @return      y, borrowed from the scope, or NULL
 * @errors      ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad        x, and a float mask that wants a gradient, to any order; saves mask
 */
ADZ_API adz_tensor *adz_dropout_mask(adz_tensor *x, adz_tensor *mask, double keep);

/**
 * Dropout of whole channels of signals.
 *
 *     y[n, c, :] = x[n, c, :] m[n, c] / (1 - p), m = 1 with probability 1 - p
 *
 * @param x          x[N, C, L] or x[C, L], f32 or f64
 * @param p          probability of zeroing, in [0, 1]; PyTorch's default is 0.5
 * @param training   false returns x itself
 * @param generator  drawn from unless p is 0 or 1, or x is empty; NULL for the default one
 * @return           y, shaped like x, borrowed from the scope; x itself in evaluation; or NULL
 * @errors           ADZ_ERR_SHAPE, ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad             x, to any order; saves one number per channel
 * @see              torch.nn.functional.dropout1d
 */
ADZ_API adz_tensor *adz_dropout1d(adz_tensor *x, double p, bool training, adz_generator *generator);

/**
 * Dropout of whole channels of images.
 *
 *     y[n, c, :, :] = x[n, c, :, :] m[n, c] / (1 - p), m = 1 with probability 1 - p
 *
 * @param x          x[N, C, H, W], f32 or f64. x[N, C, L] counts as a batch of signals and not as
 *                   one image, as in PyTorch, which warns of it. PyTorch takes other ranks, too
 * @param p          probability of zeroing, in [0, 1]; PyTorch's default is 0.5
 * @param training   false returns x itself
 * @param generator  drawn from unless p is 0 or 1, or x is empty; NULL for the default one
 * @return           y, shaped like x, borrowed from the scope; x itself in evaluation; or NULL
 * @errors           ADZ_ERR_SHAPE, ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad             x, to any order; saves one number per channel
 * @see              torch.nn.functional.dropout2d
 */
ADZ_API adz_tensor *adz_dropout2d(adz_tensor *x, double p, bool training, adz_generator *generator);

/**
 * Dropout of whole channels of volumes.
 *
 *     y[n, c, :, :, :] = x[n, c, :, :, :] m[n, c] / (1 - p), m = 1 with probability 1 - p
 *
 * @param x          x[N, C, D, H, W] or x[C, D, H, W], f32 or f64
 * @param p          probability of zeroing, in [0, 1]; PyTorch's default is 0.5
 * @param training   false returns x itself
 * @param generator  drawn from unless p is 0 or 1, or x is empty; NULL for the default one
 * @return           y, shaped like x, borrowed from the scope; x itself in evaluation; or NULL
 * @errors           ADZ_ERR_SHAPE, ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad             x, to any order; saves one number per channel
 * @see              torch.nn.functional.dropout3d
 */
ADZ_API adz_tensor *adz_dropout3d(adz_tensor *x, double p, bool training, adz_generator *generator);

/**
 * Dropout that keeps mean and variance of elements with mean 0 and variance 1, for networks of
 * adz_selu (Klambauer et al., 2017). A dropped element becomes -s instead of 0.
 *
 *     y = a (m x + (m - 1) s + p s), m = 1 with probability 1 - p
 *     a = 1 / sqrt((1 - p) (1 + p s^2)), s = 1.7580993408473766
 *
 * @param x          any shape, f32 or f64
 * @param p          probability of dropping, in [0, 1]; 1 gives zeros; PyTorch's default is 0.5
 * @param training   false returns x itself
 * @param generator  drawn from unless p is 0 or 1, or x is empty; NULL for the default one
 * @return           y, shaped like x, borrowed from the scope; x itself in evaluation; or NULL
 * @errors           ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad             x, to any order; saves one number per element
 * @see              torch.nn.functional.alpha_dropout
 */
ADZ_API adz_tensor *adz_alpha_dropout(
    adz_tensor *x, double p, bool training, adz_generator *generator);

/**
 * adz_alpha_dropout of whole channels: m[n, c] stands for all elements of x[n, c, ...].
 *
 * @param x          x[N, C, ...], f32 or f64
 * @param p          probability of dropping, in [0, 1]; 1 gives zeros; PyTorch's default is 0.5
 * @param training   false returns x itself
 * @param generator  drawn from unless p is 0 or 1, or x is empty; NULL for the default one
 * @return           y, shaped like x, borrowed from the scope; x itself in evaluation; or NULL
 * @errors           ADZ_ERR_SHAPE, ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad             x, to any order; saves one number per channel
 * @see              torch.nn.functional.feature_alpha_dropout
 */
ADZ_API adz_tensor *adz_feature_alpha_dropout(
    adz_tensor *x, double p, bool training, adz_generator *generator);

#ifdef __cplusplus
}
#endif

#endif
