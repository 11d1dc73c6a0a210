#include <string.h>

#include "autograd/ops/activation/activation_table.h"
#include "autograd/ops/activation/bias_activation.h"
#include "autograd/ops/elementwise.h"
#include "autograd/ops/reduction/sum.h"

KERNEL_TABLE_FLOAT(add);
KERNEL_TABLE_FLOAT(mul);
KERNEL_TABLE_FLOAT(dropout);
KERNEL_TABLE_FLOAT(dropout_again);

enum {
    TILE = 2048,             /* elements that pass from kernel to kernel */
    FORWARD_GROUP = 16384,   /* elements worth a thread */
    BACKWARD_GROUP = 65536,  /* more, as each costs a row of sums */
    MOST_GROUPS = 64,        /* of a backward */
    MASK = ADZI_GROUP_WORDS, /* elements of one word of the mask */
};

/* ---- tiles ---------------------------------------------------------------------------------- */

/* A few rows, or a part of one: contiguous in either case. */
typedef struct {
    int64_t row, column, rows, columns;
} tile;

typedef adzi_bias_activation_args pass;

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static tile tile_at(const pass *a, int64_t row, int64_t column, int64_t last)
{
    if (a->h <= TILE) {
        int64_t rows = TILE / a->h;
        return (tile){ row, 0, smaller(rows, last - row), a->h };
    }
    return (tile){ row, column, 1, smaller(TILE, a->h - column) };
}

static tile next_tile(const pass *a, tile t, int64_t last)
{
    bool wraps = t.column + t.columns == a->h;
    return tile_at(a, wraps ? t.row + t.rows : t.row, wraps ? 0 : t.column + t.columns, last);
}

static int64_t tile_start(const pass *a, tile t)
{
    return t.row * a->h + t.column;
}

int64_t adzi_bias_activation_groups(adzi_bias_activation_args *args, bool backward)
{
    int64_t n = args->n, h = args->h;
    if (n == 0 || h == 0) {
        return 0;
    }
    int64_t step = MASK; /* rows that end with a word of the mask */
    for (int64_t twos = h; step > 1 && twos % 2 == 0; twos /= 2) {
        step /= 2;
    }
    int64_t rows = (backward ? BACKWARD_GROUP : FORWARD_GROUP) / h;
    int64_t least = backward ? (n + MOST_GROUPS - 1) / MOST_GROUPS : 1;
    rows = rows < least ? least : rows;
    args->rows = (rows + step - 1) / step * step;
    return (n + args->rows - 1) / args->rows;
}

/* ---- kernels on a tile ---------------------------------------------------------------------- */

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

/* out[rows, columns] = x + bias's part, out side by side as x is. */
static void add_bias(const pass *a, char *out, const char *x, const char *bias, tile t)
{
    adzi_kernel add = KERNEL_FOR(add, a->dtype);
    bias += t.column * (int64_t)adz_dtype_size(a->dtype);
    if (t.rows == 1) {
        run(add, out, x, bias, t.columns, 0);
        return;
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
}

static void forward_tile(const pass *a, tile t)
{
    double room[TILE];
    const adzi_activation_row *f = adzi_activation_row_of(a->activation);
    int64_t n = t.rows * t.columns, size = (int64_t)adz_dtype_size(a->dtype);
    int64_t at = tile_start(a, t) * size;
    char *y = a->y + at;
    const char *from = a->x + at;
    if (a->bias != NULL) {
        add_bias(a, y, from, a->bias, t);
        from = y;
    }
    if (f->forward != NULL) {
        run(f->forward[adzi_cpu_level][a->dtype], y, from, NULL, n, f->p);
        from = y;
    }
    if (a->gate != NULL) {
        const char *gate = a->gate + at;
        if (a->gate_bias != NULL) {
            add_bias(a, (char *)room, gate, a->gate_bias, t);
            gate = (char *)room;
        }
        run(KERNEL_FOR(mul, a->dtype), y, from, gate, n, 0);
        from = y;
    }
    if (from != y) {
        memcpy(y, from, (size_t)(n * size));
    }
}

/* With g the gradient behind the dropout: dgate = g f(z), dx = f'(g (gate + gate_bias), z). */
static void backward_tile(const pass *a, tile t)
{
    double room[2][TILE];
    char *own = (char *)room[0];
    const adzi_activation_row *f = adzi_activation_row_of(a->activation);
    adzi_kernel forward = f->forward != NULL ? f->forward[adzi_cpu_level][a->dtype] : NULL;
    adzi_kernel mul = KERNEL_FOR(mul, a->dtype);
    int64_t n = t.rows * t.columns, size = (int64_t)adz_dtype_size(a->dtype);
    int64_t at = tile_start(a, t) * size;
    char *dx = a->dx + at;
    const char *g = a->drops ? dx : a->dy + at, *z = NULL;
    if (a->x != NULL) {
        z = a->x + at;
        if (a->bias != NULL) {
            add_bias(a, own, z, a->bias, t);
            z = own;
        }
        if (f->reads_result) {
            run(forward, own, z, NULL, n, f->p);
            z = own;
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
        const char *gate = a->gate + at;
        if (a->gate_bias != NULL) {
            add_bias(a, (char *)room[1], gate, a->gate_bias, t);
            gate = (char *)room[1];
        }
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

/* Words of the mask that hold the bits of so many elements. */
static int64_t words_to(int64_t elements)
{
    return (elements + MASK - 1) / MASK;
}

static void forward_group(const pass *a, int64_t first, int64_t last)
{
    int64_t dropped = first * a->h / MASK, words = words_to(last * a->h);
    for (tile t = tile_at(a, first, 0, last); t.row < last; t = next_tile(a, t, last)) {
        forward_tile(a, t);
        int64_t stop = tile_start(a, t) + t.rows * t.columns;
        int64_t ready = stop == last * a->h ? words : stop / MASK;
        if (ready < words) { /* in the number that the kernel draws at a time */
            ready -= (ready - dropped) % ADZI_KEEP_GROUPS;
        }
        if (a->drops && ready > dropped) {
            KERNEL_FOR(dropout, a->dtype)(&a->dropout, dropped, ready);
            dropped = ready;
        }
    }
}

static void backward_group(const pass *a, int64_t first, int64_t last)
{
    int64_t dropped = first * a->h / MASK;
    for (tile t = tile_at(a, first, 0, last); t.row < last; t = next_tile(a, t, last)) {
        int64_t needed = words_to(tile_start(a, t) + t.rows * t.columns);
        if (a->drops && needed > dropped) {
            KERNEL_FOR(dropout_again, a->dtype)(&a->dropout, dropped, needed);
            dropped = needed;
        }
        backward_tile(a, t);
    }
}

void adzi_bias_activation_forward(const void *args, int64_t begin, int64_t end)
{
    const pass *a = args;
    for (int64_t g = begin; g < end; ++g) {
        forward_group(a, g * a->rows, smaller((g + 1) * a->rows, a->n));
    }
}

void adzi_bias_activation_backward(const void *args, int64_t begin, int64_t end)
{
    const pass *a = args;
    for (int64_t g = begin; g < end; ++g) {
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
