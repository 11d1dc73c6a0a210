/* Kernels of the largest element of each window.
 *
 *     max_windows          y[p][i][j] = the largest x[p][h][w] of window (i, j)
 *     max_windows_places   its place h W + w
 *     max_windows_dx       dx = 0, then dx[p][place of (i, j)] += dy[p][i][j]
 *
 * max_windows compares the rows of a window first, with columns next to each other in vectors, and
 * then the columns. Its buffer holds 1024 places. Results are computed in groups whose windows fit
 * into it. Windows that are wider or dilated are searched place by place. Places are found one by
 * one. The exception are the usual windows of two by two places at a distance of two: their
 * gradients are computed for four windows at a time, without a branch.
 */
#ifndef elem
#define THIS_FILE "autograd/ops/pool/max_windows.kernel.c"
#include <math.h>
#include <string.h>

#include "autograd/ops/pool/max_windows.h"

/* gcc 12 and clang. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define HAS_SHUFFLES 1
#endif
#endif

#include "tensor/kernel/each_float.h"
#else

enum { KERNEL(span) = 1024 }; /* places in the buffer */

/* Whether x comes before y as a maximum: it is larger, or NaN. */
static inline bool KERNEL(wins)(elem x, elem y)
{
    return (x > y) | (x != x);
}

static inline elem KERNEL(larger)(elem y, elem x)
{
    return KERNEL(wins)(x, y) ? x : y;
}

/* most[w] = the largest x[h][from + w] of the rows of window row i. */
static void KERNEL(compare_rows)(elem *restrict most, const elem *restrict x, const adzi_taps *rows,
    int64_t i, int64_t width, int64_t from, int64_t n)
{
    const adzi_places p = rows->places[i];
    for (int64_t w = 0; w < n; ++w) {
        most[w] = (elem)-INFINITY;
    }
    for (int64_t k = 0; k < p.count; ++k) {
        const elem *restrict row = x + (p.start + k * rows->dilation) * width + from;
        for (int64_t w = 0; w < n; ++w) {
            most[w] = KERNEL(larger)(most[w], row[w]);
        }
    }
}

/* Results first .. last - 1 of a row from the largest elements of columns from place `from` on. */
static void KERNEL(compare_columns)(elem *restrict y, const elem *restrict most,
    const adzi_taps *columns, int64_t first, int64_t last, int64_t from)
{
    if (columns->step == 2 && columns->most == 2 && last - first > 1) {
        for (int64_t j = 0; j < last - first; ++j) {
            y[first + j] = KERNEL(larger)(most[2 * j], most[2 * j + 1]);
        }
        return;
    }
    for (int64_t j = first; j < last; ++j) {
        const adzi_places p = columns->places[j];
        elem value = (elem)-INFINITY;
        for (int64_t k = 0; k < p.count; ++k) {
            value = KERNEL(larger)(value, most[p.start - from + k]);
        }
        y[j] = value;
    }
}

/* The place of the largest element of window (i, j), the first one of several equal ones. */
static inline int64_t KERNEL(place_of)(
    const elem *x, const adzi_max_windows_args *a, int64_t i, int64_t j)
{
    const adzi_places r = a->rows.places[i], c = a->columns.places[j];
    const int64_t width = a->columns.in;
    int64_t place = r.start * width + c.start;
    elem value = (elem)-INFINITY;
    for (int64_t k = 0; k < r.count; ++k) {
        const int64_t row = (r.start + k * a->rows.dilation) * width;
        for (int64_t l = 0; l < c.count; ++l) {
            const int64_t at = row + c.start + l * a->columns.dilation;
            if (KERNEL(wins)(x[at], value)) {
                value = x[at];
                place = at;
            }
        }
    }
    return place;
}

/* One more than the last place of window j, whose places are neighbours. */
static inline int64_t KERNEL(end_of)(const adzi_taps *columns, int64_t j)
{
    return columns->places[j].start + columns->places[j].count;
}

static void KERNEL(max_row)(const elem *x, elem *y, const adzi_max_windows_args *a, int64_t i)
{
    elem most[KERNEL(span)];
    const adzi_taps *c = &a->columns;
    for (int64_t j = 0; j < c->n;) {
        const int64_t from = c->places[j].start;
        int64_t last = c->dilation == 1 && c->in - from <= KERNEL(span) ? c->n : j;
        while (c->dilation == 1 && last < c->n && KERNEL(end_of)(c, last) - from <= KERNEL(span)) {
            ++last;
        }
        if (last == j) {
            y[j] = x[KERNEL(place_of)(x, a, i, j)];
            ++j;
            continue;
        }
        const int64_t n = KERNEL(end_of)(c, last - 1) - from;
        KERNEL(compare_rows)(most, x, &a->rows, i, c->in, from, n);
        KERNEL(compare_columns)(y, most, c, j, last, from);
        j = last;
    }
}

void KERNEL(max_windows)(const void *block, int64_t begin, int64_t end);
void KERNEL(max_windows)(const void *block, int64_t begin, int64_t end)
{
    const adzi_max_windows_args *a = block;
    const int64_t plane = a->rows.in * a->columns.in;
    for (int64_t u = begin; u < end; ++u) {
        const elem *x = (const elem *)a->x + u / a->rows.n * plane;
        KERNEL(max_row)(x, (elem *)a->y + u * a->columns.n, a, u % a->rows.n);
    }
}

void KERNEL(max_windows_places)(const void *block, int64_t begin, int64_t end);
void KERNEL(max_windows_places)(const void *block, int64_t begin, int64_t end)
{
    const adzi_max_windows_args *a = block;
    const int64_t plane = a->rows.in * a->columns.in;
    for (int64_t u = begin; u < end; ++u) {
        const elem *x = (const elem *)a->x + u / a->rows.n * plane;
        for (int64_t j = 0; j < a->columns.n; ++j) {
            a->places[u * a->columns.n + j] = KERNEL(place_of)(x, a, u % a->rows.n, j);
        }
    }
}

/* An integer as wide as elem, so that the comparisons of values and of places use equal lanes. */
typedef __typeof__(_Generic((elem)0, double : (int64_t)0, default : (int32_t)0)) KERNEL(lane);

#ifdef HAS_SHUFFLES
/* Eight neighbours of a row, which belong to four windows of two by two. */
typedef elem KERNEL(eight) __attribute__((vector_size(8 * sizeof(elem))));
typedef KERNEL(lane) KERNEL(lanes) __attribute__((vector_size(8 * sizeof(elem))));

/* The larger one of two places, and a mask of the lanes where it is the second one. */
#define LARGER(value, second, x, y)                                                        \
    const KERNEL(lanes) second = (KERNEL(lanes))((y) > (x)) | (KERNEL(lanes))((y) != (y)); \
    const KERNEL(eight) value =                                                            \
        (KERNEL(eight))(((KERNEL(lanes))(y)&second) | ((KERNEL(lanes))(x) & ~second));

/* The gradient of four windows. Both lanes of a window compute the same comparisons: left with
 * right in both rows, then the two larger ones. Each of them then keeps dy or 0. */
static void KERNEL(dx_of_four)(
    elem *restrict dx, const elem *restrict x, const elem *restrict dy, int64_t width)
{
    const KERNEL(lanes) is_right = { 0, -1, 0, -1, 0, -1, 0, -1 };
    KERNEL(eight) above, below, g = { 0 };
    memcpy(&above, x, sizeof above);
    memcpy(&below, x + width, sizeof below);
    memcpy(&g, dy, sizeof g / 2);
    const KERNEL(eight) a = __builtin_shufflevector(above, above, 0, 0, 2, 2, 4, 4, 6, 6);
    const KERNEL(eight) b = __builtin_shufflevector(above, above, 1, 1, 3, 3, 5, 5, 7, 7);
    const KERNEL(eight) c = __builtin_shufflevector(below, below, 0, 0, 2, 2, 4, 4, 6, 6);
    const KERNEL(eight) d = __builtin_shufflevector(below, below, 1, 1, 3, 3, 5, 5, 7, 7);
    LARGER(upper, upper_right, a, b)
    LARGER(lower, lower_right, c, d)
    const KERNEL(lanes) is_below = (KERNEL(lanes))(lower > upper) | (KERNEL(lanes))(lower != lower);
    const KERNEL(lanes) both = (KERNEL(lanes))__builtin_shufflevector(g, g, 0, 0, 1, 1, 2, 2, 3, 3);
    const KERNEL(lanes) dx_above = both & ~is_below & ~(upper_right ^ is_right);
    const KERNEL(lanes) dx_below = both & is_below & ~(lower_right ^ is_right);
    memcpy(dx, &dx_above, sizeof dx_above);
    memcpy(dx + width, &dx_below, sizeof dx_below);
}
#undef LARGER
#endif

/* Row i of the gradient for windows of two by two places at a distance of two. Every place of x
 * belongs to one window at most, so it is written and nothing is added. */
static void KERNEL(dx_of_two)(
    elem *restrict dx, const elem *restrict x, const elem *restrict dy, int64_t n, int64_t width)
{
    const elem *restrict below = x + width;
    elem *restrict dx_below = dx + width;
    int64_t j = 0;
#ifdef HAS_SHUFFLES
    for (; j + 4 <= n; j += 4) {
        KERNEL(dx_of_four)(dx + 2 * j, x + 2 * j, dy + j, width);
    }
#endif
    for (; j < n; ++j) {
        const elem v1 = x[2 * j + 1], v2 = below[2 * j], v3 = below[2 * j + 1], g = dy[j];
        elem value = x[2 * j];
        KERNEL(lane) place = 0;
        place = KERNEL(wins)(v1, value) ? 1 : place;
        value = KERNEL(larger)(value, v1);
        place = KERNEL(wins)(v2, value) ? 2 : place;
        value = KERNEL(larger)(value, v2);
        place = KERNEL(wins)(v3, value) ? 3 : place;
        dx[2 * j] = place == 0 ? g : ELEM(0);
        dx[2 * j + 1] = place == 1 ? g : ELEM(0);
        dx_below[2 * j] = place == 2 ? g : ELEM(0);
        dx_below[2 * j + 1] = place == 3 ? g : ELEM(0);
    }
}

static inline bool KERNEL(by_two)(const adzi_taps *t)
{
    return t->step == 2 && t->most == 2 && t->dilation == 1;
}

/* A unit is a plane, because windows of neighbouring rows may share their largest element. */
void KERNEL(max_windows_dx)(const void *block, int64_t begin, int64_t end);
void KERNEL(max_windows_dx)(const void *block, int64_t begin, int64_t end)
{
    const adzi_max_windows_args *a = block;
    const int64_t width = a->columns.in, plane = a->rows.in * width, n = a->columns.n;
    const bool two = KERNEL(by_two)(&a->rows) && KERNEL(by_two)(&a->columns);
    for (int64_t u = begin; u < end; ++u) {
        const elem *x = (const elem *)a->x + u * plane;
        const elem *dy = (const elem *)a->dy + u * a->rows.n * n;
        elem *dx = (elem *)a->dx + u * plane;
        memset(dx, 0, (size_t)plane * sizeof *dx);
        for (int64_t i = 0; i < a->rows.n; ++i, dy += n) {
            if (two) {
                KERNEL(dx_of_two)(dx + 2 * i * width, x + 2 * i * width, dy, n, width);
                continue;
            }
            for (int64_t j = 0; j < n; ++j) {
                dx[KERNEL(place_of)(x, a, i, j)] += dy[j];
            }
        }
    }
}

#endif
