/* Joining the elements of two ranks. */
#include "distributed/join.h"

#include <string.h>

#include "base/isa.h"
#include "base/threads/parallel.h"

KERNEL_TABLE_ALL(join_sum);
KERNEL_TABLE_ALL(join_max);
KERNEL_TABLE_FLOAT(join_divide);

enum { GRAIN = 32768 };

void adzi_join(adz_group_op op, adz_dtype dtype, void *low, const void *high, int64_t n)
{
    const adzi_join_args args = { low, high };
    const adzi_kernel kernel =
        op == ADZ_GROUP_MAX ? KERNEL_FOR(join_max, dtype) : KERNEL_FOR(join_sum, dtype);
    adzi_launch(kernel, adzi_join_args, &args, n, GRAIN);
}

/* ---- chains of sums -------------------------------------------------------------------------- */

/* Elements that are taken through all sums of a chain before the next ones: they stay in the
 * processor's nearest cache. */
enum { CHUNK = 2048 };

/** Units are elements. */
typedef struct chain_args {
    adzi_kernel sum;
    size_t item;
    char *lows[ADZI_JOIN_MOST];
    int joins;
    char *high;
} chain_args;

ADZI_ADDRESSES(chain_args, lows, high);

static chain_args chain_of(adz_dtype dtype, char *const *lows, int joins, void *high)
{
    chain_args args = { .sum = KERNEL_FOR(join_sum, dtype),
        .item = adz_dtype_size(dtype),
        .joins = joins,
        .high = high };
    memcpy(args.lows, lows, (size_t)(joins > 0 ? joins : 1) * sizeof *lows);
    return args;
}

static void take(const void *block, int64_t begin, int64_t end)
{
    const chain_args *a = block;
    for (int64_t at = begin; at < end; at += CHUNK) {
        const int64_t stop = at + CHUNK < end ? at + CHUNK : end;
        char *from = a->high + (size_t)at * a->item;
        const size_t bytes = (size_t)(stop - at) * a->item;
        if (a->joins == 0) {
            memcpy(a->lows[0] + (size_t)at * a->item, from, bytes);
        }
        for (int k = 0; k < a->joins; ++k) {
            const adzi_join_args pair = { a->lows[k], k == 0 ? a->high : a->lows[k - 1] };
            a->sum(&pair, at, stop);
        }
        memset(from, 0, bytes);
    }
}

static void up(const void *block, int64_t begin, int64_t end)
{
    const chain_args *a = block;
    for (int64_t at = begin; at < end; at += CHUNK) {
        const int64_t stop = at + CHUNK < end ? at + CHUNK : end;
        for (int k = 0; k < a->joins; ++k) {
            const adzi_join_args pair = { a->high, a->lows[k] };
            a->sum(&pair, at, stop);
        }
    }
}

void adzi_join_take(adz_dtype dtype, char *const *lows, int joins, void *from, int64_t n)
{
    const chain_args args = chain_of(dtype, lows, joins, from);
    adzi_launch(take, chain_args, &args, n, GRAIN);
}

void adzi_join_up(adz_dtype dtype, void *high, char *const *lows, int joins, int64_t n)
{
    if (joins > 0) {
        const chain_args args = chain_of(dtype, lows, joins, high);
        adzi_launch(up, chain_args, &args, n, GRAIN);
    }
}

void adzi_join_end(adz_group_op op, adz_dtype dtype, void *x, int64_t n, int ranks)
{
    if (op == ADZ_GROUP_MEAN && ranks > 1) {
        const adzi_divide_args args = { x, ranks };
        adzi_launch(KERNEL_FOR(join_divide, dtype), adzi_divide_args, &args, n, GRAIN);
    }
}
