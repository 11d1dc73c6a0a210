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
    double tolerance_grad;   /**< ends a step when no gradient of the loss has a larger absolute
                                  value, 0 or more; 1e-7 */
    double tolerance_change; /**< ends a step when the parameters move by less than this part of the
                                  largest one, or the loss falls by less than this part of it; 0 or
                                  more; 1e-9 */
} adz_levenberg_marquardt_options;

/** The defaults. */
#define ADZ_LEVENBERG_MARQUARDT_OPTIONS                               \
    {                                                                 \
        sizeof(adz_levenberg_marquardt_options), 20, 1e-3, 1e-7, 1e-9 \
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
 *     (J^T J + damping D) h = -J^T r,   x = x + lr h
 *     r[M] the residuals, J[M, P] their derivatives by all parameters x[P]
 *     D the diagonal of J^T J, each element at least 1e-6 of the largest one
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
 * "tolerance_change". It keeps "func_evals", "n_iter", "damping" and "growth". A parameter that no
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
 *     adz_optimizer_free(&lm);
 *     return loss;
 * }
 * @endcode
 *
 * @param parameters  one or more contiguous leaves, all f32 or all f64, kept
 * @param lr          the part of each move that is made, 0 or more; usually 1
 * @param options     NULL for the defaults
 * @return            yours, end it with adz_optimizer_free; NULL with ADZ_ERR_NULL,
 *                    ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_GRAPH, ADZ_ERR_SHAPE or
 *                    ADZ_ERR_MEMORY recorded
 * @see               scipy.optimize.least_squares with method="lm"; Marquardt, 1963; Nielsen, 1999
 */
ADZ_API adz_optimizer *adz_levenberg_marquardt_new(
    adz_tensor_list parameters, double lr, const adz_levenberg_marquardt_options *options);

#ifdef __cplusplus
}
#endif

#endif
