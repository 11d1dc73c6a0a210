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
 * The variance is the biased one. Mean and variance are computed in f64, in two passes. Gradients
 * with a graph square x - mean in the dtype of x, and are NaN where that overflows.
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

/** An eps that means the machine epsilon of the dtype of x: PyTorch's eps=None. */
#define ADZ_EPS_OF_DTYPE (-1.0)

/**
 * Divides each row by the root of its mean square over the last dimensions.
 *
 *     y = x / sqrt(mean(x^2) + eps) weight
 *
 * The mean square is computed in f64.
 *
 * @param x           x[..., normalized], f32 or f64
 * @param normalized  the last sizes of x, one or more: what is normalised together
 * @param weight      weight[normalized] of x's dtype, or ADZ_NONE
 * @param eps         0 or more, or PyTorch's default, ADZ_EPS_OF_DTYPE
 * @return            y, shaped like x, borrowed from the scope, or NULL
 * @errors            ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad              x and weight, to any order; saves x, weight and two numbers per row
 * @see               torch.nn.functional.rms_norm
 */
ADZ_API adz_tensor *adz_rms_norm(
    adz_tensor *x, adz_shape normalized, adz_tensor *weight, double eps);

/**
 * Group normalisation: the channels of each sample form groups of neighbours, and each group is
 * normalised over its channels and all further dimensions.
 *
 *     y = (x - mean) / sqrt(variance + eps) weight + bias
 *
 * The variance is the biased one. Mean and variance are computed in f64, in two passes.
 *
 * @param x           x[N, C, ...], f32 or f64
 * @param num_groups  1 or more; divides C
 * @param weight      weight[C] of x's dtype, or ADZ_NONE
 * @param bias        bias[C] of x's dtype, or ADZ_NONE
 * @param eps         0 or more; PyTorch's default is 1e-5
 * @return            y, shaped like x, borrowed from the scope, or NULL
 * @errors            ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad              x, weight and bias, to any order; saves x, the normalised x and the weight
 * @see               torch.nn.functional.group_norm
 */
ADZ_API adz_tensor *adz_group_norm(
    adz_tensor *x, int64_t num_groups, adz_tensor *weight, adz_tensor *bias, double eps);

/**
 * Instance normalisation: each channel of each sample is normalised by itself.
 *
 *     y = (x - mean) / sqrt(variance + eps) weight + bias
 *
 * With use_input_stats, mean and (biased) variance are those of the channel of the sample. Running
 * statistics, if given, are then updated in place by their means over the samples, as
 * adz_batch_norm does it. Without it the running statistics are used.
 *
 * @param x                x[N, C, ...] of rank 3 or more, f32 or f64
 * @param running_mean     running_mean[C] of x's dtype, or ADZ_NONE
 * @param running_var      running_var[C] of x's dtype, or ADZ_NONE where running_mean is
 * @param weight           weight[C] of x's dtype, or ADZ_NONE
 * @param bias             bias[C] of x's dtype, or ADZ_NONE
 * @param use_input_stats  false needs running statistics; PyTorch's default is true
 * @param momentum         in [0, 1]; PyTorch's default is 0.1
 * @param eps              0 or more; PyTorch's default is 1e-5
 * @return                 y, shaped like x, borrowed from the scope, or NULL
 * @errors                 ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_INPLACE,
 *                         ADZ_ERR_UNSUPPORTED (running statistics that want a gradient),
 *                         ADZ_ERR_MEMORY
 * @grad                   x, weight and bias, to any order; saves x, weight and two numbers per
 *                         channel of a sample
 * @see                    torch.nn.functional.instance_norm
 */
ADZ_API adz_tensor *adz_instance_norm(adz_tensor *x, adz_tensor *running_mean,
    adz_tensor *running_var, adz_tensor *weight, adz_tensor *bias, bool use_input_stats,
    double momentum, double eps);

/**
 * Divides vectors by their norms.
 *
 *     y = x / max(norm_p(x), eps)   over one dimension
 *
 * @param x    rank 1 to 8, f32 or f64
 * @param p    the norm, as in adz_norm; PyTorch's default is 2
 * @param dim  0 .. rank-1, or -rank .. -1 counted from the last; PyTorch's default is 1
 * @param eps  0 or more, so that a vector of zeros stays one; PyTorch's default is 1e-12
 * @return     y, shaped like x, borrowed from the scope, or NULL
 * @errors     ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad       x, to any order; saves x and the norms
 * @see        torch.nn.functional.normalize
 */
ADZ_API adz_tensor *adz_normalize(adz_tensor *x, double p, int dim, double eps);

/**
 * Divides each element by a power of the mean square of the channels around its own.
 *
 *     y[n, c] = x[n, c] / (k + alpha / size sum_j x[n, j]^2)^beta
 *     j = c - floor(size / 2) .. c + floor((size - 1) / 2), without those below 0 or from C on
 *
 * @param x      x[N, C, ...], f32 or f64
 * @param size   channels that count, 1 or more
 * @param alpha  factor of the mean square; PyTorch's default is 1e-4
 * @param beta   the power; PyTorch's default is 0.75
 * @param k      added; PyTorch's default is 1
 * @return       y, shaped like x, borrowed from the scope; x itself if it is empty; or NULL
 * @errors       ADZ_ERR_SHAPE, ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad         x, to any order; saves x and what it is divided by
 * @see          torch.nn.functional.local_response_norm
 */
ADZ_API adz_tensor *adz_local_response_norm(
    adz_tensor *x, int64_t size, double alpha, double beta, double k);

#ifdef __cplusplus
}
#endif

#endif
