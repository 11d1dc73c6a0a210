/**
 * @file loss.h
 * Losses, and distances between vectors. Losses with a margin are in margin_loss.h.
 */
#ifndef ADZE_OPS_LOSS_H
#define ADZE_OPS_LOSS_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How a loss combines the losses of its elements. */
typedef enum adz_reduction {
    ADZ_REDUCE_NONE = 0,     /**< not at all: returns each element's loss */
    ADZ_REDUCE_MEAN = 1,     /**< their mean, PyTorch's default */
    ADZ_REDUCE_SUM = 2,      /**< their sum */
    ADZ_REDUCE_BATCHMEAN = 3 /**< their sum divided by the first size; adz_kl_div only */
} adz_reduction;

/**
 * Mean squared error.
 *
 *     l = (x - target)^2
 *
 * @param x          any shape, f32 or f64
 * @param target     broadcasts with x; both are converted to the wider of their dtypes, scalars too
 * @param reduction  none, mean or sum; the mean of no elements is NaN
 * @return           l, or its mean or sum as a scalar, borrowed from the scope, or NULL
 * @errors           ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad             x and target, to any order; saves both
 * @see              torch.nn.functional.mse_loss
 */
ADZ_API adz_tensor *adz_mse_loss(adz_tensor *x, adz_tensor *target, adz_reduction reduction);

/**
 * Mean absolute error.
 *
 *     l = |x - target|
 *
 * The gradient is 0 where both are equal.
 *
 * @param x          any shape, f32 or f64
 * @param target     broadcasts with x; both are converted to the wider of their dtypes, scalars too
 * @param reduction  none, mean or sum; the mean of no elements is NaN
 * @return           l, or its mean or sum as a scalar, borrowed from the scope, or NULL
 * @errors           ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad             x and target; saves both
 * @see              torch.nn.functional.l1_loss
 */
ADZ_API adz_tensor *adz_l1_loss(adz_tensor *x, adz_tensor *target, adz_reduction reduction);

/**
 * Squared error near the target, absolute error beyond beta.
 *
 *     d = |x - target|;  l = d^2 / (2 beta) where d < beta, d - beta / 2 elsewhere
 *
 * @param x          any shape, f32 or f64
 * @param target     broadcasts with x; both are converted to the wider of their dtypes, scalars too
 * @param reduction  none, mean or sum; the mean of no elements is NaN
 * @param beta       0 or more (PyTorch's default is 1); 0 gives l = d
 * @return           l, or its mean or sum as a scalar, borrowed from the scope, or NULL
 * @errors           ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad             x and target, to any order; saves both
 * @see              torch.nn.functional.smooth_l1_loss
 */
ADZ_API adz_tensor *adz_smooth_l1_loss(
    adz_tensor *x, adz_tensor *target, adz_reduction reduction, double beta);

/**
 * Squared error near the target, absolute error beyond delta.
 *
 *     d = |x - target|;  l = d^2 / 2 where d < delta, delta (d - delta / 2) elsewhere
 *
 * @param x          any shape, f32 or f64
 * @param target     broadcasts with x; both are converted to the wider of their dtypes, scalars too
 * @param reduction  none, mean or sum; the mean of no elements is NaN
 * @param delta      above 0 (PyTorch's default is 1)
 * @return           l, or its mean or sum as a scalar, borrowed from the scope, or NULL
 * @errors           ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad             x and target, to any order; saves both
 * @see              torch.nn.functional.huber_loss
 */
ADZ_API adz_tensor *adz_huber_loss(
    adz_tensor *x, adz_tensor *target, adz_reduction reduction, double delta);

/**
 * Negative log-likelihood of classes, from their log-probabilities.
 *
 *     l = -weight_y x_y, where y is the class of the row; 0 where y is ignore_index
 *
 * The mean divides by the sum of the weights of the rows that count. It is NaN if no row counts.
 *
 * @param x             x[C], x[N, C] or x[N, C, ...]: log-probabilities, f32 or f64
 * @param target        [], [N] or [N, ...]: a class in [0, C) or ignore_index; i64 or i32
 * @param weight        weight[C] of x's dtype, or ADZ_NONE
 * @param ignore_index  rows of this class do not count; PyTorch's default is -100
 * @param reduction     none, mean or sum
 * @return              l shaped like target, or its mean or sum as a scalar, borrowed from the
 *                      scope, or NULL
 * @errors              ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INDEX, ADZ_ERR_ARGUMENT,
 *                      ADZ_ERR_UNSUPPORTED (weight wants a gradient), ADZ_ERR_MEMORY
 * @grad                x; saves target and weight
 * @see                 torch.nn.functional.nll_loss
 */
ADZ_API adz_tensor *adz_nll_loss(adz_tensor *x, adz_tensor *target, adz_tensor *weight,
    int64_t ignore_index, adz_reduction reduction);

/** Options of adz_cross_entropy. Start from ADZ_CROSS_ENTROPY_OPTIONS. */
typedef struct adz_cross_entropy_options {
    size_t size;             /**< sizeof(adz_cross_entropy_options) */
    int64_t ignore_index;    /**< rows of this class do not count; -100 */
    adz_reduction reduction; /**< none, mean or sum; mean */
    double label_smoothing;  /**< share of the target spread over all classes, in [0, 1]; 0 */
} adz_cross_entropy_options;

/** The defaults. */
#define ADZ_CROSS_ENTROPY_OPTIONS                                                            \
    {                                                                                        \
        ADZ_MEMBER(size, sizeof(adz_cross_entropy_options)), ADZ_MEMBER(ignore_index, -100), \
            ADZ_MEMBER(reduction, ADZ_REDUCE_MEAN), ADZ_MEMBER(label_smoothing, 0.0)         \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_cross_entropy_options) as the caller knows it
 */
ADZ_API void adz_cross_entropy_options_init(adz_cross_entropy_options *options, size_t size);

/**
 * Cross entropy between the softmax of scores and a target.
 *
 *     log p = log_softmax(x) over the classes, e = label_smoothing
 *     class y:          l = -(1 - e) weight_y log p_y - e / C sum_c weight_c log p_c
 *     probabilities t:  l = -sum_c weight_c ((1 - e) t_c + e / C) log p_c
 *
 * Rows whose class is ignore_index give 0. For classes the mean divides by the sum of weight_y over
 * the other rows, and is NaN if there are none. For probabilities it divides by the number of rows.
 *
 * @param x        x[C], x[N, C] or x[N, C, ...]: scores, f32 or f64
 * @param target   classes: [], [N] or [N, ...], each in [0, C) or ignore_index, i64 or i32; or
 *                 probabilities: shaped like x, of its dtype
 * @param weight   weight[C] of x's dtype, or ADZ_NONE
 * @param options  NULL for the defaults; ignore_index must be negative for probabilities
 * @return         l shaped like x without the classes, or its mean or sum as a scalar, borrowed
 *                 from the scope, or NULL
 * @errors         ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INDEX, ADZ_ERR_ARGUMENT,
 *                 ADZ_ERR_UNSUPPORTED (weight wants a gradient), ADZ_ERR_MEMORY
 * @grad           x and a target of probabilities, to any order; saves all tensors and one number
 *                 per row
 * @see            torch.nn.functional.cross_entropy
 */
ADZ_API adz_tensor *adz_cross_entropy(adz_tensor *x, adz_tensor *target, adz_tensor *weight,
    const adz_cross_entropy_options *options);

/**
 * Cross entropy of two classes, from the probability of the first.
 *
 *     l = -weight (target log x + (1 - target) log(1 - x)), each logarithm at least -100
 *
 * @param x          any shape, f32 or f64, elements in [0, 1]
 * @param target     shaped like x
 * @param weight     broadcasts to x, or ADZ_NONE
 * @param reduction  none, mean or sum; the mean of no elements is NaN
 * @return           l, or its mean or sum as a scalar, borrowed from the scope, or NULL
 * @errors           ADZ_ERR_ARGUMENT (also for elements of x outside [0, 1]), ADZ_ERR_SHAPE,
 *                   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad             x, target and weight, to any order; saves x and target; the gradient of x
 *                   divides by x (1 - x), which counts as at least 1e-12
 * @see              torch.nn.functional.binary_cross_entropy
 */
ADZ_API adz_tensor *adz_binary_cross_entropy(
    adz_tensor *x, adz_tensor *target, adz_tensor *weight, adz_reduction reduction);

/**
 * Cross entropy of two classes, from the sigmoid of scores.
 *
 *     l = weight (pos_weight target softplus(-x) + (1 - target) softplus(x))
 *
 * @param x           any shape, f32 or f64
 * @param target      shaped like x
 * @param weight      broadcasts to x, or ADZ_NONE
 * @param reduction   none, mean or sum; the mean of no elements is NaN
 * @param pos_weight  broadcasts to x, or ADZ_NONE
 * @return            l, or its mean or sum as a scalar, borrowed from the scope, or NULL
 * @errors            ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad              x, target and both weights, to any order; saves x and target
 * @see               torch.nn.functional.binary_cross_entropy_with_logits
 */
ADZ_API adz_tensor *adz_binary_cross_entropy_with_logits(adz_tensor *x, adz_tensor *target,
    adz_tensor *weight, adz_reduction reduction, adz_tensor *pos_weight);

/**
 * Kullback-Leibler divergence of a target from log-probabilities.
 *
 *     l = target (log target - x)
 *     l = e^target (target - x)    with log_target
 *
 * A target of 0 contributes 0.
 *
 * @param x           any shape, f32 or f64: log-probabilities
 * @param target      broadcasts with x: probabilities, or their logarithms
 * @param reduction   none, mean (over all elements), sum, or batchmean (the sum divided by x's
 *                    first size, which is the divergence of the definition)
 * @param log_target  whether target holds logarithms; PyTorch's default is false
 * @return            l, or one number as a scalar, borrowed from the scope, or NULL
 * @errors            ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad              x and target, to any order; saves both
 * @see               torch.nn.functional.kl_div
 */
ADZ_API adz_tensor *adz_kl_div(
    adz_tensor *x, adz_tensor *target, adz_reduction reduction, bool log_target);

/** Options of adz_poisson_nll_loss. Start from ADZ_POISSON_NLL_LOSS_OPTIONS. */
typedef struct adz_poisson_nll_loss_options {
    size_t size;             /**< sizeof(adz_poisson_nll_loss_options) */
    bool log_input;          /**< x is the logarithm of the rate; true */
    bool full;               /**< add Stirling's formula for log target!; false */
    double eps;              /**< added to a rate before its logarithm, 0 or more; 1e-8 */
    adz_reduction reduction; /**< none, mean or sum; mean */
} adz_poisson_nll_loss_options;

/** The defaults. */
#define ADZ_POISSON_NLL_LOSS_OPTIONS                                                               \
    {                                                                                              \
        ADZ_MEMBER(size, sizeof(adz_poisson_nll_loss_options)), ADZ_MEMBER(log_input, true),       \
            ADZ_MEMBER(full, false), ADZ_MEMBER(eps, 1e-8), ADZ_MEMBER(reduction, ADZ_REDUCE_MEAN) \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_poisson_nll_loss_options) as the caller knows it
 */
ADZ_API void adz_poisson_nll_loss_options_init(adz_poisson_nll_loss_options *options, size_t size);

/**
 * Negative log-likelihood of counts with a Poisson distribution.
 *
 *     l = e^x - target x;   without log_input: l = x - target log(x + eps)
 *     full: l + target log target - target + log(2 pi target) / 2 where target > 1
 *
 * @param x        any shape, f32 or f64: the rate, or its logarithm
 * @param target   broadcasts with x: counts, f32 or f64
 * @param options  NULL for the defaults
 * @return         l, or its mean or sum as a scalar, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad           x and target, to any order
 * @see            torch.nn.functional.poisson_nll_loss
 */
ADZ_API adz_tensor *adz_poisson_nll_loss(
    adz_tensor *x, adz_tensor *target, const adz_poisson_nll_loss_options *options);

/** Options of adz_gaussian_nll_loss. Start from ADZ_GAUSSIAN_NLL_LOSS_OPTIONS. */
typedef struct adz_gaussian_nll_loss_options {
    size_t size;             /**< sizeof(adz_gaussian_nll_loss_options) */
    bool full;               /**< add log(2 pi) / 2; false */
    double eps;              /**< smallest variance, above 0; 1e-6 */
    adz_reduction reduction; /**< none, mean or sum; mean */
} adz_gaussian_nll_loss_options;

/** The defaults. */
#define ADZ_GAUSSIAN_NLL_LOSS_OPTIONS                                                     \
    {                                                                                     \
        ADZ_MEMBER(size, sizeof(adz_gaussian_nll_loss_options)), ADZ_MEMBER(full, false), \
            ADZ_MEMBER(eps, 1e-6), ADZ_MEMBER(reduction, ADZ_REDUCE_MEAN)                 \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_gaussian_nll_loss_options) as the caller knows it
 */
ADZ_API void adz_gaussian_nll_loss_options_init(
    adz_gaussian_nll_loss_options *options, size_t size);

/**
 * Negative log-likelihood of a normal distribution with a mean and a variance for each element.
 *
 *     v = max(var, eps);   l = (log v + (x - target)^2 / v) / 2;   full: l + log(2 pi) / 2
 *
 * The gradient of var is that of v, so it can leave the range below eps.
 *
 * @param x        any shape, f32 or f64: the expected values
 * @param target   broadcasts with x; f32 or f64
 * @param var      variances, 0 or more: shaped like x, or without its last dimension, or of size 1
 *                 there; f32 or f64
 * @param options  NULL for the defaults
 * @return         l, or its mean or sum as a scalar, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT (also a negative variance),
 *                 ADZ_ERR_MEMORY
 * @grad           x, target and var, to any order
 * @see            torch.nn.functional.gaussian_nll_loss
 */
ADZ_API adz_tensor *adz_gaussian_nll_loss(adz_tensor *x, adz_tensor *target, adz_tensor *var,
    const adz_gaussian_nll_loss_options *options);

/**
 * A loss of pairs by their angle: some are to be alike, others are not.
 *
 *     c = <x1, x2> / (|x1| |x2|)
 *     l = 1 - c where target is 1;  max(0, c - margin) where it is -1;  0 elsewhere
 *
 * 1e-12 is added to both squared lengths, so a vector of zeros is allowed.
 *
 * @param x1         x1[N, D] or x1[D], f32 or f64
 * @param x2         shaped like x1
 * @param target     target[N], or [] with x1[D]: 1 or -1, any dtype
 * @param reduction  none, mean or sum
 * @param margin     from -1 to 1 makes sense; PyTorch's default is 0
 * @return           l[N] or a scalar, or the mean or sum as a scalar, borrowed from the scope, or
 *                   NULL
 * @errors           ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad             x1 and x2, to any order
 * @see              torch.nn.functional.cosine_embedding_loss
 */
ADZ_API adz_tensor *adz_cosine_embedding_loss(
    adz_tensor *x1, adz_tensor *x2, adz_tensor *target, adz_reduction reduction, double margin);

/** Options of adz_ctc_loss. Start from ADZ_CTC_LOSS_OPTIONS. */
typedef struct adz_ctc_loss_options {
    size_t size;             /**< sizeof(adz_ctc_loss_options) */
    int64_t blank;           /**< the class of the blank, in [0, C); 0 */
    adz_reduction reduction; /**< none, mean or sum; mean */
    bool zero_infinity;      /**< losses of targets that do not fit their steps are 0, and so are
                                  their gradients; false */
} adz_ctc_loss_options;

/** The defaults. */
#define ADZ_CTC_LOSS_OPTIONS                                                         \
    {                                                                                \
        ADZ_MEMBER(size, sizeof(adz_ctc_loss_options)), ADZ_MEMBER(blank, 0),        \
            ADZ_MEMBER(reduction, ADZ_REDUCE_MEAN), ADZ_MEMBER(zero_infinity, false) \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_ctc_loss_options) as the caller knows it
 */
ADZ_API void adz_ctc_loss_options_init(adz_ctc_loss_options *options, size_t size);

/**
 * Connectionist temporal classification: labels of a sequence without their positions in time.
 *
 *     l = -log of the sum of the probabilities of all ways through the steps that give the target
 *         once repeated classes are joined and blanks removed
 *
 * The mean divides each loss by the number of its labels (at least 1) first. A target that needs
 * more steps than there are has an infinite loss. The gradient is the derivative by log_probs;
 * PyTorch hands out a gradient that is right only behind a log_softmax, where both agree.
 *
 * @param log_probs       log_probs[T, N, C], or [T, C] without a batch; f32 or f64, as
 *                        adz_log_softmax gives them
 * @param targets         targets[N, S], padded with any number, or the labels of all targets one
 *                        after another; [S] without a batch. Classes but the blank; i64 or i32
 * @param input_lengths   steps of each sequence [N], 0 .. T; [] without a batch; i64 or i32
 * @param target_lengths  labels of each target [N]; [] without a batch; i64 or i32
 * @param options         NULL for the defaults
 * @return                l[N] or a scalar, or the mean or sum as a scalar, borrowed from the scope,
 *                        or NULL
 * @errors                ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INDEX (labels and lengths),
 *                        ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad                  log_probs, first order only (ADZ_ERR_UNSUPPORTED for the second); saves
 * all inputs, and for each step 2 numbers of f64 per label
 * @see                   torch.nn.functional.ctc_loss
 */
ADZ_API adz_tensor *adz_ctc_loss(adz_tensor *log_probs, adz_tensor *targets,
    adz_tensor *input_lengths, adz_tensor *target_lengths, const adz_ctc_loss_options *options);

/* ---- distances --------------------------------------------------------------------------- */

/**
 * The cosine of the angle between vectors.
 *
 *     y = sum(a b) / (max(norm(a), eps) max(norm(b), eps))   over one dimension
 *
 * @param a    f32 or f64
 * @param b    broadcasts with a; both are converted to the wider of their dtypes
 * @param dim  of the broadcast shape, 0 .. rank-1, or -rank .. -1 counted from the last; PyTorch's
 *             default is 1
 * @param eps  0 or more; PyTorch's default is 1e-8
 * @return     y, the broadcast shape without dim, borrowed from the scope, or NULL
 * @errors     ADZ_ERR_SHAPE, ADZ_ERR_DIM, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad       a and b, to any order; saves both and their norms
 * @see        torch.nn.functional.cosine_similarity
 */
ADZ_API adz_tensor *adz_cosine_similarity(adz_tensor *a, adz_tensor *b, int dim, double eps);

/**
 * The distance between vectors.
 *
 *     y[...] = norm_p(a[..., :] - b[..., :] + eps)
 *
 * @param a        a[..., D], f32 or f64
 * @param b        broadcasts with a; both are converted to the wider of their dtypes
 * @param p        any norm of adz_norm; PyTorch's default is 2
 * @param eps      added to each difference, against distances of 0, finite; PyTorch's default is
 *                 1e-6
 * @param keepdim  ADZ_KEEPDIM or ADZ_DROPDIM, PyTorch's default
 * @return         y, borrowed from the scope, or NULL
 * @errors         ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad           a and b, to any order; saves the differences and y
 * @see            torch.nn.functional.pairwise_distance
 */
ADZ_API adz_tensor *adz_pairwise_distance(
    adz_tensor *a, adz_tensor *b, double p, double eps, bool keepdim);

/**
 * The distances between all rows of two matrices.
 *
 *     y[..., i, j] = norm_p(a[..., i, :] - b[..., j, :])
 *
 * The differences of all pairs are in memory at a time: N M D elements for one pair of matrices. A
 * NaN element makes a distance NaN, and so do equal infinities in one position, except for p
 * INFINITY, which takes them as equal.
 *
 * @param a  a[..., N, D], f32 or f64, rank 2 to 7
 * @param b  b[..., M, D]; leading dimensions broadcast with those of a
 * @param p  the norm, 0 or more or INFINITY; PyTorch's default is 2
 * @return   y[..., N, M], borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad     a and b, to any order, 0 where two rows are equal; saves the differences and y
 * @see      torch.cdist
 */
ADZ_API adz_tensor *adz_cdist(adz_tensor *a, adz_tensor *b, double p);

#ifdef __cplusplus
}
#endif

#endif
