#include "ops/linalg/decomposition/batch.h"
#include "ops/linalg/decomposition/lu.h"
#include "ops/linalg/matmul.h"

/* Inverse matrices, torch.linalg.inv.
 *
 *     y = a^-1,   da = -y^T dy y^T
 *
 * The node saves y. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *y = adzi_saved_result(node, 0);
    dx[0] = adz_neg(adzi_matmul(adzi_matmul(y, true, dy[0], false), false, y, true));
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_inv = { .name = "inv", .backward = backward };

adz_tensor *adz_inv(adz_tensor *a)
{
    adzi_call call;
    adzi_lu factors;
    if (!ADZI_ENTER(&call, inv, a) || !adzi_want_square(&call, 0, "a") ||
        !adzi_lu_factor("inv", a, true, &factors)) {
        return NULL;
    }
    adz_tensor *y = adzi_new_like(&call, a);
    if (y == NULL || !adzi_record(&call, 1, &y, NULL, 0)) {
        return NULL;
    }
    adzi_save_result(&call, 0, y);
    adzi_lu_solve(&factors, y, false, true);
    return adzi_leave(&call, y);
}
