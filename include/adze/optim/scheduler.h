/**
 * @file scheduler.h
 * Learning-rate schedules: each changes the setting "lr" of an optimizer's groups.
 *
 * Make the optimizer and its groups first, then the scheduler, which remembers each group's rate as
 * its "initial_lr". Call adz_scheduler_step after adz_optimizer_step. Schedules act on the rate
 * that is set, as PyTorch's do, so they can be combined. A scheduler is reference-counted and keeps
 * its optimizer.
 *
 * @code
 * adz_module *model = adz_linear_new(4, 1, NULL);
 * adz_optimizer *sgd = adz_sgd_new(adz_module_parameters(model), 0.1, NULL);
 * adz_scheduler *schedule = adz_step_lr_new(sgd, 30, 0.1);
 * for (int epoch = 0; epoch < 90; ++epoch) {
 *     // the epoch's batches: zero_grad, backward, adz_optimizer_step
 *     adz_scheduler_step(schedule); // the rate falls to 0.01 after 30 epochs, to 0.001 after 60
 * }
 * adz_scheduler_release(&schedule);
 * adz_optimizer_release(&sgd);
 * adz_module_release(&model);
 * @endcode
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
ADZ_API void adz_scheduler_release(adz_scheduler **scheduler);

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
 * @param scheduler  any scheduler but a ReduceLROnPlateau
 * @return           ADZ_OK; with nothing changed ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (a rate that is
 *                   negative or not finite) or ADZ_ERR_STATE (a ReduceLROnPlateau, or no step is
 *                   left)
 * @see              torch.optim.lr_scheduler.LRScheduler.step
 */
ADZ_API adz_status adz_scheduler_step(adz_scheduler *scheduler);

/**
 * Shows a ReduceLROnPlateau the metric of the epoch that has ended, and sets the rates.
 *
 * @param scheduler  a ReduceLROnPlateau
 * @param metric     what it watches; a NaN counts as no improvement
 * @return           ADZ_OK; with nothing changed ADZ_ERR_NULL, ADZ_ERR_ARGUMENT or ADZ_ERR_STATE
 *                   (another kind of scheduler)
 * @see              torch.optim.lr_scheduler.ReduceLROnPlateau.step
 */
ADZ_API adz_status adz_scheduler_step_metric(adz_scheduler *scheduler, double metric);

/**
 * Goes to any point of a schedule that knows fractions of an epoch.
 *
 * @param scheduler  a CosineAnnealingWarmRestarts
 * @param epoch      0 or more: `epoch + batch / batches` to change the rate with every batch
 * @return           ADZ_OK; with nothing changed ADZ_ERR_NULL, ADZ_ERR_ARGUMENT or ADZ_ERR_STATE
 *                   (another kind of scheduler)
 * @see              torch.optim.lr_scheduler.CosineAnnealingWarmRestarts.step
 */
ADZ_API adz_status adz_scheduler_step_to(adz_scheduler *scheduler, double epoch);

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
 * @param scheduler  of the kind, and over the number of groups, of the scheduler that gave the
 *                   state
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
 * @return           yours, end it with adz_scheduler_release; NULL with ADZ_ERR_NULL,
 * ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY recorded
 * @see              torch.optim.lr_scheduler.StepLR
 */
ADZ_API adz_scheduler *adz_step_lr_new(adz_optimizer *optimizer, int64_t step_size, double gamma);

/**
 * Multiplies the rates by gamma at given epochs, once for each time an epoch is listed.
 *
 * @param optimizer     kept
 * @param milestones    epochs in any order, copied
 * @param n_milestones  their number
 * @param gamma         the factor (PyTorch's default: 0.1)
 * @return              yours, end it with adz_scheduler_release; NULL with ADZ_ERR_NULL,
 *                      ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY recorded
 * @see                 torch.optim.lr_scheduler.MultiStepLR
 */
ADZ_API adz_scheduler *adz_multi_step_lr_new(
    adz_optimizer *optimizer, const int64_t *milestones, size_t n_milestones, double gamma);

/**
 * Lets a factor on the rates go in a straight line from start_factor to end_factor.
 *
 *     lr = initial_lr (start_factor + (end_factor - start_factor) min(1, epoch / total_iters))
 *
 * @param optimizer     kept
 * @param start_factor  above 0, at most 1 (PyTorch's default: 1/3)
 * @param end_factor    0 to 1 (PyTorch's default: 1)
 * @param total_iters   epochs of the line, 0 or more (PyTorch's default: 5)
 * @return              yours, end it with adz_scheduler_release; NULL with ADZ_ERR_NULL,
 *                      ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY recorded
 * @see                 torch.optim.lr_scheduler.LinearLR
 */
ADZ_API adz_scheduler *adz_linear_lr_new(
    adz_optimizer *optimizer, double start_factor, double end_factor, int64_t total_iters);

/**
 * Multiplies the rates by a factor, and takes it back after total_iters epochs.
 *
 *     lr = initial_lr (epoch < total_iters ? factor : 1)
 *
 * PyTorch also takes a factor of 0, which divides by 0 at the end, and total_iters of 0, with which
 * the factor stays.
 *
 * @param optimizer    kept
 * @param factor       above 0, at most 1 (PyTorch's default: 1/3)
 * @param total_iters  epochs with the factor, 1 or more (PyTorch's default: 5)
 * @return             yours, end it with adz_scheduler_release; NULL with ADZ_ERR_NULL,
 *                     ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY recorded
 * @see                torch.optim.lr_scheduler.ConstantLR
 */
ADZ_API adz_scheduler *adz_constant_lr_new(
    adz_optimizer *optimizer, double factor, int64_t total_iters);

/**
 * Lets the rates fall to 0 along a power of a straight line.
 *
 *     lr = initial_lr (1 - min(1, epoch / total_iters))^power
 *
 * @param optimizer    kept
 * @param total_iters  epochs of the fall, 1 or more (PyTorch's default: 5)
 * @param power        0 or more (PyTorch's default: 1)
 * @return             yours, end it with adz_scheduler_release; NULL with ADZ_ERR_NULL,
 *                     ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY recorded
 * @see                torch.optim.lr_scheduler.PolynomialLR
 */
ADZ_API adz_scheduler *adz_polynomial_lr_new(
    adz_optimizer *optimizer, int64_t total_iters, double power);

/**
 * Multiplies the rates by gamma every epoch.
 *
 * @param optimizer  kept
 * @param gamma      the factor
 * @return           yours, end it with adz_scheduler_release; NULL with ADZ_ERR_NULL,
 * ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY recorded
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
 * @return           yours, end it with adz_scheduler_release; NULL with ADZ_ERR_NULL,
 * ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY recorded
 * @see              torch.optim.lr_scheduler.CosineAnnealingLR
 */
ADZ_API adz_scheduler *adz_cosine_annealing_lr_new(
    adz_optimizer *optimizer, int64_t t_max, double eta_min);

/**
 * Lets the rates fall to eta_min along half a cosine, again and again, each time for t_mult times
 * as long.
 *
 *     lr = eta_min + (initial_lr - eta_min) (1 + cos(pi t / t_i)) / 2,  t since the last restart
 *
 * @param optimizer  kept
 * @param t_0        epochs of the first fall, 1 or more
 * @param t_mult     1 or more (PyTorch's default: 1)
 * @param eta_min    the smallest rate (PyTorch's default: 0)
 * @return           yours, end it with adz_scheduler_release; NULL with ADZ_ERR_NULL,
 * ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY recorded
 * @see              torch.optim.lr_scheduler.CosineAnnealingWarmRestarts; Loshchilov and Hutter,
 *                   2017
 */
ADZ_API adz_scheduler *adz_cosine_annealing_warm_restarts_new(
    adz_optimizer *optimizer, int64_t t_0, int64_t t_mult, double eta_min);

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
 * @return           yours, end it with adz_scheduler_release; NULL with ADZ_ERR_NULL,
 * ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY recorded
 * @see              torch.optim.lr_scheduler.LambdaLR
 */
ADZ_API adz_scheduler *adz_lambda_lr_new(
    adz_optimizer *optimizer, adz_lr_lambda lambda, void *user);

/**
 * Multiplies each group's rate by a function of the epoch, every epoch.
 *
 * @param optimizer  kept
 * @param lambda     called for each group in every step, from epoch 1 on
 * @param user       handed to lambda
 * @return           yours, end it with adz_scheduler_release; NULL with ADZ_ERR_NULL,
 *                   ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY recorded
 * @see              torch.optim.lr_scheduler.MultiplicativeLR
 */
ADZ_API adz_scheduler *adz_multiplicative_lr_new(
    adz_optimizer *optimizer, adz_lr_lambda lambda, void *user);

/** What adz_lr_warmup_constant and its relatives take as `user`. */
typedef struct adz_lr_warmup {
    int64_t warmup; /**< epochs (or steps) of rising, 1 or more */
    int64_t total;  /**< epochs until the rate is 0; adz_lr_warmup_linear alone looks at it */
} adz_lr_warmup;

/**
 * Up in a straight line, then constant, for adz_lambda_lr_new.
 *
 *     min(1, (epoch + 1) / warmup)
 *
 * @param epoch  0 at first
 * @param group  not looked at
 * @param user   an adz_lr_warmup
 * @return       the factor; NaN with ADZ_ERR_NULL recorded when user is NULL
 */
ADZ_API double adz_lr_warmup_constant(int64_t epoch, int group, void *user);

/**
 * Up in a straight line, then down with the root of the epoch, for adz_lambda_lr_new.
 *
 *     min((epoch + 1) / warmup, sqrt(warmup / (epoch + 1)))
 *
 * @param epoch  0 at first
 * @param group  not looked at
 * @param user   an adz_lr_warmup
 * @return       the factor; NaN with ADZ_ERR_NULL recorded when user is NULL
 */
ADZ_API double adz_lr_warmup_inverse_sqrt(int64_t epoch, int group, void *user);

/**
 * Up in a straight line from 0, then down in a straight line to 0, for adz_lambda_lr_new.
 *
 *     epoch < warmup ? epoch / warmup : max(0, (total - epoch) / (total - warmup))
 *
 * @param epoch  0 at first
 * @param group  not looked at
 * @param user   an adz_lr_warmup
 * @return       the factor; NaN with ADZ_ERR_NULL recorded when user is NULL
 */
ADZ_API double adz_lr_warmup_linear(int64_t epoch, int group, void *user);

/**
 * Steps several schedules at once, one after the other: their factors multiply. A step that one of
 * them refuses changes none of them. The state contains theirs.
 *
 * @param schedulers    one or more over the same groups of one optimizer, kept; no
 * ReduceLROnPlateau
 * @param n_schedulers  their number
 * @return              yours, end it with adz_scheduler_release; NULL with ADZ_ERR_NULL,
 *                      ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY recorded
 * @see                 torch.optim.lr_scheduler.ChainedScheduler
 */
ADZ_API adz_scheduler *adz_chained_scheduler_new(
    adz_scheduler *const *schedulers, size_t n_schedulers);

/**
 * Follows several schedules one after the other. At milestone i schedule i + 1 begins at its epoch
 * 0, from the initial rates; a MultiplicativeLR and a SWALR begin from the rates that are set. The
 * constructor begins schedule 0. Do not step the schedules themselves. The state contains theirs.
 *
 * PyTorch fails at a milestone where a schedule of schedules begins; adze refuses one in the list.
 *
 * @param optimizer     kept
 * @param schedulers    one or more over the same groups of this optimizer, kept; neither a
 *                      ReduceLROnPlateau nor a schedule of schedules
 * @param n_schedulers  their number
 * @param milestones    epochs from 1 on in ascending order, copied; NULL if n_milestones is 0
 * @param n_milestones  one fewer than schedulers
 * @return              yours, end it with adz_scheduler_release; NULL with ADZ_ERR_NULL,
 *                      ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY recorded
 * @see                 torch.optim.lr_scheduler.SequentialLR
 */
ADZ_API adz_scheduler *adz_sequential_lr_new(adz_optimizer *optimizer,
    adz_scheduler *const *schedulers, size_t n_schedulers, const int64_t *milestones,
    size_t n_milestones);

#ifdef __cplusplus
}
#endif

#endif
