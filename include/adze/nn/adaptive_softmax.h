/**
 * @file adaptive_softmax.h
 * The softmax of very many classes, most of which are rare.
 */
#ifndef ADZE_NN_ADAPTIVE_SOFTMAX_H
#define ADZE_NN_ADAPTIVE_SOFTMAX_H

#include "adze/nn/module.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of adz_adaptive_log_softmax_with_loss_new. Start from
 * ADZ_ADAPTIVE_LOG_SOFTMAX_WITH_LOSS_OPTIONS. */
typedef struct adz_adaptive_log_softmax_with_loss_options {
    size_t size;      /**< sizeof(adz_adaptive_log_softmax_with_loss_options) */
    double div_value; /**< by which the features shrink from cluster to cluster, above 0; 4 */
    bool head_bias;   /**< the head has a bias; false */
    bool whole_batch; /**< each cluster computes all rows, and not only those whose class it has.
                           Plans and exports need it, because the rows depend on the target;
                           false */
    adz_dtype dtype;  /**< of the parameters, ADZ_F32 or ADZ_F64; ADZ_F32 */
} adz_adaptive_log_softmax_with_loss_options;

/** The defaults. */
#define ADZ_ADAPTIVE_LOG_SOFTMAX_WITH_LOSS_OPTIONS                            \
    {                                                                         \
        ADZ_MEMBER(size, sizeof(adz_adaptive_log_softmax_with_loss_options)), \
            ADZ_MEMBER(div_value, 4.0), ADZ_MEMBER(head_bias, false),         \
            ADZ_MEMBER(whole_batch, false), ADZ_MEMBER(dtype, ADZ_F32)        \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_adaptive_log_softmax_with_loss_options) as the caller knows it
 */
ADZ_API void adz_adaptive_log_softmax_with_loss_options_init(
    adz_adaptive_log_softmax_with_loss_options *options, size_t size);

/**
 * The log-probabilities of classes by a head and clusters (Grave et al., 2017), and their loss.
 *
 * The classes are sorted by frequency, the most frequent first. The head has scores for the classes
 * below the first cutoff, and one for each cluster. Cluster i holds the classes from cutoff i to
 * the next one. Its scores are two linear layers, of in_features / div_value^(i + 1) hidden
 * features:
 *
 *     log p(y) = log_softmax(head x)_y                                   y below the first cutoff
 *     log p(y) = log_softmax(head x)_cluster + log_softmax(tail_i x)_y   elsewhere
 *
 * The arguments are "x", x[N, D] or x[D], and "target", [N] or [] of i64 or i32. The results are
 * "output", the log-probability of each target, and "loss", the mean of its negative.
 *
 * @param in_features  D, 0 or more
 * @param n_classes    2 or more
 * @param cutoffs      n_cutoffs classes in 1 .. n_classes - 1 that rise; copied
 * @param n_cutoffs    1 or more
 * @param options      NULL for the defaults
 * @return             yours, end it with adz_module_release; NULL with ADZ_ERR_NULL,
 *                     ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE or ADZ_ERR_MEMORY recorded
 * @see                torch.nn.AdaptiveLogSoftmaxWithLoss
 */
ADZ_API adz_module *adz_adaptive_log_softmax_with_loss_new(int64_t in_features, int64_t n_classes,
    const int64_t *cutoffs, size_t n_cutoffs,
    const adz_adaptive_log_softmax_with_loss_options *options);

/**
 * The log-probabilities of all classes.
 *
 * @param module  made by adz_adaptive_log_softmax_with_loss_new
 * @param x       x[N, D]
 * @return        y[N, n_classes], borrowed from the scope, or NULL
 * @errors        ADZ_ERR_ARGUMENT (another module), ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          x and the parameters, to any order
 * @see           torch.nn.AdaptiveLogSoftmaxWithLoss.log_prob
 */
ADZ_API adz_tensor *adz_adaptive_log_softmax_with_loss_log_prob(adz_module *module, adz_tensor *x);

/**
 * The most probable class of each row.
 *
 * @param module  made by adz_adaptive_log_softmax_with_loss_new
 * @param x       x[N, D]
 * @return        i64[N], borrowed from the scope, or NULL
 * @errors        ADZ_ERR_ARGUMENT (another module), ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          none
 * @see           torch.nn.AdaptiveLogSoftmaxWithLoss.predict
 */
ADZ_API adz_tensor *adz_adaptive_log_softmax_with_loss_predict(adz_module *module, adz_tensor *x);

#ifdef __cplusplus
}
#endif

#endif
