#include "ops/linalg/decomposition/batch.h"
#include "ops/linalg/decomposition/cholesky.kernel.h"
#include "ops/linalg/decomposition/scale.h"
#include "ops/linalg/decomposition/solve_triangular.h"
#include "ops/linalg/matmul.h"

/* The Cholesky factor, torch.linalg.cholesky.
 *
 *     a = y y^T,   y lower          (upper: a = y^T y)
 *     da = (y^-T (P + P^T) y^-1) / 2,   P = the lower triangle of y^T dy, half its diagonal
 *
 * One triangle of a is read; the gradient is symmetric, as PyTorch's is. The node saves y.
 * Powers of two: Note [Scaled backwards] in scale.h. */

KERNEL_TABLE_PRODUCT(cholesky);

typedef struct {
    bool upper;
} cholesky_attr;

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const bool upper = adzi_attr(node, cholesky_attr)->upper;
    adz_tensor *y = adzi_saved_result(node, 0), *size = y != NULL ? adzi_exponent(y) : NULL;
    adz_tensor *scale = size != NULL ? adzi_exponent(dy[0]) : NULL;
    adz_tensor *g = adzi_unscale(dy[0], scale);
    y = adzi_unscale(y, size);
    /* y^T dy for the lower factor; for the upper one y dy^T, which is the same of the transposes.
     */
    adz_tensor *p = upper ? adzi_matmul(y, false, g, true) : adzi_matmul(y, true, g, false);
    adz_tensor *both = adz_add(adz_tril(p, 0), adzi_mt(adz_tril(p, -1)));
    /* S is symmetric: y^-T S, transposed, is S y^-1, and y^-T of that is the formula. */
    adz_tensor *half = adzi_solve_triangular(y, both, upper, !upper, false);
    adz_tensor *da = adzi_solve_triangular(y, adzi_mt(half), upper, !upper, false);
    dx[0] = adzi_ldexp(adz_mul_number(da, 0.5), adz_sub(scale, size));
    return adzi_status(dx[0]);
}

static const adz_field fields[] = { ADZI_FIELD(cholesky_attr, upper) };

/* A matrix may have no factor, so the factor is computed before the call is recorded. */
static bool compute(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    const cholesky_attr *at = block;
    const adz_tensor *a = in[0], *found = adzi_new_info("cholesky", a);
    (void)call;
    if (found == NULL) {
        return false;
    }
    const int64_t n = adzi_columns(a);
    const adzi_cholesky_args args = { .a = a->data,
        .y = y[0]->data,
        .found = (int64_t *)(void *)found->data,
        .n = n,
        .upper = at->upper };
    adzi_launch(KERNEL_FOR(cholesky, a->dtype), adzi_cholesky_args, &args, found->numel,
        adzi_batch_grain((double)n * (double)n * (double)n / 3));
    return adzi_check_info("cholesky", found, a, "a",
        "is not positive definite: pivot %lld is 0, negative or not finite");
}

const adzi_op adzi_op_cholesky = { .name = "cholesky",
    .backward = backward,
    ADZI_ATTRIBUTES(cholesky_attr, fields),
    .saved_results = 1u << 0 };

adz_tensor *adz_cholesky(adz_tensor *a, bool upper)
{
    static const adzi_steps steps = { .check = adzi_check_square, .prepare = compute };
    return ADZI_RUN_STEPS(&adzi_op_cholesky, steps, &(cholesky_attr){ upper }, a);
}
