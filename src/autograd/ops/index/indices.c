#include "autograd/ops/index/indices.h"

#include "autograd/ops/index/indices.kernel.h"

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

/* The place of element i of a contiguous tensor as text, such as "[1, 2]". */
static const char *text_place(const adz_tensor *t, int64_t i)
{
    int64_t place[ADZ_MAX_RANK];
    for (int d = t->rank - 1; d >= 0; --d) {
        place[d] = i % t->sizes[d];
        i /= t->sizes[d];
    }
    return adzi_text_sizes(t->rank, place);
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
    adzi_launch(KERNEL_FOR(indices_within, 0), &args, 1, 1);
    /* The loop ends at once if all indices are in range. */
    for (int64_t i = 0; i < index->numel && !*args.within; ++i) {
        if (at[i] < 0 || at[i] >= size) {
            adzi_error(op, ADZ_ERR_INDEX, "index %lld at place %s is none of the %lld %s%s",
                (long long)at[i], text_place(index, i), (long long)size, of, adzi_text_shape(t));
            return false;
        }
    }
    return true;
}
