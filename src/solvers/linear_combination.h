/* Linear combinations of several tensors in one pass: the stages of a Runge-Kutta method, the error
 * of a step, and states between two steps. */
#ifndef ADZI_SOLVERS_LINEAR_COMBINATION_H
#define ADZI_SOLVERS_LINEAR_COMBINATION_H

#include "adze/tensor.h"
#include "base/threads/addresses.h"

enum { ADZI_COMBINATION_TERMS = 7, ADZI_COMBINATION_RUN = 512 };

/**
 * base + h sum_j a[j] x[j], in the order of the terms. Terms whose weight is 0 are left out.
 *
 * @param base  of the shape of the terms, f32 or f64; NULL: 0
 * @param x     n tensors of one shape and dtype. Those whose weight is 0 may be NULL,
 *              but for the last one
 * @param n     1 to ADZI_COMBINATION_TERMS
 * @return      borrowed; NULL with the error recorded
 */
adz_tensor *adzi_linear_combination(
    adz_tensor *base, double h, adz_tensor *const *x, const double *a, int n);

/**
 * base + h sum_j a[j] x[j] with numbers that launches have computed: of a step whose length a plan
 * or a file chooses. It has the bits of adzi_linear_combination and adzi_linear_combinations. The
 * base and the terms have gradients if `a` has the numbers; h has none.
 *
 * @param h        a scalar, f64; NULL: 1
 * @param a        n numbers; NULL: `weights` has them
 * @param weights  a[n], f64, contiguous; NULL: `a` has the numbers
 * @return         shaped like a term, borrowed; NULL with the error recorded
 */
adz_tensor *adzi_linear_combination_by(adz_tensor *base, adz_tensor *h, adz_tensor *const *x,
    const double *a, adz_tensor *weights, int n);

/**
 * Several such sums of the same tensors, y[R, ...].
 *
 * @param weights  a[R, n], f64, contiguous, constant
 */
adz_tensor *adzi_linear_combinations(
    adz_tensor *base, double h, adz_tensor *const *x, int n, adz_tensor *weights);

/**
 * The gradients of such sums by the base and the terms, at the rows of `dy` that launches have
 * found.
 *
 * @param h        a scalar, f64
 * @param weights  one row for each that is found, f64, contiguous
 * @param range    the first row of dy, and how many rows there are, i64; without rows the gradients
 *                 are -0
 * @param dy       [R, ...], contiguous
 * @param dbase    receives the gradient of the base
 * @param dx       receives those of the n terms
 * @return         false with the error recorded
 */
bool adzi_linear_combinations_back(adz_tensor *h, adz_tensor *weights, adz_tensor *range,
    adz_tensor *dy, adz_tensor **dbase, adz_tensor **dx, int n);

/** The arguments of the kernels. A unit is an element of a term. */
typedef struct adzi_combination_args {
    int64_t numel, rows;
    int n;
    double h;
    const double *length;  /* is h; NULL: `h` is */
    const double *weights; /* rows x n; NULL: `a` is the only row */
    const int64_t *range;  /* of the backward: the first row of dy, and how many; NULL: all */
    double a[ADZI_COMBINATION_TERMS];
    const char *base, *x[ADZI_COMBINATION_TERMS]; /* of linear_combination; base may be NULL */
    char *y;
    const char *dy;                           /* of linear_combination_backward */
    char *dbase, *dx[ADZI_COMBINATION_TERMS]; /* gradients that are NULL are not computed */
} adzi_combination_args;

ADZI_ADDRESSES(adzi_combination_args, length, weights, range, base, x, y, dy, dbase, dx);

#endif
