#include "ops/pool/resample.h"

KERNEL_TABLE_FLOAT(resample);

enum { GRAIN = 8192 }; /* elements worth a thread */

static bool read_taps(
    const char *op, const adzi_axis *axes, bool transposed, adzi_resample_args *args)
{
    return adzi_taps_of(op, &axes[0], true, transposed, &args->rows) &&
           adzi_taps_of(op, &axes[1], true, transposed, &args->columns);
}

static void launch(adzi_resample_args *args, adz_tensor *y, const adz_tensor *x)
{
    args->x = x->data;
    args->y = y->data;
    if (y->numel > 0) {
        /* A unit reads the rows of its window and writes one row. */
        const int64_t each = args->rows.most * args->columns.in + args->columns.n;
        adzi_launch(KERNEL_FOR(resample, x->dtype), adzi_resample_args, args,
            y->numel / args->columns.n, adzi_grain_of(GRAIN, each));
    }
}

adz_tensor *adzi_resample_call(
    adzi_call *call, int n, const adzi_axis *axes, double scale, const void *attr, size_t attr_size)
{
    const char *op = call->op->name;
    adz_tensor *x = adzi_compact(op, call->in[0]), *y = NULL;
    adzi_resample_args args = { .scale = scale };
    if (x == NULL || !read_taps(op, axes, false, &args) ||
        (y = adzi_new_planes(call, (adz_dtype)x->dtype, x, n, axes)) == NULL ||
        !adzi_record(call, 1, &y, attr, attr_size)) {
        return NULL;
    }
    launch(&args, y, x);
    return adzi_leave(call, y);
}

adz_status adzi_resample_fused(
    adzi_node *node, adz_tensor **dx, adz_tensor *const *dy, const adzi_axis *axes, double scale)
{
    const char *op = node->op->name;
    const adz_shape shape = adzi_input_shape(node, 0);
    adz_tensor *g = adzi_compact(op, dy[0]);
    adzi_resample_args args = { .scale = scale };
    if (g == NULL || !read_taps(op, axes, true, &args) ||
        (dx[0] = adzi_scratch(op, (adz_dtype)g->dtype, shape.rank, shape.sizes)) == NULL) {
        return adzi_status(NULL);
    }
    launch(&args, dx[0], g);
    return ADZ_OK;
}

adz_tensor *adzi_resample_expression(
    const char *op, adz_tensor *x, int n, const adzi_axis *axes, double scale)
{
    const adz_dtype dtype = (adz_dtype)adz_tensor_dtype(x);
    adz_tensor *b = adzi_axis_matrix(op, &axes[1], dtype), *y = x;
    if (n == 2) {
        y = adz_matmul(adzi_axis_matrix(op, &axes[0], dtype), y);
    }
    y = adz_matmul(y, adz_transpose(b, 0, 1));
    return scale == 1 ? y : adz_mul_number(y, scale);
}
