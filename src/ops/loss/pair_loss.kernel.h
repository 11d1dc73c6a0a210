/* Kernels of a loss that compares element by element, for *.kernel.c files under each_float.h.
 *
 *     PAIR_LOSS(l1_loss, VALUE, DX, DT)
 *
 * VALUE is the loss of x = a and target = b, DX and DT are its derivatives by x and by the target.
 * p[0] is the loss's number, if it has one. PAIR_LOSS expands to four kernels:
 *
 *     name      the loss of each element; a unit is an element
 *     name_sum  sums of losses in f64; a unit is a block of ADZI_PAIR_BLOCK elements
 *     name_dx   DX times p[2] and the gradient of the reduced loss; a unit is an element
 *     name_dt   DT times p[2] and the gradient of the reduced loss; a unit is an element
 */
#ifndef ADZI_OPS_LOSS_PAIR_LOSS_KERNEL_H
#define ADZI_OPS_LOSS_PAIR_LOSS_KERNEL_H

#include <string.h>

#include "ops/loss/pair_loss.h"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/wide.kernel.h"

/* A derivative times p[2]. DX or DT need not use both operands, hence the casts to void. */
#define PAIR_LOSS_TIMES(SLOPE) ((void)a, (void)b, ELEM(p[2]) * (SLOPE))

#define PAIR_LOSS(name, VALUE, DX, DT)              \
    POINTWISE2(name, elem, elem, elem, VALUE)       \
    PAIR_LOSS_SLOPE(name##_dx, PAIR_LOSS_TIMES(DX)) \
    PAIR_LOSS_SLOPE(name##_dt, PAIR_LOSS_TIMES(DT)) \
    PAIR_LOSS_SUM(name##_sum, name)

/* The kernel of one derivative. The gradient of the reduced loss is read through `factor` when the
 * kernel runs, because a replayed launch finds another number there. It is multiplied into p[2] of
 * a copy of the arguments, so that the elementwise loop has a single factor. NULL stands for 1. */
#define PAIR_LOSS_SLOPE(name, SLOPE)                                                     \
    POINTWISE2(name##_times, elem, elem, elem, SLOPE)                                    \
    void KERNEL(name)(const void *block, int64_t begin, int64_t end);                    \
    void KERNEL(name)(const void *block, int64_t begin, int64_t end)                     \
    {                                                                                    \
        const adzi_pointwise_args *args = block;                                         \
        adzi_pointwise_args scaled;                                                      \
        memcpy(&scaled, args, args->flat ? ADZI_POINTWISE_FLAT_SIZE : sizeof scaled);    \
        scaled.p[2] *= scaled.factor != NULL ? (double)*(const elem *)scaled.factor : 1; \
        KERNEL(name##_times)(&scaled, begin, end);                                       \
    }

/* The kernel of the sums: KERNEL(pair_loss_sums) adds up what the loop of the elements' losses
 * gives. */
#define PAIR_LOSS_SUM(name, losses)                                       \
    void KERNEL(name)(const void *block, int64_t begin, int64_t end);     \
    void KERNEL(name)(const void *block, int64_t begin, int64_t end)      \
    {                                                                     \
        KERNEL(pair_loss_sums)(block, begin, end, KERNEL(losses##_loop)); \
    }

#endif
