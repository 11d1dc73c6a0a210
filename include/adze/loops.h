/**
 * @file loops.h
 * Loops and branches whose bodies are functions: scans, while loops and branches (PyTorch:
 * torch._higher_order_ops.scan, torch.while_loop, torch.cond; JAX: jax.lax.scan,
 * jax.lax.while_loop, jax.lax.cond).
 *
 * @code
 * // A pendulum with damping: steps of dt by the method of Euler.
 * static adz_status swing(adz_tensor **results, adz_tensor *const *inputs, void *damping)
 * {
 *     adz_tensor *angle = inputs[0], *speed = inputs[1], *dt = inputs[2];
 *     adz_tensor *force = adz_add(adz_sin(angle), adz_mul(damping, speed));
 *     results[0] = adz_add(angle, adz_mul(dt, speed));
 *     results[1] = adz_sub(speed, adz_mul(dt, force));
 *     results[2] = results[0];
 *     return results[1] != NULL ? ADZ_OK : adz_error_code();
 * }
 *
 * static adz_tensor *angles(adz_tensor *start[2], adz_tensor *dts, adz_tensor *damping)
 * {
 *     adz_tensor *results[3]; // the last angle, the last speed, all angles
 *     return adz_scan(swing, damping, start, 2, &dts, 1, 1, NULL, results) == ADZ_OK ? results[2]
 *                                                                                    : NULL;
 * }
 * @endcode
 *
 * A body is called once in each step, so what it computes is the unrolled program. Derivatives of
 * any order go through it, by carries, inputs, and all other tensors that the body uses; they have
 * the bits of the unrolled program. Errors begin with the step, such as "step 17 of adz_scan".
 *
 * In a function that a plan captures:
 *
 * - The steps of adz_scan become a loop of the plan, and those of its backward another one, if each
 *   step does the same with the tensors of the next position. So the launches and the memory for
 *   what a step computes do not depend on the number of steps. Making the plan calls the function
 *   as usual, and takes about the memory of an ordinary call. Steps that differ from the others are
 *   launched by themselves. The bits are those of ordinary calls.
 * - adz_while computes as many steps as it needs in each run, and adz_branch the body that its
 *   predicate chooses. Where a gradient is wanted, adz_while computes all steps up to its bound, at
 *   most 65535, and takes those until the condition has ended; adz_branch computes both bodies.
 *
 * The results have the bits of ordinary calls. Gradients of adz_while and adz_branch are added up
 * in another order in a plan, so they are equal up to rounding. A parameter that only a body uses
 * which is not taken has a gradient of 0 there and not none, so an optimizer updates it.
 *
 * What is not taken gets a gradient of 0, so its derivatives must be finite. It is computed with
 * the last carries, so its indices must exist, too. It must also leave no traces: with a gradient,
 * a body of adz_while or adz_branch that changes a tensor which it has not made, or that draws
 * random numbers, is an error. In all plans, the calls of the body of adz_while are the same in
 * each step, and they leave the carries as they are: what differs, such as a number that the body
 * counts, is an error if it differs between the first two calls. While the plan is made, bodies of
 * adz_while and adz_branch are called once more to find out whether a gradient is wanted. That call
 * computes nothing.
 */
#ifndef ADZE_LOOPS_H
#define ADZE_LOOPS_H

#include "adze/autograd.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The most carries, inputs and results of a loop, each. */
#define ADZ_LOOP_TENSORS 1024

/**
 * The body of a loop, or of a branch.
 *
 * @param results  room for the results, all NULL. The body fills it with borrowed tensors: the next
 *                 carries, and behind them the results of the step, which later steps leave as they
 *                 are
 * @param inputs   the carries, and behind them the inputs of the step
 * @param user     the pointer that was given
 * @return         ADZ_OK; else an error, which the body or the call that failed has recorded
 */
typedef adz_status (*adz_loop_body)(adz_tensor **results, adz_tensor *const *inputs, void *user);

/**
 * The condition of adz_while.
 *
 * @param carries  those of the step that would come next
 * @param user     the pointer that was given
 * @return         one element of any dtype, borrowed: the loop goes on while it is not 0. NULL with
 *                 the error recorded
 */
typedef adz_tensor *(*adz_loop_condition)(adz_tensor *const *carries, void *user);

/** Options of adz_scan. Start from ADZ_SCAN_OPTIONS. */
typedef struct adz_scan_options {
    size_t size;     /**< sizeof(adz_scan_options) */
    bool reverse;    /**< begins with the last elements of the inputs; result k of a step lies where
                          its inputs do; false */
    int64_t length;  /**< the number of steps, 0 to 65535; -1: the size of the inputs' first
                          dimension; -1 */
    bool checkpoint; /**< the backward computes the steps again, in chunks of about the square root
                          of the length, so the graph keeps the carries between chunks and the
                          states of one chunk; false */
} adz_scan_options;

/** The defaults. */
#define ADZ_SCAN_OPTIONS                                                        \
    {                                                                           \
        ADZ_MEMBER(size, sizeof(adz_scan_options)), ADZ_MEMBER(reverse, false), \
            ADZ_MEMBER(length, -1), ADZ_MEMBER(checkpoint, false)               \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_scan_options) as the caller knows it
 */
ADZ_API void adz_scan_options_init(adz_scan_options *options, size_t size);

/**
 * Calls a body for each element of the first dimension of the inputs, with what the call before has
 * carried on.
 *
 *     carries, y[t] = body(carries, x[t])   for t = 0, 1, ..., T-1
 *
 * Without steps the carries are the results, and the body is called once with zeros, because the
 * stacked results have its shapes.
 *
 * With the option checkpoint (PyTorch: torch.utils.checkpoint, JAX: jax.checkpoint) the backward
 * calls the body a second time for each step, so `user` must live until then, and the body must do
 * the same again. If the carries behind a chunk get other bits, the backward is ADZ_ERR_STATE; a
 * change that the results of steps alone show is not noticed. Gradients have the bits of those
 * without it; second derivatives are equal up to rounding. Generators have the states of the first
 * call. What a body changes beside its results is changed twice, such as the running statistics of
 * a batch norm. Without a graph, and in written files, the option does nothing.
 *
 * @param body       computes the next carries and the results of a step. The carries keep their
 *                   shapes and dtypes, and so do the results
 * @param user       handed to the body
 * @param carries    what the first step begins with, n_carries tensors of any shape and dtype; NULL
 *                   for none
 * @param n_carries  0 to ADZ_LOOP_TENSORS
 * @param inputs     n_inputs tensors x[T, ...] of any dtype; step t gets x[t]. NULL for none
 * @param n_inputs   0 to ADZ_LOOP_TENSORS
 * @param n_results  how many tensors a step gives beside the carries, 0 to ADZ_LOOP_TENSORS
 * @param options    NULL for the defaults
 * @param results    receives the last carries, and behind them the n_results stacked results
 *                   y[T, ...], all borrowed; untouched on failure. The last carries may be those
 *                   that were given, or tensors among the inputs of the body
 * @return           ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (a number, an option), ADZ_ERR_SHAPE or
 *                   ADZ_ERR_DTYPE (inputs of different lengths, a body that changes a carry),
 *                   ADZ_ERR_STATE (a step has changed the result of an earlier one),
 *                   ADZ_ERR_MEMORY, or the error of the body
 * @grad             carries, inputs, and what the body uses, to any order. The graph keeps what the
 *                   body saves in all steps
 * @see              torch._higher_order_ops.scan, jax.lax.scan
 */
ADZ_API adz_status adz_scan(adz_loop_body body, void *user, adz_tensor *const *carries,
    size_t n_carries, adz_tensor *const *inputs, size_t n_inputs, size_t n_results,
    const adz_scan_options *options, adz_tensor **results);

/**
 * Calls a body as long as a condition holds, at most so many times.
 *
 * Reaching the bound is no error, and `ended` tells of it.
 *
 * @param condition       looks at the carries before each step; the host reads its result
 * @param body            computes the next carries, of the shapes and dtypes of those before
 * @param user            handed to both
 * @param carries         what the loop begins with, n_carries tensors of any shape and dtype
 * @param n_carries       1 to ADZ_LOOP_TENSORS
 * @param max_iterations  the bound, 0 or more
 * @param results         receives the n_carries last carries, borrowed; untouched on failure. They
 *                        may be those that were given
 * @param count           receives the number of steps, an int64 scalar, borrowed; NULL
 * @param ended           receives whether the condition has ended the loop, a bool scalar,
 * borrowed; false: the bound has, and the condition still holds. NULL
 * @return                ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (a number; a condition that has not
 *                        one element), ADZ_ERR_SHAPE or ADZ_ERR_DTYPE (a body that changes a
 *                        carry), ADZ_ERR_MEMORY, or the error of the condition or the body
 * @grad                  carries, and what the body uses, to any order
 * @see                   torch.while_loop, jax.lax.while_loop
 */
ADZ_API adz_status adz_while(adz_loop_condition condition, adz_loop_body body, void *user,
    adz_tensor *const *carries, size_t n_carries, int64_t max_iterations, adz_tensor **results,
    adz_tensor **count, adz_tensor **ended);

/**
 * Calls one of two bodies.
 *
 * @param predicate  one element of any dtype, which the host reads
 * @param if_true    is called if the predicate is not 0
 * @param if_false   is called otherwise. Both bodies should give results of equal shapes and dtypes
 * @param user       handed to the body
 * @param inputs     n_inputs tensors, handed to the body; NULL for none
 * @param n_inputs   0 to ADZ_LOOP_TENSORS
 * @param n_results  how many tensors the bodies give, 1 to ADZ_LOOP_TENSORS
 * @param results    receives them, borrowed; untouched on failure. They may be among the inputs
 * @return           ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (a number; a predicate that has not one
 *                   element), ADZ_ERR_SHAPE or ADZ_ERR_DTYPE (bodies whose results differ, in a
 *                   plan), ADZ_ERR_MEMORY, or the error of the body
 * @grad             inputs, and what the body uses, to any order
 * @see              torch.cond, jax.lax.cond
 */
ADZ_API adz_status adz_branch(adz_tensor *predicate, adz_loop_body if_true, adz_loop_body if_false,
    void *user, adz_tensor *const *inputs, size_t n_inputs, size_t n_results, adz_tensor **results);

#ifdef __cplusplus
}
#endif

#endif
