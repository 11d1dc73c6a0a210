/* Factors and solves of small matrices in lanes: Note [Lanes of matrices] in matrix_lanes.h.
 * Included after the element type is known.
 *
 * Each lane takes the operations of factor_panel and solve_triangle (triangular.kernel.c) and
 * factor_block (cholesky.kernel.c) in their order, so it has their bits.
 *
 * Where registers are short, the lanes of an element are several vectors. A function that takes
 * vectors computes the lanes of one; its caller goes through all `parts` of them. */
#include "ops/linalg/decomposition/loops/matrix_lanes.h"
#include "tensor/kernel/transpose.kernel.h"

/* The lanes of an element in f32 are 32 bytes. */
#undef LANE_BYTES
#define LANE_BYTES (ELEM_IS_F32 && ADZI_REGISTER_BYTES > 32 ? 32 : ADZI_REGISTER_BYTES)

typedef elem KERNEL(lanes) __attribute__((vector_size(LANE_BYTES), may_alias));
#if ELEM_IS_F32
typedef int32_t KERNEL(mask) __attribute__((vector_size(LANE_BYTES)));
#else
typedef int64_t KERNEL(mask) __attribute__((vector_size(LANE_BYTES)));
#endif

enum {
    KERNEL(width) = LANE_BYTES / sizeof(elem),        /* lanes of a vector */
    KERNEL(parts) = ADZI_MATRIX_LANES / KERNEL(width) /* vectors of an element */
};

/* Where element i of a matrix begins, and its vector in the part of the lanes that `a` points to.
 */
#undef LANE
#define LANE(i) ((i)*ADZI_MATRIX_LANES)
#undef AT
#define AT(a, i) (a)[(i)*KERNEL(parts)]

/* x in the lanes of a mask, and y in the others; both are vectors. */
INLINE KERNEL(lanes) KERNEL(pick)(KERNEL(mask) mask, KERNEL(lanes) x, KERNEL(lanes) y)
{
    return (KERNEL(lanes))(((KERNEL(mask))x & mask) | ((KERNEL(mask))y & ~mask));
}

/* The largest matrix. */
typedef elem KERNEL(room)[LANE(ADZI_LANES_MOST * ADZI_LANES_MOST)] __attribute__((aligned(64)));

/* Several matrices, a lane each. Lanes without a matrix repeat the last one. */
typedef struct KERNEL(group) {
    const elem *from[ADZI_MATRIX_LANES];
} KERNEL(group);

/* Several matrices, `stride` elements apart. */
static inline KERNEL(group) KERNEL(group_of)(const elem *a, int64_t stride, int64_t matrices)
{
    KERNEL(group) g;
    for (int l = 0; l < ADZI_MATRIX_LANES; ++l) {
        g.from[l] = a + (l < matrices ? l : matrices - 1) * stride;
    }
    return g;
}

/* Loads matrices of m rows and n columns. */
static inline void KERNEL(load_lanes)(
    elem *restrict to, const KERNEL(group) * g, int64_t m, int64_t n, int64_t ld)
{
    const int64_t stride = g->from[1] - g->from[0];
    bool even = ld == n;
    for (int l = 2; l < ADZI_MATRIX_LANES; ++l) {
        even &= g->from[l] - g->from[l - 1] == stride;
    }
    if (even) {
        KERNEL(transpose)
        (to, ADZI_MATRIX_LANES, g->from[0], stride, m * n, ADZI_MATRIX_LANES);
        return;
    }
    for (int l = 0; l < ADZI_MATRIX_LANES; ++l) {
        const elem *from = g->from[l];
        for (int64_t i = 0; i < m; ++i) {
            for (int64_t j = 0; j < n; ++j) {
                to[LANE(i * n + j) + l] = from[i * ld + j];
            }
        }
    }
}

/* Writes the first `matrices` lanes of `count` elements, `stride` elements apart. */
static inline void KERNEL(store_lanes)(
    elem *restrict to, int64_t stride, int64_t matrices, const elem *from, int64_t count)
{
    KERNEL(transpose)(to, stride, from, ADZI_MATRIX_LANES, matrices, count);
}

/* Finds the row of the pivot of column j in each lane. */
static inline KERNEL(lanes) KERNEL(pivot_lanes)(const KERNEL(lanes) * a, int64_t n, int64_t j)
{
    const KERNEL(lanes) none = { 0 };
    KERNEL(lanes) most = AT(a, j * n + j), at = none + (elem)j;
    most = KERNEL(pick)(most < none, -most, most);
    for (int64_t i = j + 1; i < n; ++i) {
        const KERNEL(lanes) e = AT(a, i * n + j), size = KERNEL(pick)(e < none, -e, e);
        at = KERNEL(pick)(size > most, none + (elem)i, at);
        most = KERNEL(pick)(size > most, size, most);
    }
    return at;
}

/* Whether a lane is in the mask. */
static inline bool KERNEL(any_lane)(KERNEL(mask) m)
{
    int64_t any = 0;
    for (int l = 0; l < KERNEL(width); ++l) {
        any |= m[l];
    }
    return any != 0;
}

/* Exchanges rows j and `at` of each lane, where at >= j. A row that no lane exchanges costs one
 * test. In systems of implicit methods that is most rows, because pivots usually are on the
 * diagonal. */
static inline void KERNEL(exchange_lanes)(KERNEL(lanes) * a, int64_t n, int64_t j, KERNEL(lanes) at)
{
    const KERNEL(lanes) none = { 0 };
    for (int64_t i = j + 1; i < n; ++i) {
        const KERNEL(mask) here = (KERNEL(mask))(at == none + (elem)i);
        if (!KERNEL(any_lane)(here)) {
            continue;
        }
        for (int64_t c = 0; c < n; ++c) {
            const KERNEL(lanes) top = AT(a, j * n + c), e = AT(a, i * n + c);
            AT(a, j * n + c) = KERNEL(pick)(here, e, top);
            AT(a, i * n + c) = KERNEL(pick)(here, top, e);
        }
    }
}

/* LU factors. Writes the pivots[n] of each lane. Returns its first pivot that is 0, counted from 1,
 * or 0; such a pivot takes nothing from the rows below it. */
static inline KERNEL(lanes)
    KERNEL(factor_lanes)(KERNEL(lanes) * a, int64_t n, KERNEL(lanes) * pivots)
{
    const KERNEL(lanes) none = { 0 };
    KERNEL(lanes) found = none;
    for (int64_t j = 0; j < n; ++j) {
        AT(pivots, j) = KERNEL(pivot_lanes)(a, n, j);
        KERNEL(exchange_lanes)(a, n, j, AT(pivots, j));
        const KERNEL(lanes) *row = a + j * n * KERNEL(parts);
        const KERNEL(mask) zero = (KERNEL(mask))(AT(row, j) == none);
        const KERNEL(lanes) top = KERNEL(pick)(zero, none + 1, AT(row, j));
        const bool regular = !KERNEL(any_lane)(zero);
        found = KERNEL(pick)(zero & (KERNEL(mask))(found == none), none + (elem)(j + 1), found);
        for (int64_t i = j + 1; i < n; ++i) {
            KERNEL(lanes) *below = a + i * n * KERNEL(parts);
            const KERNEL(lanes) factor = AT(below, j) / top;
            AT(below, j) = factor;
            for (int64_t c = j + 1; c < n; ++c) {
                const KERNEL(lanes) e = AT(below, c), less = e - factor * AT(row, c);
                AT(below, c) = regular ? less : KERNEL(pick)(zero, e, less);
            }
        }
    }
    return found;
}

/* x[n, k] = op(t)^-1 x for matrices t[n, n], of which op(t) is one triangle. */
static inline void KERNEL(solve_lanes)(const KERNEL(lanes) * t, int64_t n, bool transposed,
    bool upper, bool unit, KERNEL(lanes) * x, int64_t k)
{
    const int64_t row = transposed ? 1 : n, column = transposed ? n : 1;
    for (int64_t step = 0; step < n; ++step) {
        const int64_t i = upper ? n - 1 - step : step;
        /* the order in which solve_column and solve_block go through the solved rows */
        const int64_t first = !upper ? 0 : k == 1 ? n - 1 : i + 1, by = upper && k == 1 ? -1 : 1;
        for (int64_t c = 0; c < k; ++c) {
            KERNEL(lanes) sum = AT(x, i * k + c);
            for (int64_t s = 0, j = first; s < step; ++s, j += by) {
                sum -= AT(t, i * row + j * column) * AT(x, j * k + c);
            }
            if (!unit) {
                sum /= AT(t, i * n + i);
            }
            AT(x, i * k + c) = sum;
        }
    }
}

/* How many of the `left` matrices of n rows and columns are factored together: one if they are
 * large. */
static inline int64_t KERNEL(matrices_together)(int64_t n, int64_t left)
{
    return n > 0 && n <= ADZI_LANES_MOST ? adzi_lanes_of(left, ADZI_MATRIX_LANES) : 1;
}

/* Copies matrix `item` of n rows and columns to where it is factored, and returns that. */
static inline elem *KERNEL(copied_matrix)(void *to, const void *from, int64_t item, int64_t n)
{
    elem *a = (elem *)to + item * n * n;
    if (n > 0) {
        memcpy(a, (const elem *)from + item * n * n, (size_t)(n * n) * sizeof *a);
    }
    return a;
}
