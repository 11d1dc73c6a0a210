/* Copies between strided and contiguous memory: ADZI_GATHER, ADZI_SCATTER and ADZI_SPLAT of
 * strided.h.
 *
 *     gather   to[k] = element first + k of a strided tensor
 *     scatter  element first + k of a strided tensor = from[k]
 *     splat    to[k] = one element
 *
 * Elements are copied as bits, so there is one instance per size (1, 2, 4 or 8 bytes) and none per
 * dtype. A walk goes along rows of the innermost dimension. If that dimension is strided and the
 * one before it is contiguous, as in a transposed matrix, whole rows are transposed in small tiles:
 * an element-by-element copy would use one element of every cache line that it reads. */
#include "tensor/kernel/strided.h"

#include "adze/tensor.h"

#if defined(ADZI_X86)
#include <immintrin.h>
#endif

/* adzi_transpose_32 and adzi_transpose_64, by the size of their elements. The element types may
 * alias any type, because they stand for integers too. */
#define KERNEL(name) ADZI_PASTE3(adzi, name, ELEM_NAME)
#define elem         any_float
#define ELEM_NAME    32
#define ELEM_IS_F32  1
typedef float __attribute__((may_alias)) any_float;
#include "tensor/kernel/transpose.kernel.h"
#undef elem
#undef ELEM_NAME
#undef ELEM_IS_F32
#define elem        any_double
#define ELEM_NAME   64
#define ELEM_IS_F32 0
typedef double __attribute__((may_alias)) any_double;
#include "tensor/kernel/transpose.kernel.h"
#undef elem
#undef ELEM_NAME
#undef ELEM_IS_F32

/* Rows that are written at a time: as many 4-byte elements as a cache line holds. With more, rows
 * that are a power of two apart would evict each other from the cache. */
enum { ROWS_AT_ONCE = 16 };
enum { SHORT_ROW = 128 }; /* bytes of the longest row that is copied by vectors of 16 bytes */

/* to[p * to_ld + j] = from[j * ld + p] for items of 4 or 8 bytes. */
NOINLINE void transpose(char *to, int64_t to_ld, const char *from, int64_t ld, int64_t depth,
    int64_t columns, int64_t item)
{
    for (int64_t p = 0, n; p < depth; p += n) {
        n = depth - p < ROWS_AT_ONCE ? depth - p : ROWS_AT_ONCE;
        char *y = to + p * to_ld * item;
        const char *x = from + p * item;
        if (item == 4) {
            adzi_transpose_32((void *)y, to_ld, (const void *)x, ld, n, columns);
        } else {
            adzi_transpose_64((void *)y, to_ld, (const void *)x, ld, n, columns);
        }
    }
}

/** A position in a walk: the index in each dimension and the offset in elements. */
typedef struct position {
    int64_t index[ADZ_MAX_RANK];
    int64_t offset;
} position;

static inline position position_of(
    int64_t i, int rank, const int64_t *sizes, const int64_t *strides)
{
    position at = { .offset = 0 };
    for (int d = rank - 1; d >= 0 && i != 0; --d) {
        at.index[d] = i % sizes[d];
        i /= sizes[d];
        at.offset += at.index[d] * strides[d];
    }
    return at;
}

/* Advances by n elements, at most to the end of the innermost dimension. */
static inline void advance(
    position *at, int64_t n, int rank, const int64_t *sizes, const int64_t *strides)
{
    int d = rank - 1;
    at->index[d] += n;
    at->offset += n * strides[d];
    while (d > 0 && at->index[d] == sizes[d]) {
        at->index[d] = 0;
        at->offset += strides[d - 1] - sizes[d] * strides[d];
        ++at->index[--d];
    }
}

/* Advances by whole rows, at most to the end of the dimension before the innermost. */
static inline void advance_rows(
    position *at, int64_t rows, int rank, const int64_t *sizes, const int64_t *strides)
{
    at->index[rank - 2] += rows;
    at->offset += rows * strides[rank - 2];
    for (int d = rank - 2; d > 0 && at->index[d] == sizes[d]; --d) {
        at->index[d] = 0;
        at->offset += strides[d - 1] - sizes[d] * strides[d];
        ++at->index[d - 1];
    }
}

/* How many whole rows the next n elements begin with, within the dimension before the innermost. It
 * is 0 in the middle of a row. */
static inline int64_t rows_of(const position *at, int64_t n, int rank, const int64_t *sizes)
{
    if (rank < 2 || at->index[rank - 1] != 0) {
        return 0;
    }
    const int64_t rows = n / sizes[rank - 1], left = sizes[rank - 2] - at->index[rank - 2];
    return rows < left ? rows : left;
}

/* Whether rows can be transposed together: the dimension before the innermost is contiguous. */
static inline bool are_columns(int rank, const int64_t *strides)
{
    return rank > 1 && strides[rank - 2] == 1 && strides[rank - 1] > 1;
}

/* Copies rows of so many bytes. Advancing from row to row costs more than a copy of a short row,
 * and so do the tests for what a number of bytes leaves after its vectors. */
NOINLINE void copy_rows(
    char *to, int64_t to_step, const char *from, int64_t from_step, int64_t rows, size_t bytes)
{
    typedef char part __attribute__((vector_size(16), aligned(1), may_alias));
    if (bytes % sizeof(part) == 0 && bytes <= SHORT_ROW) {
        for (int64_t i = 0; i < rows; ++i) {
            for (size_t b = 0; b < bytes; b += sizeof(part)) {
                *(part *)(void *)(to + i * to_step + (int64_t)b) =
                    *(const part *)(const void *)(from + i * from_step + (int64_t)b);
            }
        }
        return;
    }
    for (int64_t i = 0; i < rows; ++i) {
        adzi_copy_bytes(to + i * to_step, from + i * from_step, bytes);
    }
}

/* WALKS(bits) makes the functions for elements of 8, 16, 32 or 64 bits:
 *
 *     stride_<bits>    n elements between two strides
 *     splat_<bits>     one element to n positions
 *     collect_<bits>   n elements at a stride to contiguous memory
 *     spread_<bits>    n contiguous elements to a stride
 *     gather_<bits>    a walk that reads rows by copy, splat, collect or transposition
 *     scatter_<bits>   a walk that writes rows by copy, spread or transposition
 *
 * One of the two strides is 1. That loop is unrolled four times by hand, because the vectors that a
 * compiler assembles from strided elements are no faster. */
#define WALKS(item)                                                                              \
    typedef uint##item##_t __attribute__((may_alias)) item_##item;                               \
    INLINE void stride_##item(                                                                   \
        item_##item *to, int64_t to_step, const item_##item *from, int64_t from_step, int64_t n) \
    {                                                                                            \
        int64_t i = 0;                                                                           \
        for (; i + 4 <= n; i += 4, to += 4 * to_step, from += 4 * from_step) {                   \
            to[0] = from[0];                                                                     \
            to[to_step] = from[from_step];                                                       \
            to[2 * to_step] = from[2 * from_step];                                               \
            to[3 * to_step] = from[3 * from_step];                                               \
        }                                                                                        \
        for (; i < n; ++i, to += to_step, from += from_step) {                                   \
            *to = *from;                                                                         \
        }                                                                                        \
    }                                                                                            \
    NOINLINE void splat_##item(item_##item *to, const item_##item *from, int64_t n)              \
    {                                                                                            \
        const item_##item value = *from;                                                         \
        for (int64_t i = 0; i < n; ++i) {                                                        \
            to[i] = value;                                                                       \
        }                                                                                        \
    }                                                                                            \
    NOINLINE void collect_##item(                                                                \
        item_##item *to, const item_##item *from, int64_t stride, int64_t n)                     \
    {                                                                                            \
        stride_##item(to, 1, from, stride, n);                                                   \
    }                                                                                            \
    NOINLINE void spread_##item(                                                                 \
        item_##item *to, int64_t stride, const item_##item *from, int64_t n)                     \
    {                                                                                            \
        stride_##item(to, stride, from, 1, n);                                                   \
    }                                                                                            \
    NOINLINE void gather_##item(item_##item *to, const item_##item *from, int64_t first,         \
        int64_t n, int rank, const int64_t *sizes, const int64_t *strides)                       \
    {                                                                                            \
        const int64_t row = sizes[rank - 1], stride = strides[rank - 1];                         \
        const bool together =                                                                    \
            stride == 0 || stride == 1 || (item >= 32 && are_columns(rank, strides));            \
        position at = position_of(first, rank, sizes, strides);                                  \
        for (int64_t m; n > 0; n -= m, to += m) {                                                \
            const item_##item *x = from + at.offset;                                             \
            const int64_t rows = together ? rows_of(&at, n, rank, sizes) : 0;                    \
            if (rows > 1) {                                                                      \
                const int64_t next = strides[rank - 2];                                          \
                m = rows * row;                                                                  \
                if (stride == 0 && next == 0) {                                                  \
                    splat_##item(to, x, m);                                                      \
                } else if (stride == 0) {                                                        \
                    for (int64_t i = 0; i < rows; ++i) {                                         \
                        splat_##item(to + i * row, x + i * next, row);                           \
                    }                                                                            \
                } else if (stride == 1) {                                                        \
                    copy_rows((char *)to, (item / 8) * row, (const char *)x, (item / 8) * next,  \
                        rows, (size_t)row * sizeof *to);                                         \
                } else {                                                                         \
                    transpose((char *)to, row, (const char *)x, stride, rows, row, item / 8);    \
                }                                                                                \
                advance_rows(&at, rows, rank, sizes, strides);                                   \
                continue;                                                                        \
            }                                                                                    \
            m = row - at.index[rank - 1];                                                        \
            m = m < n ? m : n;                                                                   \
            if (stride == 1) {                                                                   \
                adzi_copy_bytes(to, x, (size_t)m * sizeof *to);                                  \
            } else if (stride == 0) {                                                            \
                splat_##item(to, x, m);                                                          \
            } else {                                                                             \
                collect_##item(to, x, stride, m);                                                \
            }                                                                                    \
            advance(&at, m, rank, sizes, strides);                                               \
        }                                                                                        \
    }                                                                                            \
    NOINLINE void scatter_##item(item_##item *to, const item_##item *from, int64_t first,        \
        int64_t n, int rank, const int64_t *sizes, const int64_t *strides)                       \
    {                                                                                            \
        const int64_t row = sizes[rank - 1], stride = strides[rank - 1];                         \
        const bool together = stride == 1 || (item >= 32 && are_columns(rank, strides));         \
        position at = position_of(first, rank, sizes, strides);                                  \
        for (int64_t m; n > 0; n -= m, from += m) {                                              \
            item_##item *y = to + at.offset;                                                     \
            const int64_t rows = together ? rows_of(&at, n, rank, sizes) : 0;                    \
            if (rows > 1) {                                                                      \
                if (stride == 1) {                                                               \
                    copy_rows((char *)y, strides[rank - 2] * (item / 8), (const char *)from,     \
                        row * (item / 8), rows, (size_t)row * sizeof *to);                       \
                } else {                                                                         \
                    transpose((char *)y, stride, (const char *)from, row, row, rows, item / 8);  \
                }                                                                                \
                m = rows * row;                                                                  \
                advance_rows(&at, rows, rank, sizes, strides);                                   \
                continue;                                                                        \
            }                                                                                    \
            m = row - at.index[rank - 1];                                                        \
            m = m < n ? m : n;                                                                   \
            if (stride == 1) {                                                                   \
                adzi_copy_bytes(y, from, (size_t)m * sizeof *to);                                \
            } else {                                                                             \
                spread_##item(y, stride, from, m);                                               \
            }                                                                                    \
            advance(&at, m, rank, sizes, strides);                                               \
        }                                                                                        \
    }

WALKS(8)
WALKS(16)
WALKS(32)
WALKS(64)

/* BY_SIZE(walk, ...) calls the instance of a walk for the size of an element in bytes. */
#define BY_SIZE(walk, ...)      \
    switch (item) {             \
    case 1:                     \
        walk##_8(__VA_ARGS__);  \
        break;                  \
    case 2:                     \
        walk##_16(__VA_ARGS__); \
        break;                  \
    case 4:                     \
        walk##_32(__VA_ARGS__); \
        break;                  \
    default:                    \
        walk##_64(__VA_ARGS__); \
    }

void ADZI_GATHER(void *to, const char *from, size_t item, int64_t first, int64_t n, int rank,
    const int64_t *sizes, const int64_t *strides)
{
    const void *x = from;
    BY_SIZE(gather, to, x, first, n, rank, sizes, strides)
}

void ADZI_SCATTER(char *to, const void *from, size_t item, int64_t first, int64_t n, int rank,
    const int64_t *sizes, const int64_t *strides)
{
    void *y = to;
    BY_SIZE(scatter, y, from, first, n, rank, sizes, strides)
}

void ADZI_SPLAT(void *to, const char *from, size_t item, int64_t n)
{
    const void *x = from;
    BY_SIZE(splat, to, x, n)
}
