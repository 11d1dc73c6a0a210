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

/* What a call gets: the factors and the signs, a result that the node does not have. */
typedef struct {
    adzi_lu factors;
    adz_tensor *signs;
} slogdet_arguments;

static bool prepare(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    slogdet_arguments *s = block;
    if (!adzi_lu_factor_kept(call, in[0], &s->factors)) {
        return false;
    }
    s->signs = call->second = adzi_new_like(call, y[0]);
    y[1] = s->factors.lu;
    y[2] = s->factors.pivots;
    return s->signs != NULL;
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const slogdet_arguments *s = block;
    (void)in;
    adzi_lu_determinant(
        &s->factors, (adzi_lu_determinant_args){ .sign = s->signs->data, .logabs = y[0]->data });
}

const adzi_op adzi_op_slogdet = { .name = "slogdet",
    .backward = backward,
    .shape_rule = adzi_shape_of_numbers,
    .saved_inputs = 1u << 0 };

adz_status adz_slogdet(adz_tensor *a, adz_tensor **sign, adz_tensor **logabsdet)
{
    static const adzi_steps steps = {
        .check = adzi_check_square, .prepare = prepare, .launch = launch, .n_kept = 2
    };
    slogdet_arguments arguments = { .signs = NULL };
    adz_tensor *y = ADZI_RUN_STEPS(&adzi_op_slogdet, steps, &arguments, a);
    if (sign != NULL) {
        *sign = y != NULL ? arguments.signs : NULL;
    }
    if (logabsdet != NULL) {
        *logabsdet = y;
    }
    return adzi_status(y);
}
