#include "ops/linalg/decomposition/batch.h"
#include "ops/linalg/decomposition/lu.h"
#include "ops/linalg/decomposition/scale.h"

/* Determinants, torch.linalg.det.
 *
 *     da = dy det(a) a^-T
 *
 * The node saves a, its LU factors and y. The determinant of a singular matrix is 0, but its
 * gradient need not be. So pivots of the saved factors that are 0 were replaced by small numbers. A
 * determinant that leaves the range of the dtype may have a gradient that does not. So the gradient
 * uses y 2^-exponent, which has a size of about 1. `rest` is what has to be added to y 2^-exponent
 * in both cases; elsewhere it is 0. Both are saved as parts[..., 2]. Powers of two: Note [Scaled
 * backwards] in scale.h. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const adzi_lu factors = adzi_saved_lu(node);
    adz_tensor *a = adzi_saved_input(node, 0), *parts = adzi_saved_extra(node, 2);
    adz_tensor *y = parts != NULL ? adzi_saved_result(node, 0) : NULL;
    if (factors.pivots == NULL || a == NULL || y == NULL) {
        return adzi_status(NULL);
    }
    adz_tensor *rest = adz_select(parts, -1, 0), *exponent = adz_select(parts, -1, 1);
    y = adz_masked_fill(y, adz_logical_not(adz_isfinite(y)), 0);
    adz_tensor *det = adz_add(adzi_unscale(y, exponent), rest);
    adz_tensor *size = adzi_exponent(a), *g = adz_unsqueeze(adz_unsqueeze(dy[0], -1), -1);
    adz_tensor *scale = g != NULL && size != NULL ? adzi_exponent(g) : NULL;
    det = adz_unsqueeze(adz_unsqueeze(det, -1), -1);
    g = adzi_ldexp(adz_mul(adzi_unscale(g, scale), det), size);
    adz_tensor *b = g != NULL ? adzi_diagonal_matrix(adz_squeeze(g, -1), adzi_columns(a)) : NULL;
    adz_tensor *da = b != NULL ? adzi_solve_with(&factors, a, b, true) : NULL;
    exponent = adz_unsqueeze(adz_unsqueeze(exponent, -1), -1);
    dx[0] = adzi_ldexp(da, adz_add(adz_sub(exponent, size), scale));
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_det = { .name = "det", .backward = backward };

adz_tensor *adz_det(adz_tensor *a)
{
    adzi_call call;
    adzi_lu factors;
    if (!ADZI_ENTER(&call, det, a) || !adzi_want_square(&call, 0, "a") ||
        !adzi_lu_factor_kept(&call, a, &factors)) {
        return NULL;
    }
    adz_tensor *parts = adzi_new_batch(&call, (adz_dtype)a->dtype, a, 1, 2, 0);
    adz_tensor *y = parts != NULL ? adzi_new_batch(&call, (adz_dtype)a->dtype, a, 0, 0, 0) : NULL;
    call.second = parts;
    if (y == NULL || ((call.record || call.told) && !adzi_record_extra(&call, 1, &y, 3, NULL, 0))) {
        return NULL;
    }
    adzi_save_input(&call, 0);
    adzi_save_result(&call, 0, y);
    adzi_save_lu(&call, &factors);
    adzi_save_extra(&call, 2, parts);
    adzi_lu_determinant(&factors, (adzi_lu_determinant_args){ .det = y->data,
                                      .parts = factors.pivots != NULL ? parts->data : NULL });
    return adzi_leave(&call, y);
}
