#include "ops/loss/class_target.h"

#include "ops/loss/pair_loss.h"
#include "ops/reduction/sum.h"

/* The common part of nll_loss and cross_entropy: checks, class weights, the mean, and the factors
 * of the backward.
 *
 *     y = sum of l_r,   or   sum of l_r / sum of w_{t_r} for the mean, over the rows r that count
 *
 * l_r is the loss of row r with target t_r, and w the weights of the classes, 1 if there are none.
 * Rows whose target is ignore_index do not count. The sums of weights and the check of the
 * target depend on contents, so one launch computes them (adzi_class_numbers) and leaves them in a
 * tensor. The host reads it only to fail. Kernels read it when they run, so a replayed step uses
 * its own sums, and the node saves it for the backward. */

/* ---- checks -------------------------------------------------------------------------------- */

/* Checks the class weights: [C], with the dtype of x and without a gradient, as in PyTorch. They
 * may have any stride. */
static bool check_weight(const char *op, const adz_tensor *x, const adz_tensor *weight, int64_t c)
{
    if (adzi_is_none(weight)) {
        return true;
    }
    if (weight->rank != 1 || weight->sizes[0] != c) {
        adzi_error(op, ADZ_ERR_SHAPE, "weight%s does not fit x%s: it has one element per class",
            adzi_text_shape(weight), adzi_text_shape(x));
        return false;
    }
    if (weight->dtype != x->dtype) {
        adzi_error(op, ADZ_ERR_DTYPE, "x is %s, weight %s; convert one with adz_to",
            adz_dtype_name((adz_dtype)x->dtype), adz_dtype_name((adz_dtype)weight->dtype));
        return false;
    }
    /* A weight that wants a gradient would silently get none. */
    if (adzi_requires_grad(weight)) {
        adzi_error(op, ADZ_ERR_UNSUPPORTED,
            "weight%s wants a gradient, but class weights have none; use adz_detach",
            adzi_text_shape(weight));
        return false;
    }
    return true;
}

/* Checks what nll_loss and cross_entropy have in common: x, the reduction and the class weights.
 * The target is not checked here, because the two losses accept different ones. cross_entropy sets
 * `probabilities` later. */
bool adzi_class_check(adzi_call *call, adzi_class_attr *attr)
{
    const char *op = call->op->name;
    const adz_tensor *x = call->in[0], *weight = call->in[2];
    if (!adzi_want_float(call, 0) || !adzi_check_reduction(op, attr->reduction)) {
        return false;
    }
    if (x->rank == 0) {
        adzi_error(op, ADZ_ERR_SHAPE, "x is a scalar; it needs the classes on axis 1");
        return false;
    }
    int64_t c = x->sizes[adzi_class_axis(x->rank)];
    if (!check_weight(op, x, weight, c)) {
        return false;
    }
    attr->weighted = !adzi_is_none(weight);
    attr->probabilities = false;
    return true;
}

/* There is one loss per row, so x[N, C, L] gives [N, L]. */
int adzi_class_loss_sizes(const adz_tensor *x, int64_t *sizes)
{
    int rank = 0;
    for (int i = 0; i < x->rank; ++i) {
        if (i != adzi_class_axis(x->rank)) {
            sizes[rank++] = x->sizes[i];
        }
    }
    return rank;
}

/* Checks that the target has the shape of x without the classes. Nothing broadcasts. */
static bool check_rows(adzi_call *call, const adz_tensor *target)
{
    int64_t sizes[ADZ_MAX_RANK];
    int rank = adzi_class_loss_sizes(call->in[0], sizes);
    bool same = target->rank == rank;
    for (int i = 0; i < rank && same; ++i) {
        same = target->sizes[i] == sizes[i];
    }
    if (!same) {
        adzi_error(call->op->name, ADZ_ERR_SHAPE,
            "target%s does not fit x%s, whose classes are on axis %d: it needs shape %s",
            adzi_text_shape(target), adzi_text_shape(call->in[0]),
            adzi_class_axis(call->in[0]->rank), adzi_text_sizes(rank, sizes));
    }
    return same;
}

/* i32 targets are converted to i64 for the kernels. The conversion replaces input 1 of the call, so
 * the backward finds an i64 target, too. */
adz_tensor *adzi_class_rows(adzi_call *call)
{
    if (!adzi_want_index(call, 1) || !check_rows(call, call->in[1]) ||
        !adzi_convert(call, 1, ADZ_I64)) {
        return NULL;
    }
    return adzi_compact(call->op->name, call->in[1]);
}

/* ---- what depends on the contents ---------------------------------------------------------- */

/* The class weights for kernels, with any stride. Every class has weight 1 if there are none. */
typedef struct {
    const char *data; /* NULL: none */
    int64_t stride;
    adz_dtype dtype;
} class_weights;

/* ADZ_NONE becomes a NULL pointer, which a plain struct can hold. */
static class_weights weights_of(const adz_tensor *weight)
{
    class_weights none = { .data = NULL };
    return adzi_is_none(weight)
               ? none
               : (class_weights){ weight->data, weight->strides[0], (adz_dtype)weight->dtype };
}

/* The weight of class c in f64, and 1 without weights. The dtype is tested at each read, because
 * the functions of this file exist once for f32 and f64. */
static double weight_at(const class_weights *w, int64_t c)
{
    return w->data == NULL       ? 1
           : w->dtype == ADZ_F32 ? (double)((const float *)(const void *)w->data)[c * w->stride]
                                 : ((const double *)(const void *)w->data)[c * w->stride];
}

/* Arguments of compute_numbers, which has one unit. Rows are walked in order, so the sum has one
 * order. The struct is plain, because the launch may be replayed. */
typedef struct {
    const int64_t *target; /* [rows], or NULL for probabilities */
    class_weights weights;
    adzi_class_numbers *numbers;
    int64_t rows, c, ignore_index;
    bool mean;
} numbers_args;

/** Its pointers for ADZI_ADDRESSES. `at` is empty, or the name of a member and a dot. */
#define NUMBERS_ADDRESSES(at) at target, at weights.data, at numbers

ADZI_ADDRESSES(numbers_args, NUMBERS_ADDRESSES());

/* Sums the weights of the rows that count and finds the first target that is no class. The scale is
 * 1 over that sum for the mean, and 1 otherwise. If no row counts, the mean is 0 / 0 = NaN, and its
 * slope is 0, so the gradient is 0 and not NaN. There is one unit, because all rows go into one
 * sum. The sum of all class weights, `total`, serves label smoothing. */
static void compute_numbers(const void *block, int64_t begin, int64_t end)
{
    const numbers_args *args = block;
    adzi_class_numbers found = { .wrong = -1 };
    double kept = 0;
    bool any = args->target == NULL;
    if (begin == end) {
        return;
    }
    for (int64_t c = 0; c < args->c; ++c) {
        found.total += weight_at(&args->weights, c);
    }
    for (int64_t r = 0; r < args->rows && args->target != NULL; ++r) {
        const int64_t class = args->target[r];
        if (class == args->ignore_index) {
            continue;
        }
        /* The search goes on, so that the sums are complete whatever the targets are. */
        if (class < 0 || class >= args->c) {
            found.wrong = found.wrong < 0 ? r : found.wrong;
            continue;
        }
        any = true;
        kept += weight_at(&args->weights, class);
    }
    /* Probabilities count every row once, whatever the weights, as in PyTorch. */
    kept = args->target == NULL ? (double)args->rows : kept;
    found.scale = args->mean ? 1 / kept : 1;
    found.slope = any ? found.scale : 0;
    *args->numbers = found;
}

typedef struct {
    const char *op;
    adz_shape x;
    numbers_args numbers;
} report_args;

ADZI_ADDRESSES(report_args, op, NUMBERS_ADDRESSES(numbers.));

/* Fails if the kernel has found a target that is no class. */
static adz_status report_wrong(const void *block)
{
    const report_args *shown = block;
    const numbers_args *args = &shown->numbers;
    const int64_t wrong = args->numbers->wrong;
    if (wrong < 0) {
        return ADZ_OK;
    }
    return adzi_error(shown->op, ADZ_ERR_INDEX,
        "target %lld at position %lld is none of the %lld classes of x%s, nor ignore_index %lld",
        (long long)args->target[wrong], (long long)wrong, (long long)args->c,
        adzi_text_sizes(shown->x.rank, shown->x.sizes), (long long)args->ignore_index);
}

/* Computes the numbers by a launch and checks the targets. The host reads the flag `wrong` only to
 * report an error; the sums stay in the tensor. The check comes before the kernels of the loss,
 * which use a target as an index. */
adz_tensor *adzi_class_numbers_new(
    adzi_call *call, const adz_tensor *rows, const adzi_class_attr *attr)
{
    const char *op = call->op->name;
    const adz_tensor *x = call->in[0];
    int64_t sizes[ADZ_MAX_RANK];
    const int64_t n = adzi_numel(adzi_class_loss_sizes(x, sizes), sizes);
    const int64_t c = x->sizes[adzi_class_axis(x->rank)];
    adz_tensor *t = adzi_scratch(op, ADZ_I64, 1, &(int64_t){ ADZI_CLASS_NUMBERS });
    if (t == NULL) {
        return NULL;
    }
    const numbers_args args = { rows != NULL ? (const int64_t *)(const void *)rows->data : NULL,
        weights_of(call->in[2]), adzi_class_numbers_in(t), n, c, attr->ignore_index,
        attr->reduction == ADZ_REDUCE_MEAN };
    adzi_launch(compute_numbers, numbers_args, &args, 1, 1);
    const report_args shown = { op, adz_tensor_shape(x), args };
    return adzi_repeat(report_wrong, report_args, &shown) == ADZ_OK ? t : NULL;
}

/* ---- forward ------------------------------------------------------------------------------- */

adz_status adzi_class_shape(adz_result *y, adz_tensor *const *in, void *block)
{
    const adzi_class_call *c = block;
    y->shape.rank = adzi_class_loss_sizes(in[0], y->shape.sizes);
    y->shape.rank = c->at.reduction == ADZ_REDUCE_NONE ? y->shape.rank : 0;
    return ADZ_OK;
}

/* Losses that are not reduced are the result themselves. Those of a reduced loss are temporary: the
 * backward does not read them. They exist because a second launch adds them in one order. */
bool adzi_class_losses(adzi_call *call, adz_tensor *y, adzi_class_call *c)
{
    int64_t sizes[ADZ_MAX_RANK];
    c->losses = y;
    if (c->at.reduction != ADZ_REDUCE_NONE) {
        const int rank = adzi_class_loss_sizes(call->in[0], sizes);
        c->losses = adzi_new(call, (adz_dtype)y->dtype, rank, sizes);
    }
    return c->losses != NULL;
}

/* Sums all losses, times the scale, into y. The scale is read when the launch runs, from the tensor
 * that compute_numbers has written. */
void adzi_class_reduce(adz_tensor *y, const adzi_class_call *c)
{
    /* The scale of a mean over no rows is infinite, and 0 times infinity is NaN, as in PyTorch. */
    if (y != c->losses) {
        adzi_sum_into_factor(
            y, c->losses, (1u << c->losses->rank) - 1, &adzi_class_numbers_in(c->numbers)->scale);
    }
}

/* ---- backward ------------------------------------------------------------------------------ */

/* Arguments of write_slope, which has one unit. */
typedef struct {
    const adzi_class_numbers *numbers;
    void *out;
    adz_dtype dtype;
} slope_args;

ADZI_ADDRESSES(slope_args, numbers, out);

/* Writes the slope in the dtype of the gradient. One unit. The number becomes a tensor, because the
 * host may not read what a launch has computed. */
static void write_slope(const void *block, int64_t begin, int64_t end)
{
    const slope_args *args = block;
    if (begin < end && args->dtype == ADZ_F32) {
        *(float *)args->out = (float)args->numbers->slope;
    } else if (begin < end) {
        *(double *)args->out = args->numbers->slope;
    }
}

/* The upstream gradient of the loss of each row, as an expression. Losses that are not reduced have
 * a gradient each, and get a dimension of size 1 for the classes. A reduced loss has one number,
 * which broadcasts. */
adz_tensor *adzi_class_upstream(
    adzi_node *node, adz_tensor *dy, int axis, const adz_tensor *numbers)
{
    /* A sum has factor 1 and needs no product. A mean reads its slope from the tensor of
     * numbers. */
    const adz_reduction reduction = adzi_attr(node, adzi_class_attr)->reduction;
    if (numbers == NULL) {
        return NULL;
    }
    if (reduction != ADZ_REDUCE_MEAN) {
        return reduction == ADZ_REDUCE_NONE ? adz_unsqueeze(dy, axis) : dy;
    }
    adz_tensor *slope = adzi_scratch(node->op->name, (adz_dtype)dy->dtype, 0, NULL);
    if (slope == NULL) {
        return NULL;
    }
    const slope_args args = { adzi_class_numbers_in(numbers), slope->data, (adz_dtype)dy->dtype };
    adzi_launch(write_slope, slope_args, &args, 1, 1);
    return adz_mul(dy, slope);
}

/* Arguments of compute_shares. Units are rows; a row has c factors, which are l elements apart. For
 * x[N, C, L] row r is sample r / l at position r % l. */
typedef struct {
    const int64_t *target; /* [rows] */
    class_weights weights;
    char *q; /* like x, contiguous, f32 or f64 */
    adz_dtype dtype;
    int64_t c, l, ignore_index; /* x is [rows / l, c, l] */
    double smoothing;
} shares_args;

ADZI_ADDRESSES(shares_args, target, weights.data, q);

/* Writes element i of q, which is f32 or f64. The arithmetic is in f64 for both and rounds here. */
static void write_share(const shares_args *args, int64_t i, double value)
{
    if (args->dtype == ADZ_F32) {
        ((float *)(void *)args->q)[i] = (float)value;
    } else {
        ((double *)(void *)args->q)[i] = value;
    }
}

/* Reads element i of q. */
static double read_share(const shares_args *args, int64_t i)
{
    return args->dtype == ADZ_F32 ? (double)((const float *)(void *)args->q)[i]
                                  : ((const double *)(void *)args->q)[i];
}

/* Writes the factors of all classes of a row. Units are rows; the classes of a row are l elements
 * apart in memory. Every element of q is written, first the equal share and then the share of the
 * own class. The forward has checked that a target that counts is a class. */
static void compute_shares(const void *block, int64_t begin, int64_t end)
{
    const shares_args *args = block;
    const int64_t c = args->c, l = args->l;
    for (int64_t r = begin; r < end; ++r) {
        const int64_t first = r / l * c * l + r % l, own = args->target[r];
        /* Ignored rows have zeros for all classes. */
        const bool counts = own != args->ignore_index;
        for (int64_t k = 0; k < c; ++k) {
            /* Smoothing gives every class an equal share, weighted by its own weight. */
            const double even = args->smoothing / (double)c;
            write_share(args, first + k * l,
                counts && args->smoothing > 0 ? even * weight_at(&args->weights, k) : 0);
        }
        if (counts) {
            const double sharp = (1 - args->smoothing) * weight_at(&args->weights, own);
            write_share(args, first + own * l, sharp + read_share(args, first + own * l));
        }
    }
}

/* The factors depend on the contents of the target and are computed by a launch. q is a constant
 * for derivatives, because neither a target of classes nor the class weights have a gradient. */
adz_tensor *adzi_class_shares(
    const adzi_node *node, adz_dtype dtype, adz_tensor *target, const adz_tensor *weight)
{
    const char *op = node->op->name;
    const adzi_class_attr *attr = adzi_attr(node, adzi_class_attr);
    const adz_shape x = adzi_input_shape(node, 0);
    adz_tensor *rows = adzi_compact(op, target), *q = adzi_scratch(op, dtype, x.rank, x.sizes);
    if (rows == NULL || q == NULL) {
        return NULL;
    }
    const int axis = adzi_class_axis(x.rank);
    const shares_args args = { (const int64_t *)(const void *)rows->data, weights_of(weight),
        q->data, dtype, x.sizes[axis], adzi_numel(x.rank - axis - 1, x.sizes + axis + 1),
        attr->ignore_index, attr->smoothing };
    adzi_launch(compute_shares, shares_args, &args, rows->numel,
        adzi_grain_of(ADZI_POINTWISE_GRAIN, args.c));
    return q;
}

/* The rows that count, as a mask shaped like the losses, and their targets; the target of a row
 * that is ignored becomes class 0, so that it can be looked up. */
typedef struct {
    adz_tensor *ignored, *class, *weight; /* weight: w of the class, 0 where ignored */
} counted_rows;

static counted_rows count_rows(
    const adz_tensor *logs, adz_tensor *target, adz_tensor *weight, int64_t ignore_index)
{
    counted_rows rows;
    rows.ignored = adz_eq_number(target, (double)ignore_index);
    rows.class = adz_masked_fill(target, rows.ignored, 0);
    const adz_shape shape = adz_shape_of(target->rank, target->sizes);
    if (weight == ADZ_NONE) {
        rows.weight = adz_ones(shape, (adz_dtype)logs->dtype);
    } else {
        adz_tensor *flat = adz_reshape(rows.class, ADZ_SHAPE(target->numel));
        rows.weight = adz_reshape(adz_index_select(weight, 0, flat), shape);
    }
    rows.weight = adz_masked_fill(rows.weight, rows.ignored, 0);
    return rows;
}

/* Losses of rows: -(1 - e) w_y log p_y - e / C * sum_c w_c log p_c. The mean divides by the weights
 * of the rows that count. */
adz_status adzi_class_expression(
    adz_tensor **y, adz_tensor *logs, adz_tensor *target, adz_tensor *weight, const void *attr)
{
    const adzi_class_attr *at = attr;
    if (logs == NULL || target == NULL) {
        return adzi_status(NULL);
    }
    const int axis = adzi_class_axis(logs->rank);
    const counted_rows rows = count_rows(logs, target, weight, at->ignore_index);
    adz_tensor *own = adz_gather(logs, axis, adz_unsqueeze(rows.class, axis));
    /* Rows that are ignored are set to 0: their logarithm may be infinite. */
    adz_tensor *losses =
        adz_masked_fill(adz_neg(adz_mul(adz_squeeze(own, axis), rows.weight)), rows.ignored, 0);
    if (at->smoothing > 0) {
        adz_shape along = { .rank = logs->rank - axis };
        for (int i = 0; i < along.rank; ++i) {
            along.sizes[i] = i == 0 ? logs->sizes[axis] : 1;
        }
        adz_tensor *all = weight == ADZ_NONE ? logs : adz_mul(logs, adz_reshape(weight, along));
        all = adz_masked_fill(adz_sum(all, ADZ_DIMS(axis), ADZ_DROPDIM), rows.ignored, 0);
        losses = adz_add_scaled(adz_mul_number(losses, 1 - at->smoothing), all,
            -at->smoothing / (double)logs->sizes[axis]);
    }
    y[0] = at->reduction == ADZ_REDUCE_NONE ? losses : adz_sum(losses, ADZ_ALL_DIMS, ADZ_DROPDIM);
    if (at->reduction == ADZ_REDUCE_MEAN) {
        y[0] = adz_div(y[0], adz_sum(rows.weight, ADZ_ALL_DIMS, ADZ_DROPDIM));
    }
    return adzi_status(y[0]);
}
