/**
 * @file optimizer.h
 * What all optimizers have in common: parameter groups and their settings, the step.
 *
 * An optimizer is reference-counted: adz_*_new returns a reference of yours, adz_optimizer_release
 * ends one. One thread at a time uses it.
 */
#ifndef ADZE_OPTIM_OPTIMIZER_H
#define ADZE_OPTIM_OPTIMIZER_H

#include "adze/nn/state.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Changes parameters by their gradients. */
typedef struct adz_optimizer adz_optimizer;

/**
 * Takes one more reference.
 *
 * @param optimizer  any optimizer; NULL gives NULL
 * @return           optimizer
 */
ADZ_API adz_optimizer *adz_optimizer_keep(adz_optimizer *optimizer);

/**
 * Ends a reference; the last one ends the optimizer, its state and its references to parameters.
 *
 * @param optimizer  address of the pointer, which becomes NULL; a NULL inside is left alone
 */
ADZ_API void adz_optimizer_release(adz_optimizer **optimizer);

/**
 * The name of an optimizer's kind, as PyTorch has it; the annotated library's begin with "labml.".
 *
 * @param optimizer  any optimizer
 * @return           "SGD"; NULL when optimizer is NULL
 */
ADZ_API const char *adz_optimizer_name(const adz_optimizer *optimizer);

/**
 * Changes every parameter that has a gradient, once.
 *
 * All or nothing: what can fail is done before the first parameter changes. Refuses while an error
 * is pending, so that a failed backward is not followed by a step.
 *
 * @param optimizer  any optimizer
 * @return           ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_DTYPE (the parameters' dtype has changed since
 *                   the last step), ADZ_ERR_STATE (a failed backward has spoiled a gradient, the
 *                   optimizer is sharded: call adz_data_parallel_step, or it needs a closure: call
 *                   adz_optimizer_step_closure), ADZ_ERR_MEMORY, or the code of the error that is
 *                   pending
 * @see              torch.optim.Optimizer.step
 */
ADZ_API adz_status adz_optimizer_step(adz_optimizer *optimizer);

/**
 * A function that computes the loss for adz_optimizer_step_closure, perhaps several times in a
 * step.
 *
 * It clears the gradients with adz_optimizer_zero_grad, computes the loss, calls adz_backward and
 * returns the loss. It must give the same loss for the same parameters: the batch and what is drawn
 * at random stay as they are within a step. For adz_levenberg_marquardt_new it returns the
 * residuals instead, and calls no backward. What it makes ends after each call.
 *
 * @param user  the pointer that was given
 * @return      one element; or residuals of any shape, f32 or f64; borrowed. NULL for a failure,
 *              with the error recorded
 */
typedef adz_tensor *(*adz_optimizer_closure)(void *user);

/**
 * Makes a step with a function that computes the loss.
 *
 * Any optimizer has such steps. L-BFGS (adz_lbfgs_new) and Levenberg-Marquardt
 * (adz_levenberg_marquardt_new) have no others, because they evaluate the loss several times. Other
 * optimizers call the closure once, and then step as adz_optimizer_step does.
 *
 * @code
 * typedef struct {
 *     adz_module *model;
 *     adz_optimizer *optimizer;
 *     adz_tensor *x, *y;
 * } fit;
 *
 * static adz_tensor *loss_of(void *user)
 * {
 *     fit *f = user;
 *     adz_optimizer_zero_grad(f->optimizer);
 *     adz_tensor *loss =
 *         adz_mse_loss(adz_module_forward(f->model, f->x), f->y, ADZ_REDUCE_MEAN);
 *     return adz_backward(loss) == ADZ_OK ? loss : NULL;
 * }
 *
 * static adz_status train(fit *f)
 * {
 *     double loss;
 *     return adz_optimizer_step_closure(f->optimizer, loss_of, f, &loss);
 * }
 * @endcode
 *
 * All or nothing: after a failure the parameters and the state are as before the step. A closure
 * that leaves by longjmp has left them at a trial point; the next step, load or save puts them
 * back.
 *
 * Ranks must decide alike: on each of them the closure gives the loss and the gradients of all
 * ranks, as adz_data_parallel_end does. Levenberg-Marquardt needs all residuals on each rank.
 *
 * @param optimizer  any optimizer whose state is not divided among ranks
 * @param closure    called with gradients enabled
 * @param user       handed to the closure
 * @param loss       receives the loss before the step, half the sum of squared residuals for
 *                   Levenberg-Marquardt; NULL, or untouched on failure
 * @return           ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_SHAPE (the loss has several elements),
 *                   ADZ_ERR_GRAPH (the closure has computed no gradient), ADZ_ERR_NUMERIC (the loss
 *                   or a gradient is not finite), ADZ_ERR_STATE (in a function that a plan
 *                   captures, or the closure steps, loads or saves the optimizer),
 *                   ADZ_ERR_UNSUPPORTED (in an export), the error of the closure, an error as for
 *                   adz_optimizer_step, or the code of the error that is pending
 * @see              torch.optim.Optimizer.step with a closure
 */
ADZ_API adz_status adz_optimizer_step_closure(
    adz_optimizer *optimizer, adz_optimizer_closure closure, void *user, double *loss);

/** Why a step of L-BFGS or Levenberg-Marquardt ended. */
typedef enum adz_closure_reason {
    ADZ_CLOSURE_CONVERGED = 0, /**< a minimum was found: the tests of the optimizer hold */
    ADZ_CLOSURE_LIMIT = 1,     /**< max_iter or max_eval was not enough; another step goes on */
    ADZ_CLOSURE_STALLED = 2    /**< no move lowers the loss, but the gradient is too large for a
                                   minimum: rounding hides the decrease, the units of the
                                   parameters differ too much, or the derivatives are wrong */
} adz_closure_reason;

/** What a step of L-BFGS or Levenberg-Marquardt was. */
typedef struct adz_closure_report {
    adz_closure_reason reason; /**< why the step ended */
    int64_t iterations;        /**< of this step */
    int64_t evaluations;       /**< calls of the closure in this step */
    double loss;     /**< after the step; half the sum of squares for Levenberg-Marquardt; infinite
                          if it is too large for double. NaN after a step of L-BFGS without line
                          search that reached max_iter, because nobody has computed the loss */
    double gradient; /**< the largest absolute value of a gradient of the loss, after the step or,
                          where `loss` is NaN, before the last move. Gradients that point out of the
                          bounds do not count. */
} adz_closure_report;

/**
 * What the last step of L-BFGS or Levenberg-Marquardt was. Call the step again while the reason is
 * ADZ_CLOSURE_LIMIT. A step that fails leaves the report as it was, and so does a load.
 *
 * @param optimizer  made by adz_lbfgs_new or adz_levenberg_marquardt_new
 * @param report     filled
 * @return           ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_UNSUPPORTED (another optimizer), ADZ_ERR_STATE
 *                   (no step has succeeded yet, or in a function that a plan captures)
 * @see              scipy.optimize.OptimizeResult; torch has no such function
 */
ADZ_API adz_status adz_optimizer_get_report(
    const adz_optimizer *optimizer, adz_closure_report *report);

/**
 * Drops the gradients of all parameters. Call it before the forward, which then has their
 * memory: between forward and backward both are held.
 *
 * @param optimizer  any optimizer
 * @return           ADZ_OK or ADZ_ERR_NULL
 * @see              torch.optim.Optimizer.zero_grad
 */
ADZ_API adz_status adz_optimizer_zero_grad(adz_optimizer *optimizer);

/**
 * Writes zeros to the gradients of all parameters that have one.
 *
 * @param optimizer  any optimizer
 * @return           ADZ_OK or ADZ_ERR_NULL
 * @see              torch.optim.Optimizer.zero_grad with set_to_none=False
 */
ADZ_API adz_status adz_optimizer_fill_grad_zero(adz_optimizer *optimizer);

/**
 * Adds a group of parameters, which starts with the settings that the optimizer was made with;
 * change them with adz_optimizer_set.
 *
 * @param optimizer   any optimizer
 * @param parameters  one or more contiguous f32 or f64 leaves, kept; none of them in a group yet
 * @return            the group's number, 1 for the first one added; -1 with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_GRAPH, ADZ_ERR_SHAPE,
 *                    ADZ_ERR_UNSUPPORTED (L-BFGS and Levenberg-Marquardt have one group) or
 *                    ADZ_ERR_MEMORY recorded
 * @see               torch.optim.Optimizer.add_param_group
 */
ADZ_API int adz_optimizer_add_param_group(adz_optimizer *optimizer, adz_tensor_list parameters);

/**
 * The number of groups.
 *
 * @param optimizer  any optimizer
 * @return           1 or more; 0 when optimizer is NULL
 */
ADZ_API int adz_optimizer_group_count(const adz_optimizer *optimizer);

/**
 * The parameters of one group.
 *
 * @param optimizer  any optimizer
 * @param group      below adz_optimizer_group_count
 * @return           borrowed from the optimizer; empty with ADZ_ERR_NULL or ADZ_ERR_INDEX recorded
 */
ADZ_API adz_tensor_list adz_optimizer_group_parameters(const adz_optimizer *optimizer, int group);

/**
 * One setting of one group, or a number that L-BFGS or Levenberg-Marquardt keeps, such as "n_iter".
 *
 * @param optimizer  any optimizer
 * @param group      below adz_optimizer_group_count
 * @param name       "lr", or another name that the optimizer's constructor gives; "initial_lr" once
 *                   a scheduler has been made. A setting comes before a number of the same name.
 * @return           the value, 0 or 1 for a flag; NaN with ADZ_ERR_NULL, ADZ_ERR_INDEX or
 *                   ADZ_ERR_ARGUMENT (the message lists the names) recorded
 */
ADZ_API double adz_optimizer_get(const adz_optimizer *optimizer, int group, const char *name);

/**
 * Changes one setting of one group.
 *
 * @param optimizer  any optimizer
 * @param group      below adz_optimizer_group_count; -1 for all groups
 * @param name       "lr", or another name that the optimizer's constructor gives; "initial_lr" once
 *                   a scheduler has been made
 * @param value      in the range that the optimizer's constructor gives
 * @return           ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_INDEX or ADZ_ERR_ARGUMENT with nothing changed
 */
ADZ_API adz_status adz_optimizer_set(
    adz_optimizer *optimizer, int group, const char *name, double value);

#ifdef __cplusplus
}
#endif

#endif
