/* The head of fastai's text classifiers: pooling over time, then blocks of batch normalisation,
 * dropout and a linear layer. */
#include <math.h>

#include "adze/autograd.h"
#include "adze/nn/activations.h"
#include "adze/nn/batch_norm.h"
#include "adze/nn/containers.h"
#include "adze/nn/dropout.h"
#include "adze/zoo/fastai_classifier.h"
#include "adze/nn/linear.h"
#include "adze/ops/arithmetic.h"
#include "adze/ops/compare.h"
#include "adze/ops/convert.h"
#include "adze/ops/reduction.h"
#include "adze/ops/shape.h"
#include "fastai/outputs.h"
#include "zoo.h"

/* ---- pooling -------------------------------------------------------------------------------- */

/* True if x is [B, T, D] with T above 0; false with the error recorded. */
static bool check_steps(const char *op, const adz_tensor *x)
{
    if (!adz_check_tensor(op, "x", x)) {
        return false;
    }
    if (adz_tensor_rank(x) != 3 || adz_tensor_size(x, 1) < 1) {
        adz_error_format(
            op, ADZ_ERR_SHAPE, "x%s must be [B, T, D] with at least one step", adz_text_shape(x));
        return false;
    }
    return true;
}

adz_tensor *adz_fastai_pool(adz_tensor *x, bool is_max)
{
    if (!check_steps("adz_fastai_pool", x)) {
        return NULL;
    }
    return is_max ? adz_max_dim(x, 1, ADZ_DROPDIM, NULL) : adz_mean(x, ADZ_DIMS(1), ADZ_DROPDIM);
}

/* Fills steps[B, 1], in x's dtype, with each text's number of steps that are no padding. False with
 * the error recorded, also if a text has padding only. */
static bool count_steps(const char *op, adz_tensor *x, adz_tensor *mask, adz_tensor **steps)
{
    if (!adz_check_tensor(op, "mask", mask)) {
        return false;
    }
    if (adz_tensor_dtype(mask) != ADZ_BOOL) {
        adz_error_format(op, ADZ_ERR_DTYPE, "mask is %s, but must be bool",
            adz_dtype_name(adz_tensor_dtype(mask)));
        return false;
    }
    if (adz_tensor_rank(mask) != 2 || adz_tensor_size(mask, 0) != adz_tensor_size(x, 0) ||
        adz_tensor_size(mask, 1) != adz_tensor_size(x, 1)) {
        adz_error_format(op, ADZ_ERR_SHAPE, "mask%s must be [%lld, %lld] for x%s",
            adz_text_shape(mask), (long long)adz_tensor_size(x, 0),
            (long long)adz_tensor_size(x, 1), adz_text_shape(x));
        return false;
    }
    adz_tensor *some = adz_sum(adz_logical_not(mask), ADZ_DIMS(1), ADZ_KEEPDIM);
    *steps = adz_to(some, adz_tensor_dtype(x));
    /* An export cannot repeat the check: it divides by 0 there, and such a text gives NaN. */
    const adz_status status = adz_is_exporting() ? ADZ_OK
                                                 : adz_assert_all(adz_gt_number(some, 0),
                                                       "a text is nothing but padding");
    return *steps != NULL && status == ADZ_OK;
}

/* The last step, the maximum and the mean over the steps that are no padding: [B, 3 D]. */
adz_tensor *adz_fastai_masked_concat_pool(adz_tensor *x, adz_tensor *mask)
{
    static const char op[] = "adz_fastai_masked_concat_pool";
    if (!check_steps(op, x)) {
        return NULL;
    }
    adz_tensor *last = adz_select(x, 1, -1), *most, *average, *steps = NULL;
    if (zoo_is_none(mask)) {
        most = adz_fastai_pool(x, true);
        average = adz_fastai_pool(x, false);
    } else {
        if (!count_steps(op, x, mask, &steps)) {
            return NULL;
        }
        adz_tensor *padding = adz_unsqueeze(mask, 2);
        most = adz_fastai_pool(adz_masked_fill(x, padding, -INFINITY), true);
        average = adz_sum(adz_masked_fill(x, padding, 0), ADZ_DIMS(1), ADZ_DROPDIM);
        average = adz_div(average, steps);
    }
    adz_tensor *all[] = { last, most, average };
    return adz_cat(all, 3, 1);
}

/* ---- bn_drop_lin ---------------------------------------------------------------------------- */

static const adz_field block_fields[] = {
    ADZ_FIELD(adz_fastai_bn_drop_lin_options, bn, .value = true),
    ADZ_FIELD(adz_fastai_bn_drop_lin_options, p, ADZ_CLOSED(0, 1)),
    ADZ_FIELD_PARAMETER_DTYPE(adz_fastai_bn_drop_lin_options),
};

ADZ_OPTIONS_TABLE(adz_fastai_bn_drop_lin_options, ADZ_FASTAI_BN_DROP_LIN_OPTIONS, block_fields)

/* Appends the layers of a block to the Sequential `to`. The reference to the activation module is
 * taken over in every case. */
static bool append_block(const char *op, adz_module *to, int64_t n_in, int64_t n_out,
    const adz_fastai_bn_drop_lin_options *o)
{
    adz_module *actn = o->actn;
    adz_batch_norm1d_options norm = ADZ_BATCH_NORM1D_OPTIONS;
    adz_linear_options linear = ADZ_LINEAR_OPTIONS;
    adz_dropout_options dropout = ADZ_DROPOUT_OPTIONS;
    norm.dtype = linear.dtype = o->dtype;
    dropout.generator = o->generator;
    bool good = to != NULL;
    if (good && (n_in < 1 || n_out < 1)) {
        adz_error_format(op, ADZ_ERR_ARGUMENT, "n_in %lld and n_out %lld must be 1 or more",
            (long long)n_in, (long long)n_out);
        good = false;
    }
    if (good && o->bn) {
        good = adz_sequential_append(to, adz_batch_norm1d_new(n_in, &norm)) != NULL;
    }
    if (good && o->p != 0) {
        good = adz_sequential_append(to, adz_dropout_new(o->p, &dropout)) != NULL;
    }
    good = good && adz_sequential_append(to, adz_linear_new(n_in, n_out, &linear)) != NULL;
    if (good && actn != NULL) {
        return adz_sequential_append(to, actn) != NULL;
    }
    adz_module_release(&actn);
    return good;
}

adz_module *adz_fastai_bn_drop_lin_new(
    int64_t n_in, int64_t n_out, const adz_fastai_bn_drop_lin_options *options)
{
    static const char op[] = "adz_fastai_bn_drop_lin_new";
    adz_fastai_bn_drop_lin_options o;
    if (!adz_options_take(op, &adz_fastai_bn_drop_lin_options_table, &o, options)) {
        adz_module_release(&o.actn);
        return NULL;
    }
    adz_module *self = adz_sequential_new(NULL, 0);
    if (!append_block(op, self, n_in, n_out, &o)) {
        adz_module_release(&self);
    }
    return self;
}

/* ---- PoolingLinearClassifier ---------------------------------------------------------------- */

typedef struct {
    int64_t width; /* features of the pooled tensor, 3 D */
} classifier_state;

static adz_status classifier_call(adz_module *self, const adz_values *in, adz_values *out)
{
    const char *name = adz_module_name(self);
    int64_t width = ((const classifier_state *)zoo_state(self))->width;
    adz_tensor *x = adzi_last_output(name, in), *mask = adz_values_argument(in, 1, "mask");
    if (x == NULL) {
        return adz_error_code();
    }
    if (3 * adz_tensor_size(x, 2) != width) {
        return adz_error_format(name, ADZ_ERR_SHAPE,
            "x%s is pooled to 3 x %lld features, but layers[0] is %lld", adz_text_shape(x),
            (long long)adz_tensor_size(x, 2), (long long)width);
    }
    adz_tensor *pooled = adz_fastai_masked_concat_pool(x, mask);
    adz_tensor *y = adz_module_forward(zoo_child(self, 0), pooled);
    adz_status status = adz_values_add(out, "", y);
    return status == ADZ_OK ? adzi_hand_on_outputs(out, in) : status;
}

static const adz_module_type classifier_type = {
    .size = sizeof(adz_module_type),
    .name = "PoolingLinearClassifier",
    .call = classifier_call,
};

static const adz_field classifier_fields[] = {
    ADZ_FIELD_PARAMETER_DTYPE(adz_fastai_pooling_classifier_options),
};

ADZ_OPTIONS_TABLE(
    adz_fastai_pooling_classifier_options, ADZ_FASTAI_POOLING_CLASSIFIER_OPTIONS, classifier_fields)

/* A Sequential of all blocks; each but the last ends in a ReLU. */
static adz_module *blocks_new(const char *op, const int64_t *layers, const double *drops,
    size_t count, const adz_fastai_pooling_classifier_options *o)
{
    adz_fastai_bn_drop_lin_options block = ADZ_FASTAI_BN_DROP_LIN_OPTIONS;
    block.dtype = o->dtype;
    block.generator = o->generator;
    adz_module *self = adz_sequential_new(NULL, 0);
    for (size_t i = 0; i + 1 < count && self != NULL; ++i) {
        bool last = i + 2 == count;
        block.p = drops[i];
        block.actn = last ? NULL : adz_relu_inplace_new();
        if ((!last && block.actn == NULL) ||
            !append_block(op, self, layers[i], layers[i + 1], &block)) {
            adz_module_release(&self);
        }
    }
    return self;
}

adz_module *adz_fastai_pooling_classifier_new(const int64_t *layers, const double *drops,
    size_t count, const adz_fastai_pooling_classifier_options *options)
{
    static const char op[] = "adz_fastai_pooling_classifier_new";
    adz_fastai_pooling_classifier_options o;
    if (!adz_options_take(op, &adz_fastai_pooling_classifier_options_table, &o, options)) {
        return NULL;
    }
    if (layers == NULL || drops == NULL) {
        return zoo_fail_null(op, layers == NULL ? "layers" : "drops");
    }
    if (count < 2 || layers[0] % 3 != 0) {
        return zoo_fail(op, ADZ_ERR_ARGUMENT,
            count < 2 ? "%zu widths make no layer; give 2 or more"
                      : "%zu widths, but the first must be 3 times the features of the encoder",
            count);
    }
    adz_module *self = adz_module_new(&classifier_type, sizeof(classifier_state));
    if (self != NULL) {
        ((classifier_state *)zoo_state(self))->width = layers[0];
        if (adz_module_add_child(self, "layers", blocks_new(op, layers, drops, count, &o)) ==
            NULL) {
            adz_module_release(&self);
        }
    }
    return self;
}
