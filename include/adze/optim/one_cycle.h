/**
 * @file one_cycle.h
 * A schedule of one cycle.
 */
#ifndef ADZE_OPTIM_ONE_CYCLE_H
#define ADZE_OPTIM_ONE_CYCLE_H

#include "adze/optim/scheduler.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The shape of a schedule's slopes. */
typedef enum adz_anneal_strategy {
    ADZ_ANNEAL_STRATEGY_COS,   /**< half a cosine */
    ADZ_ANNEAL_STRATEGY_LINEAR /**< a straight line */
} adz_anneal_strategy;

/** Settings of a cycle. Start from ADZ_ONE_CYCLE_LR_OPTIONS. The lists have one number for each
 * group of parameters, or are NULL: then one number is for all. They are copied. */
typedef struct adz_one_cycle_lr_options {
    size_t size;                         /**< sizeof(adz_one_cycle_lr_options) */
    double pct_start;                    /**< part of the steps that the rise takes, 0 to 1; 0.3 */
    adz_anneal_strategy anneal_strategy; /**< ADZ_ANNEAL_STRATEGY_COS */
    bool cycle_momentum;                 /**< move "momentum", or "beta1", against the rate; true */
    bool three_phase;                    /**< down to the first rate, then to the last; false */
    double base_momentum;                /**< the momentum at the largest rate; 0.85 */
    double max_momentum;                 /**< the momentum at first and last; 0.95 */
    double div_factor;                   /**< the first rate is max_lr / div_factor, above 0; 25 */
    double final_div_factor;    /**< the last rate is the first one divided by this, above 0; 1e4 */
    const double *max_lrs;      /**< instead of max_lr; NULL */
    size_t n_max_lrs;           /**< 0 */
    const double *base_momenta; /**< instead of base_momentum; NULL */
    size_t n_base_momenta;      /**< 0 */
    const double *max_momenta;  /**< instead of max_momentum; NULL */
    size_t n_max_momenta;       /**< 0 */
} adz_one_cycle_lr_options;

/** The defaults. */
#define ADZ_ONE_CYCLE_LR_OPTIONS                                                                 \
    {                                                                                            \
        ADZ_MEMBER(size, sizeof(adz_one_cycle_lr_options)), ADZ_MEMBER(pct_start, 0.3),          \
            ADZ_MEMBER(anneal_strategy, ADZ_ANNEAL_STRATEGY_COS),                                \
            ADZ_MEMBER(cycle_momentum, true), ADZ_MEMBER(three_phase, false),                    \
            ADZ_MEMBER(base_momentum, 0.85), ADZ_MEMBER(max_momentum, 0.95),                     \
            ADZ_MEMBER(div_factor, 25), ADZ_MEMBER(final_div_factor, 1e4),                       \
            ADZ_MEMBER(max_lrs, NULL), ADZ_MEMBER(n_max_lrs, 0), ADZ_MEMBER(base_momenta, NULL), \
            ADZ_MEMBER(n_base_momenta, 0), ADZ_MEMBER(max_momenta, NULL),                        \
            ADZ_MEMBER(n_max_momenta, 0)                                                         \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_one_cycle_lr_options) as the caller knows it
 */
ADZ_API void adz_one_cycle_lr_options_init(adz_one_cycle_lr_options *options, size_t size);

/**
 * Raises the rates from max_lr / div_factor to max_lr and lets them fall to almost nothing, with
 * the momentum the other way. To be stepped after each batch; the optimizer's own rate is replaced.
 *
 * The phases end at the steps pct_start total_steps - 1 and total_steps - 1, with three_phase also
 * at 2 pct_start total_steps - 2. A step after total_steps is refused.
 *
 * @param optimizer    kept; with cycle_momentum one that has "momentum" or "beta1"
 * @param max_lr       the largest rate, 0 or more
 * @param total_steps  1 or more
 * @param options      NULL for the defaults
 * @return             yours, end it with adz_scheduler_release; NULL with ADZ_ERR_NULL,
 *                     ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY recorded
 * @see                torch.optim.lr_scheduler.OneCycleLR; Smith and Topin, 2017
 */
ADZ_API adz_scheduler *adz_one_cycle_lr_new(adz_optimizer *optimizer, double max_lr,
    int64_t total_steps, const adz_one_cycle_lr_options *options);

#ifdef __cplusplus
}
#endif

#endif
