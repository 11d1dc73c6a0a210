/* What steps with error control are chosen by. The host chooses them in ode_adapt.c; in plans and
 * exports tensors do, in ode_while.c and ode_lengths.c. Both have the formulas of Hairer, Norsett
 * and Wanner I, section II.4, in the same order, so the steps have the same bits. */
#ifndef ADZI_SOLVERS_ODE_CONTROL_H
#define ADZI_SOLVERS_ODE_CONTROL_H

#include "solvers/ode.h"

/* The error of a step may be a little smaller than allowed, so that the next one rarely fails. */
#define ADZI_ODE_SAFETY   0.9
#define ADZI_ODE_SHRINK   0.2
#define ADZI_ODE_GROWTH   5.0
#define ADZI_ODE_NEAR     1.01 /* a step that comes so near to a stop goes there */
#define ADZI_ODE_FIRST_OF 0.01 /* the first step changes the state by about this part */

/** The order by which a step grows with its error. */
static inline double adzi_ode_order(const adzi_ode *ode)
{
    return ode->o.method == ADZ_ODE_BDF ? 2 : ode->o.method == ADZ_ODE_RODAS4 ? 4 : 5;
}

/** The shortest step at time t: a shorter one would be lost in the rounding errors of the time. */
static inline double adzi_ode_shortest(double eps, double t)
{
    const double at = t < 0 ? -t : t;
    return 4 * eps * (at > DBL_MIN / eps ? at : DBL_MIN / eps);
}

/** Why a solution has ended before its last time. */
typedef enum adzi_ode_failure {
    ADZI_ODE_STATE_NOT_FINITE,
    ADZI_ODE_SLOPE_NOT_FINITE,
    ADZI_ODE_MAX_STEPS,
    ADZI_ODE_MAX_STEP,
    ADZI_ODE_TOO_SHORT,
    ADZI_ODE_NO_EVENT
} adzi_ode_failure;

/** Where that was. */
typedef struct adzi_ode_early {
    const char *op;
    adz_ode_method method;
    double time; /* the program's */
    int64_t steps;
    adz_shape state;
    double largest; /* the largest absolute element of the state */
} adzi_ode_early;

/** Records the error. */
adz_status adzi_ode_fail(adzi_ode_failure failure, const adzi_ode_early *at);

/** What the bodies of the while loop know. */
typedef struct adzi_ode_loop {
    adzi_ode *ode;
    adz_tensor *target, *stop; /* the next time of a result, and where a step has to end */
    adz_tensor *times, *end;   /* [T] and its last element, f64, which increase */
    adz_tensor *atols;         /* f64; NULL: o.atol */
    adz_tensor *nan;
    adz_dtype dtype;                   /* of the controller */
    adz_tensor *dense[ADZI_ODE_DENSE]; /* the weights of the stages, [n_dense] each */
    int columns[ADZI_COMBINATION_TERMS], n_dense;
    size_t n_carries;
    adz_tensor *state_finite, *slope_finite; /* at the first time */
    const struct adzi_ode_rows *rows;        /* keep the steps for a gradient; NULL: none do */
} adzi_ode_loop;

/** A number of the controller as a scalar. */
adz_tensor *adzi_ode_number(const adzi_ode_loop *a, double x);

/** A tensor in the dtype of the controller. */
adz_tensor *adzi_ode_wide(const adzi_ode_loop *a, adz_tensor *x);

/** A vector of numbers, which is a constant of a file. */
adz_tensor *adzi_ode_vector(const adzi_ode_loop *a, const double *x, int64_t n);

/** The least absolute tolerance that the controller tells from 0. With a tolerance of 0 a state
 * that stays 0 has an error of 0 / 0. */
double adzi_ode_least_atol(const adzi_ode_loop *a);

/** The size of x as a part of atol + rtol max(|y|, |z|): the root mean square of its elements. NaN
 * if y or z is not finite. If their squares may overflow, it is computed in two ways. */
adz_tensor *adzi_ode_size(
    const adzi_ode_loop *a, adz_tensor *x, adz_tensor *y, adz_tensor *z, bool may_overflow);

/** The shortest step at time t. */
adz_tensor *adzi_ode_least(const adzi_ode_loop *a, adz_tensor *t);

/** The step that follows one of a length with an error. */
adz_tensor *adzi_ode_next_step(const adzi_ode_loop *a, adz_tensor *length, adz_tensor *error);

/** The step that is tried first, with the slope f at the first time t. Finds out whether y and f
 * are finite. */
adz_tensor *adzi_ode_first_step(adzi_ode_loop *a, adz_tensor *t, adz_tensor *y, adz_tensor *f);

#endif
