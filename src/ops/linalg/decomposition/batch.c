#include "ops/linalg/decomposition/batch.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/capture.h"

/* Checks of batches of matrices, and the report of what a kernel has found out about an item. */

bool adzi_want_matrix(adzi_call *call, int i, const char *name)
{
    if (!adzi_want_float(call, i)) {
        return false;
    }
    if (call->in[i]->rank < 2) {
        adzi_error(call->op->name, ADZ_ERR_SHAPE, "%s%s is no matrix: it needs two dimensions",
            name, adzi_text_shape(call->in[i]));
        return false;
    }
    return true;
}

/* Like adzi_want_matrix, for square matrices. */
static bool want_square(adzi_call *call, int i, const char *name)
{
    if (!adzi_want_matrix(call, i, name)) {
        return false;
    }
    if (adzi_rows(call->in[i]) != adzi_columns(call->in[i])) {
        adzi_error(call->op->name, ADZ_ERR_SHAPE, "the matrices of %s%s are not square", name,
            adzi_text_shape(call->in[i]));
        return false;
    }
    return true;
}

adzi_batch_dims adzi_batch_dims_of(const adz_tensor *t, int rank, const int64_t *sizes)
{
    adzi_batch_dims dims = { .rank = rank };
    const int missing = rank - (t->rank - 2);
    for (int i = 0; i < rank; ++i) {
        const bool repeated = i < missing || t->sizes[i - missing] == 1;
        dims.sizes[i] = sizes[i];
        dims.strides[i] = repeated ? 0 : t->strides[i - missing];
    }
    return dims;
}

bool adzi_broadcast_batch(
    const char *op, const adz_tensor *a, const adz_tensor *b, int *rank, int64_t *sizes)
{
    const int ra = a->rank - 2, rb = b->rank - 2;
    *rank = ra > rb ? ra : rb;
    for (int i = 0; i < *rank; ++i) {
        const int ia = i - (*rank - ra), ib = i - (*rank - rb);
        const int64_t na = ia < 0 ? 1 : a->sizes[ia], nb = ib < 0 ? 1 : b->sizes[ib];
        if (na != nb && na != 1 && nb != 1) {
            adzi_error(op, ADZ_ERR_SHAPE, "leading sizes do not broadcast: a%s and b%s",
                adzi_text_shape(a), adzi_text_shape(b));
            return false;
        }
        sizes[i] = na == 1 ? nb : na;
    }
    return true;
}

bool adzi_is_vectors(const adz_tensor *a, const adz_tensor *b)
{
    if (b->rank == 1) {
        return true;
    }
    bool same = b->rank == a->rank - 1;
    for (int i = 0; i < b->rank && same; ++i) {
        same = a->sizes[i] == b->sizes[i];
    }
    return same;
}

bool adzi_check_matrix(adzi_call *call, void *block)
{
    (void)block;
    return adzi_want_matrix(call, 0, "a");
}

bool adzi_check_square(adzi_call *call, void *block)
{
    (void)block;
    return want_square(call, 0, "a");
}

bool adzi_check_system(adzi_call *call, void *block)
{
    (void)block;
    return want_square(call, 0, "a") && adzi_want_matrix(call, 1, "b") && adzi_promote(call, 0, 1);
}

adz_status adzi_shape_of_numbers(adz_result *y, adz_tensor *const *in, void *block)
{
    (void)block;
    y->shape.rank = in[0]->rank - 2; /* with the sizes of the input */
    return ADZ_OK;
}

bool adzi_workers_begin(const char *op, adzi_workers *w, adzi_work work)
{
    const int64_t most = adzi_inside_launch() ? 1 : adzi_num_threads();
    const double worth = (double)work.batch * (work.multiplies + 16) / (1 << 17);
    int64_t count = (work.batch + work.together - 1) / work.together;
    count = count < most ? count : most;
    count = worth < (double)count ? (int64_t)worth : count;
    *w = (adzi_workers){ .bytes = work.bytes * work.together / 64 * 64 + 64,
        .batch = work.batch,
        .count = count < 1 ? 1 : count };
    w->memory = adzi_alloc_for_kernels((size_t)(w->bytes * w->count));
    if (w->memory == NULL) {
        adzi_fail_memory(op, (size_t)(w->bytes * w->count));
        return false;
    }
    return true;
}

void adzi_workers_end(const adzi_workers *w)
{
    adzi_free(w->memory, (size_t)(w->bytes * w->count));
}

adz_tensor *adzi_new_info(const char *op, const adz_tensor *a)
{
    const int64_t batch = adzi_batch_count(a);
    return adzi_scratch(op, ADZ_I64, 1, &batch);
}

/* What the host needs to report a finding. */
typedef struct {
    const char *op, *name, *what;
    adz_shape a;
    const int64_t *found;
    int64_t batch;
} report_args;

ADZI_ADDRESSES(report_args, op, name, what, found);

/* Names the first item about which something was found. */
static adz_status report(const void *block)
{
    const report_args *args = block;
    int64_t i = 0, index[ADZ_MAX_RANK];
    while (i < args->batch && args->found[i] == 0) {
        ++i;
    }
    if (i == args->batch) {
        return ADZ_OK;
    }
    const long long pivot = (long long)args->found[i] - 1;
    int64_t rest = i;
    for (int d = args->a.rank - 3; d >= 0; --d) {
        index[d] = rest % args->a.sizes[d];
        rest /= args->a.sizes[d];
    }
    char what[256];
    snprintf(what, sizeof what, args->what, pivot);
    return adzi_error(args->op, ADZ_ERR_NUMERIC, "%s%s%s%s %s", args->name,
        adzi_text_sizes(args->a.rank, args->a.sizes), args->a.rank > 2 ? ", item " : "",
        args->a.rank > 2 ? adzi_text_sizes(args->a.rank - 2, index) : "", what);
}

bool adzi_check_info(const char *op, const adz_tensor *found, const adz_tensor *a, const char *name,
    const char *what)
{
    const report_args args = { op, name, what, adz_tensor_shape(a), (int64_t *)(void *)found->data,
        found->numel };
    return adzi_repeat(report, report_args, &args) == ADZ_OK;
}

adz_tensor *adzi_diagonal_matrix(adz_tensor *d, int64_t n)
{
    return d != NULL ? adz_mul(adz_unsqueeze(d, -1), adz_eye(n, n, (adz_dtype)d->dtype)) : NULL;
}
