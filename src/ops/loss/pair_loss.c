#include "ops/loss/pair_loss.h"

#include <string.h>

/* The common part of losses that compare x with a target t element by element.
 *
 *     l_i  = f(x_i, t_i)
 *     y    = l (none), sum_i l_i * scale (sum: 1, mean: 1/N, batchmean: 1/batch)
 *     dx_i = g_i * df/dx,   dt_i = g_i * df/dt,   g_i = dy_i or dy * scale
 *
 * x and t are f32 or f64 and broadcast, except for losses that demand one shape. Both are
 * differentiable; the engine sums a gradient over the dimensions in which its input was broadcast.
 * Each loss gives four kernels: f, the sum of f over blocks, and the two derivatives
 * (pair_loss.kernel.h). Every node saves x and t and no losses, so a reduced loss needs no memory
 * of the size of x.
 *
 * Sums run in f64. A block of 4096 elements has one sum, and the sums of blocks are added in
 * order. */

const char *const adzi_reduction_names[5] = { "none", "mean", "sum", "batchmean", NULL };
const char *const adzi_reductions_of_all[4] = { "none", "mean", "sum", NULL };

const adz_field adzi_pair_fields[4] = { ADZI_FIELD_ENUM(
                                            adzi_pair_attr, reduction, adzi_reduction_names),
    ADZI_FIELD_HIDDEN(adzi_pair_attr, log_target), ADZI_FIELD_HIDDEN(adzi_pair_attr, scale),
    ADZI_FIELD_HIDDEN(adzi_pair_attr, number) };

/* Checks the reduction of a loss. batchmean is refused here; kl_div accepts it before it asks. */
bool adzi_check_reduction(const char *op, adz_reduction reduction)
{
    struct argument {
        adz_reduction reduction;
    } given = { reduction };
    static const adz_field row = ADZI_REDUCTION_ROW(struct argument);
    return reduction == ADZ_REDUCE_NONE || reduction == ADZ_REDUCE_MEAN ||
           reduction == ADZ_REDUCE_SUM || adz_fields_check(op, &row, 1, &given);
}

/* Multiplies losses by a weight and reduces them, with operators on the tape, so the weight gets a
 * gradient. The mean divides by the number of elements, whatever the weights are. */
adz_tensor *adzi_weigh_losses(
    const char *op, adz_tensor *losses, adz_tensor *weight, adz_reduction reduction)
{
    if (losses == NULL || !adzi_check_reduction(op, reduction)) {
        return NULL;
    }
    /* The weight may broadcast to the losses, but may not enlarge them. */
    adz_tensor *y = weight == ADZ_NONE ? losses : adz_mul(losses, weight);
    if (y != NULL && !adzi_same_sizes(y, losses)) {
        return adzi_fail(op, ADZ_ERR_SHAPE, "weight%s does not broadcast to target%s",
            adzi_text_shape(weight), adzi_text_shape(losses));
    }
    return reduction == ADZ_REDUCE_NONE   ? y
           : reduction == ADZ_REDUCE_MEAN ? adz_mean(y, ADZ_ALL_DIMS, ADZ_DROPDIM)
                                          : adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM);
}

/* The shape to which x and the target broadcast. */
typedef struct {
    int rank;
    int64_t sizes[ADZ_MAX_RANK];
    int64_t numel;
    bool broadcasts; /* x or the target has another shape */
} common;

/* Works out the common shape. Returns false with the error recorded if there is none. */
static bool common_shape(const char *op, common *c, const adz_tensor *x, const adz_tensor *t)
{
    c->broadcasts = !adzi_same_sizes(x, t);
    c->rank = x->rank;
    memcpy(c->sizes, x->sizes, sizeof c->sizes);
    if (c->broadcasts && !adzi_broadcast(op, &c->rank, c->sizes, x, t)) {
        return false;
    }
    c->numel = adzi_numel(c->rank, c->sizes);
    return true;
}

/* ---- forward ------------------------------------------------------------------------------- */

/* Returns `t` in the common shape and contiguous, as the sums need it. This is t itself if x and
 * the target have one shape and t is contiguous. Else it is a copy, which repeats the elements of a
 * broadcast operand. */
static adz_tensor *expanded(const char *op, adz_tensor *t, const common *c)
{
    /* Equal shapes need no copy if t is contiguous. */
    if (!c->broadcasts) {
        return adzi_compact(op, t);
    }
    adz_tensor *copy = adzi_scratch(op, (adz_dtype)t->dtype, c->rank, c->sizes);
    if (copy != NULL) {
        adzi_copy(copy, t);
    }
    return copy;
}

/* Saves x and the target, after their conversion to a common dtype. They are not expanded, so a
 * broadcast operand takes no more memory than it has. */
static void save_both(adzi_call *call)
{
    adzi_save_input(call, 0);
    adzi_save_input(call, 1);
}

/* The forward without a reduction: one pointwise launch. It accepts operands of any layout and
 * broadcasts them, so this function makes no copies. */
static adz_tensor *elementwise(
    const adzi_pair_loss *loss, adzi_call *call, const common *c, const adzi_pair_attr *attr)
{
    adz_tensor *y = adzi_new(call, (adz_dtype)call->in[0]->dtype, c->rank, c->sizes);
    if (y == NULL || !adzi_record(call, 1, &y, attr, sizeof *attr)) {
        return NULL;
    }
    save_both(call);
    adzi_pointwise(loss->value[adzi_cpu_level][y->dtype], y, 2, call->in,
        (double[ADZI_POINTWISE_PARAMS]){ attr->number });
    return adzi_leave(call, y);
}

/* Arguments of join_blocks, which has one unit. The sums are contiguous f64. */
typedef struct join_args {
    const double *sums; /* one per block */
    int64_t blocks;
    void *y;         /* one element */
    double scale;    /* of the total */
    adz_dtype dtype; /* of y */
} join_args;

ADZI_ADDRESSES(join_args, sums, y);

/* y = scale times the sum of the blocks, added in order. The launch has one unit. */
static void join_blocks(const void *block, int64_t begin, int64_t end)
{
    const join_args *args = block;
    double total = 0;
    for (int64_t i = 0; i < args->blocks && begin < end; ++i) {
        total += args->sums[i];
    }
    if (begin < end && args->dtype == ADZ_F32) {
        *(float *)args->y = (float)(total * args->scale);
    } else if (begin < end) {
        *(double *)args->y = total * args->scale;
    }
}

/* The forward with a reduction: a launch that sums blocks of ADZI_PAIR_BLOCK elements, and one that
 * adds the blocks. The blocks depend on the number of elements only, so threads change no bit. Up
 * to 8 blocks (32768 elements) stay on the calling thread. */
static adz_tensor *reduced(
    const adzi_pair_loss *loss, adzi_call *call, const common *c, const adzi_pair_attr *attr)
{
    const char *op = loss->op->name;
    /* The sums run over contiguous elements, so operands that broadcast are copied. */
    adz_tensor *x = expanded(op, call->in[0], c);
    adz_tensor *t = x != NULL ? expanded(op, call->in[1], c) : NULL;
    if (t == NULL) {
        return NULL;
    }
    const int64_t blocks = (x->numel + ADZI_PAIR_BLOCK - 1) / ADZI_PAIR_BLOCK;
    const bool one = blocks == 1; /* its kernel writes the loss, and nothing has to be joined */
    adz_tensor *sums = one ? NULL : adzi_scratch(op, ADZ_F64, 1, &blocks);
    adz_tensor *y = one || sums != NULL ? adzi_new(call, (adz_dtype)x->dtype, 0, NULL) : NULL;
    if (y == NULL || !adzi_record(call, 1, &y, attr, sizeof *attr)) {
        return NULL;
    }
    save_both(call);
    adzi_pair_sum_args args = { .x = x->data,
        .t = t->data,
        .sums = one ? NULL : (double *)(void *)sums->data,
        .y = one ? y->data : NULL,
        .scale = attr->scale,
        .count = x->numel,
        .number = attr->number };
    adzi_launch(loss->sum[adzi_cpu_level][x->dtype], adzi_pair_sum_args, &args, blocks, 8);
    if (!one) { /* the mean of no elements is 0 * infinity = NaN */
        const join_args join = { args.sums, blocks, y->data, attr->scale, (adz_dtype)y->dtype };
        adzi_launch(join_blocks, join_args, &join, 1, 1);
    }
    return adzi_leave(call, y);
}

/* PyTorch's binary cross entropies do not broadcast. */
bool adzi_pair_loss_same_shape(const char *op, adz_tensor *x, adz_tensor *target)
{
    if (adzi_same_sizes(x, target)) {
        return true;
    }
    adzi_error(op, ADZ_ERR_SHAPE, "x%s and target%s differ in shape; this loss does not broadcast",
        adzi_text_shape(x), adzi_text_shape(target));
    return false;
}

/* Brings x and the target to one dtype. PyTorch expands both to their common shape first for most
 * losses. So a scalar counts with its dtype there, while in arithmetic it would adopt the other
 * dtype. */
static bool promote(const adzi_pair_loss *loss, adzi_call *call)
{
    /* kl_div computes with broadcasting operators in PyTorch, so a scalar adopts the other
     * dtype. */
    if (loss->yields) {
        return adzi_promote(call, 0, 1);
    }
    adz_dtype dtype =
        adz_promote_types((adz_dtype)call->in[0]->dtype, (adz_dtype)call->in[1]->dtype);
    return adzi_convert(call, 0, dtype) && adzi_convert(call, 1, dtype);
}

/* The whole forward of a loss. The call is written out, because the reduction decides whether the
 * launch reads inputs by their strides or as copies. Checks everything that can fail, warns about
 * broadcasting, and takes one of the two forwards. */
adz_tensor *adzi_pair_loss_call(const adzi_pair_loss *loss, adz_tensor *x, adz_tensor *target,
    adz_reduction reduction, double number)
{
    adzi_call call;
    common c;
    const char *op = loss->op->name;
    if (!adzi_enter(&call, loss->op, "x, target", (adz_tensor *[]){ x, target }, 2, 0) ||
        !adzi_want_float(&call, 0) || !adzi_want_float(&call, 1)) {
        return NULL;
    }
    if (!promote(loss, &call)) {
        return NULL;
    }
    if (reduction != ADZ_REDUCE_MEAN && !(loss->batchmean && reduction == ADZ_REDUCE_BATCHMEAN) &&
        !adzi_check_reduction(op, reduction)) {
        return NULL;
    }
    if (loss->same_shape && !adzi_pair_loss_same_shape(op, x, target)) {
        return NULL;
    }
    if (!common_shape(op, &c, call.in[0], call.in[1]) ||
        (loss->check != NULL && !loss->check(&call))) {
        return NULL;
    }
    if (c.broadcasts) {
        adzi_warn(op,
            "x%s and target%s differ in shape and are broadcast, which is seldom what is meant; adz_reshape one of them",
            adzi_text_shape(x), adzi_text_shape(target));
    }
    /* The factor of the reduction is an attribute, so the backward need not know the shape. */
    adzi_pair_attr attr = { reduction, loss->log_target, 1, number };
    if (reduction == ADZ_REDUCE_NONE) {
        return elementwise(loss, &call, &c, &attr);
    }
    if (reduction == ADZ_REDUCE_MEAN) {
        attr.scale = 1 / (double)c.numel;
    } else if (reduction == ADZ_REDUCE_BATCHMEAN) {
        if (x->rank == 0) {
            return adzi_fail(op, ADZ_ERR_SHAPE, "x is a scalar and has no batch to average over");
        }
        attr.scale = 1 / (double)x->sizes[0];
    }
    return reduced(loss, &call, &c, &attr);
}

/* ---- backward ------------------------------------------------------------------------------ */

/* One launch per gradient. The gradient of a reduced loss is read by the kernel through a pointer.
 * Without a reduction dy has one element per loss and is multiplied in place afterwards. Gradients
 * have the common shape; the engine sums them to the shape of the input. */
adz_status adzi_pair_loss_fused(
    const adzi_pair_loss *loss, adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const char *op = loss->op->name;
    const adzi_pair_attr *attr = adzi_attr(node, adzi_pair_attr);
    adz_tensor *in[] = { adzi_saved_input(node, 0), adzi_saved_input(node, 1) };
    common c;
    if (in[0] == NULL || in[1] == NULL || !common_shape(op, &c, in[0], in[1])) {
        return adzi_status(NULL);
    }
    const bool each = attr->reduction == ADZ_REDUCE_NONE; /* dy has one element per loss */
    /* p[0] is the number of the loss, p[2] the factor of the reduction. */
    const double p[ADZI_POINTWISE_PARAMS] = { attr->number, 0, each ? 1 : attr->scale };
    const void *factor = each ? NULL : dy[0]->data;
    for (int i = 0; i < 2; ++i) {
        if (!adzi_needs(node, i)) {
            continue;
        }
        const adzi_float_kernels kernels = i == 0 ? loss->dx : loss->dt;
        dx[i] = adzi_scratch(op, (adz_dtype)in[0]->dtype, c.rank, c.sizes);
        if (dx[i] != NULL) {
            adzi_pointwise_factor(kernels[adzi_cpu_level][in[0]->dtype], dx[i], 2, in, p, factor);
        }
        if (each && dx[i] != NULL) {
            dx[i] = adz_mul_(dx[i], dy[0]);
        }
        if (dx[i] == NULL) {
            return adzi_status(NULL);
        }
    }
    return ADZ_OK;
}

/* The scale contains the number of elements or the batch. */
adz_status adzi_pair_loss_reduced(adz_tensor **y, adz_tensor *losses, const adzi_pair_attr *attr)
{
    y[0] = attr->reduction == ADZ_REDUCE_NONE ? losses : adz_sum(losses, ADZ_ALL_DIMS, ADZ_DROPDIM);
    if (attr->reduction != ADZ_REDUCE_NONE && attr->scale != 1) {
        y[0] = adz_mul_number(y[0], attr->scale);
    }
    return adzi_status(y[0]);
}
