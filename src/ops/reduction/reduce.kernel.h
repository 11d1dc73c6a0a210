/* The general walk of a reduction, once per type elem; inside each_float.h or each_type.h. There is
 * no include guard, because each type includes it once.
 *
 * For a state type S, an operator's kernel file defines
 *
 *     KERNEL(name_start)(S *s)             the state of no elements
 *     KERNEL(name_run)(S *s, x, n, first, a)
 *                                          adds n contiguous elements x, from number first on
 *     KERNEL(name_join)(S *s, const S *t)  adds the state of later elements
 *     KERNEL(name_end)(const S *s, a, r)   writes result r
 *
 * where a is the call's adzi_reduce_args. REDUCTION(name, S) then makes two kernels:
 *
 *     KERNEL(name_reduce)   a unit is one result, or one block of a result that is cut into blocks
 *     KERNEL(name_combine)  a unit is one result, whose blocks' states it joins in order
 *
 * name_run always sees contiguous chunks of at most 512 elements, so it vectorises. Elements at a
 * stride are gathered to a buffer first. Where results are contiguous and elements are not, eight
 * results are gathered together, so that each cache line is read once. The bounds of the chunks
 * depend on the shape alone, so neither layouts nor threads change a bit.
 *
 * Sums, products and extremes of contiguous results need no gathering: KERNEL(walk_columns) hands
 * them row after row of up to 64 results. */

#include "tensor/kernel/registers.h"

enum {
    KERNEL(chunk) = ADZI_REDUCE_CHUNK, /* elements of a run: at most 4 KiB */
    KERNEL(tile) = 8,                  /* contiguous results that are gathered together */
    KERNEL(most_columns) = 64          /* contiguous results that are walked together */
};

/* The offset of the first element of result r. */
static inline int64_t KERNEL(result_offset)(const adzi_reduce_args *a, int64_t r)
{
    int64_t offset = 0;
    for (int d = a->n_kept - 1; d > 0; --d) {
        offset += r % a->kept[d] * a->kept_strides[d];
        r /= a->kept[d];
    }
    return a->n_kept > 0 ? offset + r * a->kept_strides[0] : 0;
}

/* The offset of the element after `index` in the order of the reduced dimensions. There is at least
 * one such dimension. */
static inline int64_t KERNEL(next_offset)(const adzi_reduce_args *a, int64_t *index, int64_t offset)
{
    int d = a->n_reduced - 1;
    offset += a->reduced_strides[d];
    while (++index[d] == a->reduced[d] && d > 0) {
        offset += a->reduced_strides[d - 1] - a->reduced[d] * a->reduced_strides[d];
        index[d--] = 0;
    }
    return offset;
}

/* Advances index and offset to the next position of the first n reduced dimensions, the last of
 * them fastest. Returns false after the last position, and index and offset are 0 then. It needs no
 * division, where an offset computed from a number would take one per dimension. */
static inline bool KERNEL(next)(const adzi_reduce_args *a, int n, int64_t *index, int64_t *offset)
{
    for (int d = n - 1; d >= 0; --d) {
        *offset += a->reduced_strides[d];
        if (++index[d] < a->reduced[d]) {
            return true;
        }
        *offset -= a->reduced_strides[d] * a->reduced[d];
        index[d] = 0;
    }
    return false;
}

/* Whether each result has contiguous elements of one dimension, one stride lies between
 * neighbouring results, and no result is cut into blocks. */
static inline bool KERNEL(has_rows)(const adzi_reduce_args *a)
{
    return a->partial == NULL && a->n_kept == 1 && a->n_reduced == 1 && a->reduced_strides[0] == 1;
}

/* Copies elements first .. first+n-1 of w contiguous results at x; each result has its own row
 * in `rows`. Not inlined, because its setup would slow down rows that need no copy. */
static __attribute__((noinline)) void KERNEL(gather)(
    const adzi_reduce_args *a, const elem *x, int64_t first, int64_t n, int64_t w, elem *rows)
{
    int64_t index[ADZ_MAX_RANK], offset = 0;
    int inner = a->n_reduced - 1;
    for (int d = inner; d >= 0; --d) {
        index[d] = first % a->reduced[d];
        offset += index[d] * a->reduced_strides[d];
        first /= a->reduced[d];
    }
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < w; ++j) {
            rows[j * KERNEL(chunk) + i] = x[offset + j];
        }
        offset = KERNEL(next_offset)(a, index, offset);
    }
}

/* Elements first .. first+n-1 of the result at x as a contiguous run: in place if they are, else
 * gathered into `row`. */
static inline const elem *KERNEL(contiguous_run)(
    const adzi_reduce_args *a, const elem *x, int64_t first, int64_t n, elem *row)
{
    int inner = a->n_reduced - 1;
    if (inner < 0) {
        return x;
    }
    if (inner == 0 && a->reduced_strides[0] == 1) {
        return x + first;
    }
    int64_t outer = inner > 0 ? first / a->reduced[inner] : 0;
    int64_t at = first - outer * a->reduced[inner];
    if (a->reduced_strides[inner] == 1 && at + n <= a->reduced[inner]) {
        for (int d = inner - 1; d >= 0; --d) {
            at += outer % a->reduced[d] * a->reduced_strides[d];
            outer /= a->reduced[d];
        }
        return x + at;
    }
    KERNEL(gather)(a, x, first, n, 1, row);
    return row;
}

/* The number of contiguous results from r on that can be walked together, at most `most`. It is 1
 * where results are cut into blocks. */
static inline int64_t KERNEL(tile_width)(
    const adzi_reduce_args *a, int64_t r, int64_t end, int64_t most)
{
    int last = a->n_kept - 1;
    if (last < 0 || a->kept_strides[last] != 1 || a->n_reduced == 0 || a->blocks > 1) {
        return 1;
    }
    int64_t w = a->kept[last] - r % a->kept[last];
    w = w < end - r ? w : end - r;
    return w < most ? w : most;
}

/* How an operator adds rows of columns: row i begins at x + i * stride and has one element of each
 * of w columns. There are at most 512 rows. `state` holds what the operator keeps of up to 64
 * columns, and nothing if these rows are the first. */
typedef void KERNEL(row_adder)(
    void *state, const elem *x, int64_t w, int64_t rows, int64_t stride, bool first);

/* The one walk over columns: w contiguous results from r on, of at least one element each. Memory
 * is read in order, row by row. The operator's `add` decides in which order it joins the rows. The
 * elements of a column come in their order. */
INLINE void KERNEL(walk_columns)(
    const adzi_reduce_args *a, int64_t r, int64_t w, KERNEL(row_adder) * add, void *state)
{
    const int inner = a->n_reduced - 1;
    const int64_t length = a->reduced[inner], stride = a->reduced_strides[inner];
    const elem *x = (const elem *)(const void *)a->in + KERNEL(result_offset)(a, r);
    int64_t index[ADZ_MAX_RANK] = { 0 }, offset = 0;
    bool first = true;
    do {
        for (int64_t start = 0; start < length; start += KERNEL(chunk)) {
            const int64_t left = length - start;
            const int64_t rows = left < KERNEL(chunk) ? left : KERNEL(chunk);
            add(state, x + offset + start * stride, w, rows, stride, first);
            first = false;
        }
    } while (KERNEL(next)(a, inner, index, &offset));
}

/* The COLUMNS of an operator without a fast path: it computes no results. */
#define ADZI_NO_COLUMNS(a, begin, end) ((void)(a), 0)

#define REDUCTION(name, S) REDUCTION_WITH(name, S, ADZI_NO_COLUMNS)

/* COLUMNS(a, r, end) is the operator's fast path: it may compute results from r on and returns how
 * many it did, or 0. The macro expands to
 *
 *     name_more     name_run as a call, since it is used twice
 *     name_one      one result, or one block of it, chunk by chunk
 *     name_tile     w contiguous results, gathered together
 *     name_reduce   the kernel that chooses among COLUMNS, name_tile and name_one
 *     name_combine  the kernel that joins the states of blocks */
#define REDUCTION_WITH(name, S, COLUMNS)                                                       \
    static __attribute__((noinline)) void KERNEL(name##_more)(                                 \
        S * s, const elem *x, int64_t n, int64_t first, const adzi_reduce_args *a)             \
    {                                                                                          \
        KERNEL(name##_run)(s, x, n, first, a);                                                 \
    }                                                                                          \
    static void KERNEL(name##_one)(const adzi_reduce_args *a, int64_t unit)                    \
    {                                                                                          \
        int64_t r = a->blocks > 1 ? unit / a->blocks : unit;                                   \
        int64_t first = (unit - r * a->blocks) * a->block;                                     \
        int64_t last = first + a->block < a->n ? first + a->block : a->n;                      \
        const elem *x = (const elem *)(const void *)a->in + KERNEL(result_offset)(a, r);       \
        elem row[KERNEL(chunk)];                                                               \
        S s;                                                                                   \
        KERNEL(name##_start)(&s);                                                              \
        for (; first < last; first += KERNEL(chunk)) {                                         \
            int64_t n = last - first < KERNEL(chunk) ? last - first : KERNEL(chunk);           \
            KERNEL(name##_more)(&s, KERNEL(contiguous_run)(a, x, first, n, row), n, first, a); \
        }                                                                                      \
        if (a->partial != NULL) {                                                              \
            ((S *)(void *)a->partial)[unit] = s;                                               \
        } else {                                                                               \
            KERNEL(name##_end)(&s, a, r);                                                      \
        }                                                                                      \
    }                                                                                          \
    static void KERNEL(name##_tile)(const adzi_reduce_args *a, int64_t r, int64_t w)           \
    {                                                                                          \
        const elem *x = (const elem *)(const void *)a->in + KERNEL(result_offset)(a, r);       \
        elem rows[KERNEL(tile) * KERNEL(chunk)];                                               \
        S s[KERNEL(tile)];                                                                     \
        for (int64_t j = 0; j < w; ++j) {                                                      \
            KERNEL(name##_start)(&s[j]);                                                       \
        }                                                                                      \
        for (int64_t first = 0; first < a->n; first += KERNEL(chunk)) {                        \
            int64_t n = a->n - first < KERNEL(chunk) ? a->n - first : KERNEL(chunk);           \
            KERNEL(gather)(a, x, first, n, w, rows);                                           \
            for (int64_t j = 0; j < w; ++j) {                                                  \
                KERNEL(name##_more)(&s[j], rows + j * KERNEL(chunk), n, first, a);             \
            }                                                                                  \
        }                                                                                      \
        for (int64_t j = 0; j < w; ++j) {                                                      \
            KERNEL(name##_end)(&s[j], a, r + j);                                               \
        }                                                                                      \
    }                                                                                          \
    void KERNEL(name##_reduce)(const void *block, int64_t begin, int64_t end)                  \
    {                                                                                          \
        const adzi_reduce_args *a = block;                                                     \
        for (int64_t w; begin < end; begin += w) {                                             \
            w = COLUMNS(a, begin, end);                                                        \
            if (w > 0) {                                                                       \
                continue;                                                                      \
            }                                                                                  \
            w = KERNEL(tile_width)(a, begin, end, KERNEL(tile));                               \
            if (w > 1) {                                                                       \
                KERNEL(name##_tile)(a, begin, w);                                              \
            } else {                                                                           \
                KERNEL(name##_one)(a, begin);                                                  \
            }                                                                                  \
        }                                                                                      \
    }                                                                                          \
    void KERNEL(name##_combine)(const void *block, int64_t begin, int64_t end)                 \
    {                                                                                          \
        const adzi_reduce_args *a = block;                                                     \
        for (int64_t r = begin; r < end; ++r) {                                                \
            const S *part = (const S *)(const void *)a->partial + r * a->blocks;               \
            S s = part[0];                                                                     \
            for (int64_t b = 1; b < a->blocks; ++b) {                                          \
                KERNEL(name##_join)(&s, &part[b]);                                             \
            }                                                                                  \
            KERNEL(name##_end)(&s, a, r);                                                      \
        }                                                                                      \
    }
