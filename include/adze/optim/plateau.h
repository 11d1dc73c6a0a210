/**
 * @file plateau.h
 * A schedule that watches a metric.
 */
#ifndef ADZE_OPTIM_PLATEAU_H
#define ADZE_OPTIM_PLATEAU_H

#include "adze/optim/scheduler.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Which metrics are better. */
typedef enum adz_plateau_mode {
    ADZ_PLATEAU_MODE_MIN, /**< smaller ones */
    ADZ_PLATEAU_MODE_MAX  /**< larger ones */
} adz_plateau_mode;

/** By how much a metric must be better than the best one to count. */
typedef enum adz_threshold_mode {
    ADZ_THRESHOLD_MODE_REL, /**< by that part of the best one */
    ADZ_THRESHOLD_MODE_ABS  /**< by that amount */
} adz_threshold_mode;

/** Settings of a ReduceLROnPlateau. Start from ADZ_REDUCE_LR_ON_PLATEAU_OPTIONS. */
typedef struct adz_reduce_lr_on_plateau_options {
    size_t size;           /**< sizeof(adz_reduce_lr_on_plateau_options) */
    adz_plateau_mode mode; /**< ADZ_PLATEAU_MODE_MIN */
    double factor;         /**< what the rates are multiplied by, in [0, 1); 0.1 */
    int64_t patience;      /**< epochs without improvement that are borne, 0 or more; 10 */
    double threshold;      /**< how much counts as one; 1e-4 */
    adz_threshold_mode threshold_mode; /**< ADZ_THRESHOLD_MODE_REL */
    int64_t cooldown;      /**< epochs after a reduction that do not count, 0 or more; 0 */
    double min_lr;         /**< no rate is reduced below it, 0 or more; 0 */
    double eps;            /**< reductions by no more than this are left out, 0 or more; 1e-8 */
    const double *min_lrs; /**< instead of min_lr, one for each group, copied; NULL */
    size_t n_min_lrs;      /**< 0 */
} adz_reduce_lr_on_plateau_options;

/** The defaults. */
#define ADZ_REDUCE_LR_ON_PLATEAU_OPTIONS                                                 \
    {                                                                                    \
        ADZ_MEMBER(size, sizeof(adz_reduce_lr_on_plateau_options)),                      \
            ADZ_MEMBER(mode, ADZ_PLATEAU_MODE_MIN), ADZ_MEMBER(factor, 0.1),             \
            ADZ_MEMBER(patience, 10), ADZ_MEMBER(threshold, 1e-4),                       \
            ADZ_MEMBER(threshold_mode, ADZ_THRESHOLD_MODE_REL), ADZ_MEMBER(cooldown, 0), \
            ADZ_MEMBER(min_lr, 0), ADZ_MEMBER(eps, 1e-8), ADZ_MEMBER(min_lrs, NULL),     \
            ADZ_MEMBER(n_min_lrs, 0)                                                     \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_reduce_lr_on_plateau_options) as the caller knows it
 */
ADZ_API void adz_reduce_lr_on_plateau_options_init(
    adz_reduce_lr_on_plateau_options *options, size_t size);

/**
 * Multiplies the rates by a factor when a metric has not improved for more than `patience` epochs.
 * Step it with adz_scheduler_step_metric.
 *
 * @param optimizer  kept
 * @param options    NULL for the defaults
 * @return           yours, end it with adz_scheduler_release; NULL with ADZ_ERR_NULL,
 * ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY recorded
 * @see              torch.optim.lr_scheduler.ReduceLROnPlateau
 */
ADZ_API adz_scheduler *adz_reduce_lr_on_plateau_new(
    adz_optimizer *optimizer, const adz_reduce_lr_on_plateau_options *options);

#ifdef __cplusplus
}
#endif

#endif
