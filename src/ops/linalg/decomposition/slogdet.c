#include "ops/linalg/decomposition/batch.h"
#include "ops/linalg/decomposition/lu.h"

/* Sign and logarithm of the absolute value of determinants, torch.linalg.slogdet.
 *
 *     da = dlogabsdet a^-T
 *
 * The sign has no gradient. The node saves a and its LU factors. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    if (dy[0] == NULL) {
        return ADZ_OK;
    }
    const adzi_lu factors = adzi_saved_lu(node);
    adz_tensor *a = adzi_saved_input(node, 0);
    if (factors.pivots == NULL || a == NULL) {
        return adzi_status(NULL);
    }
    adz_tensor *b = adzi_diagonal_matrix(adz_unsqueeze(dy[0], -1), adzi_columns(a));
    dx[0] = adzi_solve_with(&factors, a, b, true);
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_slogdet = { .name = "slogdet", .backward = backward };

/* log(abs(det(a))), and the signs; NULL if the call fails. */
static adz_tensor *compute(adz_tensor *a, adz_tensor **sign)
{
    adzi_call call;
    adzi_lu factors;
    if (!ADZI_ENTER(&call, slogdet, a) || !adzi_want_square(&call, 0, "a") ||
        !adzi_lu_factor_kept(&call, a, &factors)) {
        return NULL;
    }
    adz_tensor *signs = adzi_new_batch(&call, (adz_dtype)a->dtype, a, 0, 0, 0);
    adz_tensor *y = signs != NULL ? adzi_new_batch(&call, (adz_dtype)a->dtype, a, 0, 0, 0) : NULL;
    call.second = signs;
    if (y == NULL || ((call.record || call.told) && !adzi_record_extra(&call, 1, &y, 2, NULL, 0))) {
        return NULL;
    }
    adzi_save_input(&call, 0);
    adzi_save_lu(&call, &factors);
    adzi_lu_determinant(
        &factors, (adzi_lu_determinant_args){ .sign = signs->data, .logabs = y->data });
    *sign = signs;
    return adzi_leave(&call, y);
}

adz_status adz_slogdet(adz_tensor *a, adz_tensor **sign, adz_tensor **logabsdet)
{
    adz_tensor *signs = NULL, *y = compute(a, &signs);
    if (sign != NULL) {
        *sign = y != NULL ? signs : NULL;
    }
    if (logabsdet != NULL) {
        *logabsdet = y;
    }
    return adzi_status(y);
}
