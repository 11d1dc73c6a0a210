#include "ops/pool/max_windows.h"

/* The largest element of each window.
 *
 *     y[p][i][j]     = the largest x[p][h][w] of window (i, j)
 *     indices        = h W + w of this element, the first one of several equal ones
 *     dx[p][indices] += dy[p][i][j]
 *
 * and likewise for volumes, with the index (d H + h) W + w.
 * A NaN in a window makes the result NaN, and its position is that of the last NaN, as in PyTorch.
 * The node saves which element of its window is the largest. This takes a byte per result, a
 * sixteenth of the memory of x if windows have two by two elements. x is not saved, so it can be
 * freed here, unless the layer before the pooling has saved it. While a function is traced, the
 * node saves the positions as well. They are a result of the call then, from which recorded
 * operators compute the gradient. */

KERNEL_TABLE_FLOAT(max_windows);
KERNEL_TABLE_FLOAT(max_windows_indices);
KERNEL_TABLE_FLOAT(max_windows_dx);

enum { GRAIN = 8192 };             /* elements worth a thread */
enum { NUMBERS, INDICES, EXTRAS }; /* what the node saves; positions in a trace only */

static bool read_taps(const char *op, const adzi_axis *axes, adzi_max_windows_args *args)
{
    return adzi_taps_of_depth(op, &axes[ADZI_DEPTH], false, false, &args->slices) &&
           adzi_taps_of(op, &axes[ADZI_ROWS], false, false, &args->rows) &&
           adzi_taps_of(op, &axes[ADZI_COLUMNS], false, false, &args->columns);
}

/* How many units are worth a thread, if each of them has `results` results. */
static int64_t grain(const adzi_max_windows_args *args, int64_t results)
{
    return adzi_grain_of(GRAIN, results * adzi_max_windows_most(args));
}

/* A tensor that holds, for each result, the offset inside its window of the largest element. */
static adz_tensor *new_numbers(adzi_call *call, adzi_max_windows_args *args, const adz_tensor *y)
{
    args->numbers_wide = adzi_max_windows_most(args) > ADZI_NARROW_NUMBERS;
    adz_tensor *numbers = adzi_new(call, args->numbers_wide ? ADZ_I64 : ADZ_U8, y->rank, y->sizes);
    args->numbers = numbers != NULL ? numbers->data : NULL;
    return numbers;
}

/* Writes the indices of the largest elements from their numbers. `dtype` is that of x; it chooses
 * one of two kernels that do the same. */
static void find_indices(
    const adzi_max_windows_args *args, const adz_tensor *found, adz_dtype dtype)
{
    if (found->numel > 0) {
        adzi_launch(KERNEL_FOR(max_windows_indices, dtype), adzi_max_windows_args, args,
            found->numel / args->columns.n, grain(args, args->columns.n));
    }
}

/* The node keeps the numbers, and in a trace the indices as well. */
static bool prepare(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    adzi_max_windows_call *c = block;
    const bool traced = call->record && call->thread->tracer != NULL;
    c->args = (adzi_max_windows_args){ .x = in[0]->data, .y = y[0]->data };
    if (!read_taps(call->op->name, c->w.axes, &c->args)) {
        return false;
    }
    if (c->wants_indices || traced) {
        c->found = call->second = adzi_new(call, ADZ_I64, y[0]->rank, y[0]->sizes);
    }
    y[1 + NUMBERS] = new_numbers(call, &c->args, y[0]);
    y[1 + INDICES] = traced ? c->found : NULL;
    c->args.indices = c->found != NULL ? (int64_t *)(void *)c->found->data : NULL;
    return y[1 + NUMBERS] != NULL && (c->found != NULL || !(c->wants_indices || traced));
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const adzi_max_windows_call *c = block;
    const int64_t columns = c->args.columns.n;
    (void)in;
    if (y[0]->numel > 0) {
        adzi_launch(KERNEL_FOR(max_windows, y[0]->dtype), adzi_max_windows_args, &c->args,
            y[0]->numel / columns, grain(&c->args, columns));
    }
    if (c->found != NULL) {
        find_indices(&c->args, c->found, (adz_dtype)y[0]->dtype);
    }
}

adz_tensor *adzi_max_windows(
    const adzi_op *op, adz_tensor *x, adzi_max_windows_call *call, adz_tensor **indices)
{
    static const adzi_steps steps = {
        .prepare = prepare, .save = adzi_save_nothing, .launch = launch, .n_kept = EXTRAS
    };
    call->w.op = op->name;
    call->wants_indices = indices != NULL;
    call->found = NULL;
    adz_tensor *y = ADZI_RUN_STEPS(op, steps, call, x);
    if (indices != NULL) {
        *indices = y != NULL ? call->found : NULL;
    }
    return y;
}

/* Reads the windows and the saved numbers. False with the error recorded if memory was refused. */
static bool read_saved(adzi_node *node, const adzi_axis *axes, adzi_max_windows_args *args)
{
    adz_tensor *numbers = adzi_saved_extra(node, NUMBERS);
    if (numbers == NULL || !read_taps(node->op->name, axes, args)) {
        return false;
    }
    args->numbers = numbers->data;
    args->numbers_wide = numbers->dtype == ADZ_I64;
    return true;
}

/* Whether a window has no position of x, but padding only. */
static bool some_empty(const adzi_taps *t)
{
    bool found = false;
    for (int64_t j = 0; j < t->n; ++j) {
        found |= adzi_taps_window(t, j).count == 0;
    }
    return found;
}

/* The indices of the largest elements: those that a traced call has saved, or as the numbers say.
 */
static adz_tensor *indices_of(
    adzi_node *node, adzi_max_windows_args *args, adz_shape windows, adz_dtype dtype)
{
    if (node->extras[INDICES].saved != NULL) {
        return adz_reshape(adzi_saved_extra(node, INDICES), windows);
    }
    adz_tensor *found = adzi_scratch(node->op->name, ADZ_I64, windows.rank, windows.sizes);
    if (found != NULL) {
        args->indices = (int64_t *)(void *)found->data;
        find_indices(args, found, dtype);
    }
    return found;
}

/* The positions are piecewise constant in x, so they are found without a graph, and only dy is
 * differentiated again. */
adz_status adzi_max_windows_backward(
    adzi_node *node, adz_tensor **dx, adz_tensor *const *dy, int n, const adzi_axis *axes)
{
    const adz_shape x = adzi_input_shape(node, 0);
    const adz_dtype dtype = (adz_dtype)dy[0]->dtype;
    adzi_max_windows_args args = { .x = NULL };
    if (!read_saved(node, axes, &args)) {
        return adzi_status(NULL);
    }
    adz_shape planes = { .rank = x.rank - n + 1 }, windows;
    for (int d = 0; d < x.rank - n; ++d) {
        planes.sizes[d] = x.sizes[d];
    }
    windows = planes;
    planes.sizes[planes.rank - 1] = adzi_max_windows_volume(&args);
    windows.sizes[planes.rank - 1] = args.slices.n * args.rows.n * args.columns.n;
    adz_tensor *found = indices_of(node, &args, windows, dtype);
    adz_tensor *zeros = adz_zeros(planes, dtype), *g = adz_reshape(dy[0], windows);
    if (some_empty(&args.slices) || some_empty(&args.rows) || some_empty(&args.columns)) {
        adz_tensor *empty = adz_lt_number(found, 0);
        found = adz_masked_fill(found, empty, 0);
        g = adz_masked_fill(g, empty, 0);
    }
    adz_tensor *sums = adz_scatter_add(zeros, -1, found, g);
    dx[0] = adz_reshape(sums, x);
    return adzi_status(dx[0]);
}

adz_status adzi_max_windows_fused(
    adzi_node *node, adz_tensor **dx, adz_tensor *const *dy, const adzi_axis *axes)
{
    const char *op = node->op->name;
    const adz_shape x = adzi_input_shape(node, 0);
    adz_tensor *g = adzi_compact(op, dy[0]);
    adzi_max_windows_args args = { .x = NULL };
    if (g == NULL || !read_saved(node, axes, &args) ||
        (dx[0] = adzi_scratch(op, (adz_dtype)g->dtype, x.rank, x.sizes)) == NULL) {
        return adzi_status(NULL);
    }
    args.dy = g->data;
    args.dx = dx[0]->data;
    const int64_t volume = adzi_max_windows_volume(&args);
    if (dx[0]->numel > 0) {
        adzi_launch(KERNEL_FOR(max_windows_dx, g->dtype), adzi_max_windows_args, &args,
            dx[0]->numel / volume, adzi_grain_of(GRAIN, volume));
    }
    return ADZ_OK;
}
