/**
 * @file norm.h
 * Normalisation.
 */
#ifndef ADZE_OPS_NORM_H
#define ADZE_OPS_NORM_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Layer normalisation: each row is normalised over its last dimensions.
 *
 *     y = (x - mean) / sqrt(variance + eps) weight + bias
 *
 * The variance is the biased one. Mean and variance are computed in f64, in two passes.
 *
 * @param x           x[..., normalized], f32 or f64
 * @param normalized  the last sizes of x, one or more: what is normalised together
 * @param weight      weight[normalized] of x's dtype, or ADZ_NONE
 * @param bias        bias[normalized] of x's dtype, or ADZ_NONE
 * @param eps         0 or more; PyTorch's default is 1e-5
 * @return            y, shaped like x, borrowed from the scope, or NULL
 * @errors            ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad              x, weight and bias, to any order; saves x, weight and two numbers per row
 * @see               torch.nn.functional.layer_norm
 */
ADZ_API adz_tensor *adz_layer_norm(
    adz_tensor *x, adz_shape normalized, adz_tensor *weight, adz_tensor *bias, double eps);

/**
 * Batch normalisation: each channel is normalised over all other dimensions.
 *
 *     y = (x - mean) / sqrt(variance + eps) weight + bias
 *
 * In training, mean and (biased) variance are those of the batch, computed in f64, in two passes.
 * Running statistics, if given, are updated in place, with the unbiased variance:
 *
 *     running = (1 - momentum) running + momentum batch
 *
 * They do not change when the call fails or when x is empty. In evaluation the running statistics
 * are used instead of those of the batch.
 *
 * @param x             x[N, C, ...], f32 or f64; in training with more than one value per channel
 * @param running_mean  running_mean[C] of x's dtype, or ADZ_NONE
 * @param running_var   running_var[C] of x's dtype, or ADZ_NONE where running_mean is
 * @param weight        weight[C] of x's dtype, or ADZ_NONE
 * @param bias          bias[C] of x's dtype, or ADZ_NONE
 * @param training      true to use the batch's statistics; false needs running ones
 * @param momentum      share of the batch in the running statistics, in [0, 1]; PyTorch's default
 *                      is 0.1
 * @param eps           0 or more; PyTorch's default is 1e-5
 * @return              y, shaped like x, borrowed from the scope, or NULL
 * @errors              ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_INPLACE (running
 *                      statistics that were expanded), ADZ_ERR_UNSUPPORTED (running statistics
 *                      that want a gradient), ADZ_ERR_MEMORY
 * @grad                x, weight and bias, to any order; saves x, weight and two numbers per
 *                      channel
 * @see                 torch.nn.functional.batch_norm
 */
ADZ_API adz_tensor *adz_batch_norm(adz_tensor *x, adz_tensor *running_mean, adz_tensor *running_var,
    adz_tensor *weight, adz_tensor *bias, bool training, double momentum, double eps);

#ifdef __cplusplus
}
#endif

#endif
