/* Bodies of elementwise kernels, for *.kernel.c files between each_float.h or each_type.h.
 *
 *     POINTWISE1(relu, T, T, x > 0 ? x : 0)           y[i] from x
 *     POINTWISE2(add, T, T, T, a + R(p[0]) * b)       y[i] from a and b
 *     POINTWISE3(where, T, uint8_t, T, T, c ? a : b)  y[i] from c, a and b
 *     POINTWISE4(...)                                 y[i] from a, b, c and d
 *
 * After the kernel's name stand the types of the output and of the inputs; p[0 .. 3] are the
 * operator's numbers. The output may be one of the inputs.
 *
 * Note [One loop per kernel]
 * The expression stands in one loop, over elements that lie side by side, which the compiler makes
 * vectors of. Operands that lie otherwise, broadcast or turned round, are copied to a buffer first,
 * a few hundred elements at a time: that costs little, any layout gets the vectors, and the code is
 * a fraction of what a loop for every combination of strides would be. The numbers are copied to
 * constants for the same reason: where they could be anybody's memory, `x > 0 ? x : p[0] * x` would
 * be read as a jump.
 */
#ifndef ADZI_TENSOR_KERNEL_POINTWISE_KERNEL_H
#define ADZI_TENSOR_KERNEL_POINTWISE_KERNEL_H

#include "tensor/kernel/pointwise.h"
#include "tensor/kernel/strided.h"

/* In files of operators that take no time but for their loads and stores, four vectors go in one
 * turn of the loop. */
#ifdef ADZI_CHEAP
#define ADZI_EACH _Pragma("GCC unroll 4") for
#else
#define ADZI_EACH for
#endif

/** How a kernel cuts the elements of a strided call. Bit k of a set stands for operand k. */
typedef struct adzi_chunks {
    const adzi_pointwise_args *args;
    bool rows;      /* rows are as long as a buffer: chunks do not go beyond their ends */
    bool whole;     /* and every operand's elements lie side by side in them */
    bool out;       /* the output's elements all lie side by side */
    unsigned in;    /* so do those of these operands */
    unsigned fixed; /* every chunk sees the same elements of these: their buffers are filled once */
    unsigned numbers; /* of these, one */
    int64_t length;   /* of a chunk */
} adzi_chunks;

/* After how many elements an operand that is broadcast over the first dimensions starts again. */
static inline int64_t adzi_period(const adzi_pointwise_args *a, const int64_t *strides)
{
    int64_t period = 1;
    int d = 0;
    while (d < a->rank && strides[d] == 0) {
        ++d;
    }
    for (; d < a->rank; ++d) {
        period *= a->sizes[d];
    }
    return period;
}

static inline adzi_chunks adzi_chunks_of(const adzi_pointwise_args *a)
{
    const int inner = a->rank - 1;
    adzi_chunks c = { .args = a, .rows = a->sizes[inner] >= ADZI_CHUNK };
    int64_t longest = 1;
    c.whole = c.rows && a->out_strides[inner] == 1;
    c.out = adzi_lies_in_line(a, a->out_strides);
    for (int k = 0; k < a->n_in; ++k) {
        c.whole = c.whole && a->in_strides[k][inner] == 1;
        if (adzi_lies_in_line(a, a->in_strides[k])) {
            c.in |= 1u << k;
            continue;
        }
        int64_t period = adzi_period(a, a->in_strides[k]);
        if (period <= (c.rows ? 1 : ADZI_CHUNK)) {
            c.fixed |= 1u << k;
            c.numbers |= (unsigned)(period == 1) << k;
            longest = period > longest ? period : longest; /* a multiple of the others */
        }
    }
    c.length = ADZI_CHUNK / longest * longest;
    return c;
}

/* How many elements from number i on go together. */
static inline int64_t adzi_chunk_length(const adzi_chunks *c, int64_t i, int64_t end)
{
    int64_t n = end - i, most = c->length;
    if (c->rows) {
        int64_t row = c->args->sizes[c->args->rank - 1], left = row - i % row;
        most = c->whole || left < most ? left : most;
    }
    return n < most ? n : most;
}

/* What all chunks see alike of operand k, from number i on. */
static inline void adzi_chunk_fill(
    const adzi_chunks *c, int k, int64_t i, int64_t end, size_t item, void *buffer)
{
    const adzi_pointwise_args *a = c->args;
    const int64_t n = end - i < c->length ? end - i : c->length;
    if (c->numbers >> k & 1) {
        ADZI_SPLAT(buffer, a->in[k], item, n);
    } else if (c->fixed >> k & 1) {
        ADZI_GATHER(buffer, a->in[k], item, i, n, a->rank, a->sizes, a->in_strides[k]);
    }
}

/* Elements i .. i+n-1 of operand k: where they lie, or copied to the buffer. */
static inline const void *adzi_chunk_in(
    const adzi_chunks *c, int k, int64_t i, int64_t n, size_t item, void *buffer)
{
    const adzi_pointwise_args *a = c->args;
    if (c->fixed >> k & 1) {
        return buffer;
    }
    if (c->in >> k & 1) {
        return a->in[k] + i * (int64_t)item;
    }
    if (c->rows && a->in_strides[k][a->rank - 1] == 1) {
        return a->in[k] +
               adzi_strided_offset(i, a->rank, a->sizes, a->in_strides[k]) * (int64_t)item;
    }
    ADZI_GATHER(buffer, a->in[k], item, i, n, a->rank, a->sizes, a->in_strides[k]);
    return buffer;
}

/* Where elements i .. i+n-1 of the output are written: to their place, or to the buffer. */
static inline void *adzi_chunk_out(const adzi_chunks *c, int64_t i, size_t item, void *buffer)
{
    const adzi_pointwise_args *a = c->args;
    if (c->out) {
        return a->out + i * (int64_t)item;
    }
    if (c->rows && a->out_strides[a->rank - 1] == 1) {
        return a->out + adzi_strided_offset(i, a->rank, a->sizes, a->out_strides) * (int64_t)item;
    }
    return buffer;
}

/* Takes what was written to the buffer to its place. */
static inline void adzi_chunk_done(
    const adzi_chunks *c, int64_t i, int64_t n, size_t item, const void *y, const void *buffer)
{
    const adzi_pointwise_args *a = c->args;
    if (y == buffer) {
        ADZI_SCATTER(a->out, buffer, item, i, n, a->rank, a->sizes, a->out_strides);
    }
}

#define ADZI_NUMBERS(from)                                                                  \
    const double p[ADZI_POINTWISE_PARAMS] = { (from)[0], (from)[1], (from)[2], (from)[3] }; \
    (void)p

/* Operand k of a flat call. */
#define ADZI_FLAT(TX, k) ((const TX *)(const void *)args->in[k] + begin)

/* Operand k of a strided call: before its chunks, and in one. */
#define ADZI_BUFFER(TX, name, k)  \
    TX name##_buffer[ADZI_CHUNK]; \
    adzi_chunk_fill(&chunks_, k, begin, end, sizeof(TX), name##_buffer);
#define ADZI_CHUNK_OF(TX, name, k) \
    const TX *name##_ = adzi_chunk_in(&chunks_, k, i, n, sizeof(TX), name##_buffer);

#define ADZI_CHUNKS_BEGIN(TY)                     \
    for (int64_t i = begin, n; i < end; i += n) { \
        n = adzi_chunk_length(&chunks_, i, end);  \
        TY *y_ = adzi_chunk_out(&chunks_, i, sizeof(TY), y_buffer);

#define ADZI_CHUNKS_END(TY)                                    \
    adzi_chunk_done(&chunks_, i, n, sizeof(TY), y_, y_buffer); \
    }

#define POINTWISE1(name, TY, TX, EXPRESSION)  \
    POINTWISE1_LINE(name, TY, TX, EXPRESSION) \
    POINTWISE1_OF(name, TY, TX)

#define POINTWISE1_LINE(name, TY, TX, EXPRESSION)                \
    static __attribute__((noinline)) void K(name##_line)(        \
        TY * y_, const TX *x_, int64_t n, const double *numbers) \
    {                                                            \
        ADZI_NUMBERS(numbers);                                   \
        ADZI_EACH(int64_t i = 0; i < n; ++i)                     \
        {                                                        \
            const TX x = x_[i];                                  \
            y_[i] = (TY)(EXPRESSION);                            \
        }                                                        \
    }

/* From a K(name_line) that does n elements side by side. */
#define POINTWISE1_OF(name, TY, TX)                                     \
    void K(name)(const void *block, int64_t begin, int64_t end);        \
    void K(name)(const void *block, int64_t begin, int64_t end)         \
    {                                                                   \
        const adzi_pointwise_args *args = block;                        \
        if (args->flat) {                                               \
            TY *y_ = (TY *)(void *)args->out + begin;                   \
            K(name##_line)(y_, ADZI_FLAT(TX, 0), end - begin, args->p); \
            return;                                                     \
        }                                                               \
        const adzi_chunks chunks_ = adzi_chunks_of(args);               \
        TY y_buffer[ADZI_CHUNK];                                        \
        ADZI_BUFFER(TX, x, 0)                                           \
        ADZI_CHUNKS_BEGIN(TY)                                           \
        ADZI_CHUNK_OF(TX, x, 0)                                         \
        K(name##_line)(y_, x_, n, args->p);                             \
        ADZI_CHUNKS_END(TY)                                             \
    }

#define POINTWISE2(name, TY, TA, TB, EXPRESSION)                                          \
    static __attribute__((noinline)) void K(name##_line)(                                 \
        TY * y_, const TA *a_, const TB *b_, int64_t n, const double *numbers)            \
    {                                                                                     \
        ADZI_NUMBERS(numbers);                                                            \
        ADZI_EACH(int64_t i = 0; i < n; ++i)                                              \
        {                                                                                 \
            const TA a = a_[i];                                                           \
            const TB b = b_[i];                                                           \
            y_[i] = (TY)(EXPRESSION);                                                     \
        }                                                                                 \
    }                                                                                     \
    void K(name)(const void *block, int64_t begin, int64_t end);                          \
    void K(name)(const void *block, int64_t begin, int64_t end)                           \
    {                                                                                     \
        const adzi_pointwise_args *args = block;                                          \
        if (args->flat) {                                                                 \
            TY *y_ = (TY *)(void *)args->out + begin;                                     \
            K(name##_line)(y_, ADZI_FLAT(TA, 0), ADZI_FLAT(TB, 1), end - begin, args->p); \
            return;                                                                       \
        }                                                                                 \
        const adzi_chunks chunks_ = adzi_chunks_of(args);                                 \
        TY y_buffer[ADZI_CHUNK];                                                          \
        ADZI_BUFFER(TA, a, 0)                                                             \
        ADZI_BUFFER(TB, b, 1)                                                             \
        ADZI_CHUNKS_BEGIN(TY)                                                             \
        ADZI_CHUNK_OF(TA, a, 0)                                                           \
        ADZI_CHUNK_OF(TB, b, 1)                                                           \
        K(name##_line)(y_, a_, b_, n, args->p);                                           \
        ADZI_CHUNKS_END(TY)                                                               \
    }

#define POINTWISE3(name, TY, TA, TB, TC, EXPRESSION)                                          \
    static __attribute__((noinline)) void K(name##_line)(                                     \
        TY * y_, const TA *a_, const TB *b_, const TC *c_, int64_t n, const double *numbers)  \
    {                                                                                         \
        ADZI_NUMBERS(numbers);                                                                \
        ADZI_EACH(int64_t i = 0; i < n; ++i)                                                  \
        {                                                                                     \
            const TA a = a_[i];                                                               \
            const TB b = b_[i];                                                               \
            const TC c = c_[i];                                                               \
            y_[i] = (TY)(EXPRESSION);                                                         \
        }                                                                                     \
    }                                                                                         \
    void K(name)(const void *block, int64_t begin, int64_t end);                              \
    void K(name)(const void *block, int64_t begin, int64_t end)                               \
    {                                                                                         \
        const adzi_pointwise_args *args = block;                                              \
        if (args->flat) {                                                                     \
            TY *y_ = (TY *)(void *)args->out + begin;                                         \
            K(name##_line)                                                                    \
            (y_, ADZI_FLAT(TA, 0), ADZI_FLAT(TB, 1), ADZI_FLAT(TC, 2), end - begin, args->p); \
            return;                                                                           \
        }                                                                                     \
        const adzi_chunks chunks_ = adzi_chunks_of(args);                                     \
        TY y_buffer[ADZI_CHUNK];                                                              \
        ADZI_BUFFER(TA, a, 0)                                                                 \
        ADZI_BUFFER(TB, b, 1)                                                                 \
        ADZI_BUFFER(TC, c, 2)                                                                 \
        ADZI_CHUNKS_BEGIN(TY)                                                                 \
        ADZI_CHUNK_OF(TA, a, 0)                                                               \
        ADZI_CHUNK_OF(TB, b, 1)                                                               \
        ADZI_CHUNK_OF(TC, c, 2)                                                               \
        K(name##_line)(y_, a_, b_, c_, n, args->p);                                           \
        ADZI_CHUNKS_END(TY)                                                                   \
    }

#define POINTWISE4(name, TY, TA, TB, TC, TD, EXPRESSION)                                      \
    static __attribute__((noinline)) void K(name##_line)(TY * y_, const TA *a_, const TB *b_, \
        const TC *c_, const TD *d_, int64_t n, const double *numbers)                         \
    {                                                                                         \
        ADZI_NUMBERS(numbers);                                                                \
        ADZI_EACH(int64_t i = 0; i < n; ++i)                                                  \
        {                                                                                     \
            const TA a = a_[i];                                                               \
            const TB b = b_[i];                                                               \
            const TC c = c_[i];                                                               \
            const TD d = d_[i];                                                               \
            y_[i] = (TY)(EXPRESSION);                                                         \
        }                                                                                     \
    }                                                                                         \
    void K(name)(const void *block, int64_t begin, int64_t end);                              \
    void K(name)(const void *block, int64_t begin, int64_t end)                               \
    {                                                                                         \
        const adzi_pointwise_args *args = block;                                              \
        if (args->flat) {                                                                     \
            TY *y_ = (TY *)(void *)args->out + begin;                                         \
            K(name##_line)                                                                    \
            (y_, ADZI_FLAT(TA, 0), ADZI_FLAT(TB, 1), ADZI_FLAT(TC, 2), ADZI_FLAT(TD, 3),      \
                end - begin, args->p);                                                        \
            return;                                                                           \
        }                                                                                     \
        const adzi_chunks chunks_ = adzi_chunks_of(args);                                     \
        TY y_buffer[ADZI_CHUNK];                                                              \
        ADZI_BUFFER(TA, a, 0)                                                                 \
        ADZI_BUFFER(TB, b, 1)                                                                 \
        ADZI_BUFFER(TC, c, 2)                                                                 \
        ADZI_BUFFER(TD, d, 3)                                                                 \
        ADZI_CHUNKS_BEGIN(TY)                                                                 \
        ADZI_CHUNK_OF(TA, a, 0)                                                               \
        ADZI_CHUNK_OF(TB, b, 1)                                                               \
        ADZI_CHUNK_OF(TC, c, 2)                                                               \
        ADZI_CHUNK_OF(TD, d, 3)                                                               \
        K(name##_line)(y_, a_, b_, c_, d_, n, args->p);                                       \
        ADZI_CHUNKS_END(TY)                                                                   \
    }

#endif
