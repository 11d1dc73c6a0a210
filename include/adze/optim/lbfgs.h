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
    double tolerance_grad;   /**< ends a step when no gradient has a larger absolute value, 0 or
                                  more; 1e-7 */
    double tolerance_change; /**< ends a step when no parameter moves further, the loss changes by
                                  less, or its slope is smaller; 0 or more; 1e-9 */
    int64_t history_size;    /**< pairs of vectors that are kept, 1 to 1e9; 100 */
    bool strong_wolfe;       /**< find the length of each move by a line search, until it satisfies
                                  the strong Wolfe conditions; false: the length is lr. PyTorch's
                                  line_search_fn="strong_wolfe" */
    bool maximize;           /**< ascend; false */
} adz_lbfgs_options;

/** The defaults. */
#define ADZ_LBFGS_OPTIONS                                               \
    {                                                                   \
        sizeof(adz_lbfgs_options), 20, 0, 1e-7, 1e-9, 100, false, false \
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
 * begins. Its settings are "lr", "max_iter", "max_eval", "tolerance_grad", "tolerance_change",
 * "history_size", "strong_wolfe" and "maximize". It keeps "func_evals", "n_iter", "d", "t",
 * "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad" and "prev_loss", which takes the memory
 * of 2 history_size + 2 copies of the parameters at most, and nine more in a step.
 *
 * A parameter without a gradient stays as it is. A loss or a gradient that is not finite where an
 * iteration begins is ADZ_ERR_NUMERIC; PyTorch goes on with NaN. The line search shortens moves to
 * such points. It has one group of parameters.
 *
 * @param parameters  one or more contiguous leaves, all f32 or all f64, kept
 * @param lr          0 or more (PyTorch's default: 1)
 * @param options     NULL for the defaults
 * @return            yours, end it with adz_optimizer_free; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_GRAPH, ADZ_ERR_SHAPE or
 *                    ADZ_ERR_MEMORY recorded
 * @see               torch.optim.LBFGS; Liu and Nocedal, 1989
 */
ADZ_API adz_optimizer *adz_lbfgs_new(
    adz_tensor_list parameters, double lr, const adz_lbfgs_options *options);

#ifdef __cplusplus
}
#endif

#endif
