#include "ops/spread.h"

/* Lists of numbers for each dimension, such as strides: one number stands for all dimensions, and
 * an empty list for the default. The message says how many are needed. */

/* Records that the list has another number of elements. */
static bool refuse(const char *op, const char *name, const adz_shape *list, int n)
{
    static const char *const more[] = { "", " for both dimensions or 2",
        " for all dimensions or 3" };
    adzi_error(
        op, ADZ_ERR_ARGUMENT, "%s has %d numbers, but needs 1%s", name, list->rank, more[n - 1]);
    return false;
}

bool adzi_spread(const char *op, const char *name, const adz_shape *list, int n, int64_t *to)
{
    if (list->rank != 0 && list->rank != 1 && list->rank != n) {
        return refuse(op, name, list, n);
    }
    for (int d = 0; d < n && list->rank != 0; ++d) {
        to[d] = list->sizes[list->rank == 1 ? 0 : d];
    }
    return true;
}

bool adzi_spread_given(const char *op, const char *name, const adz_shape *list, int n, int64_t *to)
{
    return list->rank != 0 ? adzi_spread(op, name, list, n, to) : refuse(op, name, list, n);
}
