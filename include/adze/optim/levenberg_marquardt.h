/**
 * @file levenberg_marquardt.h
 * The method of Levenberg and Marquardt for nonlinear least squares.
 */
#ifndef ADZE_OPTIM_LEVENBERG_MARQUARDT_H
#define ADZE_OPTIM_LEVENBERG_MARQUARDT_H

#include "adze/optim/optimizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Settings of Levenberg-Marquardt. Start from ADZ_LEVENBERG_MARQUARDT_OPTIONS. */
typedef struct adz_levenberg_marquardt_options {
    size_t size;             /**< sizeof(adz_levenberg_marquardt_options) */
    int64_t max_iter;        /**< moves that a step tries at most, 1 to 1e9; 20 */
    double damping;          /**< of the first move, above 0; 1e-3. Larger where the start is far
                                  from the solution */
    double tolerance_grad;   /**< a step has converged when the cosine of the angle between the
                                  residuals and each column of J is at most this, 0 or more;
                                  1e-10. MINPACK's gtol */
    double tolerance_change; /**< a step has converged when the length of a move, in units of D, is
                                  at most this part of that of the parameters, or when a move
                                  changes the loss, and promises to, by at most the square of this
                                  part; 0 or more; 1e-9. MINPACK's xtol; its square is ftol. Both
                                  count as the dtype's rounding error at least. */
} adz_levenberg_marquardt_options;

/** The defaults. */
#define ADZ_LEVENBERG_MARQUARDT_OPTIONS                                                      \
    {                                                                                        \
        ADZ_MEMBER(size, sizeof(adz_levenberg_marquardt_options)), ADZ_MEMBER(max_iter, 20), \
            ADZ_MEMBER(damping, 1e-3), ADZ_MEMBER(tolerance_grad, 1e-10),                    \
            ADZ_MEMBER(tolerance_change, 1e-9)                                               \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_levenberg_marquardt_options) as the caller knows it
 */
ADZ_API void adz_levenberg_marquardt_options_init(
    adz_levenberg_marquardt_options *options, size_t size);

/**
 * Least squares by Levenberg and Marquardt's method: minimises half the sum of squared residuals.
 * Use it for up to some thousand parameters. Methods that know the gradient only need more steps.
 *
 *     (J^T J + damping D^2) h = -J^T r,   x = x + lr h
 *     r[M] the residuals, J[M, P] their derivatives by all parameters x[P]
 *     D diagonal: the largest length that each column of J has had; 1 for columns of zeros
 *
 * Neither the moves nor the tests of convergence depend on the units of the residuals or of single
 * parameters. A step ends when it has converged, after max_iter moves, or when the shortest moves
 * that change the parameters do not lower the loss. adz_optimizer_get_report tells these cases
 * apart. Tests of a move hold only while the damping is at most 1. A step whose shortest moves fail
 * has converged if the square of each cosine is at most the dtype's rounding error.
 *
 * The damping follows the gain: the decrease of the loss, divided by the decrease that the linear
 * model promises. A move with a gain above 0 is made, and the damping is multiplied by
 * max(1/3, 1 - (2 gain - 1)^3). Any other move is taken back, and the damping is multiplied by 2,
 * 4, 8 and so on. It stays between 1e-20 and 1e20.
 *
 * Its steps need a closure (adz_optimizer_step_closure), which returns the residuals with their
 * graph and calls no backward. No `.grad` changes. The Jacobian takes min(M, P) backwards, as
 * adz_jacobian does, and 8 M P bytes; M backwards if an operator has no second derivative. The
 * equations are solved by QR factors of J in f64, which J^T J would make less accurate.
 *
 * Its settings are "lr", "max_iter", "damping" (of the first move), "tolerance_grad" and
 * "tolerance_change". It keeps "func_evals", "n_iter", "damping", "growth" and "scale" (D), which
 * adz_optimizer_get knows except "scale". A parameter that no
 * residual depends on, or that wants no gradient, stays as it is. Residuals that are not finite
 * where a step begins are ADZ_ERR_NUMERIC; moves to such points are taken back. It has one group of
 * parameters.
 *
 * @code
 * typedef struct {
 *     adz_tensor *a, *b, *x, *y; // y is about a exp(b x)
 * } decay;
 *
 * static adz_tensor *residuals(void *user)
 * {
 *     decay *d = user;
 *     return adz_sub(adz_mul(d->a, adz_exp(adz_mul(d->b, d->x))), d->y);
 * }
 *
 * static double fit_decay(decay *d)
 * {
 *     double loss = NAN;
 *     adz_tensor *both[] = { d->a, d->b };
 *     adz_optimizer *lm =
 *         adz_levenberg_marquardt_new(adz_tensor_list_of(both, 2), 1, NULL);
 *     adz_optimizer_step_closure(lm, residuals, d, &loss);
 *     adz_optimizer_release(&lm);
 *     return loss;
 * }
 * @endcode
 *
 * @param parameters  one or more contiguous leaves, all f32 or all f64, kept
 * @param lr          the part of each move that is made, 0 or more; usually 1
 * @param options     NULL for the defaults
 * @return            yours, end it with adz_optimizer_release; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_GRAPH, ADZ_ERR_SHAPE or
 *                    ADZ_ERR_MEMORY recorded
 * @see               scipy.optimize.least_squares with method="lm"; Marquardt, 1963; Nielsen, 1999
 */
ADZ_API adz_optimizer *adz_levenberg_marquardt_new(
    adz_tensor_list parameters, double lr, const adz_levenberg_marquardt_options *options);

/**
 * Sets bounds on the parameters. Moves are cut at the bounds. A parameter at a bound stays there
 * while a decrease of the loss would take it out.
 *
 * The bounds are copied, and are in no checkpoint. They are used in the parameters' dtype. A step
 * that begins outside of them is ADZ_ERR_ARGUMENT.
 *
 * @param optimizer  made by adz_levenberg_marquardt_new
 * @param lower      one tensor per parameter, of its shape or of one element, f32 or f64; -INFINITY
 *                   where there is no bound. An empty list: no lower bounds
 * @param upper      one tensor per parameter, of its shape or of one element, f32 or f64; INFINITY
 *                   where there is no bound. An empty list: no upper bounds. Two empty lists take
 *                   the bounds away
 * @return           ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (a lower bound above the upper one, NaN,
 *                   or a list of another length), ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_UNSUPPORTED
 *                   (another optimizer), ADZ_ERR_STATE (in a function that a plan captures),
 *                   ADZ_ERR_MEMORY, or the code of the error that is pending; nothing has changed
 * @see              bounds of scipy.optimize.least_squares; Kanzow, Yamashita and Fukushima, 2004
 */
ADZ_API adz_status adz_levenberg_marquardt_set_bounds(
    adz_optimizer *optimizer, adz_tensor_list lower, adz_tensor_list upper);

/**
 * The covariance of fitted parameters, at the parameters as they are. Square roots of its diagonal
 * are the standard errors.
 *
 *     C = s^2 (J^T J)^-1,   s^2 = r^T r / (M - P)
 *
 * It calls the closure once. Bounds play no part. P counts the elements of parameters that want a
 * gradient; rows and columns of other elements are 0. Divide by s^2 if the residuals have been
 * divided by their known errors. C has no gradient.
 *
 * @param optimizer  made by adz_levenberg_marquardt_new
 * @param closure    returns the residuals[M], M > P, as for a step
 * @param user       handed to the closure
 * @param variance   receives s^2; NULL, or untouched on failure
 * @return           C[P', P'], f64, borrowed from the scope, where P' counts the elements of all
 *                   parameters in their order; NULL with ADZ_ERR_NULL, ADZ_ERR_NUMERIC (the
 *                   residuals do not determine an element, or are not finite), ADZ_ERR_SHAPE (too
 *                   few residuals), ADZ_ERR_UNSUPPORTED (another optimizer, or in an export),
 *                   ADZ_ERR_STATE (in a function that a plan captures), ADZ_ERR_DTYPE,
 *                   ADZ_ERR_GRAPH, ADZ_ERR_MEMORY, or the error of the closure recorded
 * @see              scipy.optimize.curve_fit
 */
ADZ_API adz_tensor *adz_levenberg_marquardt_covariance(
    adz_optimizer *optimizer, adz_optimizer_closure closure, void *user, double *variance);

#ifdef __cplusplus
}
#endif

#endif
