#include "ops/index/indices.h"

#include "base/tracer.h"
#include "ops/index/indices.kernel.h"

/* Checks of index tensors, shared by the operators that take one. An index is i64 or i32 and counts
 * from 0. It is checked before the forward computes anything, so that kernels may use it without a
 * test of their own. Index tensors have no gradient. */

ADZI_DECLARE_KERNEL(indices_within, i64);

/* One row per instruction set. There is one column, because indices are i64 here. */
static const adzi_kernel indices_within_kernels[ADZI_CPU_LEVELS][1] = {
    { ADZI_KERNEL_COLUMN(indices_within, i64, baseline) },
    { ADZI_KERNEL_COLUMN(indices_within, i64, avx2) },
    { ADZI_KERNEL_COLUMN(indices_within, i64, avx512) },
};

/* Kernels read indices as a contiguous array of i64. */
bool adzi_want_indices(adzi_call *call, int i)
{
    if (!adzi_want_index(call, i) || !adzi_convert(call, i, ADZ_I64)) {
        return false;
    }
    call->in[i] = adzi_compact(call->op->name, call->in[i]);
    return call->in[i] != NULL;
}

/* The position of element i of a contiguous tensor as text, such as "[1, 2]". */
static const char *text_position(const adz_shape *shape, int64_t i)
{
    int64_t position[ADZ_MAX_RANK];
    for (int d = shape->rank - 1; d >= 0; --d) {
        position[d] = i % shape->sizes[d];
        i /= shape->sizes[d];
    }
    return adzi_text_sizes(shape->rank, position);
}

/* What the host needs to report an index out of range. */
typedef struct {
    const char *op, *of;
    adz_shape index, t; /* shapes, for the message */
    int64_t n;          /* indices */
    const int64_t *at;
    int64_t size;
    const bool *within; /* what the kernel has found */
} report_args;

ADZI_ADDRESSES(report_args, op, of, at, within);

/* Searches for the first index out of range and names it, if the kernel has found that there is
 * one. */
static adz_status report(const void *block)
{
    const report_args *args = block;
    for (int64_t i = 0; i < args->n && !*args->within; ++i) {
        if (args->at[i] < 0 || args->at[i] >= args->size) {
            return adzi_error(args->op, ADZ_ERR_INDEX,
                "index %lld at position %s is none of the %lld %s%s", (long long)args->at[i],
                text_position(&args->index, i), (long long)args->size, args->of,
                adzi_text_sizes(args->t.rank, args->t.sizes));
        }
    }
    return ADZ_OK;
}

/* A kernel finds out whether any index is out of range. Only then does the host search for it, to
 * name it in the message. */
bool adzi_indices_within(
    const char *op, const adz_tensor *index, int64_t size, const char *of, const adz_tensor *t)
{
    const int64_t *at = adzi_index_data(index);
    /* The answer of the kernel is an element of a tensor, because a launch must not point to the
     * stack. */
    const adz_tensor *found = adzi_scratch(op, ADZ_BOOL, 0, NULL);
    if (found == NULL) {
        return false;
    }
    const adzi_within_args args = { at, index->numel, size, (bool *)(void *)found->data };
    adzi_launch(KERNEL_FOR(indices_within, 0), adzi_within_args, &args, 1, 1);
    const report_args shown = { op, of, adz_tensor_shape(index), adz_tensor_shape(t), index->numel,
        at, size, args.within };
    return adzi_repeat(report, report_args, &shown) == ADZ_OK;
}

/* The check is no computation of a trace. */
adz_tensor *adzi_indices_of(
    const char *op, adz_tensor *index, int64_t size, const char *of, const adz_tensor *t)
{
    adz_tensor *at = adzi_compact(op, adz_to(index, ADZ_I64));
    const bool open = adzi_trace_open(true);
    const bool within = at != NULL && adzi_indices_within(op, at, size, of, t);
    adzi_trace_open(open);
    return within ? at : NULL;
}

/* Whether dimensions of an i64 index were expanded, and the others are contiguous. */
static bool is_expanded(const adz_tensor *index)
{
    bool expanded = false, dense = index->dtype == ADZ_I64 && index->numel > 0;
    int64_t stride = 1;
    for (int d = index->rank - 1; d >= 0 && dense; --d) {
        if (index->sizes[d] > 1 && index->strides[d] == 0) {
            expanded = true;
        } else if (index->sizes[d] > 1) {
            dense = index->strides[d] == stride;
            stride *= index->sizes[d];
        }
    }
    return expanded && dense;
}

/* The numbers of an expanded index that lie in memory. */
static adz_tensor *unexpanded(adz_tensor *index)
{
    const bool open = adzi_trace_open(true);
    adz_tensor *dense = index;
    for (int d = 0; d < index->rank && dense != NULL; ++d) {
        dense = index->strides[d] == 0 ? adz_narrow(dense, d, 0, 1) : dense;
    }
    adzi_trace_open(open);
    return dense;
}

bool adzi_want_strided_indices(
    adzi_call *call, int i, int64_t size, const char *of, const adz_tensor *t)
{
    const char *op = call->op->name;
    if (!is_expanded(call->in[i])) {
        return adzi_want_indices(call, i) && adzi_indices_within(op, call->in[i], size, of, t);
    }
    const adz_tensor *dense = unexpanded(call->in[i]);
    return dense != NULL && adzi_indices_within(op, dense, size, of, t);
}
