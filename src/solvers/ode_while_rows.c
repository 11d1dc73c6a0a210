/* Kernels for the rows of a while loop of steps: their numbers are known to launches only. */
#include "solvers/ode_while_rows.h"

#include <string.h>

#include "ops/op.h"

enum { BEGIN, LENGTH, END, SPAN };

/* ---- rows ------------------------------------------------------------------------------------ */

/* One tensor with a row for each step, and a tensor like one row. */
typedef struct row_args {
    bool keeps;   /* the row is written; else it is read */
    int64_t item; /* bytes of an element */
    int64_t numel;
    const char *at;
    char *rows, *row;
} row_args;

ADZI_ADDRESSES(row_args, at, rows, row);

static void row_kernel(const void *block, int64_t begin, int64_t end)
{
    const row_args *args = block;
    const int64_t at = *(const int64_t *)(const void *)args->at;
    char *kept = args->rows + (at * args->numel + begin) * args->item;
    char *row = args->row + begin * args->item;
    const size_t bytes = (size_t)((end - begin) * args->item);
    memcpy(args->keeps ? kept : row, args->keeps ? row : kept, bytes);
}

static void copy_row(
    bool keeps, const adz_tensor *at, const adz_tensor *rows, const adz_tensor *row)
{
    const row_args args = { keeps, (int64_t)adzi_item_size(row), row->numel, at->data, rows->data,
        row->data };
    adzi_capture_name("odeint");
    if (row->numel > 0) {
        adzi_launch(row_kernel, row_args, &args, row->numel, 1 << 16);
    }
}

typedef struct span_args {
    bool keeps;
    const char *at;
    char *spans, *begin, *length, *end;
} span_args;

ADZI_ADDRESSES(span_args, at, spans, begin, length, end);

static void span_kernel(const void *block, int64_t begin, int64_t end)
{
    const span_args *args = block;
    (void)begin;
    (void)end;
    char *const numbers[SPAN] = { args->begin, args->length, args->end };
    const int64_t at = *(const int64_t *)(const void *)args->at;
    double *span = (double *)(void *)args->spans + SPAN * at;
    for (int i = 0; i < SPAN; ++i) {
        double *number = (double *)(void *)numbers[i];
        *(args->keeps ? &span[i] : number) = *(args->keeps ? number : &span[i]);
    }
}

static void copy_span(
    bool keeps, const adz_tensor *at, const adzi_ode_rows *rows, const adzi_ode_row *row)
{
    const span_args args = { keeps, at->data, rows->spans->data, row->begin->data,
        row->length->data, row->end->data };
    adzi_capture_name("odeint");
    adzi_launch(span_kernel, span_args, &args, 1, 1);
}

bool adzi_ode_rows_new(const adzi_ode *ode, const adz_tensor *y0, bool slopes, adzi_ode_rows *rows)
{
    const char *op = ode->e.op;
    int64_t sizes[ADZ_MAX_RANK] = { ode->o.max_steps };
    memcpy(sizes + 1, y0->sizes, (size_t)y0->rank * sizeof *sizes);
    const adz_dtype dtype = (adz_dtype)y0->dtype;
    rows->states = adzi_scratch(op, dtype, y0->rank + 1, sizes);
    rows->slopes = slopes ? adzi_scratch(op, dtype, y0->rank + 1, sizes) : NULL;
    rows->spans = adzi_scratch(op, ADZ_F64, 2, (int64_t[]){ ode->o.max_steps, SPAN });
    return rows->states != NULL && (!slopes || rows->slopes != NULL) && rows->spans != NULL;
}

bool adzi_ode_rows_keep(const adzi_ode_rows *rows, const adz_tensor *at, const adzi_ode_row *row)
{
    const adz_tensor *y = adzi_compact("odeint", row->y);
    const adz_tensor *slope = rows->slopes != NULL ? adzi_compact("odeint", row->slope) : NULL;
    if (y == NULL || (rows->slopes != NULL && slope == NULL)) {
        return false;
    }
    copy_row(true, at, rows->states, y);
    if (slope != NULL) {
        copy_row(true, at, rows->slopes, slope);
    }
    copy_span(true, at, rows, row);
    return true;
}

bool adzi_ode_rows_read(
    const adzi_ode_rows *rows, const adz_tensor *at, const adz_tensor *y0, adzi_ode_row *row)
{
    const char *op = "odeint";
    const bool slopes = rows->slopes != NULL;
    row->y = adzi_scratch(op, (adz_dtype)y0->dtype, y0->rank, y0->sizes);
    row->slope = slopes ? adzi_scratch(op, (adz_dtype)y0->dtype, y0->rank, y0->sizes) : NULL;
    row->begin = adzi_scratch(op, ADZ_F64, 0, NULL);
    row->length = adzi_scratch(op, ADZ_F64, 0, NULL);
    row->end = adzi_scratch(op, ADZ_F64, 0, NULL);
    if (row->y == NULL || (slopes && row->slope == NULL) || row->begin == NULL ||
        row->length == NULL || row->end == NULL) {
        return false;
    }
    copy_row(false, at, rows->states, row->y);
    if (slopes) {
        copy_row(false, at, rows->slopes, row->slope);
    }
    copy_span(false, at, rows, row);
    return true;
}

/* ---- the times in a step --------------------------------------------------------------------- */

typedef struct inside_args {
    int64_t n_times;
    int n; /* terms */
    double of[ADZI_ODE_DENSE][ADZI_COMBINATION_TERMS];
    const char *at, *spans, *times;
    char *range, *weights;
} inside_args;

ADZI_ADDRESSES(inside_args, at, spans, times, range, weights);

/* The first time from 1 on that is not below t. */
static int64_t first_from(const double *times, int64_t n, double t)
{
    int64_t low = 1, high = n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (times[middle] < t) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void inside_kernel(const void *block, int64_t begin, int64_t end)
{
    const inside_args *args = block;
    (void)begin;
    (void)end;
    const double *times = (const double *)(const void *)args->times;
    const int64_t at = *(const int64_t *)(const void *)args->at;
    const double *span = (const double *)(const void *)args->spans + SPAN * at;
    int64_t first = first_from(times, args->n_times, span[BEGIN]);
    first += first < args->n_times && times[first] == span[BEGIN]; /* of the step before */
    const int64_t after = first_from(times, args->n_times, span[END]);
    int64_t *range = (int64_t *)(void *)args->range;
    double *weight = (double *)(void *)args->weights;
    range[0] = first;
    range[1] = after - first;
    range[2] = after < args->n_times && times[after] == span[END] ? after : -1;
    for (int64_t i = first; i < after; ++i) {
        const double p = (times[i] - span[BEGIN]) / span[LENGTH], q = 1 - p;
        for (int j = 0; j < args->n; ++j) {
            *weight++ = p * (args->of[0][j] +
                                q * (args->of[1][j] + p * (args->of[2][j] + q * args->of[3][j])));
        }
    }
}

bool adzi_ode_rows_inside(
    const adzi_ode_rows *rows, const adz_tensor *at, const adz_tensor *times, adzi_ode_inside *in)
{
    inside_args args = {
        .n_times = times->numel, .at = at->data, .spans = rows->spans->data, .times = times->data
    };
    args.n = in->n = adzi_ode_dense_terms(in->columns, args.of);
    in->range = adzi_scratch("odeint", ADZ_I64, 1, (int64_t[]){ 3 });
    in->weights = adzi_scratch("odeint", ADZ_F64, 2, (int64_t[]){ times->numel, in->n });
    if (in->range == NULL || in->weights == NULL) {
        return false;
    }
    args.range = in->range->data;
    args.weights = in->weights->data;
    adzi_capture_name("odeint");
    adzi_launch(inside_kernel, inside_args, &args, 1, 1);
    return true;
}

typedef struct end_args {
    bool is_f64;
    int64_t numel;
    const char *range, *dy;
    char *y;
} end_args;

ADZI_ADDRESSES(end_args, range, dy, y);

static void end_kernel(const void *block, int64_t begin, int64_t end)
{
    const end_args *args = block;
    const int64_t at = ((const int64_t *)(const void *)args->range)[2];
    const int64_t item = args->is_f64 ? (int64_t)sizeof(double) : (int64_t)sizeof(float);
    char *y = args->y + begin * item;
    if (at >= 0) {
        memcpy(y, args->dy + (at * args->numel + begin) * item, (size_t)((end - begin) * item));
        return;
    }
    for (int64_t i = 0; i < end - begin; ++i) {
        if (args->is_f64) {
            ((double *)(void *)y)[i] = -0.0;
        } else {
            ((float *)(void *)y)[i] = -0.0F;
        }
    }
}

adz_tensor *adzi_ode_rows_end(const adzi_ode_inside *in, const adz_tensor *dy)
{
    adz_tensor *y = adzi_scratch("odeint", (adz_dtype)dy->dtype, dy->rank - 1, dy->sizes + 1);
    if (y != NULL && y->numel > 0) {
        const end_args args = { dy->dtype == ADZ_F64, y->numel, in->range->data, dy->data,
            y->data };
        adzi_capture_name("odeint");
        adzi_launch(end_kernel, end_args, &args, y->numel, 1 << 14);
    }
    return y;
}
