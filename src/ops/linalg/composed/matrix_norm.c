#include "ops/op.h"

/* Norms of matrices, torch.linalg.matrix_norm. A composition: sums of absolute values and their
 * extremes, or sums and extremes of singular values. */

/* The largest or smallest sum of absolute values over one of the two dimensions. */
static adz_tensor *of_sums(adz_tensor *a, int summed, int other, bool largest)
{
    adz_tensor *sums = adz_norm(a, 1, ADZ_DIMS(summed), ADZ_KEEPDIM);
    return largest ? adz_amax(sums, ADZ_DIMS(other), ADZ_KEEPDIM)
                   : adz_amin(sums, ADZ_DIMS(other), ADZ_KEEPDIM);
}

/* The norms of singular values, in the shape of the results of the others. Singular values need the
 * matrices in the last two dimensions; their own dimension is reduced, and the two dimensions of
 * the matrices come back with size 1. */
static adz_tensor *of_singular_values(adz_tensor *a, int row, int column, adz_matrix_norm_ord ord)
{
    adz_tensor *moved = adz_movedim(a, ADZ_DIMS(row, column), ADZ_DIMS(-2, -1));
    adz_tensor *s = moved != NULL ? adz_svdvals(moved) : NULL;
    adz_tensor *y = s == NULL                    ? NULL
                    : ord == ADZ_MATRIX_NORM_NUC ? adz_sum(s, ADZ_DIMS(-1), ADZ_DROPDIM)
                    : ord == ADZ_MATRIX_NORM_TWO ? adz_amax(s, ADZ_DIMS(-1), ADZ_DROPDIM)
                                                 : adz_amin(s, ADZ_DIMS(-1), ADZ_DROPDIM);
    y = y != NULL ? adz_unsqueeze(y, row < column ? row : column) : NULL;
    return y != NULL ? adz_unsqueeze(y, row < column ? column : row) : NULL;
}

/* Finds the two dimensions. False with the error recorded. */
static bool check(const adz_tensor *a, adz_matrix_norm_ord ord, adz_dims *dims)
{
    static const char op[] = "matrix_norm";
    if (!adzi_check_tensor(op, "a", a)) {
        return false;
    }
    if (a->dtype != ADZ_F32 && a->dtype != ADZ_F64) {
        adzi_error(op, ADZ_ERR_DTYPE, "a is %s, not float32 or float64; convert it with adz_to",
            adz_dtype_name((adz_dtype)a->dtype));
        return false;
    }
    if ((unsigned)ord > ADZ_MATRIX_NORM_MINUS_TWO) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "ord is %d, which is no adz_matrix_norm_ord; ADZ_MATRIX_NORM_FRO is usual", (int)ord);
        return false;
    }
    if (a->rank < 2 || dims->count != 2) {
        adzi_error(op, ADZ_ERR_SHAPE,
            "a%s must have a dimension of rows and one of columns, and dims name both; %d were given",
            adzi_text_shape(a), dims->count);
        return false;
    }
    for (int i = 0; i < 2; ++i) {
        dims->dims[i] = adzi_dim(op, a, dims->dims[i]);
        if (dims->dims[i] < 0) {
            return false;
        }
    }
    if (dims->dims[0] == dims->dims[1]) {
        adzi_error(op, ADZ_ERR_DIM, "rows and columns of a%s are both dimension %d",
            adzi_text_shape(a), dims->dims[0]);
        return false;
    }
    return true;
}

/* The norms keep both dimensions with size 1 until the end, so that dropping them is one step. */
adz_tensor *adz_matrix_norm(adz_tensor *a, adz_matrix_norm_ord ord, adz_dims dims, bool keepdim)
{
    ADZI_COMPOSED();
    if (!check(a, ord, &dims)) {
        return NULL;
    }
    const int row = dims.dims[0], column = dims.dims[1];
    adz_tensor *y = NULL;
    switch (ord) {
    case ADZ_MATRIX_NORM_FRO:
        return adz_norm(a, 2, dims, keepdim);
    case ADZ_MATRIX_NORM_INF:
        y = of_sums(a, column, row, true);
        break;
    case ADZ_MATRIX_NORM_MINUS_INF:
        y = of_sums(a, column, row, false);
        break;
    case ADZ_MATRIX_NORM_ONE:
        y = of_sums(a, row, column, true);
        break;
    case ADZ_MATRIX_NORM_MINUS_ONE:
        y = of_sums(a, row, column, false);
        break;
    default:
        y = of_singular_values(a, row, column, ord);
        break;
    }
    if (keepdim || y == NULL) {
        return y;
    }
    y = adz_squeeze(y, row > column ? row : column);
    return y != NULL ? adz_squeeze(y, row > column ? column : row) : NULL;
}
