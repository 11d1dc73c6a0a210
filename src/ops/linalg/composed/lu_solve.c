#include "ops/linalg/decomposition/batch.h"
#include "ops/linalg/decomposition/lu.h"
#include "ops/linalg/decomposition/solve_triangular.h"
#include "ops/demand.h"
#include "ops/options.h"

/* Systems whose matrix is known by its LU factors, torch.linalg.lu_solve. A composition.
 *
 *     P a = l u:   a x = b is l u x = P b,   and a^T x = b is u^T l^T P x = b
 *
 * Unknowns on the right side, x a = b, are those of a^T x^T = b^T. Gradients flow to lu and b, by
 * the backwards of the triangular solves. */

static const char op[] = "lu_solve";

/* Checks what does not depend on the side of the unknowns: dtypes, and that pivots belong to lu. */
static bool check(const adz_tensor *lu, const adz_tensor *pivots, const adz_tensor *b)
{
    if (!adzi_check_tensor(op, "lu", lu) || !adzi_check_tensor(op, "pivots", pivots) ||
        !adzi_check_tensor(op, "b", b)) {
        return false;
    }
    if (lu->rank < 2 || adzi_rows(lu) != adzi_columns(lu)) {
        adzi_error(op, ADZ_ERR_SHAPE, "lu%s holds no square matrices", adzi_text_shape(lu));
        return false;
    }
    bool fits = pivots->rank == lu->rank - 1;
    for (int d = 0; d < pivots->rank && fits; ++d) {
        fits = pivots->sizes[d] == lu->sizes[d];
    }
    if (!fits) {
        adzi_error(op, ADZ_ERR_SHAPE, "pivots%s do not belong to lu%s", adzi_text_shape(pivots),
            adzi_text_shape(lu));
        return false;
    }
    if (pivots->dtype != ADZ_I64 && pivots->dtype != ADZ_I32) {
        adzi_error(op, ADZ_ERR_DTYPE, "pivots are %s, not int64 or int32",
            adz_dtype_name((adz_dtype)pivots->dtype));
        return false;
    }
    if (b->rank < 2) {
        adzi_error(
            op, ADZ_ERR_SHAPE, "b%s is no matrix: it needs two dimensions", adzi_text_shape(b));
        return false;
    }
    return true;
}

/* The pivots as i64, after a check that they name rows. */
static adz_tensor *checked_pivots(adz_tensor *pivots, int64_t n)
{
    adz_tensor *whole = adz_to(pivots, ADZ_I64);
    adz_tensor *inside = adz_logical_and(adz_ge_number(whole, 1), adz_le_number(whole, (double)n));
    return adzi_demand(op, adz_all(inside, ADZ_ALL_DIMS, ADZ_DROPDIM), ADZ_ERR_INDEX,
               "a pivot names no row; pivots count from 1")
               ? whole
               : NULL;
}

/* a x = b, or a^T x = b. The batches of lu and b broadcast. The rows of b are exchanged before the
 * two triangular solves, and with a^T those of the result after them. */
static adz_tensor *solve(adz_tensor *lu, adz_tensor *pivots, adz_tensor *b, bool transposed)
{
    const int64_t n = adzi_rows(lu);
    if (adzi_rows(b) != n) {
        return adzi_fail(op, ADZ_ERR_SHAPE,
            "lu%s and b%s do not fit: b needs %lld rows, or as many columns with left = false",
            adzi_text_shape(lu), adzi_text_shape(b), (long long)n);
    }
    adz_shape shape = { 0 }, list;
    if (!adzi_broadcast_batch(op, lu, b, &shape.rank, shape.sizes)) {
        return NULL;
    }
    list = shape;
    list.sizes[list.rank++] = n;
    shape.sizes[shape.rank++] = n;
    shape.sizes[shape.rank++] = adzi_columns(b);
    adz_tensor *rows = adzi_lu_rows(pivots, n, transposed);
    rows = rows != NULL ? adz_expand(rows, list) : NULL;
    adz_tensor *x = rows != NULL ? adz_expand(b, shape) : NULL;
    if (x != NULL && !transposed) {
        x = adzi_permute_rows(x, rows);
    }
    x = x != NULL ? adzi_solve_triangular(lu, x, transposed, transposed, !transposed) : NULL;
    x = x != NULL ? adzi_solve_triangular(lu, x, !transposed, transposed, transposed) : NULL;
    return transposed ? adzi_permute_rows(x, rows) : x;
}

static const adz_field options_rows[] = {
    ADZ_FIELD(adz_lu_solve_options, left, .value = true),
    ADZ_FIELD(adz_lu_solve_options, adjoint, .value = false),
};

ADZ_OPTIONS_TABLE(adz_lu_solve_options, ADZ_LU_SOLVE_OPTIONS, options_rows)

/* x a = b is a^T x^T = b^T. */
adz_tensor *adz_lu_solve(
    adz_tensor *lu, adz_tensor *pivots, adz_tensor *b, const adz_lu_solve_options *options)
{
    ADZI_COMPOSED();
    adz_lu_solve_options o;
    if (!ADZI_OPTIONS_TAKE(op, adz_lu_solve_options, ADZ_LU_SOLVE_OPTIONS, &o, options) ||
        !check(lu, pivots, b)) {
        return NULL;
    }
    adz_tensor *whole = checked_pivots(pivots, adzi_rows(lu));
    if (whole == NULL) {
        return NULL;
    }
    if (o.left) {
        return solve(lu, whole, b, o.adjoint);
    }
    /* x a = b: the transposed system is solved, and its result turned back. */
    adz_tensor *turned = adzi_mt(b);
    adz_tensor *x = turned != NULL ? solve(lu, whole, turned, !o.adjoint) : NULL;
    return x != NULL ? adzi_mt(x) : NULL;
}
