/**
 * @file loss.h
 * Losses.
 */
#ifndef ADZE_OPS_LOSS_H
#define ADZE_OPS_LOSS_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What a loss does with the losses of its elements. */
typedef enum adz_reduction {
    ADZ_REDUCE_NONE = 0,     /**< returns them */
    ADZ_REDUCE_MEAN = 1,     /**< their mean, PyTorch's default */
    ADZ_REDUCE_SUM = 2,      /**< their sum */
    ADZ_REDUCE_BATCHMEAN = 3 /**< their sum over the first size; adz_kl_div only */
} adz_reduction;

/**
 * Mean squared error.
 *
 *     l = (x - target)^2
 *
 * @param x          any shape, f32 or f64
 * @param target     broadcasts with x
 * @param reduction  none, mean or sum; the mean of no elements is NaN
 * @return           l, or its mean or sum as a scalar, borrowed from the scope, or NULL
 * @errors           ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad             x and target, to any order; saves both
 * @see              torch.nn.functional.mse_loss
 */
ADZ_API adz_tensor *adz_mse_loss(adz_tensor *x, adz_tensor *target, adz_reduction reduction);

#ifdef __cplusplus
}
#endif

#endif
