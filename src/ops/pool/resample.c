#include "ops/pool/resample.h"

KERNEL_TABLE_FLOAT(resample);

enum { GRAIN = 8192 }; /* elements worth a thread */

static bool read_taps(
    const char *op, const adzi_axis *axes, bool transposed, adzi_resample_args *args)
{
    return adzi_taps_of_depth(op, &axes[ADZI_DEPTH], true, transposed, &args->slices) &&
           adzi_taps_of(op, &axes[ADZI_ROWS], true, transposed, &args->rows) &&
           adzi_taps_of(op, &axes[ADZI_COLUMNS], true, transposed, &args->columns);
}

static void launch(const adzi_resample_args *args, const adz_tensor *y)
{
    if (y->numel > 0) {
        /* A unit reads the rows of its window and writes one row. */
        const int64_t each =
            args->slices.most * args->rows.most * args->columns.in + args->columns.n;
        adzi_launch(KERNEL_FOR(resample, y->dtype), adzi_resample_args, args,
            y->numel / args->columns.n, adzi_grain_of(GRAIN, each));
    }
}

/* The tables of the windows are made before the recording, because memory may be refused. */
static bool prepare(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    adzi_resampling *r = block;
    r->args.x = in[0]->data;
    r->args.y = y[0]->data;
    return read_taps(call->op->name, r->w.axes, false, &r->args);
}

static void launch_call(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    (void)in;
    launch(&((const adzi_resampling *)block)->args, y[0]);
}

adz_tensor *adzi_resample_call(const adzi_op *op, adz_tensor *x, adzi_resampling *call)
{
    static const adzi_steps steps = {
        .prepare = prepare, .save = adzi_save_nothing, .launch = launch_call
    };
    call->w.op = op->name;
    return ADZI_RUN_STEPS(op, steps, call, x);
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
    args.x = g->data;
    args.y = dx[0]->data;
    launch(&args, dx[0]);
    return ADZ_OK;
}

adz_tensor *adzi_resample_expression(
    const char *op, adz_tensor *x, int n, const adzi_axis *axes, double scale)
{
    const adz_dtype dtype = (adz_dtype)adz_tensor_dtype(x);
    adz_tensor *b = adzi_axis_matrix(op, &axes[ADZI_COLUMNS], dtype), *y = x;
    if (n >= 2) {
        y = adz_matmul(adzi_axis_matrix(op, &axes[ADZI_ROWS], dtype), y);
    }
    y = adz_matmul(y, adz_transpose(b, 0, 1));
    if (n == 3 && y != NULL) { /* along the depth, a slice is one row */
        adz_shape shape = adz_shape_of(y->rank, y->sizes);
        y = adz_matmul(adzi_axis_matrix(op, &axes[ADZI_DEPTH], dtype), adz_flatten(y, -2, -1));
        shape.sizes[shape.rank - 3] = axes[ADZI_DEPTH].out;
        y = adz_reshape(y, shape);
    }
    return scale == 1 ? y : adz_mul_number(y, scale);
}
