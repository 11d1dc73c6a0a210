/* LU factors on the tape: Note [LU] in lu.kernel.h. */
#ifndef ADZI_OPS_LINALG_DECOMPOSITION_LU_H
#define ADZI_OPS_LINALG_DECOMPOSITION_LU_H

#include "ops/op.h"
#include "ops/linalg/decomposition/lu.kernel.h"

/** The factors of a batch of matrices: lu[..., n, n] and pivots[..., n], i64. Without pivots, lu is
 * matrices that adzi_lu_determinant factors by itself. */
typedef struct adzi_lu {
    adz_tensor *lu, *pivots;
} adzi_lu;

/** Factors the matrices of `a`, borrowed from the scope. With `regular`, fails with ADZ_ERR_NUMERIC
 * if a pivot is 0. */
bool adzi_lu_factor(const char *op, adz_tensor *a, bool regular, adzi_lu *factors);

/** Replaces the matrices of a[..., m, n], contiguous, by their factors; pivots[..., min(m, n)]
 * count from 0. */
void adzi_lu_factor_in_place(adz_tensor *a, adz_tensor *pivots);

/** Factors the matrices of `a` if the call keeps the factors or the matrices are large. Else the
 * result has no pivots. */
bool adzi_lu_factor_kept(const adzi_call *call, adz_tensor *a, adzi_lu *factors);

/** Launches the solve of all matrices of `x`, which holds b. */
void adzi_lu_solve(const adzi_lu *factors, adz_tensor *x, bool transposed, bool identity);

/** The determinants of the factors; `args` says what is written. */
void adzi_lu_determinant(const adzi_lu *factors, adzi_lu_determinant_args args);

/** The factors that a node keeps as its extra values 0 and 1; both are NULL after an error. */
adzi_lu adzi_saved_lu(adzi_node *node);

/**
 * x = a^-1 b, or a^-T b, with the factors of `a` that are known already. Recorded as an operator of
 * a and b, so it can be differentiated to any order without another factorisation.
 */
adz_tensor *adzi_solve_with(const adzi_lu *factors, adz_tensor *a, adz_tensor *b, bool transposed);

/** x = a^-1 b, or a^-T b, as adz_solve computes it. Where a matrix is singular, x is infinite or
 * NaN, which is no error. */
adz_tensor *adzi_solve_any(adz_tensor *a, adz_tensor *b, bool transposed);

/**
 * Which row of a each row of l u is.
 *
 * @param pivots   i64 [..., k], counted from 1
 * @param m        rows of a, k or more
 * @param inverse  which row of l u each row of a is, instead
 * @return         i64 [..., m], without a gradient
 */
adz_tensor *adzi_lu_rows(adz_tensor *pivots, int64_t m, bool inverse);

/** The rows of x[..., m, n] at the numbers rows[..., m], whose leading sizes are those of x. */
adz_tensor *adzi_permute_rows(adz_tensor *x, adz_tensor *rows);

#endif
