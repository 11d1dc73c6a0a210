/* Bodies of elementwise kernels, for *.kernel.c files between each_float.h or each_type.h.
 *
 *     POINTWISE1(relu, elem, elem, x > 0 ? x : 0)           y[i] from x
 *     POINTWISE2(add, elem, elem, elem, a + ELEM(p[0]) * b)       y[i] from a and b
 *     POINTWISE3(where, elem, uint8_t, elem, elem, c ? a : b)  y[i] from c, a and b
 *
 * The kernel's name is followed by the types of the output and of the inputs; p[0 .. 3] are the
 * operator's numbers. The output may be one of the inputs.
 *
 * Note [One loop per kernel]
 * A kernel is one loop over contiguous elements, which the compiler vectorises, and a call of
 * ADZI_POINTWISE. All kernels of one instruction set share that function. It copies operands
 * that are strided or broadcast to buffers, a few hundred elements at a time, and calls the loop on
 * the buffers. The copies cost little, every layout is computed with vectors, and a kernel's own
 * code is its loop alone.
 *
 * The numbers are copied to constants before the loop. If the compiler had to assume that a store
 * changes them, it would read `x > 0 ? x : p[0] * x` as a jump.
 */
#ifndef ADZI_TENSOR_KERNEL_POINTWISE_KERNEL_H
#define ADZI_TENSOR_KERNEL_POINTWISE_KERNEL_H

#include "tensor/kernel/pointwise.h"

/* The sizes in bytes of an output's and of up to three inputs' elements, in one number: four bits
 * each, 0 where there is no operand. */
#define ADZI_ITEMS(y, a, b, c) \
    ((uint32_t)(y) | (uint32_t)(a) << 4 | (uint32_t)(b) << 8 | (uint32_t)(c) << 12)

#define ADZI_POINTWISE ADZI_PASTE3(adzi, pointwise_chunks, ADZI_ISA)

/** Elements begin .. end-1 of an elementwise call, whatever the layout of its operands. `block` is
 * the call's adzi_pointwise_args, `items` come from ADZI_ITEMS. */
void ADZI_POINTWISE(
    const void *block, int64_t begin, int64_t end, adzi_pointwise_loop *loop, uint32_t items);

/* The head of a loop over elements. ivdep: an output that shares memory with an input is that
 * input, element for element (op.h), so no iteration reads what another one has written. */
#ifdef __OPTIMIZE__
#define POINTWISE_FOR          _Pragma("GCC ivdep") for
#define UNROLLED_POINTWISE_FOR _Pragma("GCC ivdep") _Pragma("GCC unroll 4") for
#else /* without optimisation gcc ignores these pragmas and warns */
#define POINTWISE_FOR          for
#define UNROLLED_POINTWISE_FOR for
#endif

#define POINTWISE1(...) POINTWISE1_WITH(POINTWISE_FOR, __VA_ARGS__)
#define POINTWISE2(...) POINTWISE2_WITH(POINTWISE_FOR, __VA_ARGS__)
#define POINTWISE3(...) POINTWISE3_WITH(POINTWISE_FOR, __VA_ARGS__)

/* For kernels whose arithmetic costs less than their loads and stores: four vectors per iteration.
 */
#define UNROLLED_POINTWISE1(...) POINTWISE1_WITH(UNROLLED_POINTWISE_FOR, __VA_ARGS__)
#define UNROLLED_POINTWISE2(...) POINTWISE2_WITH(UNROLLED_POINTWISE_FOR, __VA_ARGS__)

/* POINTWISE1_WITH, POINTWISE2_WITH and POINTWISE3_WITH define a function over contiguous elements
 * (POINTWISE_LOOP) and the kernel that hands this function to ADZI_POINTWISE (POINTWISE_KERNEL). */
#define POINTWISE1_WITH(FOR, name, TY, TX, EXPRESSION)                                     \
    POINTWISE_LOOP(FOR, name, TY, POINTWISE_IN(TX, x, 0), POINTWISE_AT(TX, x), EXPRESSION) \
    POINTWISE_KERNEL(name, ADZI_ITEMS(sizeof(TY), sizeof(TX), 0, 0))

#define POINTWISE2_WITH(FOR, name, TY, TA, TB, EXPRESSION)                                       \
    POINTWISE_LOOP(FOR, name, TY, POINTWISE_IN(TA, a, 0);                                        \
                   POINTWISE_IN(TB, b, 1), POINTWISE_AT(TA, a); POINTWISE_AT(TB, b), EXPRESSION) \
    POINTWISE_KERNEL(name, ADZI_ITEMS(sizeof(TY), sizeof(TA), sizeof(TB), 0))

#define POINTWISE3_WITH(FOR, name, TY, TA, TB, TC, EXPRESSION)                       \
    POINTWISE_LOOP(FOR, name, TY, POINTWISE_IN(TA, a, 0); POINTWISE_IN(TB, b, 1);    \
                   POINTWISE_IN(TC, c, 2), POINTWISE_AT(TA, a); POINTWISE_AT(TB, b); \
                   POINTWISE_AT(TC, c), EXPRESSION)                                  \
    POINTWISE_KERNEL(name, ADZI_ITEMS(sizeof(TY), sizeof(TA), sizeof(TB), sizeof(TC)))

/* Declare the pointer to an input's elements, and element i of the input. */
#define POINTWISE_IN(TX, name, k) const TX *const name##_ = in[k]
#define POINTWISE_AT(TX, name)    const TX name = name##_[i]

/* KERNEL(name_loop): reads the elements of the inputs and writes EXPRESSION. */
#define POINTWISE_LOOP(FOR, name, TY, INPUTS, ELEMENTS, EXPRESSION)                     \
    static void KERNEL(name##_loop)(                                                    \
        void *out, const void *const *in, int64_t n, const double *from)                \
    {                                                                                   \
        const double p[ADZI_POINTWISE_PARAMS] = { from[0], from[1], from[2], from[3] }; \
        TY *const y = out;                                                              \
        (void)p;                                                                        \
        INPUTS;                                                                         \
        FOR(int64_t i = 0; i < n; ++i)                                                  \
        {                                                                               \
            ELEMENTS;                                                                   \
            y[i] = (TY)(EXPRESSION);                                                    \
        }                                                                               \
    }

/* KERNEL(name): runs KERNEL(name_loop) over the elements of operands of any layout. */
#define POINTWISE_KERNEL(name, items)                                  \
    void KERNEL(name)(const void *block, int64_t begin, int64_t end);  \
    void KERNEL(name)(const void *block, int64_t begin, int64_t end)   \
    {                                                                  \
        ADZI_POINTWISE(block, begin, end, KERNEL(name##_loop), items); \
    }

#endif
