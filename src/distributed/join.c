/* Joining the elements of two ranks. */
#include "distributed/join.h"

#include "base/parallel.h"

KERNEL_TABLE_ALL(join_sum);
KERNEL_TABLE_ALL(join_max);
KERNEL_TABLE_FLOAT(join_divide);

enum { GRAIN = 32768 };

void adzi_join(adz_group_op op, adz_dtype dtype, void *low, const void *high, int64_t n)
{
    const adzi_join_args args = { low, high };
    const adzi_kernel kernel =
        op == ADZ_GROUP_MAX ? KERNEL_FOR(join_max, dtype) : KERNEL_FOR(join_sum, dtype);
    adzi_launch(kernel, &args, n, GRAIN);
}

void adzi_join_end(adz_group_op op, adz_dtype dtype, void *x, int64_t n, int ranks)
{
    if (op == ADZ_GROUP_MEAN && ranks > 1) {
        const adzi_divide_args args = { x, ranks };
        adzi_launch(KERNEL_FOR(join_divide, dtype), &args, n, GRAIN);
    }
}
