/* Joining the elements of two ranks, and reductions over all ranks. */
#ifndef ADZI_DISTRIBUTED_JOIN_H
#define ADZI_DISTRIBUTED_JOIN_H

#include "base/threads/addresses.h"
#include "distributed/group.h"

/** Units are elements. low = low + high, or max(low, high). */
typedef struct adzi_join_args {
    void *low;
    const void *high;
} adzi_join_args;

ADZI_ADDRESSES(adzi_join_args, low, high);

/** Units are elements. x = x / divisor. */
typedef struct adzi_divide_args {
    void *x;
    double divisor;
} adzi_divide_args;

ADZI_ADDRESSES(adzi_divide_args, x);

/** Joins `n` contiguous elements: low = low + high (ADZ_GROUP_SUM and ADZ_GROUP_MEAN), or their
 * maximum. `low` holds the elements of the lower ranks. */
void adzi_join(adz_group_op op, adz_dtype dtype, void *low, const void *high, int64_t n);

enum { ADZI_JOIN_MOST = 32 }; /* sums that one call joins */

/**
 * Takes elements into sums, in one pass over the memory: lows[0] += from, lows[1] += lows[0], and
 * so on. Only the last of the sums is meaningful afterwards. `from` is set to zero.
 *
 * @param lows   elements of lower ranks or micro-batches, the nearest first; with `joins` 0 one
 *               buffer, to which `from` is copied
 * @param joins  0 to ADZI_JOIN_MOST
 */
void adzi_join_take(adz_dtype dtype, char *const *lows, int joins, void *from, int64_t n);

/** Adds sums to `high`, in one pass over the memory: high += lows[0], high += lows[1], and so on.
 */
void adzi_join_up(adz_dtype dtype, void *high, char *const *lows, int joins, int64_t n);

/** Makes a mean from a sum over `ranks` ranks. Leaves the results of other operations alone. */
void adzi_join_end(adz_group_op op, adz_dtype dtype, void *x, int64_t n, int ranks);

/** A reduction that is under way. `parts` is memory for the elements of all ranks. */
typedef struct adzi_reduction {
    const char *name; /* of the public function */
    adz_group *group;
    adz_group_op op;
    adz_dtype dtype;
    char *parts;
    size_t bytes; /* of parts */
} adzi_reduction;

/** Bytes of the memory that a reduction over a group needs. */
size_t adzi_reduction_bytes(const adz_group *group);

/** data[n] = the join of all ranks' data, on every rank. */
adz_status adzi_reduce_all(const adzi_reduction *r, void *data, int64_t n);

/** out[n] = row `rank` of the join of all ranks' data[size, n]. */
adz_status adzi_reduce_rows(const adzi_reduction *r, const void *data, void *out, int64_t n);

#endif
