/**
 * @file one_cycle.h
 * Schedules of one cycle and of many cycles, and the rate of averaged weights.
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

/** How the cycles of CyclicLR change from cycle to cycle. */
typedef enum adz_cyclic_mode {
    ADZ_CYCLIC_MODE_TRIANGULAR,  /**< all cycles are equal */
    ADZ_CYCLIC_MODE_TRIANGULAR2, /**< each cycle is half as high as the one before */
    ADZ_CYCLIC_MODE_EXP_RANGE    /**< the height is multiplied by gamma in each step */
} adz_cyclic_mode;

/** What the scale of CyclicLR is computed from. */
typedef enum adz_scale_mode {
    ADZ_SCALE_MODE_CYCLE,     /**< the number of the cycle, 1 at first */
    ADZ_SCALE_MODE_ITERATIONS /**< the number of steps, 0 at first */
} adz_scale_mode;

/**
 * Gives the factor of the height of CyclicLR.
 *
 * @param x     the number of the cycle, or of steps (adz_scale_mode)
 * @param user  as given in the options
 * @return      what the height is multiplied by
 */
typedef double (*adz_cyclic_scale)(double x, void *user);

/** Settings of CyclicLR. Start from ADZ_CYCLIC_LR_OPTIONS. The lists have one number for each group
 * of parameters, or are NULL: then one number is for all. They are copied. */
typedef struct adz_cyclic_lr_options {
    size_t size;                /**< sizeof(adz_cyclic_lr_options) */
    int64_t step_size_up;       /**< steps of the rise, 1 or more; 2000 */
    int64_t step_size_down;     /**< steps of the fall; 0, as many as of the rise */
    adz_cyclic_mode mode;       /**< ADZ_CYCLIC_MODE_TRIANGULAR */
    double gamma;               /**< of ADZ_CYCLIC_MODE_EXP_RANGE, finite; 1 */
    adz_cyclic_scale scale_fn;  /**< instead of `mode`; NULL */
    void *user;                 /**< handed to scale_fn; NULL */
    adz_scale_mode scale_mode;  /**< what scale_fn gets; ADZ_SCALE_MODE_CYCLE */
    bool cycle_momentum;        /**< move "momentum", or "beta1", against the rate; true */
    double base_momentum;       /**< the momentum at the largest rate; 0.8 */
    double max_momentum;        /**< the momentum at the smallest rate; 0.9 */
    const double *base_lrs;     /**< instead of base_lr; NULL */
    size_t n_base_lrs;          /**< 0 */
    const double *max_lrs;      /**< instead of max_lr; NULL */
    size_t n_max_lrs;           /**< 0 */
    const double *base_momenta; /**< instead of base_momentum; NULL */
    size_t n_base_momenta;      /**< 0 */
    const double *max_momenta;  /**< instead of max_momentum; NULL */
    size_t n_max_momenta;       /**< 0 */
} adz_cyclic_lr_options;

/** The defaults. */
#define ADZ_CYCLIC_LR_OPTIONS                                                                 \
    {                                                                                         \
        ADZ_MEMBER(size, sizeof(adz_cyclic_lr_options)), ADZ_MEMBER(step_size_up, 2000),      \
            ADZ_MEMBER(step_size_down, 0), ADZ_MEMBER(mode, ADZ_CYCLIC_MODE_TRIANGULAR),      \
            ADZ_MEMBER(gamma, 1), ADZ_MEMBER(scale_fn, NULL), ADZ_MEMBER(user, NULL),         \
            ADZ_MEMBER(scale_mode, ADZ_SCALE_MODE_CYCLE), ADZ_MEMBER(cycle_momentum, true),   \
            ADZ_MEMBER(base_momentum, 0.8), ADZ_MEMBER(max_momentum, 0.9),                    \
            ADZ_MEMBER(base_lrs, NULL), ADZ_MEMBER(n_base_lrs, 0), ADZ_MEMBER(max_lrs, NULL), \
            ADZ_MEMBER(n_max_lrs, 0), ADZ_MEMBER(base_momenta, NULL),                         \
            ADZ_MEMBER(n_base_momenta, 0), ADZ_MEMBER(max_momenta, NULL),                     \
            ADZ_MEMBER(n_max_momenta, 0)                                                      \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_cyclic_lr_options) as the caller knows it
 */
ADZ_API void adz_cyclic_lr_options_init(adz_cyclic_lr_options *options, size_t size);

/**
 * Lets the rates rise and fall between two bounds, with the momentum the other way. To be stepped
 * after each batch; the optimizer's own rate is replaced.
 *
 *     c = floor(1 + step / size),  x = 1 + step / size - c,  size = step_size_up + step_size_down
 *     h = scale (x <= up ? x / up : (x - 1) / (up - 1)),  up = step_size_up / size
 *     lr = base_lr + (max_lr - base_lr) h
 *     momentum = max_momentum - (max_momentum - base_momentum) h
 *
 * @param optimizer  kept; with cycle_momentum one that has "momentum" or "beta1"
 * @param base_lr    the smallest rate, 0 or more
 * @param max_lr     the largest rate, 0 or more
 * @param options    NULL for the defaults
 * @return           yours, end it with adz_scheduler_release; NULL with ADZ_ERR_NULL,
 *                   ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY recorded
 * @see              torch.optim.lr_scheduler.CyclicLR; Smith, 2017
 */
ADZ_API adz_scheduler *adz_cyclic_lr_new(
    adz_optimizer *optimizer, double base_lr, double max_lr, const adz_cyclic_lr_options *options);

/** Settings of SWALR. Start from ADZ_SWA_LR_OPTIONS. */
typedef struct adz_swa_lr_options {
    size_t size;                         /**< sizeof(adz_swa_lr_options) */
    int64_t anneal_epochs;               /**< epochs of the way to the last rate, 0 or more; 10 */
    adz_anneal_strategy anneal_strategy; /**< ADZ_ANNEAL_STRATEGY_COS */
    const double *swa_lrs;               /**< one for each group, instead of swa_lr, copied; NULL */
    size_t n_swa_lrs;                    /**< 0 */
} adz_swa_lr_options;

/** The defaults. */
#define ADZ_SWA_LR_OPTIONS                                                                   \
    {                                                                                        \
        ADZ_MEMBER(size, sizeof(adz_swa_lr_options)), ADZ_MEMBER(anneal_epochs, 10),         \
            ADZ_MEMBER(anneal_strategy, ADZ_ANNEAL_STRATEGY_COS), ADZ_MEMBER(swa_lrs, NULL), \
            ADZ_MEMBER(n_swa_lrs, 0)                                                         \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_swa_lr_options) as the caller knows it
 */
ADZ_API void adz_swa_lr_options_init(adz_swa_lr_options *options, size_t size);

/**
 * Lets the rates go from where they are to a constant, for weights that are averaged from then on
 * (adz_averaged_model_new).
 *
 * @param optimizer  kept
 * @param swa_lr     the last rate, 0 or more
 * @param options    NULL for the defaults
 * @return           yours, end it with adz_scheduler_release; NULL with ADZ_ERR_NULL,
 *                   ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY recorded
 * @see              torch.optim.swa_utils.SWALR; Izmailov et al., 2018
 */
ADZ_API adz_scheduler *adz_swa_lr_new(
    adz_optimizer *optimizer, double swa_lr, const adz_swa_lr_options *options);

#ifdef __cplusplus
}
#endif

#endif
