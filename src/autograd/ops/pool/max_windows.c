#include "autograd/ops/pool/max_windows.h"

/* The largest element of each window.
 *
 *     y[p][i][j]     = the largest x[p][h][w] of window (i, j)
 *     places         = h W + w of this element, the first one of several equal ones
 *     dx[p][places] += dy[p][i][j]
 *
 * A NaN in a window makes the result NaN, and its place is that of the last NaN, as in PyTorch. The
 * node saves x, which is what most layers before a pooling have saved anyway, and finds the places
 * again in the backward. They take twice the memory of x if windows have two by two places. */

KERNEL_TABLE_FLOAT(max_windows);
KERNEL_TABLE_FLOAT(max_windows_places);
KERNEL_TABLE_FLOAT(max_windows_dx);

enum { GRAIN = 8192 }; /* elements worth a thread */

static bool read_taps(const char *op, const adzi_axis *axes, adzi_max_windows_args *args)
{
    return adzi_taps_of(op, &axes[0], false, false, &args->rows) &&
           adzi_taps_of(op, &axes[1], false, false, &args->columns);
}

/* How many units are worth a thread, if each of them has `results` results. */
static int64_t grain(const adzi_max_windows_args *args, int64_t results)
{
    const int64_t each = results * args->rows.most * args->columns.most;
    return GRAIN / (each > 0 ? each : 1) + 1;
}

/* Writes the places of the largest elements of x, which has `dtype`. */
static void find_places(adzi_max_windows_args *args, adz_tensor *places, adz_dtype dtype)
{
    args->places = (int64_t *)(void *)places->data;
    if (places->numel > 0) {
        adzi_launch(KERNEL_FOR(max_windows_places, dtype), args, places->numel / args->columns.n,
            grain(args, args->columns.n));
    }
}

adz_tensor *adzi_max_windows(adzi_call *call, int n, const adzi_axis *axes, const void *attr,
    size_t attr_size, adz_tensor **indices)
{
    const char *op = call->op->name;
    adz_tensor *x = adzi_compact(op, call->in[0]);
    adzi_max_windows_args args = { .x = NULL };
    adz_tensor *y = NULL, *places = NULL;
    if (x == NULL || !read_taps(op, axes, &args) ||
        (y = adzi_new_planes(call, (adz_dtype)x->dtype, x, n, axes)) == NULL ||
        (indices != NULL &&
            (places = call->places = adzi_new_planes(call, ADZ_I64, x, n, axes)) == NULL) ||
        !adzi_record(call, 1, &y, attr, attr_size)) {
        return NULL;
    }
    adzi_save_input(call, 0);
    args.x = x->data;
    args.y = y->data;
    if (y->numel > 0) {
        adzi_launch(KERNEL_FOR(max_windows, x->dtype), &args, y->numel / args.columns.n,
            grain(&args, args.columns.n));
    }
    if (places != NULL) {
        find_places(&args, places, (adz_dtype)x->dtype);
    }
    y = adzi_leave(call, y);
    if (indices != NULL) {
        *indices = y != NULL ? places : NULL;
    }
    return y;
}

/* The places are piecewise constant in x, so they are found without a graph, and only dy is
 * differentiated again. */
adz_status adzi_max_windows_backward(
    adzi_node *node, adz_tensor **dx, adz_tensor *const *dy, int n, const adzi_axis *axes)
{
    const char *op = node->op->name;
    adz_tensor *x = adzi_compact(op, adzi_saved_input(node, 0));
    adzi_max_windows_args args = { .x = NULL };
    if (x == NULL || !read_taps(op, axes, &args)) {
        return adzi_status(NULL);
    }
    adz_shape planes = { .rank = x->rank - n + 1 }, windows;
    for (int d = 0; d < x->rank - n; ++d) {
        planes.sizes[d] = x->sizes[d];
    }
    windows = planes;
    planes.sizes[planes.rank - 1] = args.rows.in * args.columns.in;
    windows.sizes[planes.rank - 1] = args.rows.n * args.columns.n;
    adz_tensor *places = adzi_scratch(op, ADZ_I64, windows.rank, windows.sizes);
    if (places == NULL) {
        return adzi_status(NULL);
    }
    args.x = x->data;
    find_places(&args, places, (adz_dtype)x->dtype);
    adz_tensor *zeros = adz_zeros(planes, (adz_dtype)x->dtype);
    adz_tensor *sums = adz_scatter_add(zeros, -1, places, adz_reshape(dy[0], windows));
    dx[0] = adz_reshape(sums, adzi_input_shape(node, 0));
    return adzi_status(dx[0]);
}

adz_status adzi_max_windows_fused(
    adzi_node *node, adz_tensor **dx, adz_tensor *const *dy, const adzi_axis *axes)
{
    const char *op = node->op->name;
    adz_tensor *x = adzi_compact(op, adzi_saved_input(node, 0)), *g = adzi_compact(op, dy[0]);
    adzi_max_windows_args args = { .x = NULL };
    if (x == NULL || g == NULL || !read_taps(op, axes, &args) ||
        (dx[0] = adzi_scratch_like(op, x)) == NULL) {
        return adzi_status(NULL);
    }
    args.x = x->data;
    args.dy = g->data;
    args.dx = dx[0]->data;
    const int64_t plane = args.rows.in * args.columns.in;
    if (x->numel > 0) {
        const int64_t grain = GRAIN / plane + 1;
        adzi_launch(KERNEL_FOR(max_windows_dx, x->dtype), &args, x->numel / plane, grain);
    }
    return ADZ_OK;
}
