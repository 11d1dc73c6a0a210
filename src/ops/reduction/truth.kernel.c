/* Kernels of any and all, the reductions by "or" and by "and".
 *
 *     any: y = x_0 != 0 or x_1 != 0 or ...,   false for no elements
 *     all: y = x_0 != 0 and x_1 != 0 and ..., true for no elements
 *
 * NaN counts as true, as in PyTorch. A unit is one result, or one block of a long one
 * (reduce.kernel.h). A run does not stop at the first decisive element: without that branch the
 * loop vectorises. Results are bools and have no derivative.
 */
#ifndef elem
#define THIS_FILE "ops/reduction/truth.kernel.c"
#include "ops/reduction/reduce.h"
#include "tensor/kernel/each_type.h"
#else

#include "ops/reduction/reduce.kernel.h"

/* TRUTH(name, NOTHING, OP) makes the functions that REDUCTION asks for. The state is a byte of 0 or
 * 1; NOTHING is the state of no elements, OP joins two states. */
#define TRUTH(name, NOTHING, OP)                                                                  \
    static inline void KERNEL(name##_start)(uint8_t * s)                                          \
    {                                                                                             \
        *s = NOTHING;                                                                             \
    }                                                                                             \
    static inline void KERNEL(name##_run)(                                                        \
        uint8_t * s, const elem *x, int64_t n, int64_t first, const adzi_reduce_args *a)          \
    {                                                                                             \
        (void)first;                                                                              \
        (void)a;                                                                                  \
        int truth = *s;                                                                           \
        for (int64_t i = 0; i < n; ++i) {                                                         \
            truth = truth OP(x[i] != 0); /* NaN counts as true */                                 \
        }                                                                                         \
        *s = (uint8_t)truth;                                                                      \
    }                                                                                             \
    static inline void KERNEL(name##_join)(uint8_t * s, const uint8_t *t)                         \
    {                                                                                             \
        *s = (uint8_t)(*s OP * t);                                                                \
    }                                                                                             \
    static inline void KERNEL(name##_end)(const uint8_t *s, const adzi_reduce_args *a, int64_t r) \
    {                                                                                             \
        ((uint8_t *)(void *)a->out)[r] = *s;                                                      \
    }                                                                                             \
    REDUCTION(name, uint8_t)

TRUTH(any, 0, |)
TRUTH(all, 1, &)

#endif
