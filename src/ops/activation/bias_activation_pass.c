#include <string.h>

#include "ops/activation/activation_table.h"
#include "ops/activation/bias_activation.h"
#include "ops/elementwise/elementwise.h"
#include "ops/reduction/sum.h"

/* The two passes of bias_activation, as kernels that call other kernels tile by tile: Note [Blocks
 * in the cache] in bias_activation.h.
 *
 *     forward:   y = m f(x + bias) (gate + gate_bias),   m = mask / (1 - p)
 *     backward:  g = dy m,   dgate = g f(x + bias),   dx = g (gate + gate_bias) f'(x + bias)
 *                sums over the rows of dx and of dgate, one row of sums per group
 *
 * x, gate, y, dy, dx and dgate are [n, h] and contiguous; bias and gate_bias are [h]. */

KERNEL_TABLE_FLOAT(add);
KERNEL_TABLE_FLOAT(mul);
KERNEL_TABLE_FLOAT(dropout);
KERNEL_TABLE_FLOAT(dropout_again);

enum {
    TILE = 2048,             /* most elements of a tile: 8 kB in f32, 16 kB in f64 */
    FORWARD_GROUP = 16384,   /* elements of a group of the forward, about; worth a thread */
    BACKWARD_GROUP = 65536,  /* in a backward more, because each group costs a row of sums */
    MOST_GROUPS = 64,        /* most groups of a backward, and so most rows of sums */
    MASK = ADZI_GROUP_WORDS, /* elements of one 64-bit word of the mask */
};

/* ---- tiles ---------------------------------------------------------------------------------- */

/* Whole rows if they fit into a tile, else a part of one row. Its elements are contiguous in either
 * case. The first element is x[row, column]. */
typedef struct {
    int64_t row, column, rows, columns;
} tile;

/* The arguments of both passes. */
typedef adzi_bias_activation_args pass;

/* The smaller of two numbers of rows or elements. */
static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The tile that begins at x[row, column] and ends before row `last`. If rows fit into a tile,
 * column is 0 and as many rows are taken as fit. */
static tile tile_at(const pass *a, int64_t row, int64_t column, int64_t last)
{
    if (a->h <= TILE) {
        int64_t rows = TILE / a->h;
        return (tile){ row, 0, smaller(rows, last - row), a->h };
    }
    return (tile){ row, column, 1, smaller(TILE, a->h - column) };
}

/* The tile after t in row-major order. Its row is `last` when there is none. */
static tile next_tile(const pass *a, tile t, int64_t last)
{
    bool wraps = t.column + t.columns == a->h;
    return tile_at(a, wraps ? t.row + t.rows : t.row, wraps ? 0 : t.column + t.columns, last);
}

/* The index of the tile's first element in x. */
static int64_t tile_start(const pass *a, tile t)
{
    return t.row * a->h + t.column;
}

/* A group must be a multiple of 64 elements, so that it ends with a word of the mask. The fewest
 * rows that give such a multiple are 64 divided by the greatest power of two, up to 64, that
 * divides h. */
int64_t adzi_bias_activation_groups(adzi_bias_activation_args *args, bool backward)
{
    int64_t n = args->n, h = args->h;
    if (n == 0 || h == 0) {
        return 0;
    }
    int64_t step = MASK;
    for (int64_t quotient = h; step > 1 && quotient % 2 == 0; quotient /= 2) {
        step /= 2;
    }
    /* At least one row, and in a backward enough for at most MOST_GROUPS groups. */
    int64_t rows = (backward ? BACKWARD_GROUP : FORWARD_GROUP) / h;
    int64_t least = backward ? (n + MOST_GROUPS - 1) / MOST_GROUPS : 1;
    rows = rows < least ? least : rows;
    args->rows = (rows + step - 1) / step * step;
    return (n + args->rows - 1) / args->rows;
}

/* ---- kernels on a tile ---------------------------------------------------------------------- */

/* Runs an elementwise kernel on n contiguous elements: out = k(a, b, p). b is NULL for kernels of
 * one operand. A flat call reads no field after `p`, so the others stay unset. */
static void run(adzi_kernel kernel, char *out, const char *a, const char *b, int64_t n, double p)
{
    adzi_pointwise_args args;
    args.flat = true;
    args.out = out;
    args.in[0] = a;
    args.in[1] = b;
    args.p[0] = p;
    kernel(&args, 0, n);
}

/* Adds the tile's columns of a bias to x[rows, columns]. Returns out, where the sum is written, or
 * x itself without a bias. A tile of one row is a flat sum. For several rows the bias is broadcast
 * by a row stride of 0. */
static const char *add_bias(const pass *a, char *out, const char *x, const char *bias, tile t)
{
    if (bias == NULL) {
        return x;
    }
    adzi_kernel add = KERNEL_FOR(add, a->dtype);
    bias += t.column * (int64_t)adz_dtype_size(a->dtype);
    if (t.rows == 1) {
        run(add, out, x, bias, t.columns, 0);
        return out;
    }
    adzi_pointwise_args args;
    args.flat = false;
    args.out = out;
    args.in[0] = x;
    args.in[1] = bias;
    args.n_in = args.rank = 2;
    args.sizes[0] = t.rows;
    args.sizes[1] = t.columns;
    args.out_strides[0] = args.in_strides[0][0] = t.columns;
    args.in_strides[1][0] = 0;
    args.out_strides[1] = args.in_strides[0][1] = args.in_strides[1][1] = 1;
    add(&args, 0, t.rows * t.columns);
    return out;
}

/* Computes y of one tile, up to the dropout. `from` is what the next step reads: x at first, then
 * y, over which each step writes. The sum gate + gate_bias needs its own memory, on the stack.
 */
static void forward_tile(const pass *a, tile t)
{
    double gate_sum[TILE]; /* large enough for a tile of either dtype */
    const adzi_activation_row *f = adzi_activation_row_of(a->activation);
    int64_t n = t.rows * t.columns, size = (int64_t)adz_dtype_size(a->dtype);
    int64_t at = tile_start(a, t) * size;
    char *y = a->y + at;
    const char *from = add_bias(a, y, a->x + at, a->bias, t);
    if (f->forward != NULL) {
        run(f->forward[adzi_cpu_level][a->dtype], y, from, NULL, n, f->p);
        from = y;
    }
    if (a->gate != NULL) {
        const char *gate = add_bias(a, (char *)gate_sum, a->gate + at, a->gate_bias, t);
        run(KERNEL_FOR(mul, a->dtype), y, from, gate, n, 0);
        from = y;
    }
    if (from != y) {
        memcpy(y, from, (size_t)(n * size));
    }
}

/* Computes dgate and dx of one tile, with g = dy m and z = x + bias: dgate = g f(z), and
 * dx = g (gate + gate_bias) f'(z). dgate comes first, because dx may be written over g.
 *
 * z holds f(z) instead if the activation's backward kernel reads the result. Otherwise f(z) is
 * computed in the memory of dgate, where it is multiplied by g. */
static void backward_tile(const pass *a, tile t)
{
    double z_sum[TILE], gate_sum[TILE]; /* large enough for a tile of either dtype */
    const adzi_activation_row *f = adzi_activation_row_of(a->activation);
    adzi_kernel forward = f->forward != NULL ? f->forward[adzi_cpu_level][a->dtype] : NULL;
    adzi_kernel mul = KERNEL_FOR(mul, a->dtype);
    int64_t n = t.rows * t.columns, size = (int64_t)adz_dtype_size(a->dtype);
    int64_t at = tile_start(a, t) * size;
    char *dx = a->dx + at;
    const char *g = a->drops ? dx : a->dy + at, *z = NULL;
    if (a->x != NULL) {
        z = add_bias(a, (char *)z_sum, a->x + at, a->bias, t);
        if (f->reads_result) {
            run(forward, (char *)z_sum, z, NULL, n, f->p);
            z = (char *)z_sum;
        }
    }
    if (a->dgate != NULL) {
        char *dgate = a->dgate + at;
        const char *result = z;
        if (forward != NULL && !f->reads_result) {
            run(forward, dgate, z, NULL, n, f->p);
            result = dgate;
        }
        run(mul, dgate, g, result, n, 0);
    }
    if (!a->wants_dx) {
        return;
    }
    if (a->gate != NULL) {
        const char *gate = add_bias(a, (char *)gate_sum, a->gate + at, a->gate_bias, t);
        run(mul, dx, g, gate, n, 0);
        g = dx;
    }
    if (f->backward != NULL) {
        run(f->backward[adzi_cpu_level][a->dtype], dx, g, z, n, f->p);
        g = dx;
    }
    if (g != dx) {
        memcpy(dx, g, (size_t)(n * size));
    }
}

/* ---- passes --------------------------------------------------------------------------------- */

/* The number of words of the mask that hold the bits of that many elements. */
static int64_t words_for(int64_t elements)
{
    return (elements + MASK - 1) / MASK;
}

/* Computes rows first .. last-1. The dropout follows behind the tiles: it takes the words of the
 * mask whose elements are all computed. It takes multiples of ADZI_KEEP_GROUPS words, the number
 * that its kernel draws at a time, except for the rest at the group's end. */
static void forward_group(const pass *a, int64_t first, int64_t last)
{
    /* Words of the mask, counted from the start of x: applied so far, and at the group's end. */
    int64_t dropped = first * a->h / MASK, words = words_for(last * a->h);
    for (tile t = tile_at(a, first, 0, last); t.row < last; t = next_tile(a, t, last)) {
        forward_tile(a, t);
        /* Elements before `stop` are computed, and so are the words before `ready`. */
        int64_t stop = tile_start(a, t) + t.rows * t.columns;
        int64_t ready = stop == last * a->h ? words : stop / MASK;
        if (ready < words) {
            ready -= (ready - dropped) % ADZI_KEEP_GROUPS;
        }
        if (a->drops && ready > dropped) {
            KERNEL_FOR(dropout, a->dtype)(&a->dropout, dropped, ready);
            dropped = ready;
        }
    }
}

/* Computes rows first .. last-1. The mask runs ahead of the tiles: before a tile, dy m is written
 * to dx up to the end of the tile's last word. A tile then reads it there and overwrites it. */
static void backward_group(const pass *a, int64_t first, int64_t last)
{
    int64_t dropped = first * a->h / MASK;
    for (tile t = tile_at(a, first, 0, last); t.row < last; t = next_tile(a, t, last)) {
        int64_t needed = words_for(tile_start(a, t) + t.rows * t.columns);
        if (a->drops && needed > dropped) {
            KERNEL_FOR(dropout_again, a->dtype)(&a->dropout, dropped, needed);
            dropped = needed;
        }
        backward_tile(a, t);
    }
}

/* The kernel of the forward's launch. Its inner kernels are called directly and not launched. */
void adzi_bias_activation_forward(const void *args, int64_t begin, int64_t end)
{
    const pass *a = args;
    for (int64_t g = begin; g < end; ++g) {
        forward_group(a, g * a->rows, smaller((g + 1) * a->rows, a->n));
    }
}

/* The sums of a group read its rows again, in f64, after all of them are computed. */
void adzi_bias_activation_backward(const void *args, int64_t begin, int64_t end)
{
    const pass *a = args;
    for (int64_t g = begin; g < end; ++g) {
        /* The last group may have fewer rows. */
        int64_t first = g * a->rows, last = smaller(first + a->rows, a->n);
        backward_group(a, first, last);
        int64_t at = first * a->h * (int64_t)adz_dtype_size(a->dtype);
        if (a->dx_sums != NULL) {
            adzi_sum_rows_within(a->dx_sums + g * a->h, a->dx + at, a->dtype, last - first, a->h);
        }
        if (a->dgate_sums != NULL) {
            adzi_sum_rows_within(
                a->dgate_sums + g * a->h, a->dgate + at, a->dtype, last - first, a->h);
        }
    }
}
