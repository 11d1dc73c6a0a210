#ifndef T
#define THIS_FILE "autograd/ops/reduction/extreme.kernel.c"
#include <string.h>

#include "autograd/ops/lanes.h"
#include "autograd/ops/reduction/reduce.h"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_type.h"
#else

#include "autograd/ops/reduction/reduce.kernel.h"

#undef IS_NAN
#if T_IS_FLOAT
#define IS_NAN(x) ((x) != (x))
#else
#define IS_NAN(x) 0
#endif

typedef struct {
    T value;
    int64_t place; /* -1 before the first element */
} K(extreme);

enum { K(columns) = 64, K(searched) = 64 };

/* NaN wins over all and stays. */
#define TAKES(x, BEFORE, y) (((x)BEFORE(y)) | IS_NAN(x))
#undef IS_LARGER
#undef IS_SMALLER
#define IS_LARGER(x, y)  TAKES(x, >, y)
#define IS_SMALLER(x, y) TAKES(x, <, y)

#include "tensor/kernel/fold.kernel.h"
PICK(largest_of, IS_LARGER)
PICK(smallest_of, IS_SMALLER)

/* Where `value`, which is among them, is found first. */
static inline int64_t K(place_of)(const T *x, int64_t n, T value)
{
    typedef __typeof__(_Generic((T)0, double
                                : (int64_t)0, int64_t
                                : (int64_t)0, default : 0)) number;
    int64_t i = 0;
    for (; !IS_NAN(value) && i + K(searched) <= n; i += K(searched)) {
        number first = K(searched);
        for (number j = 0; j < K(searched); ++j) {
            const number at = x[i + j] == value ? j : K(searched);
            first = at < first ? at : first;
        }
        if (first < K(searched)) {
            return i + first;
        }
    }
    while (!(x[i] == value || (IS_NAN(value) && IS_NAN(x[i])))) {
        ++i;
    }
    return i;
}

#define FOLD(name, BEFORE)                                                                       \
    static inline void K(name##_start)(K(extreme) * s)                                           \
    {                                                                                            \
        s->value = 0;                                                                            \
        s->place = -1;                                                                           \
    }                                                                                            \
    static inline int K(name##_wins)(T value, const K(extreme) * s)                              \
    {                                                                                            \
        return s->place < 0 || value BEFORE s->value || (IS_NAN(value) && !IS_NAN(s->value));    \
    }                                                                                            \
    static inline void K(name##_run)(                                                            \
        K(extreme) * s, const T *x, int64_t n, int64_t first, const adzi_reduce_args *a)         \
    {                                                                                            \
        T value = K(name##_of)(x, n);                                                            \
        if (!K(name##_wins)(value, s)) {                                                         \
            return;                                                                              \
        }                                                                                        \
        s->value = value;                                                                        \
        s->place = first + (a->places != NULL ? K(place_of)(x, n, value) : 0);                   \
    }                                                                                            \
    static inline void K(name##_join)(K(extreme) * s, const K(extreme) * t)                      \
    {                                                                                            \
        if (K(name##_wins)(t->value, s)) {                                                       \
            *s = *t;                                                                             \
        }                                                                                        \
    }                                                                                            \
    static inline void K(name##_end)(const K(extreme) * s, const adzi_reduce_args *a, int64_t r) \
    {                                                                                            \
        if (a->out != NULL) {                                                                    \
            ((T *)(void *)a->out)[r] = s->value;                                                 \
        }                                                                                        \
        if (a->places != NULL) {                                                                 \
            ((int64_t *)(void *)a->places)[r] = s->place;                                        \
        }                                                                                        \
    }                                                                                            \
    /* Results out of elements that lie side by side. */                                         \
    static int64_t K(name##_rows)(const adzi_reduce_args *a, int64_t r, int64_t end)             \
    {                                                                                            \
        const T *x = (const T *)(const void *)a->in + r * a->kept_strides[0];                    \
        for (int64_t at = r; at < end; ++at, x += a->kept_strides[0]) {                          \
            const T value = K(name##_of)(x, a->n);                                               \
            if (a->out != NULL) {                                                                \
                ((T *)(void *)a->out)[at] = value;                                               \
            }                                                                                    \
            if (a->places != NULL) {                                                             \
                ((int64_t *)(void *)a->places)[at] = K(place_of)(x, a->n, value);                \
            }                                                                                    \
        }                                                                                        \
        return end - r;                                                                          \
    }                                                                                            \
    /* Results that lie side by side, a row at a time, where nobody asks for places. */          \
    static inline int64_t K(name##_columns)(const adzi_reduce_args *a, int64_t r, int64_t end)   \
    {                                                                                            \
        if (a->partial == NULL && a->n_kept == 1 && a->n_reduced == 1 &&                         \
            a->reduced_strides[0] == 1) {                                                        \
            return K(name##_rows)(a, r, end);                                                    \
        }                                                                                        \
        const int64_t tile = K(tile_width)(a, r, end, K(columns));                               \
        if (tile < K(tile) || a->places != NULL || a->partial != NULL || a->n == 0) {            \
            return 0;                                                                            \
        }                                                                                        \
        const T *x = (const T *)(const void *)a->in + K(result_offset)(a, r);                    \
        T found[K(columns)];                                                                     \
        memcpy(found, x, (size_t)tile * sizeof(T));                                              \
        int64_t index[ADZ_MAX_RANK] = { 0 }, offset = 0;                                         \
        for (int64_t i = 1; i < a->n; ++i) {                                                     \
            offset = K(next_offset)(a, index, offset);                                           \
            for (int64_t j = 0; j < tile; ++j) {                                                 \
                const T value = x[offset + j];                                                   \
                found[j] = TAKES(value, BEFORE, found[j]) ? value : found[j];                    \
            }                                                                                    \
        }                                                                                        \
        memcpy((T *)(void *)a->out + r, found, (size_t)tile * sizeof(T));                        \
        return tile;                                                                             \
    }                                                                                            \
    REDUCTION_WITH(name, K(extreme), K(name##_columns))

FOLD(largest, >)
FOLD(smallest, <)

#if T_IS_FLOAT
/* 1 where x is the extreme value b, else 0; with p[0], NaN counts as equal to NaN. */
POINTWISE2(extreme_tie, T, T, T, a == b || (p[0] != 0 && IS_NAN(a) && IS_NAN(b)) ? R(1) : R(0))
POINTWISE2(extreme_share, T, T, T, a / b)

/* Writes a lane's dy to the place where its extreme was found. in: places, dy. */
void K(extreme_put)(const void *block, int64_t begin, int64_t end)
{
    const adzi_lanes_args *a = block;
    const int64_t *places = (const int64_t *)(const void *)a->in[0];
    const T *dy = (const T *)(const void *)a->in[1];
    T *dx = (T *)(void *)a->out;
    for (int64_t lane = begin; lane < end; ++lane) {
        int64_t row = lane / a->inner * a->n + places[lane];
        dx[row * a->inner + lane % a->inner] = dy[lane];
    }
}
#endif

#endif
