#include <math.h>

#include "ops/linalg/decomposition/batch.h"

/* Condition numbers, torch.linalg.cond. A composition: quotients of singular values, or a norm
 * times that of the inverse. */

/* The quotient of the largest and the smallest singular value, or its inverse. Singular values come
 * in falling order. A singular matrix gives infinity. */
static adz_tensor *quotient(adz_tensor *a, bool inverse)
{
    adz_tensor *s = adz_svdvals(a);
    if (s == NULL) {
        return NULL;
    }
    adz_tensor *largest = adz_select(s, -1, 0), *smallest = adz_select(s, -1, -1);
    return inverse ? adz_div(smallest, largest) : adz_div(largest, smallest);
}

/* A norm of the matrices times that of their inverses. Singular matrices are replaced by the
 * identity for the inverse, and get infinity: adz_inv would refuse the batch. A matrix is singular
 * if a pivot of its LU factors is 0. */
static adz_tensor *product(adz_tensor *a, adz_matrix_norm_ord ord)
{
    adz_tensor *lu = adz_lu_factor(adz_detach(a), NULL);
    adz_tensor *pivots = lu != NULL ? adz_diagonal(lu, 0, -2, -1) : NULL;
    adz_tensor *singular = adz_any(adz_eq_number(pivots, 0), ADZ_DIMS(-1), ADZ_DROPDIM);
    if (singular == NULL) {
        return NULL;
    }
    adz_tensor *mask = adz_unsqueeze(adz_unsqueeze(singular, -1), -1);
    adz_tensor *eye = adz_eye(adzi_rows(a), adzi_rows(a), (adz_dtype)a->dtype);
    adz_tensor *regular = mask != NULL && eye != NULL ? adz_where(mask, eye, a) : NULL;
    adz_tensor *inverse = regular != NULL ? adz_inv(regular) : NULL;
    adz_tensor *norms[] = { adz_matrix_norm(a, ord, ADZ_DIMS(-2, -1), ADZ_DROPDIM),
        inverse != NULL ? adz_matrix_norm(inverse, ord, ADZ_DIMS(-2, -1), ADZ_DROPDIM) : NULL };
    if (norms[0] == NULL || norms[1] == NULL) {
        return NULL;
    }
    adz_tensor *y = adz_masked_fill(adz_mul(norms[0], norms[1]), singular, (double)INFINITY);
    return y != NULL ? adz_masked_fill(y, adz_isnan(y), (double)INFINITY) : NULL; /* as PyTorch */
}

/* Norms of singular values take any matrices; the others need inverses, so square ones. */
adz_tensor *adz_linalg_cond(adz_tensor *a, adz_matrix_norm_ord ord)
{
    ADZI_COMPOSED();
    static const char op[] = "linalg_cond";
    if (!adzi_check_tensor(op, "a", a)) {
        return NULL;
    }
    /* Their quotients need no inverse. */
    const bool by_values = ord == ADZ_MATRIX_NORM_TWO || ord == ADZ_MATRIX_NORM_MINUS_TWO;
    if (a->rank < 2 || (!by_values && adzi_rows(a) != adzi_columns(a))) {
        return adzi_fail(op, ADZ_ERR_SHAPE, "a%s holds no %smatrices", adzi_text_shape(a),
            by_values ? "" : "square ");
    }
    if (a->dtype != ADZ_F32 && a->dtype != ADZ_F64) {
        return adzi_fail(op, ADZ_ERR_DTYPE,
            "a is %s, not float32 or float64; convert it with adz_to",
            adz_dtype_name((adz_dtype)a->dtype));
    }
    if ((unsigned)ord > ADZ_MATRIX_NORM_MINUS_TWO) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT,
            "ord is %d, which is no adz_matrix_norm_ord; ADZ_MATRIX_NORM_TWO is usual", (int)ord);
    }
    if (a->numel == 0) { /* 0, as in PyTorch */
        return adz_sum(a, ADZ_DIMS(-2, -1), ADZ_DROPDIM);
    }
    return by_values ? quotient(a, ord == ADZ_MATRIX_NORM_MINUS_TWO) : product(a, ord);
}
