/**
 * @file margin_loss.h
 * Losses with a margin: what is right must win by it, or is to be nearer by it.
 */
#ifndef ADZE_OPS_MARGIN_LOSS_H
#define ADZE_OPS_MARGIN_LOSS_H

#include "adze/ops/loss.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The logistic loss of two classes, whose targets are -1 and 1.
 *
 *     l = log(1 + e^(-target x))
 *
 * No exponential overflows: a score of -1000 with the target 1 costs 1000, where PyTorch says
 * infinity.
 *
 * @param x          any shape, f32 or f64
 * @param target     broadcasts with x; both are converted to the wider of their dtypes, scalars too
 * @param reduction  none, mean or sum; the mean of no elements is NaN
 * @return           l, or its mean or sum as a scalar, borrowed from the scope, or NULL
 * @errors           ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad             x and target, to any order; saves both
 * @see              torch.nn.functional.soft_margin_loss
 */
ADZ_API adz_tensor *adz_soft_margin_loss(
    adz_tensor *x, adz_tensor *target, adz_reduction reduction);

/**
 * A loss of distances: some are to be small, others are to be at least the margin.
 *
 *     l = x where target is 1;  max(0, margin - x) where it is -1;  the sum of both elsewhere
 *
 * @param x          any shape, f32 or f64
 * @param target     broadcasts with x: 1 or -1, any dtype
 * @param reduction  none, mean or sum; the mean of no elements is NaN
 * @param margin     finite; PyTorch's default is 1
 * @return           l, or its mean or sum as a scalar, borrowed from the scope, or NULL
 * @errors           ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad             x, to any order
 * @see              torch.nn.functional.hinge_embedding_loss
 */
ADZ_API adz_tensor *adz_hinge_embedding_loss(
    adz_tensor *x, adz_tensor *target, adz_reduction reduction, double margin);

/**
 * A loss of pairs of scores: the target says which one is to be higher by the margin.
 *
 *     l = max(0, margin - target (x1 - x2))
 *
 * @param x1         any shape, f32 or f64
 * @param x2         of x1's rank; broadcasts with x1
 * @param target     of x1's rank; broadcasts with both: 1 where x1 is to be higher, -1 where x2 is,
 *                   any dtype
 * @param reduction  none, mean or sum; the mean of no elements is NaN
 * @param margin     finite; PyTorch's default is 0
 * @return           l, or its mean or sum as a scalar, borrowed from the scope, or NULL
 * @errors           ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad             all three, to any order
 * @see              torch.nn.functional.margin_ranking_loss
 */
ADZ_API adz_tensor *adz_margin_ranking_loss(
    adz_tensor *x1, adz_tensor *x2, adz_tensor *target, adz_reduction reduction, double margin);

/** Options of adz_multi_margin_loss. Start from ADZ_MULTI_MARGIN_LOSS_OPTIONS. */
typedef struct adz_multi_margin_loss_options {
    size_t size;             /**< sizeof(adz_multi_margin_loss_options) */
    int p;                   /**< the power of each margin that is missed, 1 or 2; 1 */
    double margin;           /**< finite; 1 */
    adz_reduction reduction; /**< none, mean or sum; mean */
} adz_multi_margin_loss_options;

/** The defaults. */
#define ADZ_MULTI_MARGIN_LOSS_OPTIONS                                              \
    {                                                                              \
        ADZ_MEMBER(size, sizeof(adz_multi_margin_loss_options)), ADZ_MEMBER(p, 1), \
            ADZ_MEMBER(margin, 1.0), ADZ_MEMBER(reduction, ADZ_REDUCE_MEAN)        \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_multi_margin_loss_options) as the caller knows it
 */
ADZ_API void adz_multi_margin_loss_options_init(
    adz_multi_margin_loss_options *options, size_t size);

/**
 * A loss of classes: the score of the right one is to be higher than each other one by the margin.
 *
 *     l = 1/C sum_{c != y} weight_y max(0, margin - x_y + x_c)^p,  y = target
 *
 * The mean divides by the number of rows, whatever the weights are. A NaN score makes its loss NaN;
 * PyTorch passes over it.
 *
 * @param x        x[N, C], or x[C] without a batch; C at least 1; f32 or f64
 * @param target   target[N], or [] with x[C]: classes in [0, C), i64 or i32
 * @param weight   weight[C], or ADZ_NONE
 * @param options  NULL for the defaults
 * @return         l[N] or a scalar, or the mean or sum as a scalar, borrowed from the scope, or
 *                 NULL; the mean of no rows is NaN
 * @errors         ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INDEX, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad           x and weight, to any order; 0 where a margin is kept exactly
 * @see            torch.nn.functional.multi_margin_loss
 */
ADZ_API adz_tensor *adz_multi_margin_loss(adz_tensor *x, adz_tensor *target, adz_tensor *weight,
    const adz_multi_margin_loss_options *options);

/**
 * A loss of labels of which any number is right: the score of each is to be higher by 1 than those
 * of all classes that are not.
 *
 *     l = 1/C sum over labels y, sum over classes c that are no label, of max(0, 1 - x_y + x_c)
 *
 * The target lists the labels of a row. A negative number ends the list, and what is behind it is
 * not read. The margins of all pairs are in memory at a time, N C C elements. A NaN score makes its
 * loss NaN; PyTorch passes over it.
 *
 * @param x          x[N, C], or x[C] without a batch; C at least 1; f32 or f64
 * @param target     shaped like x: classes in [0, C), then -1; i64 or i32
 * @param reduction  none, mean or sum; the mean of no rows is NaN
 * @return           l[N] or a scalar, or the mean or sum as a scalar, borrowed from the scope, or
 *                   NULL
 * @errors           ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INDEX, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad             x, to any order; 0 where a margin is kept exactly
 * @see              torch.nn.functional.multilabel_margin_loss
 */
ADZ_API adz_tensor *adz_multilabel_margin_loss(
    adz_tensor *x, adz_tensor *target, adz_reduction reduction);

/**
 * Cross entropy of labels of which any number is right, from scores.
 *
 *     l = mean over the classes of weight (target softplus(-x) + (1 - target) softplus(x))
 *
 * @param x          x[..., C], f32 or f64
 * @param target     shaped like x, in [0, 1]
 * @param weight     broadcasts to x, or ADZ_NONE
 * @param reduction  none, mean or sum; the mean of no elements is NaN
 * @return           l[...], or its mean or sum as a scalar, borrowed from the scope, or NULL
 * @errors           ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad             x, target and weight, to any order
 * @see              torch.nn.functional.multilabel_soft_margin_loss
 */
ADZ_API adz_tensor *adz_multilabel_soft_margin_loss(
    adz_tensor *x, adz_tensor *target, adz_tensor *weight, adz_reduction reduction);

/** Options of adz_triplet_margin_loss. Start from ADZ_TRIPLET_MARGIN_LOSS_OPTIONS. */
typedef struct adz_triplet_margin_loss_options {
    size_t size;             /**< sizeof(adz_triplet_margin_loss_options) */
    double margin;           /**< above 0; 1 */
    double p;                /**< the norm of the distance, above 0; 2 */
    double eps;              /**< added to each difference, against distances of 0; 1e-6 */
    bool swap;               /**< the negative is as near as to the positive at most; false */
    adz_reduction reduction; /**< none, mean or sum; mean */
} adz_triplet_margin_loss_options;

/** The defaults. */
#define ADZ_TRIPLET_MARGIN_LOSS_OPTIONS                                                     \
    {                                                                                       \
        ADZ_MEMBER(size, sizeof(adz_triplet_margin_loss_options)), ADZ_MEMBER(margin, 1.0), \
            ADZ_MEMBER(p, 2.0), ADZ_MEMBER(eps, 1e-6), ADZ_MEMBER(swap, false),             \
            ADZ_MEMBER(reduction, ADZ_REDUCE_MEAN)                                          \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_triplet_margin_loss_options) as the caller knows it
 */
ADZ_API void adz_triplet_margin_loss_options_init(
    adz_triplet_margin_loss_options *options, size_t size);

/**
 * A loss of triplets: the anchor is to be nearer to the positive than to the negative.
 *
 *     d(u, v) = |u - v + eps|_p over the last dimension
 *     l = max(0, margin + d(anchor, positive) - d(anchor, negative))
 *
 * With swap, d(positive, negative) replaces the last distance where it is smaller.
 *
 * @param anchor    anchor[N, D] or anchor[D], f32 or f64
 * @param positive  shaped like the anchor
 * @param negative  shaped like the anchor
 * @param options   NULL for the defaults
 * @return          l[N] or a scalar, or the mean or sum as a scalar, borrowed from the scope, or
 * NULL
 * @errors          ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad            all three, to any order
 * @see             torch.nn.functional.triplet_margin_loss
 */
ADZ_API adz_tensor *adz_triplet_margin_loss(adz_tensor *anchor, adz_tensor *positive,
    adz_tensor *negative, const adz_triplet_margin_loss_options *options);

/** A distance of the program. It returns a tensor, or NULL with an error recorded. */
typedef adz_tensor *(*adz_distance_function)(adz_tensor *a, adz_tensor *b, void *user);

/** Options of adz_triplet_margin_with_distance_loss. Start from
 * ADZ_TRIPLET_MARGIN_WITH_DISTANCE_LOSS_OPTIONS. */
typedef struct adz_triplet_margin_with_distance_loss_options {
    size_t size;             /**< sizeof(adz_triplet_margin_with_distance_loss_options) */
    double margin;           /**< above 0; 1 */
    bool swap;               /**< the negative is as near as to the positive at most; false */
    adz_reduction reduction; /**< none, mean or sum; mean */
} adz_triplet_margin_with_distance_loss_options;

/** The defaults. */
#define ADZ_TRIPLET_MARGIN_WITH_DISTANCE_LOSS_OPTIONS                            \
    {                                                                            \
        ADZ_MEMBER(size, sizeof(adz_triplet_margin_with_distance_loss_options)), \
            ADZ_MEMBER(margin, 1.0), ADZ_MEMBER(swap, false),                    \
            ADZ_MEMBER(reduction, ADZ_REDUCE_MEAN)                               \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_triplet_margin_with_distance_loss_options) as the caller knows it
 */
ADZ_API void adz_triplet_margin_with_distance_loss_options_init(
    adz_triplet_margin_with_distance_loss_options *options, size_t size);

/**
 * A loss of triplets by a distance of the program: the anchor is to be nearer to the positive than
 * to the negative.
 *
 *     l = max(0, margin + d(anchor, positive) - d(anchor, negative))
 *
 * With swap, d(positive, negative) replaces the last distance where it is smaller.
 *
 * @param anchor             any shape that the distance takes, f32 or f64
 * @param positive           of the anchor's rank
 * @param negative           of the anchor's rank
 * @param distance_function  d; NULL for adz_pairwise_distance with p 2 and eps 1e-6
 * @param user               handed to distance_function; may be NULL
 * @param options            NULL for the defaults
 * @return                   l, or its mean or sum as a scalar, borrowed from the scope, or NULL
 * @errors                   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY, those
 *                           of the distance
 * @grad                     all three, as often as the distance is differentiable
 * @see                      torch.nn.functional.triplet_margin_with_distance_loss
 */
ADZ_API adz_tensor *adz_triplet_margin_with_distance_loss(adz_tensor *anchor, adz_tensor *positive,
    adz_tensor *negative, adz_distance_function distance_function, void *user,
    const adz_triplet_margin_with_distance_loss_options *options);

#ifdef __cplusplus
}
#endif

#endif
