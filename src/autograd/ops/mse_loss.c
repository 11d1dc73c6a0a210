#include "autograd/op.h"

#include <math.h>

KERNEL_TABLE_FLOAT(squared_error);
KERNEL_TABLE_FLOAT(squared_error_sum);
KERNEL_TABLE_FLOAT(squared_error_backward);

typedef struct {
    adz_reduction reduction;
} mse_attr;

/* 2, or 2 / N for the mean. */
static double factor(const mse_attr *at, const adz_tensor *like)
{
    return at->reduction == ADZ_REDUCE_MEAN ? 2.0 / (double)like->numel : 2.0;
}

/* dx = 2 dy (x - t) (/ N for the mean), dt = -dx; the engine sums over what was broadcast. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adzi_saved_input(node, 0), *t = adzi_saved_input(node, 1);
    adz_tensor *d = adz_add_scaled(x, t, -1);
    if (d == NULL) {
        return adzi_status(NULL);
    }
    adz_tensor *g = adz_mul_number(adz_mul(d, dy[0]), factor(adzi_attr(node, mse_attr), d));
    dx[0] = adzi_needs(node, 0) ? g : NULL;
    dx[1] = adzi_needs(node, 1) ? adz_mul_number(g, -1) : NULL;
    return adzi_needs(node, 1) ? adzi_status(dx[1]) : adzi_status(g);
}

static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adzi_saved_input(node, 0), *t = adzi_saved_input(node, 1);
    int rank;
    int64_t sizes[ADZ_MAX_RANK];
    if (x == NULL || t == NULL || !adzi_broadcast("mse_loss", &rank, sizes, x, t)) {
        return adzi_status(NULL);
    }
    for (int i = 0; i < 2; ++i) {
        if (adzi_needs(node, i)) {
            dx[i] = adzi_scratch("mse_loss", (adz_dtype)x->dtype, rank, sizes);
            if (dx[i] == NULL) {
                return adzi_status(NULL);
            }
            double f = factor(adzi_attr(node, mse_attr), dx[i]);
            adzi_pointwise(KERNEL_FOR(squared_error_backward, x->dtype), dx[i], 3,
                (adz_tensor *[]){ x, t, dy[0] },
                (double[ADZI_POINTWISE_PARAMS]){ i == 0 ? f : -f });
        }
    }
    return ADZ_OK;
}

const adzi_op adzi_op_mse_loss = { .name = "mse_loss", .backward = backward, .fused = fused };

/* Sums squared differences in blocks whose bounds depend on the size only. */
static void reduce(const adz_tensor *x, const adz_tensor *t, double *partial, int64_t blocks,
    adz_tensor *y, double scale)
{
    adzi_pointwise_args args = {
        .flat = true, .out = (char *)partial, .in = { x->data, t->data }, .p = { (double)x->numel }
    };
    adzi_launch(KERNEL_FOR(squared_error_sum, x->dtype), &args, blocks, 8);
    double sum = 0;
    for (int64_t i = 0; i < blocks; ++i) {
        sum += partial[i];
    }
    adzi_fill(y, sum * scale);
}

static adz_tensor *elementwise(adzi_call *call, int rank, const int64_t *sizes)
{
    adz_tensor *y = adzi_new(call, (adz_dtype)call->in[0]->dtype, rank, sizes);
    mse_attr attr = { ADZ_REDUCE_NONE };
    if (y == NULL || !adzi_record(call, 1, &y, &attr, sizeof attr)) {
        return NULL;
    }
    adzi_save_input(call, 0);
    adzi_save_input(call, 1);
    adzi_pointwise(KERNEL_FOR(squared_error, y->dtype), y, 2, call->in, NULL);
    return adzi_leave(call, y);
}

static adz_tensor *expanded(adz_tensor *t, int rank, const int64_t *sizes)
{
    bool same = t->rank == rank;
    for (int i = 0; i < rank && same; ++i) {
        same = t->sizes[i] == sizes[i];
    }
    if (same) {
        return adzi_compact("mse_loss", t);
    }
    adz_tensor *copy = adzi_scratch("mse_loss", (adz_dtype)t->dtype, rank, sizes);
    if (copy != NULL) {
        adzi_copy(copy, t);
    }
    return copy;
}

enum { BLOCK = 4096, FEW = 16 };

adz_tensor *adz_mse_loss(adz_tensor *x, adz_tensor *target, adz_reduction reduction)
{
    adzi_call call;
    int rank;
    int64_t sizes[ADZ_MAX_RANK];
    if (!ADZI_ENTER(&call, mse_loss, x, target) || !adzi_want_float(&call, 0) ||
        !adzi_want_float(&call, 1) || !adzi_promote(&call, 0, 1) ||
        !adzi_broadcast("mse_loss", &rank, sizes, call.in[0], call.in[1])) {
        return NULL;
    }
    if (reduction == ADZ_REDUCE_NONE) {
        return elementwise(&call, rank, sizes);
    }
    if (reduction != ADZ_REDUCE_MEAN && reduction != ADZ_REDUCE_SUM) {
        return adzi_fail("mse_loss", ADZ_ERR_ARGUMENT, "reduction %d is none of none, mean and sum",
            (int)reduction);
    }
    adz_tensor *xs = expanded(call.in[0], rank, sizes), *ts = expanded(call.in[1], rank, sizes);
    if (xs == NULL || ts == NULL) {
        return NULL;
    }
    int64_t blocks = (xs->numel + BLOCK - 1) / BLOCK;
    double few[FEW];
    adz_tensor *many = blocks > FEW ? adzi_scratch("mse_loss", ADZ_F64, 1, &blocks) : NULL;
    adz_tensor *y =
        blocks > FEW && many == NULL ? NULL : adzi_new(&call, (adz_dtype)xs->dtype, 0, NULL);
    mse_attr attr = { reduction };
    if (y == NULL || !adzi_record(&call, 1, &y, &attr, sizeof attr)) {
        return NULL;
    }
    adzi_save_input(&call, 0);
    adzi_save_input(&call, 1);
    double scale = reduction == ADZ_REDUCE_SUM ? 1 : 1 / (double)xs->numel;
    if (xs->numel == 0) {
        adzi_fill(y, reduction == ADZ_REDUCE_SUM ? 0 : NAN);
    } else {
        reduce(xs, ts, many != NULL ? (double *)(void *)many->data : few, blocks, y, scale);
    }
    return adzi_leave(&call, y);
}
