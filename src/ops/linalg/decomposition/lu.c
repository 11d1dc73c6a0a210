#include "ops/linalg/decomposition/lu.h"

#include "ops/linalg/decomposition/batch.h"

/* Launches with LU factors, on which solve, inv, det and slogdet rest. */

KERNEL_TABLE_PRODUCT(lu_factor);
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
