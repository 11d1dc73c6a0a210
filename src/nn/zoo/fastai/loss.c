#include "adze/nn/fastai_loss.h"

#include <math.h>

#include "adze/ops/activation.h"
#include "adze/ops/arithmetic.h"
#include "adze/ops/math.h"
#include "adze/ops/reduction.h"
#include "adze/ops/shape.h"
#include "base/error.h"
#include "tensor/tensor.h"

adz_tensor *adz_fastai_label_smoothing_cross_entropy(
    adz_tensor *x, adz_tensor *target, double eps, adz_reduction reduction)
{
    static const char op[] = "adz_fastai_label_smoothing_cross_entropy";
    if (!adzi_check_tensor(op, "x", x) || !adzi_check_tensor(op, "target", target)) {
        return NULL;
    }
    if (x->rank < 1 || x->rank > 2 || x->sizes[x->rank - 1] < 1) {
        return adzi_fail(op, ADZ_ERR_SHAPE, "x%s must be [C] or [N, C] with classes; reshape it",
            adzi_text_shape(x));
    }
    if (!(eps >= 0 && eps <= 1)) {
        return adzi_fail(
            op, ADZ_ERR_ARGUMENT, "eps is %s, but must be in [0, 1]", adzi_text_number(eps));
    }
    adz_tensor *log_p = adz_log_softmax(x, -1);
    adz_tensor *nll = adz_nll_loss(log_p, target, ADZ_NONE, -100, reduction); /* checks the rest */
    if (nll == NULL) {
        return NULL;
    }
    adz_tensor *all = adz_sum(log_p, ADZ_DIMS(-1), ADZ_DROPDIM);
    if (reduction == ADZ_REDUCE_MEAN) {
        all = adz_mean(all, ADZ_ALL_DIMS, ADZ_DROPDIM);
    } else if (reduction == ADZ_REDUCE_SUM) {
        all = adz_sum(all, ADZ_ALL_DIMS, ADZ_DROPDIM);
    }
    double spread = eps / (double)x->sizes[x->rank - 1];
    return adz_sub(adz_mul_number(nll, 1 - eps), adz_mul_number(all, spread));
}

/* What is left of x's sizes without the classes must be the target's. */
static bool fits(const char *op, const adz_tensor *x, const adz_tensor *target, int axis)
{
    bool fit = target->rank == x->rank - 1;
    for (int i = 0; i < target->rank && fit; ++i) {
        fit = target->sizes[i] == x->sizes[i < axis ? i : i + 1];
    }
    if (!fit) {
        adzi_error(op, ADZ_ERR_SHAPE, "target%s must have the sizes of x%s without dimension %d",
            adzi_text_shape(target), adzi_text_shape(x), axis);
    }
    return fit;
}

adz_tensor *adz_fastai_cross_entropy_flat(adz_tensor *x, adz_tensor *target, adz_tensor *weight,
    int axis, const adz_cross_entropy_options *options)
{
    static const char op[] = "adz_fastai_cross_entropy_flat";
    if (!adzi_check_tensor(op, "x", x) || !adzi_check_tensor(op, "target", target)) {
        return NULL;
    }
    int at = axis < 0 ? axis + x->rank : axis;
    if (at < 0 || at >= x->rank) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT, "axis %d is none of x%s", axis, adzi_text_shape(x));
    }
    if (!fits(op, x, target, at)) {
        return NULL;
    }
    int64_t classes = x->sizes[at];
    if (at < x->rank - 1) {
        x = adz_transpose(x, at, -1);
        target = adz_transpose(target, at, -1);
    }
    if (x == NULL || target == NULL) {
        return NULL;
    }
    int64_t rows = target->numel;
    x = adz_reshape(x, ADZ_SHAPE(rows, classes));
    return adz_cross_entropy(x, adz_reshape(target, ADZ_SHAPE(rows)), weight, options);
}

/* ---- AR and TAR ----------------------------------------------------------------------------- */

static bool check_activations(const char *op, const char *name, const adz_tensor *x)
{
    if (!adzi_check_tensor(op, name, x)) {
        return false;
    }
    if (x->rank != 3) {
        adzi_error(op, ADZ_ERR_SHAPE, "%s%s must be [B, T, D]", name, adzi_text_shape(x));
        return false;
    }
    return true;
}

static adz_tensor *mean_square(adz_tensor *x, double factor)
{
    return adz_mul_number(adz_mean(adz_square(x), ADZ_ALL_DIMS, ADZ_DROPDIM), factor);
}

adz_tensor *adz_fastai_ar_tar(
    adz_tensor *loss, adz_tensor *out, adz_tensor *raw, double alpha, double beta)
{
    static const char op[] = "adz_fastai_ar_tar";
    if (!adzi_check_tensor(op, "loss", loss) || !check_activations(op, "out", out) ||
        !check_activations(op, "raw", raw)) {
        return NULL;
    }
    if (loss->rank != 0) {
        return adzi_fail(op, ADZ_ERR_SHAPE, "loss%s must be a scalar", adzi_text_shape(loss));
    }
    if (!isfinite(alpha) || !isfinite(beta)) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT, "alpha %s and beta %s must be finite",
            adzi_text_number(alpha), adzi_text_number(beta));
    }
    if (alpha != 0) {
        loss = adz_add(loss, mean_square(out, alpha));
    }
    int64_t steps = raw->sizes[1] - 1;
    if (beta != 0 && raw->sizes[0] > 1 && steps > 0) {
        adz_tensor *change = adz_sub(adz_narrow(raw, 1, 1, steps), adz_narrow(raw, 1, 0, steps));
        loss = adz_add(loss, mean_square(change, beta));
    }
    return loss;
}
