#include "ops/linalg/decomposition/lu.h"

#include "base/threads/parallel.h"
#include "ops/linalg/decomposition/batch.h"

/* Launches with LU factors, on which solve, inv, det, slogdet and lu_factor rest, and
 * torch.linalg.lu, a composition of lu_factor. */

KERNEL_TABLE_PRODUCT(lu_factor);
KERNEL_TABLE_PRODUCT(lu_factor_in_place);
KERNEL_TABLE_PRODUCT(lu_solve);
KERNEL_TABLE_PRODUCT(lu_determinant);

bool adzi_lu_factor(const char *op, adz_tensor *a, bool regular, adzi_lu *factors)
{
    const int64_t n = adzi_columns(a);
    const adz_tensor *from = adzi_compact(op, a);
    factors->lu = from == NULL ? NULL : adzi_scratch_like(op, a);
    factors->pivots = factors->lu != NULL ? adzi_scratch(op, ADZ_I64, a->rank - 1, a->sizes) : NULL;
    adz_tensor *found = factors->pivots != NULL ? adzi_new_info(op, a) : NULL;
    if (found == NULL) {
        return false;
    }
    const adzi_lu_args args = { .a = from->data,
        .lu = factors->lu->data,
        .pivots = (int64_t *)(void *)factors->pivots->data,
        .found = (int64_t *)(void *)found->data,
        .n = n };
    adzi_launch(KERNEL_FOR(lu_factor, a->dtype), adzi_lu_args, &args, found->numel,
        adzi_batch_grain((double)n * (double)n * (double)n * 2 / 3));
    return !regular || adzi_check_info(op, found, a, "a", "is singular: pivot %lld is 0");
}

void adzi_lu_factor_in_place(adz_tensor *a, adz_tensor *pivots)
{
    const adzi_lu_in_place_args args = { .lu = a->data,
        .pivots = (int64_t *)(void *)pivots->data,
        .m = adzi_rows(a),
        .n = adzi_columns(a) };
    const double least = (double)(args.m < args.n ? args.m : args.n);
    if (a->numel > 0) {
        adzi_launch(KERNEL_FOR(lu_factor_in_place, a->dtype), adzi_lu_in_place_args, &args,
            adzi_batch_count(a), adzi_batch_grain((double)args.m * (double)args.n * least));
    }
}

bool adzi_lu_factor_kept(const adzi_call *call, adz_tensor *a, adzi_lu *factors)
{
    if (call->record || call->reported || adzi_columns(a) > ADZI_LU_ALONE) {
        return adzi_lu_factor(call->op->name, a, false, factors);
    }
    *factors = (adzi_lu){ adzi_compact(call->op->name, a), NULL };
    return factors->lu != NULL;
}

void adzi_lu_solve(const adzi_lu *factors, adz_tensor *x, bool transposed, bool identity)
{
    const int64_t n = adzi_rows(x), k = adzi_columns(x);
    if (x->numel == 0) {
        return;
    }
    adzi_lu_solve_args args = { .lu = factors->lu->data,
        .pivots = (const int64_t *)(const void *)factors->pivots->data,
        .batch = adzi_batch_dims_of(factors->lu, x->rank - 2, x->sizes),
        .x = x->data,
        .n = n,
        .k = k,
        .transposed = transposed,
        .identity = identity };
    /* The factors are contiguous, so steps are counted in matrices. */
    for (int64_t d = 0; d < args.batch.rank; ++d) {
        args.batch.strides[d] /= n * n;
    }
    adzi_launch(KERNEL_FOR(lu_solve, x->dtype), adzi_lu_solve_args, &args, adzi_batch_count(x),
        adzi_batch_grain(2 * (double)n * (double)n * (double)k));
}

void adzi_lu_determinant(const adzi_lu *factors, adzi_lu_determinant_args args)
{
    args.lu = factors->lu->data;
    args.n = adzi_columns(factors->lu);
    double work = 16 * (double)args.n;
    if (factors->pivots != NULL) {
        args.pivots = (const int64_t *)(const void *)factors->pivots->data;
    } else {
        work += (double)args.n * (double)args.n * (double)args.n * 2 / 3;
    }
    adzi_launch(KERNEL_FOR(lu_determinant, factors->lu->dtype), adzi_lu_determinant_args, &args,
        adzi_batch_count(factors->lu), adzi_batch_grain(work));
}

adzi_lu adzi_saved_lu(adzi_node *node)
{
    adzi_lu factors = { adzi_saved_extra(node, 0), NULL };
    factors.pivots = factors.lu != NULL ? adzi_saved_extra(node, 1) : NULL;
    return factors;
}

/* ---- permutations ---------------------------------------------------------------------------- */

typedef struct {
    int64_t m;
    bool inverse;
} rows_attr;

static const adz_field fields[] = { ADZI_FIELD(rows_attr, m), ADZI_FIELD(rows_attr, inverse) };

/* Arguments of exchange. Units are matrices of the batch. */
typedef struct {
    const int64_t *pivots; /* [batch, k] */
    int64_t *rows;         /* [batch, m] */
    int64_t k, m;
    int64_t inverse;
} exchange_args;

ADZI_ADDRESSES(exchange_args, pivots, rows);

/* Carries the exchanges out in their order, or in the reverse order for the inverse. */
static void exchange(const void *block, int64_t begin, int64_t end)
{
    const exchange_args *args = block;
    for (int64_t item = begin; item < end; ++item) {
        const int64_t *pivots = args->pivots + item * args->k;
        int64_t *rows = args->rows + item * args->m;
        for (int64_t i = 0; i < args->m; ++i) {
            rows[i] = i;
        }
        for (int64_t step = 0; step < args->k; ++step) {
            const int64_t i = args->inverse ? args->k - 1 - step : step, with = pivots[i] - 1;
            if (with >= 0 && with < args->m) {
                const int64_t t = rows[i];
                rows[i] = rows[with];
                rows[with] = t;
            }
        }
    }
}

/* rows[..., m] with the elements at the numbers i[..., 1] and j[..., 1] exchanged. */
static adz_tensor *exchanged(adz_tensor *rows, adz_tensor *i, adz_tensor *j)
{
    adz_tensor *at_i = adz_gather(rows, -1, i), *at_j = adz_gather(rows, -1, j);
    return adz_scatter(adz_scatter(rows, -1, j, at_i), -1, i, at_j);
}

/* The forward as an expression: one exchange after the other. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *block)
{
    const rows_attr *at = block;
    adz_shape shape = adz_tensor_shape(in[0]);
    const int64_t k = shape.sizes[shape.rank - 1];
    shape.sizes[shape.rank - 1] = at->m;
    adz_tensor *rows = adz_clone(adz_expand(adz_arange(0, (double)at->m, 1, ADZ_I64), shape));
    for (int64_t step = 0; step < k && rows != NULL; ++step) {
        const int64_t i = at->inverse ? k - 1 - step : step;
        adz_tensor *with = adz_sub_number(adz_narrow(in[0], -1, i, 1), 1);
        adz_tensor *own = with != NULL ? adz_full_like(with, (double)i) : NULL;
        rows = own != NULL ? exchanged(rows, own, with) : NULL;
    }
    y[0] = rows;
    return adzi_status(rows);
}

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    const rows_attr *at = block;
    y->shape.sizes[in[0]->rank - 1] = at->m;
    return ADZ_OK;
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const rows_attr *at = block;
    if (y[0]->numel == 0) {
        return;
    }
    const exchange_args args = { (const int64_t *)(const void *)in[0]->data,
        (int64_t *)(void *)y[0]->data, in[0]->sizes[in[0]->rank - 1], at->m, at->inverse };
    adzi_launch(exchange, exchange_args, &args, y[0]->numel / at->m,
        adzi_grain_of(ADZI_POINTWISE_GRAIN, 4 * at->m));
}

static const adzi_op adzi_op_lu_rows = { .name = "lu_rows",
    .expression = expression,
    ADZI_ATTRIBUTES(rows_attr, fields),
    .shape_rule = shape_rule,
    .dtypes = ADZ_DTYPE_BIT(ADZ_I64) };

adz_tensor *adzi_lu_rows(adz_tensor *pivots, int64_t m, bool inverse)
{
    return ADZI_RUN(lu_rows, launch, (&(rows_attr){ m, inverse }), pivots);
}

adz_tensor *adzi_permute_rows(adz_tensor *x, adz_tensor *rows)
{
    if (x == NULL || rows == NULL) {
        return NULL;
    }
    adz_tensor *column = adz_unsqueeze(rows, -1);
    return adz_gather(x, -2, adz_expand(column, adz_shape_of(x->rank, x->sizes)));
}

/* ---- torch.linalg.lu ------------------------------------------------------------------------- */

/* The permutations p[..., m, m]: column i has a one in the row of a that row i of l u is. */
static adz_tensor *permutations(adz_tensor *pivots, const adz_tensor *a)
{
    const int64_t m = adzi_rows(a);
    adz_tensor *rows = adzi_lu_rows(pivots, m, false);
    adz_tensor *numbers = adz_reshape(adz_arange(0, (double)m, 1, ADZ_I64), ADZ_SHAPE(m, 1));
    adz_tensor *ones = rows != NULL ? adz_eq(numbers, adz_unsqueeze(rows, -2)) : NULL;
    return ones != NULL ? adz_to(ones, (adz_dtype)a->dtype) : NULL;
}

adz_status adz_lu(adz_tensor *a, adz_tensor **p, adz_tensor **l, adz_tensor **u)
{
    ADZI_COMPOSED();
    adz_tensor **const results[3] = { p, l, u }, *y[3] = { NULL, NULL, NULL }, *pivots = NULL;
    adz_tensor *lu = adz_lu_factor(a, &pivots);
    if (lu != NULL) {
        const int64_t m = adzi_rows(a), n = adzi_columns(a), k = m < n ? m : n;
        adz_tensor *below = adz_tril(adz_narrow(lu, -1, 0, k), -1);
        y[0] = p != NULL ? permutations(pivots, a) : lu;
        y[1] = adz_add(below, adz_eye(m, k, (adz_dtype)a->dtype));
        y[2] = adz_triu(adz_narrow(lu, -2, 0, k), 0);
    }
    const bool ok = y[0] != NULL && y[1] != NULL && y[2] != NULL;
    for (int i = 0; i < 3; ++i) {
        if (results[i] != NULL) {
            *results[i] = ok ? y[i] : NULL;
        }
    }
    return ok ? ADZ_OK : adzi_status(NULL);
}
