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

/* A matrix may be singular, so it is factored before the call is recorded. */
static bool factor(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    (void)call, (void)y;
    return adzi_lu_factor("inv", in[0], true, block);
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    (void)in;
    adzi_lu_solve(block, y[0], false, true);
}

const adzi_op adzi_op_inv = { .name = "inv", .backward = backward, .saved_results = 1u << 0 };

adz_tensor *adz_inv(adz_tensor *a)
{
    static const adzi_steps steps = {
        .check = adzi_check_square, .prepare = factor, .launch = launch
    };
    return ADZI_RUN_STEPS(&adzi_op_inv, steps, &(adzi_lu){ .lu = NULL }, a);
}
