/**
 * @file solvers.h
 * Roots of functions and ordinary differential equations, as operators with derivatives.
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
 *     return adz_root(kepler, orbit, orbit[1], &options, NULL);
 * }
 * @endcode
 *
 * A solver calls the function as often as it needs to, and keeps no graph of its iterations. The
 * gradient of a root comes from the implicit function theorem. That of a solution of a differential
 * equation goes back through its steps, computed again or kept (`graph_bytes`). It reaches the
 * arguments, and all other tensors that the function uses and that want a gradient. The backward
 * calls the function again, so `user` and these tensors have to live until then and may not change.
 * The function must give the same values for the same inputs: it may not draw random numbers.
 *
 * adz_jvp, Jacobians in forward mode and Levenberg-Marquardt go forward through solvers:
 * sensitivities are integrated beside the states on the same steps, for all parameters at once.
 * They have no part in the error control. So the derivatives are those of the computed steps, as in
 * reverse mode. With few parameters this takes a small multiple of the solution's time, and needs
 * no graph of it. The function's calls are captured and replayed where a plan could hold them.
 * By ADZ_ODE_RODAS4, by times and to the hits of events, tangents go through the graph of one step
 * at a time. Under create_graph it is the graph of all steps that is differentiated.
 *
 * Inside a function that a plan captures:
 *
 * | form                                                | in a plan                             |
 * |-----------------------------------------------------|---------------------------------------|
 * | adz_root by Newton or Anderson                      | captured, with its gradients          |
 * | adz_root by ADZ_ROOT_KRYLOV                         | refused: the host reads dot products  |
 * | adz_odeint with `steps`, and by ADZ_ODE_RK4         | captured, with its gradients          |
 * | adz_odeint with error control                       | captured, with first derivatives      |
 * | adz_odeint by ADZ_ODE_BDF                           | refused: the host chooses orders      |
 * | adz_odeint_event, adz_odeint_events                 | refused: the host reads its sign      |
 *
 * A search for a root without fixed_iterations is a while loop of the plan, or several. Each run
 * evaluates the function as often as it needs to, at most max_iterations times, and has the bits of
 * an ordinary call. Where that would fail, the run fails with its error. The number of launches
 * does not depend on the number of iterations. The report is that of the call that makes the plan.
 * The gradient is taken at the root, by launches behind the loop. Loops for Newton's method hold
 * the trust region, too. For Anderson's method the first `history` + 1 evaluations have launches of
 * their own. ADZ_ROOT_AUTO is Krylov for more than 2048 unknowns without `rows`, so choose
 * ADZ_ROOT_NEWTON for them.
 *
 * Fixed steps of ADZ_ODE_RK4 and ADZ_ODE_DORMAND_PRINCE are loops of the plan: the number of
 * launches does not depend on the number of steps. With a gradient that holds if the graph of all
 * steps fits into graph_bytes, and no gradient by the times is wanted; else each step has its
 * launches. The bits are those of ordinary calls in all cases. To find out whether the graph fits,
 * the function is called once more while the plan is made; that call computes nothing.
 *
 * Steps with error control, by ADZ_ODE_DORMAND_PRINCE and ADZ_ODE_RODAS4, are a while loop of the
 * plan. Each run takes as many steps as it needs, at most max_steps, and has the bits of an
 * ordinary call; where that would fail, the run fails with its error. The number of launches
 * depends neither on the steps nor on the times. The report is that of the call that makes the
 * plan. There are gradients by everything but the times, with the bits of ordinary calls. The plan
 * has room for the states and slopes before max_steps steps, so set max_steps for a large state:
 * a room of more than 2^28 elements is ADZ_ERR_STATE. The backward computes each step again. If the
 * function uses a tensor that is neither an argument nor a leaf, gradients behind that tensor agree
 * up to rounding. Gradients by the times, and derivatives of second order or forwards, are
 * ADZ_ERR_STATE: set `steps`, call it outside of the plan, or disable gradients.
 *
 * Exports contain fixed steps of ADZ_ODE_RK4 and ADZ_ODE_DORMAND_PRINCE, and steps of the latter
 * with error control, as loops of the file. A file computes the lengths of steps in the dtype of y,
 * so those of f32 differ by rounding, and with them the solution by less than its tolerance. Where
 * a solution needs more than max_steps or cannot go on, the states of a file that it has not
 * reached are NaN. Exports contain roots by Newton and Anderson, as loops and with their gradients;
 * rows that do not converge are NaN unless accept_unconverged is set. The systems of equations in
 * them are written in C. ONNX has no node for them, so it takes Newton's method with `rows` for
 * one column alone. The other forms are ADZ_ERR_UNSUPPORTED.
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
    ADZ_ROOT_NEWTON = 1,   /**< Newton's method with the Jacobian and a line search. Rows for which
                                that fails go on within a trust region, by Powell's dogleg method */
    ADZ_ROOT_KRYLOV = 2,   /**< Newton's method, whose linear systems GMRES solves by products with
                                the Jacobian, which is never formed; for many unknowns */
    ADZ_ROOT_ANDERSON = 3, /**< Anderson's acceleration of x = g(x). The function is g: its
                                result is compared with x, and not with 0. */
} adz_root_method;

/** Why a search for a root ended. */
typedef enum adz_root_reason {
    ADZ_ROOT_CONVERGED = 0,  /**< the residual is at most the tolerance, or as small as rounding
                                  errors of x let it be */
    ADZ_ROOT_ITERATIONS = 1, /**< max_iterations were not enough */
    ADZ_ROOT_STALLED = 2,  /**< no step makes the residual smaller, which is above the tolerance */
    ADZ_ROOT_SINGULAR = 3, /**< the Jacobian is not finite, or singular with no way down */
    ADZ_ROOT_NOT_FINITE = 4, /**< the function is not finite at x0 */
    ADZ_ROOT_UNCHECKED = 5   /**< fixed_iterations: the host has not looked */
} adz_root_reason;

/** What a search found. */
typedef struct adz_root_report {
    int iterations;    /**< evaluations of the function, without those in GMRES */
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
                               rounding error of x, if each |f_i| is then at most 1024 eps times the
                               sum of |J_ij| |x_j| over j. */
    int max_iterations;   /**< evaluations of the function, at most; 200 */
    int fixed_iterations; /**< above 0: computes exactly so many, at most 10,000, and reads nothing
                             on the host. Rows that have converged stay as they are. 0 */
    int history; /**< of Anderson: how many steps are remembered, 1 to 16; of Krylov: the dimension
                      of GMRES, 1 to 100, before it restarts, which grows to 100 if restarts make
                      little progress. 0, the default, means 5 and 30 */
    bool accept_unconverged; /**< returns the best point if the search does not converge, with the
                                  reason in the report; false: that is an error */
} adz_root_options;

/** The defaults. */
#define ADZ_ROOT_OPTIONS                                                               \
    {                                                                                  \
        ADZ_MEMBER(size, sizeof(adz_root_options)), ADZ_MEMBER(method, ADZ_ROOT_AUTO), \
            ADZ_MEMBER(rows, false), ADZ_MEMBER(tolerance, 1e-10),                     \
            ADZ_MEMBER(max_iterations, 200), ADZ_MEMBER(fixed_iterations, 0),          \
            ADZ_MEMBER(history, 0), ADZ_MEMBER(accept_unconverged, false)              \
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
 * A step of Newton's method is halved until the residual shrinks. If a row needs less than a tenth
 * of a step, or its Jacobian is singular, its search goes on within a trust region, but not with
 * fixed_iterations nor by ADZ_ROOT_KRYLOV. With `rows`, each row has a step of its own, and rows
 * that have converged wait for the others.
 *
 * A function and a tolerance that are both multiplied by a power of two have the same root in the
 * same steps, and so have unknowns in other units, unless numbers leave the range of the dtype.
 *
 * @param function  computes f(x), of the shape and dtype of x
 * @param user      handed to the function, also in the backward
 * @param x0        where the search begins, f32 or f64; [N, D] with `rows`. The root has no
 *                  gradient by it.
 * @param options   NULL for the defaults
 * @param report    receives what was found, also if the search fails; or NULL
 * @return          the root, shaped like x0, borrowed; NULL with ADZ_ERR_NUMERIC (the search did
 *                  not converge), ADZ_ERR_SHAPE, ADZ_ERR_DTYPE (x0 or a result of the function),
 *                  ADZ_ERR_ARGUMENT (an option), ADZ_ERR_STATE (in a plan, see above),
 *                  ADZ_ERR_NULL, ADZ_ERR_MEMORY or the error of the function recorded
 * @grad            what the function uses, to any order. The Jacobian at the root must be regular;
 *                  at a fold, where it is not, the backward is ADZ_ERR_NUMERIC. After
 *                  ADZ_ROOT_KRYLOV, and for more than 2048 unknowns after ADZ_ROOT_ANDERSON without
 *                  `rows`, GMRES solves its systems, and no derivative forms the Jacobian.
 * @see             jaxopt.ScipyRootFinding, jax.lax.custom_root; torch has no such function
 */
ADZ_API adz_tensor *adz_root(adz_tensor_map function, void *user, adz_tensor *x0,
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
ADZ_API adz_tensor *adz_root_many(const adz_tensor_function *function, adz_tensor *x0,
    adz_tensor *const *arguments, size_t n, const adz_root_options *options,
    adz_root_report *report);

/* ---- ordinary differential equations ----------------------------------------------------------
 */

/**
 * The right-hand side of a differential equation, dy/dt = f(t, y).
 *
 * @param t     the time, a scalar of the dtype of y
 * @param y     the state
 * @param user  the pointer that was given
 * @return      dy/dt, of the shape and dtype of y, borrowed; NULL for a failure
 */
typedef adz_tensor *(*adz_ode_map)(adz_tensor *t, adz_tensor *y, void *user);

/** How a differential equation is solved. */
typedef enum adz_ode_method {
    ADZ_ODE_DORMAND_PRINCE = 0, /**< Runge-Kutta of order 5 with error control and dense output of
                                     order 4; for equations that are not stiff */
    ADZ_ODE_RK4 = 1,            /**< the classical Runge-Kutta method of order 4, by fixed steps */
    ADZ_ODE_RODAS4 = 2, /**< RODAS of Hairer and Wanner with the coefficients of Steinebach: a
                            Rosenbrock method of order 4 with the Jacobian and error control;
                            L-stable, for stiff equations. A step ends at each of the times */
    ADZ_ODE_BDF = 3 /**< differentiation formulas of order 1 to 5 with error control (Shampine and
                         Reichelt's NDF), for stiff equations. Mostly faster than ADZ_ODE_RODAS4,
                         because a step calls the function two or three times and forms the
                         Jacobian rarely; the errors of its steps add up to more */
} adz_ode_method;

/** What the solution took. */
typedef struct adz_ode_report {
    int64_t steps;       /**< steps that were accepted */
    int64_t rejected;    /**< steps that were tried again with a shorter one */
    double time;         /**< how far the solution came; NAN if the host has not looked */
    int64_t evaluations; /**< calls of the function, those for Jacobians included; without those of
                              a backward */
    int64_t jacobians;   /**< Jacobians that were computed, by ADZ_ODE_RODAS4 */
} adz_ode_report;

/** Options of adz_odeint. Start from ADZ_ODE_OPTIONS. */
typedef struct adz_ode_options {
    size_t size;           /**< sizeof(adz_ode_options) */
    adz_ode_method method; /**< ADZ_ODE_DORMAND_PRINCE */
    double rtol;   /**< the error of a step relative to the state, not below the rounding error of
                        the dtype, 1.2e-7 or 2.3e-16; 1e-6 */
    double atol;   /**< the absolute error of a step, above 0; 1e-8 */
    int64_t steps; /**< above 0: so many equal steps between two times, without error control, which
                        a plan can capture. 0, the default: error control; 1 step for ADZ_ODE_RK4 */
    int64_t max_steps; /**< the most steps in all, rejected ones included; 100,000 */
    double first_step; /**< the first step with error control; 0, the default, chooses it */
    bool rows; /**< y is [N, D], and row n of f depends on row n of y only, which makes the Jacobian
                    of a method for stiff equations cheaper. All rows take the same steps. false */
    int64_t checkpoints; /**< the most states that are kept for the backward, 1 or more. The steps
                              between two of them are computed twice in the backward. 256 */
    int64_t graph_bytes; /**< the graph of the steps is kept for the backward if it takes at most so
                              many bytes, 0 or more. The backward then computes no step again. Not
                              with a method for stiff equations, with an event, or if the times want
                              a gradient. ADZ_ODE_BDF keeps the states after its steps instead, for
                              forward derivatives. 16 MiB */
    double max_step;     /**< the longest step with error control; 0, the default, sets no limit */
    const double *atols; /**< instead of atol, one for each element of y, or for each of the D
                              columns with `rows`; read during the call only; NULL */
    size_t n_atols;      /**< 0 */
    int event_direction; /**< of adz_odeint_event: 1, an event is where its function rises through
                              0; -1, where it falls; 0, the default, both */
    int64_t max_hits; /**< of adz_odeint_events: the most hits of all events together; one more is
                           an error; 10,000 */
} adz_ode_options;

/** The defaults. */
#define ADZ_ODE_OPTIONS                                                                        \
    {                                                                                          \
        ADZ_MEMBER(size, sizeof(adz_ode_options)), ADZ_MEMBER(method, ADZ_ODE_DORMAND_PRINCE), \
            ADZ_MEMBER(rtol, 1e-6), ADZ_MEMBER(atol, 1e-8), ADZ_MEMBER(steps, 0),              \
            ADZ_MEMBER(max_steps, 100000), ADZ_MEMBER(first_step, 0), ADZ_MEMBER(rows, false), \
            ADZ_MEMBER(checkpoints, 256), ADZ_MEMBER(graph_bytes, 16 << 20),                   \
            ADZ_MEMBER(max_step, 0), ADZ_MEMBER(atols, NULL), ADZ_MEMBER(n_atols, 0),          \
            ADZ_MEMBER(event_direction, 0), ADZ_MEMBER(max_hits, 10000)                        \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_ode_options) as the caller knows it
 */
ADZ_API void adz_ode_options_init(adz_ode_options *options, size_t size);

/**
 * Solves an initial value problem, dy/dt = f(t, y) with y = y0 at the first time.
 *
 * The gradient is that of the computed steps: it differentiates the formulas of the method, with
 * the step sizes as constants. So it belongs to the solution that is returned, whatever its error.
 * Memory for the backward is that of `checkpoints` states and of the graph of one step, and
 * `graph_bytes` at most. Under create_graph it is the graph of all steps.
 *
 * Times that decrease give a solution backwards in time.
 *
 * A replay of a plan fails as an ordinary call does if the times turn, or if the solution is not
 * finite.
 *
 * @param function  computes dy/dt
 * @param user      handed to the function, also in the backward if that computes steps again
 * @param y0        any shape, f32 or f64; [N, D] with `rows`
 * @param times     times[T], T >= 2, of the dtype of y0, all increasing or all decreasing
 * @param options   NULL for the defaults
 * @param report    receives what the solution took, also if it fails; or NULL
 * @return          y[T, ...], the states at the times, borrowed; NULL with ADZ_ERR_NUMERIC (the
 *                  solution is not finite, or needs more than max_steps), ADZ_ERR_SHAPE,
 *                  ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT (times that turn or repeat, an option),
 *                  ADZ_ERR_STATE (in a plan, see above), ADZ_ERR_NULL, ADZ_ERR_MEMORY or the error
 *                  of the function recorded
 * @grad            y0, times and what the function uses, to any order; to third order by
 *                  ADZ_ODE_BDF
 * @see             torchdiffeq.odeint, diffrax.diffeqsolve; torch has no such function
 */
ADZ_API adz_tensor *adz_odeint(adz_ode_map function, void *user, adz_tensor *y0, adz_tensor *times,
    const adz_ode_options *options, adz_ode_report *report);

/**
 * adz_odeint of a function with arguments, by which the solution is differentiable.
 *
 * @param function   computes one tensor, f(t, y, arguments ...), from n + 2
 * @param y0         any shape, f32 or f64; [N, D] with `rows`
 * @param times      times[T], T >= 2, of the dtype of y0, all increasing or all decreasing
 * @param arguments  n tensors of any dtype; NULL if n is 0
 * @param n          0 to ADZ_SOLVER_ARGUMENTS
 * @param options    NULL for the defaults
 * @param report     receives what the solution took, also if it fails; or NULL
 * @return           y[T, ...], borrowed; NULL with an error as for adz_odeint
 * @grad             y0, times, the arguments and what else the function uses, to any order
 * @see              torchdiffeq.odeint
 */
ADZ_API adz_tensor *adz_odeint_many(const adz_tensor_function *function, adz_tensor *y0,
    adz_tensor *times, adz_tensor *const *arguments, size_t n, const adz_ode_options *options,
    adz_ode_report *report);

/**
 * Solves an initial value problem up to an event: the first time at which a function of time and
 * state changes its sign.
 *
 * The sign is looked at after each step, so two events within one step are missed unless
 * `max_step`, or the number of fixed `steps`, keeps the steps short. With `event_direction` only
 * events of that direction end the solution.
 *
 * Steps may be fixed. By ADZ_ODE_RK4, which has no dense output, the step in which an event lies is
 * repeated until it ends there, which takes a few dozen calls of the function. So the event has the
 * error of the method, and the derivatives have it, too.
 *
 * An event at the first time itself does not count, so a solution can go on from the event of the
 * one before. If the event's function is 0 there up to rounding, its derivative by time says which
 * sign comes next. Up to rounding means 8 units in the last place of the state, and of the way that
 * the state would go at its first speed in the time |times[0]| + |times[1] - times[0]|.
 *
 * If times[1] is before times[0], the event is the last one before times[0]. Its direction is that
 * in which the solution goes, backwards in time.
 *
 * @param function   computes one tensor, f(t, y, arguments ...), from n + 2
 * @param y0         any shape, f32 or f64; [N, D] with `rows`
 * @param times      times[2], of the dtype of y0: the first time, and the last one at which an
 *                   event is looked for
 * @param arguments  n tensors of any dtype; NULL if n is 0
 * @param n          0 to ADZ_SOLVER_ARGUMENTS
 * @param event      computes one element, g(t, y, arguments ...), from n + 2
 * @param options    NULL for the defaults
 * @param found      receives two tensors, borrowed: the time of the event, a scalar, and the state
 *                   then; untouched on failure
 * @param report     receives what the solution took, also if it fails; or NULL
 * @return           ADZ_OK, or an error as for adz_odeint; ADZ_ERR_NUMERIC also if there is
 *                   no event, or if the event's function becomes NaN
 * @grad             found, by y0, times[0], the arguments and what else the functions use,
 *                   to second order; by times[1], too, if the steps are fixed, as it changes them
 * @see              torchdiffeq.odeint_event
 */
ADZ_API adz_status adz_odeint_event(const adz_tensor_function *function, adz_tensor *y0,
    adz_tensor *times, adz_tensor *const *arguments, size_t n, const adz_tensor_function *event,
    const adz_ode_options *options, adz_tensor **found, adz_ode_report *report);

#define ADZ_ODE_EVENTS 16 /**< the most events of a solution */

/** An event of a solution: where a function of time and state changes its sign. */
typedef struct adz_ode_event {
    adz_tensor_function function; /**< computes one element, g(t, y, arguments ...), from n + 2 */
    int direction;                /**< 1: only where g rises through 0; -1: only where it falls; 0:
                                       both */
    int64_t terminal; /**< the hit of this event that ends the solution, counted from 1; 0: none */
} adz_ode_event;

/**
 * Solves an initial value problem and finds all hits of several events on the way.
 *
 * An event is hit where its function changes its sign in its direction, which is that in which the
 * solution goes, also backwards in time. The solution ends at the hit that an event calls
 * `terminal`, else at the last time. It goes on smoothly through all other hits. To change the
 * state at a hit, end the solution there and begin another one.
 *
 * Signs are looked at after each step, as in adz_odeint_event: two hits of one event within one
 * step are missed unless `max_step`, or the number of fixed `steps`, keeps the steps short. What is
 * 0 up to rounding at the first time is no hit.
 *
 * @code
 * // Where a pendulum turns, up to its third passage through the lowest point.
 * static adz_status turns(const adz_tensor_function *pendulum, adz_tensor *y0, adz_tensor *times,
 *     const adz_tensor_function *speed, const adz_tensor_function *angle, adz_tensor *found[5])
 * {
 *     const adz_ode_event events[] = { { *speed, 0, 0 }, { *angle, 0, 3 } };
 *     return adz_odeint_events(pendulum, y0, times, NULL, 0, events, 2, NULL, found, NULL, NULL);
 * }
 * @endcode
 *
 * @param function   computes one tensor, f(t, y, arguments ...), from n + 2
 * @param y0         any shape, f32 or f64; [N, D] with `rows`
 * @param times      times[T], T >= 2, of the dtype of y0, all increasing or all decreasing
 * @param arguments  n tensors of any dtype; NULL if n is 0
 * @param n          0 to ADZ_SOLVER_ARGUMENTS
 * @param events     n_events; read during the call only, but what their functions' `user` points to
 *                   has to live until the backward
 * @param n_events   1 to ADZ_ODE_EVENTS
 * @param options    NULL for the defaults; not with `event_direction`
 * @param found      receives 1 + 2 n_events tensors, borrowed; untouched on failure. The first one
 *                   is y[R, ...], the states at the R times that are not after the end, 1 <= R <=
 * T. Number 1 + 2 i is t[H], the times of the H >= 0 hits of event i in their order, and number 2 +
 * 2 i is y[H, ...], the states there.
 * @param ended      receives the number of the event that has ended the solution, or -1; or NULL
 * @param report     receives what the solution took, also if it fails; or NULL
 * @return           ADZ_OK, or an error as for adz_odeint; ADZ_ERR_NUMERIC also if there are more
 *                   than max_hits hits, if the function of an event becomes NaN, or if it has no
 *                   rate of change at a hit
 * @grad             found, by y0, the times, the arguments and what else the functions use, to
 *                   second order. How many hits there are has no derivative.
 * @see              scipy.integrate.solve_ivp with `events`; torchdiffeq.odeint_event
 */
ADZ_API adz_status adz_odeint_events(const adz_tensor_function *function, adz_tensor *y0,
    adz_tensor *times, adz_tensor *const *arguments, size_t n, const adz_ode_event *events,
    size_t n_events, const adz_ode_options *options, adz_tensor **found, int *ended,
    adz_ode_report *report);

#ifdef __cplusplus
}
#endif

#endif
