#include "base/threads/parallel.h"
#include "ops/linalg/decomposition/batch.h"
#include "ops/linalg/decomposition/lu.h"
#include "ops/linalg/decomposition/scale.h"
#include "ops/linalg/decomposition/solve_triangular.h"
#include "ops/linalg/matmul.h"

/* LU factors, torch.linalg.lu_factor.
 *
 *     P a = [l1; l2] [u1 u2],   l1 and u1 square; l2 or u2 is empty
 *     middle = tril(l1^T dl1 - du2 u2^T, -1) + triu(du1 u1^T - l2^T dl2)
 *     d(P a) = [l1^-T middle u1^-T, l1^-T du2; dl2 u1^-T, -]
 *
 * a[..., m, n], k = min(m, n). Square matrices have a kernel that several operators share; others
 * are factored in the result itself. The node saves y and the pivots. u takes part with the size 1,
 * since its size cancels: Note [Scaled backwards] in scale.h. */

/* ---- gradient -------------------------------------------------------------------------------- */

/* A block of the matrices: `rows` of them from `row`, and columns likewise. */
static adz_tensor *block_of(
    adz_tensor *t, int64_t row, int64_t rows, int64_t column, int64_t columns)
{
    return adz_narrow(adz_narrow(t, -2, row, rows), -1, column, columns);
}

/* x u^-T */
static adz_tensor *over_upper(adz_tensor *u, adz_tensor *x)
{
    return x != NULL ? adzi_mt(adzi_solve_triangular(u, adzi_mt(x), true, false, false)) : NULL;
}

/* l^-T x of the factors in lu */
static adz_tensor *over_lower(adz_tensor *lu, adz_tensor *x)
{
    return x != NULL ? adzi_solve_triangular(lu, x, false, true, true) : NULL;
}

static adz_tensor *permuted_gradient(adz_tensor *y, adz_tensor *dy)
{
    const int64_t m = adzi_rows(y), n = adzi_columns(y), k = m < n ? m : n;
    if (k == 0) {
        return adz_zeros_like(y);
    }
    adz_tensor *lu = block_of(y, 0, k, 0, k), *d = block_of(dy, 0, k, 0, k);
    adz_tensor *eye = adz_eye(k, k, (adz_dtype)y->dtype);
    adz_tensor *l = adz_add(adz_tril(lu, -1), eye), *u = adz_triu(lu, 0);
    adz_tensor *size = u != NULL ? adz_neg(adzi_exponent(u)) : NULL;
    u = adzi_ldexp(u, size);
    adz_tensor *below = adzi_matmul(l, true, adz_tril(d, -1), false);
    adz_tensor *above = adzi_matmul(adz_triu(d, 0), false, u, true);
    adz_tensor *rest = NULL;
    if (n > k) {
        adz_tensor *u2 = block_of(y, 0, k, k, n - k), *du2 = block_of(dy, 0, k, k, n - k);
        below = adz_sub(below, adzi_matmul(du2, false, u2, true));
        rest = over_lower(lu, du2);
    } else if (m > k) {
        adz_tensor *l2 = block_of(y, k, m - k, 0, k), *dl2 = block_of(dy, k, m - k, 0, k);
        dl2 = adzi_ldexp(dl2, size);
        above = adz_sub(above, adzi_matmul(l2, true, dl2, false));
        rest = over_upper(u, dl2);
    }
    below = adzi_ldexp(adz_tril(below, -1), size);
    adz_tensor *middle = over_lower(lu, adz_add(below, adz_triu(above, 0)));
    adz_tensor *parts[] = { over_upper(u, middle), rest };
    if (m == n || parts[0] == NULL || parts[1] == NULL) {
        return m == n ? parts[0] : NULL;
    }
    return adz_cat(parts, 2, n > k ? -1 : -2);
}

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *y = adzi_saved_result(node, 0), *pivots = adzi_saved_extra(node, 0);
    adz_tensor *da = y != NULL && pivots != NULL ? permuted_gradient(y, dy[0]) : NULL;
    adz_tensor *rows = da != NULL ? adzi_lu_rows(pivots, adzi_rows(y), true) : NULL;
    dx[0] = adzi_permute_rows(da, rows);
    return adzi_status(dx[0]);
}

/* ---- forward --------------------------------------------------------------------------------- */

/* Arguments of count_from_one. Units are pivots. */
typedef struct {
    const int64_t *from;
    int64_t *to; /* may be `from` */
} pivot_args;

ADZI_ADDRESSES(pivot_args, from, to);

static void count_from_one(const void *block, int64_t begin, int64_t end)
{
    const pivot_args *args = block;
    for (int64_t i = begin; i < end; ++i) {
        args->to[i] = args->from[i] + 1;
    }
}

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    const int64_t m = adzi_rows(in[0]), n = adzi_columns(in[0]);
    (void)block;
    y[1].dtype = ADZ_I64;
    y[1].shape.rank = in[0]->rank - 1;
    y[1].shape.sizes[in[0]->rank - 2] = m < n ? m : n;
    return ADZ_OK;
}

static bool compute(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    adz_tensor *a = in[0];
    (void)call, (void)block;
    y[2] = y[1]; /* what the node keeps */
    adzi_lu factors = { y[0], y[1] };
    if (adzi_rows(a) != adzi_columns(a)) {
        adzi_copy(y[0], a);
        adzi_lu_factor_in_place(y[0], y[1]);
    } else if (adzi_lu_factor("lu_factor", a, false, &factors)) {
        adzi_copy(y[0], factors.lu);
    } else {
        return false;
    }
    const pivot_args args = { (const int64_t *)(const void *)factors.pivots->data,
        (int64_t *)(void *)y[1]->data };
    if (y[1]->numel > 0) {
        adzi_launch(count_from_one, pivot_args, &args, y[1]->numel, ADZI_POINTWISE_GRAIN);
    }
    return true;
}

const adzi_op adzi_op_lu_factor = { .name = "lu_factor",
    .backward = backward,
    .shape_rule = shape_rule,
    .n_results = 2,
    .saved_results = 1u << 0 };

adz_tensor *adz_lu_factor(adz_tensor *a, adz_tensor **pivots)
{
    static const adzi_steps steps = { .check = adzi_check_matrix, .prepare = compute, .n_kept = 1 };
    adz_tensor *found = NULL;
    adz_tensor *y = ADZI_RUN_SEVERAL(&found, &adzi_op_lu_factor, steps, NULL, a);
    if (pivots != NULL) {
        *pivots = y != NULL ? found : NULL;
    }
    return y;
}
