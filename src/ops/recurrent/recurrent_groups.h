/* The order of packed rows, and what else the kernels of recurrent layers share that does not
 * depend on the element type. */
#ifndef ADZI_OPS_RECURRENT_RECURRENT_GROUPS_H
#define ADZI_OPS_RECURRENT_RECURRENT_GROUPS_H

#include "ops/recurrent/recurrent_layer.h"
#include "tensor/kernel/registers.h"
#include "tensor/kernel/vmath.h"
#ifdef ADZI_X86
#include <immintrin.h>
#endif

/* FETCH(p, bytes) prefetches the cache line at p + bytes. Panels come from the third-level cache,
 * gates and cells of other steps from further away. The address need not be valid. */
#ifdef ADZI_X86
#define FETCH(p, bytes) _mm_prefetch((const char *)((uintptr_t)(p) + (bytes)), _MM_HINT_T0)
#else
#define FETCH(p, bytes) ((void)(p))
#endif

enum {
    DEPTH = 128, /* elements of packed rows that are multiplied by all gates before the next ones:
                    16 rows of f32 are 8 KiB and stay in the first-level cache */
    AHEAD = 2048 /* bytes between the element of a panel in use and the one that is prefetched */
};

/* The number of vectors of sums in registers: 16 where there are 32 registers, else 8. It is also
 * the size of the largest group of batch rows. */
#ifdef ADZI_32_REGISTERS
enum { MOST_ROWS = 16 };
#else
enum { MOST_ROWS = 8 };
#endif

/* The size of the next group of batch rows, out of `rows` remaining ones. Fewer than four rows are
 * computed one by one. The packing and the steps use this function, so they agree on the groups. */
static inline int group_width(int64_t rows)
{
    return rows >= MOST_ROWS ? MOST_ROWS : rows >= 8 ? 8 : rows >= 4 ? 4 : 1;
}

/* True if the step is beyond the end of this row's sequence. */
static inline bool is_skipped(const adzi_recurrent_step_args *a, int64_t row)
{
    return a->lengths != NULL && a->t >= a->lengths[row];
}

/* The state of a row before the step: among those of the step before, or the initial one. */
static inline const void *state_before(const adzi_recurrent_step_args *a, int64_t row)
{
    const bool first = a->lengths != NULL && a->reverse && a->t == a->lengths[row] - 1;
    return first ? a->initial : a->before;
}

#endif
