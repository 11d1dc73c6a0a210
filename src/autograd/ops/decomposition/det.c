#include "autograd/ops/decomposition/batch.h"
#include "autograd/ops/decomposition/lu.h"

/* Determinants, torch.linalg.det.
 *
 *     da = dy det(a) a^-T
 *
 * The node saves a, its LU factors and y. The determinant of a singular matrix is 0, but its
 * gradient need not be. So pivots of the saved factors that are 0 were replaced by small numbers,
 * and `missing` is the determinant that these have; elsewhere it is 0. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const adzi_lu factors = adzi_saved_lu(node);
    adz_tensor *a = adzi_saved_input(node, 0), *missing = adzi_saved_extra(node, 2);
    if (factors.pivots == NULL || a == NULL || missing == NULL) {
        return adzi_status(NULL);
    }
    adz_tensor *det = adz_add(adzi_saved_result(node, 0), missing);
    adz_tensor *b = adzi_diagonal_matrix(adz_unsqueeze(adz_mul(dy[0], det), -1), adzi_columns(a));
    dx[0] = adzi_solve_with(&factors, a, b, true);
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
    adz_tensor *missing = adzi_new_batch(&call, (adz_dtype)a->dtype, a, 0, 0, 0);
    adz_tensor *y = missing != NULL ? adzi_new_batch(&call, (adz_dtype)a->dtype, a, 0, 0, 0) : NULL;
    call.second = missing;
    if (y == NULL || ((call.record || call.told) && !adzi_record_extra(&call, 1, &y, 3, NULL, 0))) {
        return NULL;
    }
    adzi_save_input(&call, 0);
    adzi_save_result(&call, 0, y);
    adzi_save_lu(&call, &factors);
    adzi_save_extra(&call, 2, missing);
    adzi_lu_determinant(&factors, (adzi_lu_determinant_args){ .det = y->data,
                                      .missing = factors.pivots != NULL ? missing->data : NULL });
    return adzi_leave(&call, y);
}
