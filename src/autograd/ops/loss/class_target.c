#include "autograd/ops/loss/class_target.h"

#include "autograd/ops/loss/pair_loss.h"
#include "autograd/ops/reduction/sum.h"

/* ---- checks -------------------------------------------------------------------------------- */

static double weight_of(const adz_tensor *weight, int64_t c)
{
    return adzi_is_none(weight) ? 1 : adz_tensor_at(weight, &c);
}

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
    if (adzi_requires_grad(weight)) {
        adzi_error(op, ADZ_ERR_UNSUPPORTED,
            "weight%s wants a gradient, but class weights have none; use adz_detach",
            adzi_text_shape(weight));
        return false;
    }
    return true;
}

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
    int64_t c = x->sizes[adzi_class_axis(x)];
    if (!check_weight(op, x, weight, c)) {
        return false;
    }
    attr->weighted = !adzi_is_none(weight);
    attr->probabilities = attr->all_ignored = false;
    attr->total = 0;
    for (int64_t i = 0; i < c; ++i) {
        attr->total += weight_of(weight, i);
    }
    return true;
}

int adzi_class_loss_sizes(const adz_tensor *x, int64_t *sizes)
{
    int rank = 0;
    for (int i = 0; i < x->rank; ++i) {
        if (i != adzi_class_axis(x)) {
            sizes[rank++] = x->sizes[i];
        }
    }
    return rank;
}

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
            adzi_text_shape(target), adzi_text_shape(call->in[0]), adzi_class_axis(call->in[0]),
            adzi_text_sizes(rank, sizes));
    }
    return same;
}

adz_tensor *adzi_class_rows(adzi_call *call, adzi_class_attr *attr)
{
    const char *op = call->op->name;
    const adz_tensor *x = call->in[0], *weight = call->in[2];
    if (!adzi_want_index(call, 1) || !check_rows(call, call->in[1]) ||
        !adzi_convert(call, 1, ADZ_I64)) {
        return NULL;
    }
    adz_tensor *rows = adzi_compact(op, call->in[1]);
    if (rows == NULL) {
        return NULL;
    }
    const int64_t *target = (const int64_t *)(const void *)rows->data;
    int64_t c = x->sizes[adzi_class_axis(x)];
    double kept = 0;
    attr->all_ignored = true;
    for (int64_t i = 0; i < rows->numel; ++i) {
        if (target[i] == attr->ignore_index) {
            continue;
        }
        if (target[i] < 0 || target[i] >= c) {
            return adzi_fail(op, ADZ_ERR_INDEX,
                "target %lld at place %lld is none of the %lld classes of x%s, nor ignore_index "
                "%lld",
                (long long)target[i], (long long)i, (long long)c, adzi_text_shape(x),
                (long long)attr->ignore_index);
        }
        attr->all_ignored = false;
        kept += attr->weighted ? weight_of(weight, target[i]) : 1;
    }
    attr->scale = attr->reduction == ADZ_REDUCE_MEAN ? 1 / kept : 1;
    return rows;
}

/* ---- forward ------------------------------------------------------------------------------- */

adz_tensor *adzi_class_result(
    adzi_call *call, adz_tensor *losses, int n_extras, const adzi_class_attr *attr)
{
    adz_tensor *y = losses;
    if (attr->reduction != ADZ_REDUCE_NONE && losses != NULL) {
        y = adzi_new(call, (adz_dtype)losses->dtype, 0, NULL);
    }
    if (y == NULL ||
        (call->record && !adzi_record_extra(call, 1, &y, n_extras, attr, sizeof *attr))) {
        return NULL;
    }
    return y;
}

void adzi_class_reduce(adz_tensor *y, adz_tensor *losses, const adzi_class_attr *attr)
{
    if (y != losses) { /* a mean over nothing: 0 times infinity is NaN */
        adzi_sum_into(y, losses, (1u << losses->rank) - 1, attr->scale);
    }
}

/* ---- backward ------------------------------------------------------------------------------ */

adz_tensor *adzi_class_upstream(adzi_node *node, adz_tensor *dy, const adz_tensor *x)
{
    const adzi_class_attr *attr = adzi_attr(node, adzi_class_attr);
    if (x == NULL) {
        return NULL;
    }
    if (attr->reduction == ADZ_REDUCE_NONE) {
        return adz_unsqueeze(dy, adzi_class_axis(x));
    }
    double scale = attr->all_ignored ? 0 : attr->scale;
    return scale == 1 ? dy : adz_mul_number(dy, scale);
}

static void put(adz_tensor *t, int64_t i, double value, bool add)
{
    if (t->dtype == ADZ_F32) {
        float *at = (float *)(void *)t->data + i;
        *at = (float)(value + (add ? (double)*at : 0));
    } else {
        double *at = (double *)(void *)t->data + i;
        *at = value + (add ? *at : 0);
    }
}

adz_tensor *adzi_class_shares(const char *op, const adz_tensor *x, adz_tensor *target,
    const adz_tensor *weight, const adzi_class_attr *attr)
{
    adz_tensor *rows = adzi_compact(op, target), *q = adzi_scratch_like(op, x);
    if (rows == NULL || q == NULL) {
        return NULL;
    }
    const int64_t *class_of = (const int64_t *)(const void *)rows->data;
    int axis = adzi_class_axis(x);
    int64_t c = x->sizes[axis], l = adzi_numel(x->rank - axis - 1, x->sizes + axis + 1);
    adzi_fill(q, 0);
    for (int64_t r = 0; r < rows->numel; ++r) {
        if (class_of[r] == attr->ignore_index) {
            continue;
        }
        int64_t first = r / l * c * l + r % l;
        for (int64_t k = 0; k < c && attr->smoothing > 0; ++k) {
            put(q, first + k * l, attr->smoothing / (double)c * weight_of(weight, k), false);
        }
        put(q, first + class_of[r] * l, (1 - attr->smoothing) * weight_of(weight, class_of[r]),
            true);
    }
    return q;
}
