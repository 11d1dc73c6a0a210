/**
 * @file lbfgs.h
 * L-BFGS: a quasi-Newton method for losses without noise.
 */
#ifndef ADZE_OPTIM_LBFGS_H
#define ADZE_OPTIM_LBFGS_H

#include "adze/optim/optimizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Settings of L-BFGS. Start from ADZ_LBFGS_OPTIONS. */
typedef struct adz_lbfgs_options {
    size_t size;             /**< sizeof(adz_lbfgs_options) */
    int64_t max_iter;        /**< iterations of a step at most, 1 to 1e9; 20 */
    int64_t max_eval;        /**< a step ends after so many calls of the closure, 1 to 1e9; 0, the
                                  default: max_iter 5 / 4 */
    double tolerance_grad;   /**< a step has converged when the largest gradient times the largest
                                  parameter is at most this part of the loss, 0 or more; 1e-7 */
    double tolerance_change; /**< ends a step when a move is at most this part of the largest
                                  parameter and changes the loss by at most this part of it; 0 or
                                  more; 1e-9 */
    int64_t history_size;    /**< pairs of vectors that are kept, 1 to 1e9; 100 */
    bool strong_wolfe;       /**< find the length of each move by a line search, until it satisfies
                                  the strong Wolfe conditions; false: the length is lr. PyTorch's
                                  line_search_fn="strong_wolfe" */
    bool maximize;           /**< ascend; false */
} adz_lbfgs_options;

/** The defaults. */
#define ADZ_LBFGS_OPTIONS                                                      \
    {                                                                          \
        ADZ_MEMBER(size, sizeof(adz_lbfgs_options)), ADZ_MEMBER(max_iter, 20), \
            ADZ_MEMBER(max_eval, 0), ADZ_MEMBER(tolerance_grad, 1e-7),         \
            ADZ_MEMBER(tolerance_change, 1e-9), ADZ_MEMBER(history_size, 100), \
            ADZ_MEMBER(strong_wolfe, false), ADZ_MEMBER(maximize, false)       \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_lbfgs_options) as the caller knows it
 */
ADZ_API void adz_lbfgs_options_init(adz_lbfgs_options *options, size_t size);

/**
 * The BFGS method with little memory. Use it where the loss is computed from all rows and without
 * random numbers: fits, physics-informed networks, style transfer. Its steps need a closure
 * (adz_optimizer_step_closure). Set strong_wolfe unless evaluations are very expensive.
 *
 *     d = -H g,   x = x + t d
 *     g the gradient of all parameters x, H from the last pairs s = t d and y = the change of g
 *
 * The first move of all has t = min(1, 1 / sum |g|) lr, the others have lr, where a line search
 * begins.
 *
 * The tests of convergence are relative, and do not depend on the unit of the loss; PyTorch's are
 * absolute. Call adz_lbfgs_set_scale if parameters differ by orders of magnitude. A step ends with
 * ADZ_CLOSURE_CONVERGED if tolerance_grad is reached. It ends at rest if a move or the decrease
 * that the direction promises is below tolerance_change or rounding errors. It has converged then
 * if the gradient is at most 100 times tolerance_grad, or the square root of the dtype's rounding
 * error; else it has stalled. A loss that falls to 0 has no relative gradient. The step has
 * converged where such a loss is a rounding error of the largest one, and the next move below
 * tolerance_change. adz_optimizer_get_report tells why a step ended.
 *
 * Its settings are "lr", "max_iter", "max_eval", "tolerance_grad", "tolerance_change",
 * "history_size", "strong_wolfe" and "maximize". It keeps "func_evals", "n_iter", "d", "t",
 * "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss", "unit" and "largest_loss",
 * which takes the memory of 2 history_size + 2 copies of the parameters at most, and some ten more
 * in a step. The unit is a power of two by which the loss and the kept gradients are divided. It is
 * 1 unless their squares could overflow or underflow.
 *
 * A parameter without a gradient stays as it is. A loss or a gradient that is not finite where an
 * iteration begins is ADZ_ERR_NUMERIC; PyTorch goes on with NaN. The line search shortens moves to
 * such points. It has one group of parameters.
 *
 * @param parameters  one or more contiguous leaves, all f32 or all f64, kept
 * @param lr          0 or more (PyTorch's default: 1)
 * @param options     NULL for the defaults
 * @return            yours, end it with adz_optimizer_release; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_GRAPH, ADZ_ERR_SHAPE or
 *                    ADZ_ERR_MEMORY recorded
 * @see               torch.optim.LBFGS; Liu and Nocedal, 1989
 */
ADZ_API adz_optimizer *adz_lbfgs_new(
    adz_tensor_list parameters, double lr, const adz_lbfgs_options *options);

/**
 * Sets the scale of the parameters: a typical absolute value of each element, such as that where
 * the search begins. L-BFGS then moves as if each parameter were divided by its scale, and measures
 * gradients and moves in these units. Use it where parameters have different units: the loss may
 * curve 1e10 times more along one of them than along another.
 *
 * The first move of all has t = lr / sum |s g|. The scale is copied, and is in no checkpoint.
 *
 * @param optimizer  made by adz_lbfgs_new
 * @param scale      one tensor per parameter, of its shape or of one element, f32 or f64, finite
 *                   and above 0; an empty list takes the scale away
 * @return           ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_ARGUMENT, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE,
 *                   ADZ_ERR_UNSUPPORTED (another optimizer), ADZ_ERR_STATE (in a function that a
 *                   plan captures), ADZ_ERR_MEMORY, or the code of the error that is pending;
 *                   nothing has changed
 * @see              x_scale of scipy.optimize.least_squares
 */
ADZ_API adz_status adz_lbfgs_set_scale(adz_optimizer *optimizer, adz_tensor_list scale);

#ifdef __cplusplus
}
#endif

#endif
