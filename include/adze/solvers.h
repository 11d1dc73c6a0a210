/**
 * @file solvers.h
 * Roots of functions as operators with derivatives.
 *
 * @code
 * static adz_tensor *kepler(adz_tensor *e, void *orbit) // rows of anomalies: e - c sin(e) - m
 * {
 *     adz_tensor *const *given = orbit; // the eccentricity c, and the mean anomalies m[N, 1]
 *     return adz_sub(adz_sub(e, adz_mul(adz_sin(e), given[0])), given[1]);
 * }
 *
 * static adz_tensor *anomalies(adz_tensor *orbit[2])
 * {
 *     adz_root_options options = ADZ_ROOT_OPTIONS;
 *     options.rows = true;
 *     return adz_root(kepler, orbit[1], orbit, &options, NULL);
 * }
 * @endcode
 *
 * A solver calls the function as often as it needs to, and keeps no graph of its iterations. The
 * gradient comes from the solution alone, by the implicit function theorem. It reaches the
 * arguments, and all other tensors that the function uses and that want a gradient. The backward
 * calls the function again, so `user` and these tensors have to live until then. They must not be
 * changed in place before.
 *
 * Inside a function that a plan captures:
 *
 * | form                                                | in a plan                             |
 * |-----------------------------------------------------|---------------------------------------|
 * | adz_root with fixed_iterations, Newton or Anderson  | captured, with its gradients          |
 * | adz_root without fixed_iterations                   | refused: the host reads the residual  |
 * | adz_root by ADZ_ROOT_KRYLOV                         | refused: the host reads dot products  |
 *
 * Exports are refused, as those of adz_solve are.
 */
#ifndef ADZE_SOLVERS_H
#define ADZE_SOLVERS_H

#include "adze/functional.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ADZ_SOLVER_ARGUMENTS 14 /**< the most arguments of a function that is solved */

/* ---- roots ------------------------------------------------------------------------------------
 */

/** How a root is searched for. */
typedef enum adz_root_method {
    ADZ_ROOT_AUTO = 0,     /**< Newton with `rows` or for up to 2048 unknowns, else Krylov */
    ADZ_ROOT_NEWTON = 1,   /**< Newton's method with the Jacobian and a line search */
    ADZ_ROOT_KRYLOV = 2,   /**< Newton's method, whose linear systems GMRES solves by products with
                                the Jacobian, which is never formed; for many unknowns */
    ADZ_ROOT_ANDERSON = 3, /**< Anderson's acceleration of x = g(x). The function is g: its
                                result is compared with x, and not with 0. */
} adz_root_method;

/** Why a search for a root ended. */
typedef enum adz_root_reason {
    ADZ_ROOT_CONVERGED = 0,  /**< the residual or the step is small enough */
    ADZ_ROOT_ITERATIONS = 1, /**< max_iterations were not enough */
    ADZ_ROOT_STALLED = 2,    /**< no step along the search direction makes the residual smaller */
    ADZ_ROOT_SINGULAR = 3,   /**< the Jacobian is singular, or not finite */
    ADZ_ROOT_NOT_FINITE = 4, /**< the function is not finite at x0 */
    ADZ_ROOT_UNCHECKED = 5   /**< fixed_iterations: the host has not looked */
} adz_root_reason;

/** What a search found. */
typedef struct adz_root_report {
    int iterations;    /**< values of the function that were computed, without those in GMRES */
    double residual;   /**< the largest absolute element of the function at the returned point, over
                            all rows; of g(x) - x for Anderson; NAN if unchecked */
    int64_t rows_left; /**< rows that have not converged; 0 or 1 without `rows`; -1 if unchecked */
    adz_root_reason reason; /**< why the search ended; with `rows`, for the worst row */
} adz_root_report;

/** Options of adz_root. Start from ADZ_ROOT_OPTIONS. */
typedef struct adz_root_options {
    size_t size;            /**< sizeof(adz_root_options) */
    adz_root_method method; /**< ADZ_ROOT_AUTO */
    bool rows; /**< x is [N, D], and row n of the result depends on row n of x only: N systems of D
                    unknowns, which are solved together; false: one system of all elements */
    double tolerance;     /**< the largest absolute element of the residual that counts as 0, above
                               0; 1e-10. Newton's search also ends where its step is below the
                               rounding error of x. */
    int max_iterations;   /**< values of the function that may be computed; 100 */
    int fixed_iterations; /**< above 0: computes exactly so many, and reads nothing on the host.
                             Rows that have converged stay as they are. 0 */
    int history; /**< of Anderson: how many steps are remembered, 1 to 16; of Krylov: the dimension
                      of GMRES, 1 to 100, before it restarts. 0, the default, means 5 and 30 */
    bool accept_unconverged; /**< returns the best point if the search does not converge, with the
                                  reason in the report; false: that is an error */
} adz_root_options;

/** The defaults. */
#define ADZ_ROOT_OPTIONS                                                        \
    {                                                                           \
        sizeof(adz_root_options), ADZ_ROOT_AUTO, false, 1e-10, 100, 0, 0, false \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_root_options) as the caller knows it
 */
ADZ_API void adz_root_options_init(adz_root_options *options, size_t size);

/**
 * A root of a function: x with f(x) = 0, or x with g(x) = x for ADZ_ROOT_ANDERSON.
 *
 * A step of Newton's method is halved until the residual shrinks. With `rows`, each row has a
 * step of its own, and rows that have converged wait for the others.
 *
 * @param function  computes f(x), of the shape and dtype of x
 * @param x0        where the search begins, f32 or f64; [N, D] with `rows`. The root has no
 * gradient by it.
 * @param user      handed to the function, also in the backward
 * @param options   NULL for the defaults
 * @param report    receives what was found, also if the search fails; or NULL
 * @return          the root, shaped like x0, borrowed; NULL with ADZ_ERR_NUMERIC (the search did
 *                  not converge), ADZ_ERR_SHAPE, ADZ_ERR_DTYPE (x0 or a result of the function),
 *                  ADZ_ERR_ARGUMENT (an option), ADZ_ERR_STATE (in a plan, see above),
 * ADZ_ERR_NULL, ADZ_ERR_MEMORY or the error of the function recorded
 * @grad            what the function uses, to any order. The Jacobian at the root must be regular;
 *                  at a fold, where it is not, the backward is ADZ_ERR_NUMERIC.
 * @see             jaxopt.ScipyRootFinding, jax.lax.custom_root; torch has no such function
 */
ADZ_API adz_tensor *adz_root(adz_tensor_map function, adz_tensor *x0, void *user,
    const adz_root_options *options, adz_root_report *report);

/**
 * adz_root of a function with arguments, by which the root is differentiable. Arguments may be
 * results of other operators; they are kept until the backward.
 *
 * @param function   computes one tensor, f(x, arguments ...), from n + 1
 * @param x0         where the search begins, f32 or f64
 * @param arguments  n tensors of any dtype; NULL if n is 0
 * @param n          0 to ADZ_SOLVER_ARGUMENTS
 * @param options    NULL for the defaults
 * @param report     receives what was found, also if the search fails; or NULL
 * @return           the root, shaped like x0, borrowed; NULL with an error as for adz_root
 * @grad             the arguments and what else the function uses, to any order
 * @see              jax.lax.custom_root
 */
ADZ_API adz_tensor *adz_root_with(const adz_tensor_function *function, adz_tensor *x0,
    adz_tensor *const *arguments, size_t n, const adz_root_options *options,
    adz_root_report *report);

#ifdef __cplusplus
}
#endif

#endif
