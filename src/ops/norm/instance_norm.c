#include "ops/op.h"
#include "ops/norm/channels.h"

/* Instance normalisation, torch.nn.functional.instance_norm (Ulyanov et al., 2016): each channel of
 * each sample is normalised by itself. This is batch_norm of one sample that has the channels of
 * all samples. In evaluation with running statistics it is batch_norm itself. */

static const adz_field momentum_row = {
    .name = "momentum", .kind = ADZ_FIELD_F64, ADZ_CLOSED(0, 1)
};

static bool check(
    const adz_tensor *x, const adz_tensor *const *channels, bool use_input_stats, double momentum)
{
    static const char op[] = "instance_norm";
    static const char *const names[] = { "running_mean", "running_var", "weight", "bias" };
    if (x->rank < 3) {
        adzi_error(op, ADZ_ERR_SHAPE, "x%s needs three dimensions or more: [N, C, ...]",
            adzi_text_shape(x));
        return false;
    }
    for (int i = 0; i < 4; ++i) {
        if (!adzi_check_channels(op, x, channels[i], names[i])) {
            return false;
        }
    }
    if (adzi_is_none(channels[0]) != adzi_is_none(channels[1]) ||
        (!use_input_stats && adzi_is_none(channels[0]))) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "running_mean and running_var come together, and are needed without use_input_stats");
        return false;
    }
    if (use_input_stats && x->numel > 0 && x->numel == x->sizes[0] * x->sizes[1]) {
        adzi_error(op, ADZ_ERR_SHAPE,
            "x%s has a single value per channel, of which no variance can be taken",
            adzi_text_shape(x));
        return false;
    }
    return adzi_field_takes(op, &momentum_row, momentum);
}

/* The mean over samples of all[N * C]. */
static adz_tensor *mean_of_samples(adz_tensor *all, int64_t samples)
{
    adz_shape rows = ADZ_SHAPE(samples, all->numel / samples);
    return adz_mean(adz_reshape(all, rows), ADZ_DIMS(0), ADZ_DROPDIM);
}

/* The running tensors become the means over samples of mean[N * C] and var[N * C], without a graph.
 * Both means are computed before the first tensor changes. */
static bool keep_means(
    adz_tensor *const *running, adz_tensor *mean, adz_tensor *var, int64_t samples)
{
    if (adzi_is_none(running[0]) || samples == 0) {
        return true;
    }
    const bool before = adz_set_grad_enabled(false);
    adz_tensor *m = mean_of_samples(mean, samples), *v = mean_of_samples(var, samples);
    const bool kept = m != NULL && v != NULL && adz_copy_(running[0], m) != NULL &&
                      adz_copy_(running[1], v) != NULL;
    adz_set_grad_enabled(before);
    return kept;
}

/* t[C] once per sample; ADZ_NONE stays. */
static adz_tensor *per_sample(adz_tensor *t, int64_t samples)
{
    return adzi_is_none(t) ? t : adz_repeat(t, ADZ_SHAPE(samples));
}

/* x is [N, C, ...]; weight, bias and the running statistics are [C]. */
adz_tensor *adz_instance_norm(adz_tensor *x, adz_tensor *running_mean, adz_tensor *running_var,
    adz_tensor *weight, adz_tensor *bias, bool use_input_stats, double momentum, double eps)
{
    ADZI_COMPOSED();
    static const char op[] = "instance_norm";
    if (!adzi_check_tensor(op, "x", x) || !adzi_check_optional(op, "running_mean", running_mean) ||
        !adzi_check_optional(op, "running_var", running_var) ||
        !adzi_check_optional(op, "weight", weight) || !adzi_check_optional(op, "bias", bias) ||
        !check(x, (const adz_tensor *const[]){ running_mean, running_var, weight, bias },
            use_input_stats, momentum)) {
        return NULL;
    }
    if (!use_input_stats) {
        return adz_batch_norm(x, running_mean, running_var, weight, bias, false, momentum, eps);
    }
    const adz_shape shape = adz_shape_of(x->rank, x->sizes);
    const int64_t n = shape.sizes[0], c = shape.sizes[1], all = n * c;
    if (adzi_is_none(running_mean) && c > 0) {
        return adz_group_norm(x, c, weight, bias, eps);
    }
    adz_tensor *mean = per_sample(running_mean, n), *var = per_sample(running_var, n);
    adz_tensor *w = per_sample(weight, n), *b = per_sample(bias, n);
    adz_tensor *flat = adz_reshape(x, ADZ_SHAPE(1, all, all > 0 ? x->numel / all : 0));
    adz_tensor *y = adz_batch_norm(flat, mean, var, w, b, true, momentum, eps);
    y = adz_reshape(y, shape);
    adz_tensor *running[] = { running_mean, running_var };
    return y != NULL && keep_means(running, mean, var, n) ? y : NULL;
}
