/**
 * @file scheduler.h
 * Learning-rate schedules: each changes the setting "lr" of an optimizer's groups.
 *
 * Make the optimizer and its groups first, then the scheduler, which remembers each group's rate as
 * its "initial_lr". Call adz_scheduler_step after adz_optimizer_step. Schedules act on the rate
 * that is set, as PyTorch's do, so they can be combined. A scheduler is reference-counted and keeps
 * its optimizer.
 */
#ifndef ADZE_OPTIM_SCHEDULER_H
#define ADZE_OPTIM_SCHEDULER_H

#include "adze/optim/optimizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Changes the learning rates of an optimizer from step to step. */
typedef struct adz_scheduler adz_scheduler;

/**
 * Takes one more reference.
 *
 * @param scheduler  any scheduler; NULL gives NULL
 * @return           scheduler
 */
ADZ_API adz_scheduler *adz_scheduler_keep(adz_scheduler *scheduler);

/**
 * Ends a reference; the last one ends the scheduler and its reference to the optimizer.
 *
 * @param scheduler  address of the pointer, which becomes NULL; a NULL inside is left alone
 */
ADZ_API void adz_scheduler_free(adz_scheduler **scheduler);

/**
 * The name of a scheduler's kind, as PyTorch has it.
 *
 * @param scheduler  any scheduler
 * @return           "StepLR"; NULL when scheduler is NULL
 */
ADZ_API const char *adz_scheduler_name(const adz_scheduler *scheduler);

/**
 * Goes on to the next epoch (or whatever the caller counts in) and sets its rates.
 *
 * @param scheduler  any scheduler
 * @return           ADZ_OK or ADZ_ERR_NULL
 * @see              torch.optim.lr_scheduler.LRScheduler.step
 */
ADZ_API adz_status adz_scheduler_step(adz_scheduler *scheduler);

/**
 * How often the scheduler has stepped.
 *
 * @param scheduler  any scheduler
 * @return           0 at first; -1 when scheduler is NULL
 */
ADZ_API int64_t adz_scheduler_last_epoch(const adz_scheduler *scheduler);

/**
 * The rate that the scheduler set last.
 *
 * @param scheduler  any scheduler
 * @param group      a group that its optimizer had when the scheduler was made
 * @return           the rate; NaN with ADZ_ERR_NULL or ADZ_ERR_INDEX recorded
 * @see              torch.optim.lr_scheduler.LRScheduler.get_last_lr
 */
ADZ_API double adz_scheduler_last_lr(const adz_scheduler *scheduler, int group);

/**
 * Reads a scheduler's state; the optimizer's own state holds the rates in force.
 *
 * @param scheduler  any scheduler
 * @param values     receives up to `count` numbers; may be NULL when count is 0
 * @param count      room in values
 * @return           how many numbers the state has; 0 with ADZ_ERR_NULL recorded
 * @see              torch.optim.lr_scheduler.LRScheduler.state_dict
 */
ADZ_API size_t adz_scheduler_get_state(
    const adz_scheduler *scheduler, double *values, size_t count);

/**
 * Restores a scheduler's state.
 *
 * @param scheduler  of the same kind, over as many groups
 * @param values     from adz_scheduler_get_state
 * @param count      their number
 * @return           ADZ_OK; ADZ_ERR_NULL or ADZ_ERR_ARGUMENT with nothing changed
 * @see              torch.optim.lr_scheduler.LRScheduler.load_state_dict
 */
ADZ_API adz_status adz_scheduler_set_state(
    adz_scheduler *scheduler, const double *values, size_t count);

/**
 * Multiplies the rates by gamma every step_size epochs.
 *
 * @param optimizer  kept
 * @param step_size  1 or more
 * @param gamma      the factor (PyTorch's default: 0.1)
 * @return           yours, end it with adz_scheduler_free; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT
 *                   or ADZ_ERR_MEMORY recorded
 * @see              torch.optim.lr_scheduler.StepLR
 */
ADZ_API adz_scheduler *adz_step_lr_new(adz_optimizer *optimizer, int64_t step_size, double gamma);

/**
 * Multiplies the rates by gamma every epoch.
 *
 * @param optimizer  kept
 * @param gamma      the factor
 * @return           yours, end it with adz_scheduler_free; NULL with ADZ_ERR_NULL or ADZ_ERR_MEMORY
 *                   recorded
 * @see              torch.optim.lr_scheduler.ExponentialLR
 */
ADZ_API adz_scheduler *adz_exponential_lr_new(adz_optimizer *optimizer, double gamma);

/**
 * Lets the rates fall to eta_min along half a cosine, and rise again after t_max.
 *
 *     lr = eta_min + (initial_lr - eta_min) (1 + cos(pi epoch / t_max)) / 2
 *
 * @param optimizer  kept
 * @param t_max      epochs of the fall, 1 or more
 * @param eta_min    the smallest rate (PyTorch's default: 0)
 * @return           yours, end it with adz_scheduler_free; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT
 *                   or ADZ_ERR_MEMORY recorded
 * @see              torch.optim.lr_scheduler.CosineAnnealingLR
 */
ADZ_API adz_scheduler *adz_cosine_annealing_lr_new(
    adz_optimizer *optimizer, int64_t t_max, double eta_min);

/**
 * Gives the factor of an epoch.
 *
 * @param epoch  0 at first
 * @param group  the group whose rate is set
 * @param user   as given to adz_lambda_lr_new
 * @return       what initial_lr is multiplied by
 */
typedef double (*adz_lr_lambda)(int64_t epoch, int group, void *user);

/**
 * Multiplies each group's initial rate by a function of the epoch.
 *
 * @param optimizer  kept
 * @param lambda     called for each group, once at once and then in every step
 * @param user       handed to lambda
 * @return           yours, end it with adz_scheduler_free; NULL with ADZ_ERR_NULL or ADZ_ERR_MEMORY
 *                   recorded
 * @see              torch.optim.lr_scheduler.LambdaLR
 */
ADZ_API adz_scheduler *adz_lambda_lr_new(
    adz_optimizer *optimizer, adz_lr_lambda lambda, void *user);

#ifdef __cplusplus
}
#endif

#endif
