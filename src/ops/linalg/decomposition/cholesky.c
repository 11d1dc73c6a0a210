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

const adzi_op adzi_op_cholesky = { .name = "cholesky", .backward = backward, ADZI_FIELDS(fields) };

/* The factor is computed before the call is recorded, because a matrix may have none. */
adz_tensor *adz_cholesky(adz_tensor *a, bool upper)
{
    adzi_call call;
    if (!ADZI_ENTER(&call, cholesky, a) || !adzi_want_square(&call, 0, "a")) {
        return NULL;
    }
    const adz_tensor *from = adzi_compact("cholesky", a);
    adz_tensor *found = from != NULL ? adzi_new_info("cholesky", a) : NULL;
    adz_tensor *y = found != NULL ? adzi_new_like(&call, a) : NULL;
    if (y == NULL) {
        return NULL;
    }
    const int64_t n = adzi_columns(a);
    const adzi_cholesky_args args = { .a = from->data,
        .y = y->data,
        .found = (int64_t *)(void *)found->data,
        .n = n,
        .upper = upper };
    adzi_launch(KERNEL_FOR(cholesky, a->dtype), adzi_cholesky_args, &args, found->numel,
        adzi_items_grain((double)n * (double)n * (double)n / 3));
    const cholesky_attr attr = { upper };
    if (!adzi_check_info("cholesky", found, a, "a",
            "is not positive definite: pivot %lld is 0, negative or not finite") ||
        !adzi_record(&call, 1, &y, &attr, sizeof attr)) {
        return NULL;
    }
    adzi_save_result(&call, 0, y);
    return adzi_leave(&call, y);
}
