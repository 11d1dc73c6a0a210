/**
 * @file fastai_loss.h
 * The losses of fastai's text models.
 */
#ifndef ADZE_ZOO_FASTAI_LOSS_H
#define ADZE_ZOO_FASTAI_LOSS_H

#include "adze/ops/loss.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Cross entropy with a share of the target spread over all classes.
 *
 *     log p = log_softmax(x);  l = (1 - eps) (-log p_y) - eps / C sum_c log p_c
 *
 * It differs from adz_cross_entropy with label_smoothing in rows whose class is -100: their first
 * term is 0, their second counts, and so does the row in the second term's mean.
 *
 * @param x          x[C] or x[N, C]: scores, f32 or f64
 * @param target     [] or [N]: a class in [0, C), or -100; i64 or i32
 * @param eps        the share, in [0, 1]; fastai's default is 0.1
 * @param reduction  none, mean (fastai's default) or sum
 * @return           l shaped like target, or its mean or sum as a scalar, borrowed from the scope,
 *                   or NULL
 * @errors           ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INDEX, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad             x, to any order; saves log p and target
 * @see              fastai.layers.LabelSmoothingCrossEntropy
 */
ADZ_API adz_tensor *adz_fastai_label_smoothing_cross_entropy(
    adz_tensor *x, adz_tensor *target, double eps, adz_reduction reduction);

/**
 * Cross entropy over all rows of a tensor whose classes lie along any axis.
 *
 * The axis is swapped with the last one, in a target of several dimensions too, before both
 * become rows; a negative axis counts from the end of x (the reference lets it count from the end
 * of the target there, and so pairs wrong elements unless it is -1).
 *
 * @param x        scores, rank 1 or more, f32 or f64
 * @param target   shaped like x without the axis: classes in [0, C) or ignore_index; i64 or i32
 * @param weight   weight[C] of x's dtype, or ADZ_NONE
 * @param axis     where the classes lie; fastai's default is -1
 * @param options  NULL for the defaults
 * @return         the mean or the sum as a scalar; without a reduction a vector of one number a row
 *                 in the order of the swapped axes; borrowed from the scope, or NULL
 * @errors         ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INDEX, ADZ_ERR_ARGUMENT,
 *                 ADZ_ERR_UNSUPPORTED (weight wants a gradient), ADZ_ERR_MEMORY
 * @grad           x, to any order; saves x, target and one number a row
 * @see            fastai.layers.CrossEntropyFlat
 */
ADZ_API adz_tensor *adz_fastai_cross_entropy_flat(adz_tensor *x, adz_tensor *target,
    adz_tensor *weight, int axis, const adz_cross_entropy_options *options);

/**
 * A language model's loss with the regularisation of its activations (AR) and of their changes in
 * time (TAR).
 *
 *     loss + alpha mean(out^2) + beta mean((raw_t+1 - raw_t)^2)
 *
 * A term whose factor is 0 is left out, and TAR for a batch of one text, as in the reference, or
 * of a single step (where the reference gives NaN).
 *
 * @param loss   the loss so far, a scalar
 * @param out    out[B, T, D]: the last of the outputs after dropout
 * @param raw    raw[B, T, D]: the last of the outputs before dropout
 * @param alpha  finite; fastai's default is 2
 * @param beta   finite; fastai's default is 1
 * @return       a scalar, loss itself if nothing is added; borrowed from the scope, or NULL
 * @errors       ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad         loss, out and raw, to any order; saves out and the differences of raw
 * @see          fastai.callbacks.rnn.RNNTrainer
 */
ADZ_API adz_tensor *adz_fastai_ar_tar(
    adz_tensor *loss, adz_tensor *out, adz_tensor *raw, double alpha, double beta);

#ifdef __cplusplus
}
#endif

#endif
