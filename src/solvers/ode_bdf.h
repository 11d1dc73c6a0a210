/* Numerical differentiation formulas of order 1 to 5 with steps of quasi-constant length (Shampine
 * and Reichelt, The MATLAB ODE Suite, 1997).
 *
 * Note [States of differences]
 * A solution of order q and step h is the polynomial through its last q + 1 states. It is kept as
 * backward differences D_0 = y, D_1, ... in the rows of a matrix of f64. The state between two
 * steps is such a matrix, [ADZI_BDF_ROWS, n] for n elements of y. A step of another length begins
 * with the differences of the same polynomial at that distance. With the prediction p = sum_i D_i
 * and s = sum_i gamma_i D_i / alpha_q, the step solves
 *
 *     d = h / alpha_q f(t + h, p + d) - s
 *
 * and adds d to all differences: D_q+1 = d, and D_i += D_i+1 from i = q to 0. */
#ifndef ADZI_SOLVERS_ODE_BDF_H
#define ADZI_SOLVERS_ODE_BDF_H

#include "ops/linalg/decomposition/lu.h"
#include "solvers/ode_run.h"

enum { ADZI_BDF_ORDER = 5, ADZI_BDF_ROWS = ADZI_BDF_ORDER + 2 };

/** The coefficients of an order. */
typedef struct adzi_bdf {
    double alpha, error;              /* the error of a step is error d */
    double gamma[ADZI_BDF_ORDER + 1]; /* 1 + 1/2 + ... + 1/i */
} adzi_bdf;

adzi_bdf adzi_bdf_of(int order);

/** The differences at `factor` times the distance: D'_i = sum_j a[i][j] D_j for i and j up to the
 * order. */
void adzi_bdf_rescale(int order, double factor, double a[ADZI_BDF_ORDER + 1][ADZI_BDF_ORDER + 1]);

/** The state of differences of y before the first step. NULL with the error recorded. */
adz_tensor *adzi_bdf_begin(adz_tensor *y);

/** Elements in f64, as y has them. NULL with the error recorded. */
adz_tensor *adzi_bdf_value(const adz_tensor *y, adz_tensor *elements);

/** The matrix m = 1 - c J and its LU factors, for J in f64 as adzi_ode_jacobian gives it. False
 * with the error recorded. */
bool adzi_bdf_factor(
    const adzi_ode *ode, adz_tensor *j, double c, adz_tensor **m, adzi_lu *factors);

#endif
