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

/* What a call gets: the factors, and det 2^-exponent with the exponent. */
typedef struct {
    adzi_lu factors;
    adz_tensor *parts;
} det_arguments;

/* Factors the matrices. `parts` are a second result for a trace. */
static bool prepare(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    det_arguments *d = block;
    int64_t sizes[ADZ_MAX_RANK];
    memcpy(sizes, y[0]->sizes, sizeof sizes);
    sizes[y[0]->rank] = 2;
    if (!adzi_lu_factor_kept(call, in[0], &d->factors)) {
        return false;
    }
    d->parts = call->second = adzi_new(call, (adz_dtype)y[0]->dtype, y[0]->rank + 1, sizes);
    y[1] = d->factors.lu;
    y[2] = d->factors.pivots;
    y[3] = d->parts;
    return d->parts != NULL;
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const det_arguments *d = block;
    (void)in;
    adzi_lu_determinant(
        &d->factors, (adzi_lu_determinant_args){ .det = y[0]->data,
                         .parts = d->factors.pivots != NULL ? d->parts->data : NULL });
}

const adzi_op adzi_op_det = { .name = "det",
    .backward = backward,
    .shape_rule = adzi_shape_of_numbers,
    .saved_inputs = 1u << 0,
    .saved_results = 1u << 0 };

adz_tensor *adz_det(adz_tensor *a)
{
    static const adzi_steps steps = {
        .check = adzi_check_square, .prepare = prepare, .launch = launch, .n_kept = 3
    };
    return ADZI_RUN_STEPS(&adzi_op_det, steps, &(det_arguments){ .parts = NULL }, a);
}
