/* fastai's losses: label smoothing, cross entropy of any dimension, and the penalties AR and TAR.
 */
#include "adze/zoo/fastai_loss.h"

#include <math.h>

#include "adze/ops/activation.h"
#include "adze/ops/arithmetic.h"
#include "adze/ops/math.h"
#include "adze/ops/reduction.h"
#include "adze/ops/shape.h"
#include "zoo.h"

/* (1 - eps) * nll - eps / C * sum_c log_softmax(x)_c, reduced over the rows. */
adz_tensor *adz_fastai_label_smoothing_cross_entropy(
    adz_tensor *x, adz_tensor *target, double eps, adz_reduction reduction)
{
    static const char op[] = "adz_fastai_label_smoothing_cross_entropy";
    if (!adz_check_tensor(op, "x", x) || !adz_check_tensor(op, "target", target)) {
        return NULL;
    }
    if (adz_tensor_rank(x) < 1 || adz_tensor_rank(x) > 2 || adz_tensor_size(x, -1) < 1) {
        return zoo_fail(op, ADZ_ERR_SHAPE, "x%s must be [C] or [N, C] with classes; reshape it",
            adz_text_shape(x));
    }
    if (!(eps >= 0 && eps <= 1)) {
        return zoo_fail(
            op, ADZ_ERR_ARGUMENT, "eps is %s, but must be in [0, 1]", adz_text_number(eps));
    }
    adz_tensor *log_p = adz_log_softmax(x, -1);
    adz_tensor *nll = adz_nll_loss(log_p, target, ADZ_NONE, -100, reduction); /* checks the rest */
    adz_tensor *all = adz_sum(log_p, ADZ_DIMS(-1), ADZ_DROPDIM);
    if (reduction == ADZ_REDUCE_MEAN) {
        all = adz_mean(all, ADZ_ALL_DIMS, ADZ_DROPDIM);
    } else if (reduction == ADZ_REDUCE_SUM) {
        all = adz_sum(all, ADZ_ALL_DIMS, ADZ_DROPDIM);
    }
    double spread = eps / (double)adz_tensor_size(x, -1);
    return adz_sub(adz_mul_number(nll, 1 - eps), adz_mul_number(all, spread));
}

/* True if the target has the sizes of x without dimension `axis`, that of the classes. */
static bool fits(const char *op, const adz_tensor *x, const adz_tensor *target, int axis)
{
    bool fit = adz_tensor_rank(target) == adz_tensor_rank(x) - 1;
    for (int i = 0; i < adz_tensor_rank(target) && fit; ++i) {
        fit = adz_tensor_size(target, i) == adz_tensor_size(x, i < axis ? i : i + 1);
    }
    if (!fit) {
        adz_error_format(op, ADZ_ERR_SHAPE,
            "target%s must have the sizes of x%s without dimension %d", adz_text_shape(target),
            adz_text_shape(x), axis);
    }
    return fit;
}

/* Cross entropy of all positions. As in fastai, the classes are moved to the end by a transpose
 * with the last dimension, and the target is transposed in the same way. */
adz_tensor *adz_fastai_cross_entropy_flat(adz_tensor *x, adz_tensor *target, adz_tensor *weight,
    int axis, const adz_cross_entropy_options *options)
{
    static const char op[] = "adz_fastai_cross_entropy_flat";
    if (!adz_check_tensor(op, "x", x) || !adz_check_tensor(op, "target", target)) {
        return NULL;
    }
    int at = axis < 0 ? axis + adz_tensor_rank(x) : axis;
    if (at < 0 || at >= adz_tensor_rank(x)) {
        return zoo_fail(op, ADZ_ERR_ARGUMENT, "axis %d is none of x%s", axis, adz_text_shape(x));
    }
    if (!fits(op, x, target, at)) {
        return NULL;
    }
    int64_t classes = adz_tensor_size(x, at);
    if (at < adz_tensor_rank(x) - 1) {
        x = adz_transpose(x, at, -1);
        target = adz_transpose(target, at, -1);
    }
    int64_t rows = adz_tensor_numel(target);
    x = adz_reshape(x, ADZ_SHAPE(rows, classes));
    return adz_cross_entropy(x, adz_reshape(target, ADZ_SHAPE(rows)), weight, options);
}

/* ---- AR and TAR ----------------------------------------------------------------------------- */

static bool check_activations(const char *op, const char *name, const adz_tensor *x)
{
    if (!adz_check_tensor(op, name, x)) {
        return false;
    }
    if (adz_tensor_rank(x) != 3) {
        adz_error_format(op, ADZ_ERR_SHAPE, "%s%s must be [B, T, D]", name, adz_text_shape(x));
        return false;
    }
    return true;
}

static adz_tensor *mean_square(adz_tensor *x, double factor)
{
    return adz_mul_number(adz_mean(adz_square(x), ADZ_ALL_DIMS, ADZ_DROPDIM), factor);
}

/* loss + alpha * mean(out^2) + beta * mean((raw[:, 1:] - raw[:, :-1])^2). As in fastai, the last
 * term is left out for a batch of 1. */
adz_tensor *adz_fastai_ar_tar(
    adz_tensor *loss, adz_tensor *out, adz_tensor *raw, double alpha, double beta)
{
    static const char op[] = "adz_fastai_ar_tar";
    if (!adz_check_tensor(op, "loss", loss) || !check_activations(op, "out", out) ||
        !check_activations(op, "raw", raw)) {
        return NULL;
    }
    if (adz_tensor_rank(loss) != 0) {
        return zoo_fail(op, ADZ_ERR_SHAPE, "loss%s must be a scalar", adz_text_shape(loss));
    }
    if (!isfinite(alpha) || !isfinite(beta)) {
        return zoo_fail(op, ADZ_ERR_ARGUMENT, "alpha %s and beta %s must be finite",
            adz_text_number(alpha), adz_text_number(beta));
    }
    if (alpha != 0) {
        loss = adz_add(loss, mean_square(out, alpha));
    }
    int64_t steps = adz_tensor_size(raw, 1) - 1;
    if (beta != 0 && adz_tensor_size(raw, 0) > 1 && steps > 0) {
        adz_tensor *change = adz_sub(adz_narrow(raw, 1, 1, steps), adz_narrow(raw, 1, 0, steps));
        loss = adz_add(loss, mean_square(change, beta));
    }
    return loss;
}
