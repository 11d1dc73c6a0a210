/* Bodies of elementwise kernels, for *.kernel.c files between each_float.h or each_type.h.
 *
 *     POINTWISE1(relu, T, T, x > 0 ? x : 0)           y[i] from x
 *     POINTWISE2(add, T, T, T, a + R(p[0]) * b)       y[i] from a and b
 *     POINTWISE3(where, T, uint8_t, T, T, c ? a : b)  y[i] from c, a and b
 *     POINTWISE4(...)                                 y[i] from a, b, c and d
 *
 * After the kernel's name stand the types of the output and of the inputs; p[0 .. 3] are the
 * operator's numbers. The output may be one of the inputs.
 */
#ifndef ADZI_TENSOR_POINTWISE_KERNEL_H
#define ADZI_TENSOR_POINTWISE_KERNEL_H

#include "tensor/pointwise.h"

/** A place in a strided walk: the element reached, as offsets of every operand. */
typedef struct adzi_cursor {
    int64_t index[ADZ_MAX_RANK];
    int64_t out;
    int64_t in[ADZI_POINTWISE_INPUTS];
} adzi_cursor;

static inline void adzi_cursor_start(adzi_cursor *c, const adzi_pointwise_args *a, int64_t at)
{
    c->out = 0;
    for (int k = 0; k < a->n_in; ++k) {
        c->in[k] = 0;
    }
    for (int d = a->rank - 1; d >= 0; --d) {
        c->index[d] = 0;
        if (at == 0) { /* as it mostly is, and divisions are slow */
            continue;
        }
        c->index[d] = at % a->sizes[d];
        at /= a->sizes[d];
        c->out += c->index[d] * a->out_strides[d];
        for (int k = 0; k < a->n_in; ++k) {
            c->in[k] += c->index[d] * a->in_strides[k][d];
        }
    }
}

/* Moves on by n elements, which do not pass the end of the innermost dimension. */
static inline void adzi_cursor_advance(adzi_cursor *c, const adzi_pointwise_args *a, int64_t n)
{
    int d = a->rank - 1;
    c->index[d] += n;
    c->out += n * a->out_strides[d];
    for (int k = 0; k < a->n_in; ++k) {
        c->in[k] += n * a->in_strides[k][d];
    }
    while (d > 0 && c->index[d] == a->sizes[d]) {
        c->index[d] = 0;
        c->out += a->out_strides[d - 1] - a->sizes[d] * a->out_strides[d];
        for (int k = 0; k < a->n_in; ++k) {
            c->in[k] += a->in_strides[k][d - 1] - a->sizes[d] * a->in_strides[k][d];
        }
        ++c->index[--d];
    }
}

#define ADZI_ROWS_BEGIN                                   \
    adzi_cursor at;                                       \
    const int inner = args->rank - 1;                     \
    adzi_cursor_start(&at, args, begin);                  \
    while (begin < end) {                                 \
        int64_t n = args->sizes[inner] - at.index[inner]; \
        n = n < end - begin ? n : end - begin;            \
        const int64_t sy = args->out_strides[inner];

#define ADZI_ROWS_END                  \
    adzi_cursor_advance(&at, args, n); \
    begin += n;                        \
    }

#define POINTWISE1(name, TY, TX, EXPRESSION)                             \
    void K(name)(const void *block, int64_t begin, int64_t end);         \
    void K(name)(const void *block, int64_t begin, int64_t end)          \
    {                                                                    \
        const adzi_pointwise_args *args = block;                         \
        const double *p = args->p;                                       \
        (void)p;                                                         \
        if (args->flat) {                                                \
            TY *y_ = (TY *)(void *)args->out;                            \
            const TX *x_ = (const TX *)(const void *)args->in[0];        \
            for (int64_t i = begin; i < end; ++i) {                      \
                const TX x = x_[i];                                      \
                y_[i] = (TY)(EXPRESSION);                                \
            }                                                            \
            return;                                                      \
        }                                                                \
        ADZI_ROWS_BEGIN                                                  \
        TY *y_ = (TY *)(void *)args->out + at.out;                       \
        const TX *x_ = (const TX *)(const void *)args->in[0] + at.in[0]; \
        const int64_t sx = args->in_strides[0][inner];                   \
        for (int64_t i = 0; i < n; ++i) {                                \
            const TX x = x_[i * sx];                                     \
            y_[i * sy] = (TY)(EXPRESSION);                               \
        }                                                                \
        ADZI_ROWS_END                                                    \
    }

#define ADZI_LOOP2(TY, TA, TB, IY, IA, IB, EXPRESSION) \
    for (int64_t i = 0; i < n; ++i) {                  \
        const TA a = a_[IA];                           \
        const TB b = b_[IB];                           \
        y_[IY] = (TY)(EXPRESSION);                     \
    }

#define POINTWISE2(name, TY, TA, TB, EXPRESSION)                                        \
    void K(name)(const void *block, int64_t begin, int64_t end);                        \
    void K(name)(const void *block, int64_t begin, int64_t end)                         \
    {                                                                                   \
        const adzi_pointwise_args *args = block;                                        \
        const double *p = args->p;                                                      \
        (void)p;                                                                        \
        if (args->flat) {                                                               \
            const int64_t n = end - begin;                                              \
            TY *y_ = (TY *)(void *)args->out + begin;                                   \
            const TA *a_ = (const TA *)(const void *)args->in[0] + begin;               \
            const TB *b_ = (const TB *)(const void *)args->in[1] + begin;               \
            ADZI_LOOP2(TY, TA, TB, i, i, i, EXPRESSION)                                 \
            return;                                                                     \
        }                                                                               \
        ADZI_ROWS_BEGIN                                                                 \
        TY *y_ = (TY *)(void *)args->out + at.out;                                      \
        const TA *a_ = (const TA *)(const void *)args->in[0] + at.in[0];                \
        const TB *b_ = (const TB *)(const void *)args->in[1] + at.in[1];                \
        const int64_t sa = args->in_strides[0][inner], sb = args->in_strides[1][inner]; \
        if (sy == 1 && sa == 1 && sb == 1) {                                            \
            ADZI_LOOP2(TY, TA, TB, i, i, i, EXPRESSION)                                 \
        } else if (sy == 1 && sa == 1 && sb == 0) {                                     \
            ADZI_LOOP2(TY, TA, TB, i, i, 0, EXPRESSION)                                 \
        } else if (sy == 1 && sa == 0 && sb == 1) {                                     \
            ADZI_LOOP2(TY, TA, TB, i, 0, i, EXPRESSION)                                 \
        } else {                                                                        \
            ADZI_LOOP2(TY, TA, TB, i *sy, i *sa, i *sb, EXPRESSION)                     \
        }                                                                               \
        ADZI_ROWS_END                                                                   \
    }

#define ADZI_LOOP3(TY, TA, TB, TC, IY, IA, IB, IC, EXPRESSION) \
    for (int64_t i = 0; i < n; ++i) {                          \
        const TA a = a_[IA];                                   \
        const TB b = b_[IB];                                   \
        const TC c = c_[IC];                                   \
        y_[IY] = (TY)(EXPRESSION);                             \
    }

#define POINTWISE3(name, TY, TA, TB, TC, EXPRESSION)                                    \
    void K(name)(const void *block, int64_t begin, int64_t end);                        \
    void K(name)(const void *block, int64_t begin, int64_t end)                         \
    {                                                                                   \
        const adzi_pointwise_args *args = block;                                        \
        const double *p = args->p;                                                      \
        (void)p;                                                                        \
        if (args->flat) {                                                               \
            const int64_t n = end - begin;                                              \
            TY *y_ = (TY *)(void *)args->out + begin;                                   \
            const TA *a_ = (const TA *)(const void *)args->in[0] + begin;               \
            const TB *b_ = (const TB *)(const void *)args->in[1] + begin;               \
            const TC *c_ = (const TC *)(const void *)args->in[2] + begin;               \
            ADZI_LOOP3(TY, TA, TB, TC, i, i, i, i, EXPRESSION)                          \
            return;                                                                     \
        }                                                                               \
        ADZI_ROWS_BEGIN                                                                 \
        TY *y_ = (TY *)(void *)args->out + at.out;                                      \
        const TA *a_ = (const TA *)(const void *)args->in[0] + at.in[0];                \
        const TB *b_ = (const TB *)(const void *)args->in[1] + at.in[1];                \
        const TC *c_ = (const TC *)(const void *)args->in[2] + at.in[2];                \
        const int64_t sa = args->in_strides[0][inner], sb = args->in_strides[1][inner]; \
        const int64_t sc = args->in_strides[2][inner];                                  \
        if (sy == 1 && sa == 1 && sb == 1 && sc == 0) {                                 \
            ADZI_LOOP3(TY, TA, TB, TC, i, i, i, 0, EXPRESSION)                          \
        } else {                                                                        \
            ADZI_LOOP3(TY, TA, TB, TC, i *sy, i *sa, i *sb, i *sc, EXPRESSION)          \
        }                                                                               \
        ADZI_ROWS_END                                                                   \
    }

#define POINTWISE4(name, TY, TA, TB, TC, TD, EXPRESSION)                 \
    void K(name)(const void *block, int64_t begin, int64_t end);         \
    void K(name)(const void *block, int64_t begin, int64_t end)          \
    {                                                                    \
        const adzi_pointwise_args *args = block;                         \
        const double *p = args->p;                                       \
        (void)p;                                                         \
        if (args->flat) {                                                \
            TY *y_ = (TY *)(void *)args->out;                            \
            const TA *a_ = (const TA *)(const void *)args->in[0];        \
            const TB *b_ = (const TB *)(const void *)args->in[1];        \
            const TC *c_ = (const TC *)(const void *)args->in[2];        \
            const TD *d_ = (const TD *)(const void *)args->in[3];        \
            for (int64_t i = begin; i < end; ++i) {                      \
                const TA a = a_[i];                                      \
                const TB b = b_[i];                                      \
                const TC c = c_[i];                                      \
                const TD d = d_[i];                                      \
                y_[i] = (TY)(EXPRESSION);                                \
            }                                                            \
            return;                                                      \
        }                                                                \
        ADZI_ROWS_BEGIN                                                  \
        TY *y_ = (TY *)(void *)args->out + at.out;                       \
        const TA *a_ = (const TA *)(const void *)args->in[0] + at.in[0]; \
        const TB *b_ = (const TB *)(const void *)args->in[1] + at.in[1]; \
        const TC *c_ = (const TC *)(const void *)args->in[2] + at.in[2]; \
        const TD *d_ = (const TD *)(const void *)args->in[3] + at.in[3]; \
        for (int64_t i = 0; i < n; ++i) {                                \
            const TA a = a_[i * args->in_strides[0][inner]];             \
            const TB b = b_[i * args->in_strides[1][inner]];             \
            const TC c = c_[i * args->in_strides[2][inner]];             \
            const TD d = d_[i * args->in_strides[3][inner]];             \
            y_[i * sy] = (TY)(EXPRESSION);                               \
        }                                                                \
        ADZI_ROWS_END                                                    \
    }

#endif
