/* Kernels of the largest element of each window.
 *
 *     max_windows          y[p][i][j] = the largest x[p][h][w] of window (i, j), and its number
 *     max_windows_indices   index h W + w of the element with this number
 *     max_windows_dx       dx = 0, then dx[p][index of (i, j)] += dy[p][i][j]
 *
 * The rows of a window are those of all its slices, of which an image has one: row k of slice s is
 * row s most + k, where `most` is the most rows of a slice. The element in row k and column l of a
 * window, counted from the first position that lies in x, has the number k most + l, where `most`
 * is the most columns of a window. A window that has
 * padding only gives -infinity and the index -1, and its gradient goes nowhere.
 *
 * max_windows compares the rows of a window first, with columns next to each other in vectors, and
 * then the columns. Its buffer holds 1024 positions. Results are computed in groups whose windows
 * fit into it. Windows that are wider or dilated are searched position by position. The usual
 * windows of two by two positions at a distance of two are computed four at a time, without a
 * branch, and so are their gradients.
 */
#ifndef elem
#define THIS_FILE "ops/pool/max_windows.kernel.c"
#include <math.h>
#include <string.h>

#include "ops/pool/max_windows.h"

/* gcc 12 and clang. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define HAS_SHUFFLES 1
#endif
#endif

#include "tensor/kernel/each_float.h"
#else

enum { KERNEL(span) = 1024 }; /* positions in the buffer */

/* An integer as wide as elem, so that the comparisons of values and of numbers use equal lanes. */
typedef __typeof__(_Generic((elem)0, double : (int64_t)0, default : (int32_t)0)) KERNEL(lane);

/* Whether x comes before y as a maximum: it is larger, or NaN. */
static inline bool KERNEL(wins)(elem x, elem y)
{
    return (x > y) | (x != x);
}

static inline void KERNEL(write_number)(const adzi_max_windows_args *a, int64_t at, int64_t number)
{
    if (a->numbers_wide) {
        ((int64_t *)a->numbers)[at] = number;
    } else {
        ((uint8_t *)a->numbers)[at] = (uint8_t)number;
    }
}

static inline int64_t KERNEL(read_number)(const adzi_max_windows_args *a, int64_t at)
{
    return a->numbers_wide ? ((const int64_t *)a->numbers)[at] : ((const uint8_t *)a->numbers)[at];
}

/* The slices and the rows of window row i, which counts those of all slices of y. */
typedef struct KERNEL(part) {
    adzi_window slices, rows;
} KERNEL(part);

static inline KERNEL(part) KERNEL(part_at)(const adzi_max_windows_args *a, int64_t i)
{
    return (KERNEL(part)){ adzi_taps_window(&a->slices, i / a->rows.n),
        a->rows.windows[i % a->rows.n] };
}

/* Where row k of slice s of a window begins in x, in elements. */
static inline int64_t KERNEL(row_at)(
    const adzi_max_windows_args *a, const KERNEL(part) * p, int64_t s, int64_t k)
{
    const int64_t slice = p->slices.start + s * a->slices.dilation;
    return (slice * a->rows.in + p->rows.start + k * a->rows.dilation) * a->columns.in;
}

/* most[w] = the largest x[h][from + w] of the rows of window row i, and which[w] = the row of the
 * window in which it lies. The first one of equal elements counts, and the last NaN. */
static void KERNEL(choose_rows)(elem *restrict most, KERNEL(lane) *restrict which,
    const elem *restrict x, const adzi_max_windows_args *a, int64_t i, int64_t from, int64_t n)
{
    const KERNEL(part) p = KERNEL(part_at)(a, i);
    const elem *restrict first = x + KERNEL(row_at)(a, &p, 0, 0) + from;
    for (int64_t w = 0; w < n; ++w) {
        most[w] = first[w];
        which[w] = 0;
    }
    for (int64_t s = 0; s < p.slices.count; ++s) {
        for (int64_t k = s == 0; k < p.rows.count; ++k) {
            const elem *restrict row = x + KERNEL(row_at)(a, &p, s, k) + from;
            const KERNEL(lane) number = (KERNEL(lane))(s * a->rows.most + k);
            for (int64_t w = 0; w < n; ++w) {
                const bool wins = KERNEL(wins)(row[w], most[w]);
                most[w] = wins ? row[w] : most[w];
                which[w] = wins ? number : which[w];
            }
        }
    }
}

/* Results first .. last - 1 of a row, and their numbers, from the largest elements of columns from
 * position `from` on. Of equal elements the one in the upper row counts, and of several NaN the one
 * in the lowest row; within a row the first one and the last one do. */
static void KERNEL(choose_columns)(const adzi_max_windows_args *a, int64_t y_row, const elem *most,
    const KERNEL(lane) * which, int64_t first, int64_t last, int64_t from)
{
    for (int64_t j = first; j < last; ++j) {
        const adzi_window p = a->columns.windows[j];
        const elem *value = most + (p.start - from);
        const KERNEL(lane) *row = which + (p.start - from);
        int64_t best = 0;
        for (int64_t l = 1; l < p.count; ++l) {
            const bool above = row[l] < row[best], is_nan = value[l] != value[l];
            const bool both_nan = is_nan & (value[best] != value[best]);
            const bool wins = (value[l] > value[best]) | ((value[l] == value[best]) & above) |
                              (is_nan & !(both_nan & above));
            best = wins ? l : best;
        }
        ((elem *)a->y)[y_row + j] = value[best];
        KERNEL(write_number)(a, y_row + j, row[best] * a->columns.most + best);
    }
}

/* The number of the largest element of window (i, j), the first one of several equal ones, found
 * position by position. */
static int64_t KERNEL(search)(
    const elem *x, const adzi_max_windows_args *a, int64_t i, int64_t j, elem *value)
{
    const KERNEL(part) p = KERNEL(part_at)(a, i);
    const adzi_window c = a->columns.windows[j];
    int64_t number = 0;
    *value = (elem)-INFINITY;
    for (int64_t line = 0; line < p.slices.count * p.rows.count; ++line) {
        const int64_t s = line / p.rows.count, k = line % p.rows.count;
        const elem *row = x + KERNEL(row_at)(a, &p, s, k) + c.start;
        for (int64_t l = 0; l < c.count; ++l) {
            const elem element = row[l * a->columns.dilation];
            if (KERNEL(wins)(element, *value)) {
                *value = element;
                number = (s * a->rows.most + k) * a->columns.most + l;
            }
        }
    }
    return number;
}

/* Whether window (i, j) has no element of x. */
static inline bool KERNEL(is_empty)(const adzi_max_windows_args *a, int64_t i, int64_t j)
{
    const KERNEL(part) p = KERNEL(part_at)(a, i);
    return p.slices.count == 0 || p.rows.count == 0 || a->columns.windows[j].count == 0;
}

/* One more than the last position of window j, whose positions are neighbours. */
static inline int64_t KERNEL(end_of)(const adzi_taps *columns, int64_t j)
{
    return columns->windows[j].start + columns->windows[j].count;
}

/* Row i of a volume x; y_row is the position of its first result in y. */
static void KERNEL(max_row)(const elem *x, const adzi_max_windows_args *a, int64_t i, int64_t y_row)
{
    elem most[KERNEL(span)], *y = (elem *)a->y + y_row;
    KERNEL(lane) which[KERNEL(span)];
    const adzi_taps *c = &a->columns;
    /* Only dilated windows can miss x. */
    const KERNEL(part) p = KERNEL(part_at)(a, i);
    const bool neighbours = c->dilation == 1 && p.slices.count > 0 && p.rows.count > 0;
    for (int64_t j = 0; j < c->n;) {
        const int64_t from = c->windows[j].start;
        int64_t last = neighbours && c->in - from <= KERNEL(span) ? c->n : j;
        while (neighbours && last < c->n && KERNEL(end_of)(c, last) - from <= KERNEL(span)) {
            ++last;
        }
        if (last == j) {
            KERNEL(write_number)(a, y_row + j, KERNEL(search)(x, a, i, j, &y[j]));
            ++j;
            continue;
        }
        const int64_t n = KERNEL(end_of)(c, last - 1) - from;
        KERNEL(choose_rows)(most, which, x, a, i, from, n);
        KERNEL(choose_columns)(a, y_row, most, which, j, last, from);
        j = last;
    }
}

/* ---- windows of two by two ----------------------------------------------------------------- */

/* A single window has no step. */
static inline bool KERNEL(every_two)(const adzi_taps *t)
{
    const bool alone = t->n == 1 && t->windows[0].start == 0;
    return (t->step == 2 || alone) && t->most == 2 && t->dilation == 1;
}

static bool KERNEL(by_two)(const adzi_max_windows_args *a)
{
    return a->slices.in == 1 && a->slices.n == 1 && adzi_taps_window(&a->slices, 0).count == 1 &&
           KERNEL(every_two)(&a->rows) && KERNEL(every_two)(&a->columns);
}

#ifdef HAS_SHUFFLES
/* Eight neighbours of a row, which belong to four windows of two by two, and one lane per window.
 */
typedef elem KERNEL(eight) __attribute__((vector_size(8 * sizeof(elem))));
typedef elem KERNEL(four) __attribute__((vector_size(4 * sizeof(elem))));
typedef KERNEL(lane) KERNEL(lanes8) __attribute__((vector_size(8 * sizeof(elem))));
typedef KERNEL(lane) KERNEL(lanes) __attribute__((vector_size(4 * sizeof(elem))));
typedef uint8_t KERNEL(bytes) __attribute__((vector_size(4)));

/* The larger one of two positions, and a mask of the lanes where it is the second one. */
#define LARGER(value, second, x, y)                                                        \
    const KERNEL(lanes) second = (KERNEL(lanes))((y) > (x)) | (KERNEL(lanes))((y) != (y)); \
    const KERNEL(four) value =                                                             \
        (KERNEL(four))(((KERNEL(lanes))(y)&second) | ((KERNEL(lanes))(x) & ~second));

/* Four windows: left with right in both rows, then the two larger ones. */
static void KERNEL(max_of_four)(
    elem *restrict y, uint8_t *restrict numbers, const elem *restrict x, int64_t width)
{
    KERNEL(eight) above, below;
    memcpy(&above, x, sizeof above);
    memcpy(&below, x + width, sizeof below);
    const KERNEL(four) a = __builtin_shufflevector(above, above, 0, 2, 4, 6);
    const KERNEL(four) b = __builtin_shufflevector(above, above, 1, 3, 5, 7);
    const KERNEL(four) c = __builtin_shufflevector(below, below, 0, 2, 4, 6);
    const KERNEL(four) d = __builtin_shufflevector(below, below, 1, 3, 5, 7);
    LARGER(upper, upper_right, a, b)
    LARGER(lower, lower_right, c, d)
    LARGER(value, is_below, upper, lower)
    const KERNEL(lanes) right = (lower_right & is_below) | (upper_right & ~is_below);
    const KERNEL(bytes) number =
        __builtin_convertvector((is_below & 2) | (right & 1), KERNEL(bytes));
    memcpy(y, &value, sizeof value);
    memcpy(numbers, &number, sizeof number);
}
#undef LARGER

/* The gradient of four windows: each of their positions keeps dy if it has the window's number. */
static void KERNEL(dx_of_four)(
    elem *restrict dx, const uint8_t *restrict numbers, const elem *restrict dy, int64_t width)
{
    const KERNEL(lanes8) above = { 0, 1, 0, 1, 0, 1, 0, 1 }, below = above + 2;
    KERNEL(bytes) bytes;
    KERNEL(four) g;
    memcpy(&bytes, numbers, sizeof bytes);
    memcpy(&g, dy, sizeof g);
    const KERNEL(lanes) number = __builtin_convertvector(bytes, KERNEL(lanes));
    const KERNEL(lanes8) of = __builtin_shufflevector(number, number, 0, 0, 1, 1, 2, 2, 3, 3);
    const KERNEL(lanes8) both =
        (KERNEL(lanes8))__builtin_shufflevector(g, g, 0, 0, 1, 1, 2, 2, 3, 3);
    const KERNEL(lanes8) dx_above = both & (of == above), dx_below = both & (of == below);
    memcpy(dx, &dx_above, sizeof dx_above);
    memcpy(dx + width, &dx_below, sizeof dx_below);
}
#endif

/* n windows of a row, whose two rows of x begin at x, with their numbers. */
static void KERNEL(max_of_two)(
    elem *restrict y, uint8_t *restrict numbers, const elem *restrict x, int64_t n, int64_t width)
{
    int64_t j = 0;
#ifdef HAS_SHUFFLES
    for (; j + 4 <= n; j += 4) {
        KERNEL(max_of_four)(y + j, numbers + j, x + 2 * j, width);
    }
#endif
    for (; j < n; ++j) {
        const elem others[] = { x[2 * j + 1], x[width + 2 * j], x[width + 2 * j + 1] };
        elem value = x[2 * j];
        uint8_t number = 0;
        for (int k = 0; k < 3; ++k) {
            const bool wins = KERNEL(wins)(others[k], value);
            number = wins ? (uint8_t)(k + 1) : number;
            value = wins ? others[k] : value;
        }
        y[j] = value;
        numbers[j] = number;
    }
}

/* The gradient of a row of windows of two by two positions at a distance of two. Every position of
 * x belongs to one window at most, so it is written and nothing is added. */
static void KERNEL(dx_of_two)(elem *restrict dx, const uint8_t *restrict numbers,
    const elem *restrict dy, int64_t n, int64_t width)
{
    int64_t j = 0;
#ifdef HAS_SHUFFLES
    for (; j + 4 <= n; j += 4) {
        KERNEL(dx_of_four)(dx + 2 * j, numbers + j, dy + j, width);
    }
#endif
    for (; j < n; ++j) {
        for (int k = 0; k < 4; ++k) {
            dx[k / 2 * width + 2 * j + k % 2] = numbers[j] == k ? dy[j] : ELEM(0);
        }
    }
}

/* ---- the kernels --------------------------------------------------------------------------- */

void KERNEL(max_windows)(const void *block, int64_t begin, int64_t end);
void KERNEL(max_windows)(const void *block, int64_t begin, int64_t end)
{
    const adzi_max_windows_args *a = block;
    const int64_t width = a->columns.in, rows = a->slices.n * a->rows.n, n = a->columns.n;
    const bool two = KERNEL(by_two)(a);
    for (int64_t u = begin; u < end; ++u) {
        const elem *x = (const elem *)a->x + u / rows * adzi_max_windows_volume(a);
        const int64_t i = u % rows;
        if (two) {
            uint8_t *numbers = (uint8_t *)a->numbers + u * n;
            KERNEL(max_of_two)((elem *)a->y + u * n, numbers, x + 2 * i * width, n, width);
        } else {
            KERNEL(max_row)(x, a, i, u * n);
        }
    }
}

/* How far the element with a number lies behind the first position of its window. */
static inline int64_t KERNEL(distance)(const adzi_max_windows_args *a, int64_t number)
{
    const int64_t line = number / a->columns.most, l = number % a->columns.most;
    const int64_t s = line / a->rows.most, k = line % a->rows.most;
    return (s * a->slices.dilation * a->rows.in + k * a->rows.dilation) * a->columns.in +
           l * a->columns.dilation;
}

void KERNEL(max_windows_indices)(const void *block, int64_t begin, int64_t end);
void KERNEL(max_windows_indices)(const void *block, int64_t begin, int64_t end)
{
    const adzi_max_windows_args *a = block;
    for (int64_t u = begin; u < end; ++u) {
        const int64_t i = u % (a->slices.n * a->rows.n);
        const KERNEL(part) p = KERNEL(part_at)(a, i);
        const int64_t row = KERNEL(row_at)(a, &p, 0, 0);
        for (int64_t j = 0; j < a->columns.n; ++j) {
            const int64_t at = u * a->columns.n + j, number = KERNEL(read_number)(a, at);
            const bool empty = KERNEL(is_empty)(a, i, j);
            const int64_t first = row + a->columns.windows[j].start;
            a->indices[at] = empty ? -1 : first + KERNEL(distance)(a, number);
        }
    }
}

/* Adds the gradient of a row of windows of any kind. `distances` has the distance of each number,
 * or is NULL. */
static void KERNEL(dx_of_row)(
    elem *dx, const adzi_max_windows_args *a, int64_t i, int64_t y_row, const int64_t *distances)
{
    const elem *dy = (const elem *)a->dy + y_row;
    const KERNEL(part) p = KERNEL(part_at)(a, i);
    if (p.slices.count == 0 || p.rows.count == 0) {
        return;
    }
    dx += KERNEL(row_at)(a, &p, 0, 0);
    for (int64_t j = 0; j < a->columns.n; ++j) {
        if (a->columns.windows[j].count == 0) {
            continue;
        }
        const int64_t number = KERNEL(read_number)(a, y_row + j);
        const int64_t far = distances != NULL ? distances[number] : KERNEL(distance)(a, number);
        dx[a->columns.windows[j].start + far] += dy[j];
    }
}

/* A unit is a volume, because windows of neighbouring rows may share their largest element. */
void KERNEL(max_windows_dx)(const void *block, int64_t begin, int64_t end);
void KERNEL(max_windows_dx)(const void *block, int64_t begin, int64_t end)
{
    const adzi_max_windows_args *a = block;
    const int64_t width = a->columns.in, rows = a->slices.n * a->rows.n, n = a->columns.n;
    const int64_t volume = adzi_max_windows_volume(a);
    const bool two = KERNEL(by_two)(a);
    int64_t distances[ADZI_NARROW_NUMBERS];
    for (int64_t k = 0; !a->numbers_wide && k < adzi_max_windows_most(a); ++k) {
        distances[k] = KERNEL(distance)(a, k);
    }
    for (int64_t u = begin; u < end; ++u) {
        elem *dx = (elem *)a->dx + u * volume;
        memset(dx, 0, (size_t)volume * sizeof *dx);
        for (int64_t i = 0; i < rows; ++i) {
            const int64_t y_row = (u * rows + i) * n;
            if (two) {
                KERNEL(dx_of_two)
                (dx + 2 * i * width, (const uint8_t *)a->numbers + y_row,
                    (const elem *)a->dy + y_row, n, width);
            } else {
                KERNEL(dx_of_row)(dx, a, i, y_row, a->numbers_wide ? NULL : distances);
            }
        }
    }
}

#endif
