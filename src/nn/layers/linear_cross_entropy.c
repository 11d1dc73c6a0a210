/* LinearCrossEntropyLoss: a linear layer makes the scores of C classes, of which the loss is the
 * cross entropy. With out_features d1, ..., dK each sample has d1 ... dK such losses. */
#include "adze/nn/loss.h"

#include <stdio.h>
#include <string.h>

#include "adze/nn/linear.h"
#include "adze/ops/shape.h"
#include "adze/options.h"
#include "base/error.h"
#include "base/text.h"
#include "nn/module.h"
#include "ops/loss/pair_loss.h"
#include "tensor/shape.h"

typedef struct {
    adz_linear_cross_entropy_loss_options o;
    int64_t in_features, num_classes;
    adz_shape out_features;
    adz_cross_entropy_options loss;
} linear_loss_state;

static const char name[] = "LinearCrossEntropyLoss";

static const adz_field fields[] = {
    ADZ_FIELD(linear_loss_state, in_features, ADZ_SIZE_FROM(0)),
    ADZ_FIELD(linear_loss_state, num_classes, ADZ_SIZE_FROM(1)),
    ADZ_FIELD(linear_loss_state, out_features, ADZ_SIZE_FROM(0)),
    ADZ_FIELD(adz_linear_cross_entropy_loss_options, bias, .value = false),
    ADZI_REDUCTION_ROW(adz_linear_cross_entropy_loss_options),
    ADZ_FIELD(adz_linear_cross_entropy_loss_options, ignore_index, .value = -100),
    ADZ_FIELD(adz_linear_cross_entropy_loss_options, label_smoothing, ADZ_CLOSED(0, 1)),
    ADZ_FIELD_PARAMETER_DTYPE(adz_linear_cross_entropy_loss_options),
};

ADZ_OPTIONS_TABLE(
    adz_linear_cross_entropy_loss_options, ADZ_LINEAR_CROSS_ENTROPY_LOSS_OPTIONS, fields)

/* The shape of the scores of x[N, in_features] or x[in_features]. */
static adz_shape scores_of(const linear_loss_state *s, const adz_tensor *x)
{
    adz_shape shape = { .rank = x->rank - 1, .sizes = { x->sizes[0] } };
    shape.sizes[shape.rank++] = s->num_classes;
    for (int i = 0; i < s->out_features.rank; ++i) {
        shape.sizes[shape.rank++] = s->out_features.sizes[i];
    }
    return shape;
}

static adz_status call(adz_module *self, const adz_values *in, adz_values *out)
{
    const linear_loss_state *s = self->state;
    adz_tensor *x = adz_values_argument(in, 0, "x"), *y = adz_values_argument(in, 1, "target");
    if (!adzi_check_tensor(name, "x", x) || !adzi_check_tensor(name, "target", y)) {
        return adz_error_code();
    }
    if (x->rank != 2 && (x->rank != 1 || s->out_features.rank > 0)) {
        return adzi_error(name, ADZ_ERR_SHAPE, "x%s must be [N, in_features]%s", adzi_text_shape(x),
            s->out_features.rank > 0 ? ", because there are out_features" : " or [in_features]");
    }
    adz_tensor *scores = adz_module_forward(adzi_child_at(self, 0), x);
    scores = adz_reshape(scores, scores_of(s, x));
    return adz_values_add(out, "", adz_cross_entropy(scores, y, self->buffers[0].tensor, &s->loss));
}

/* PyTorch prints None for ignore_index by default, and for `options`, the chunks that adze does not
 * have. */
static size_t extra_repr(adz_module *self, char *buffer, size_t size)
{
    const linear_loss_state *s = self->state;
    const char *sizes = adzi_text_sizes(s->out_features.rank, s->out_features.sizes); /* "[4, 3]" */
    char ignored[24] = "None";
    if (s->o.ignore_index != -100) {
        snprintf(ignored, sizeof ignored, "%lld", (long long)s->o.ignore_index);
    }
    return (size_t)snprintf(buffer, size,
        "in_features=%lld, num_classes=%lld, out_features=(%.*s%s), bias=%s, reduction=%s, "
        "ignore_index=%s, label_smoothing=%s, options=None",
        (long long)s->in_features, (long long)s->num_classes, (int)strlen(sizes) - 2, sizes + 1,
        s->out_features.rank == 1 ? "," : "", adzi_text_bool(s->o.bias),
        adzi_reductions_of_all[s->o.reduction], ignored, adzi_text_float(s->o.label_smoothing));
}

static const adz_module_type linear_loss_type = {
    .size = sizeof(adz_module_type),
    .name = name,
    .call = call,
    .extra_repr = extra_repr,
};

/* The number of scores of a sample; -1 with the error recorded. */
static int64_t count_scores(const char *op, const linear_loss_state *s)
{
    const adz_shape *more = &s->out_features;
    if (more->rank > ADZ_MAX_RANK - 2) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "out_features has %d sizes, but %d is the most",
            more->rank, ADZ_MAX_RANK - 2);
        return -1;
    }
    int64_t count = s->num_classes;
    for (int i = 0; i < more->rank; ++i) {
        if (!adzi_multiply(count, more->sizes[i], &count)) {
            adzi_error(op, ADZ_ERR_ARGUMENT, "num_classes times all out_features is too large");
            return -1;
        }
    }
    return count;
}

adz_module *adz_linear_cross_entropy_loss_new(int64_t in_features, int64_t num_classes,
    adz_shape out_features, adz_tensor *weight,
    const adz_linear_cross_entropy_loss_options *options)
{
    static const char op[] = "adz_linear_cross_entropy_loss_new";
    linear_loss_state s = { .in_features = in_features,
        .num_classes = num_classes,
        .out_features = out_features,
        .loss = ADZ_CROSS_ENTROPY_OPTIONS };
    const bool read =
        adz_options_take(op, &adz_linear_cross_entropy_loss_options_table, &s, options);
    const int64_t scores = read ? count_scores(op, &s) : -1;
    if (scores < 0) {
        return NULL;
    }
    s.loss.reduction = s.o.reduction;
    s.loss.ignore_index = s.o.ignore_index;
    s.loss.label_smoothing = s.o.label_smoothing;
    adz_linear_options linear = ADZ_LINEAR_OPTIONS;
    linear.bias = s.o.bias;
    linear.dtype = s.o.dtype;
    adzi_build build = adzi_build_begin();
    adz_module *self = adzi_module_of(&linear_loss_type, &s, sizeof s);
    bool good = self != NULL && adz_module_add_buffer(self, "weight", weight, true) != NULL;
    /* The function checks the weight. */
    good = good && adz_cross_entropy(adz_zeros(ADZ_SHAPE(1, num_classes), s.o.dtype),
                       adz_zeros(ADZ_SHAPE(1), ADZ_I64), weight, &s.loss) != NULL;
    good = good && adz_module_add_child(
                       self, "linear", adz_linear_new(in_features, scores, &linear)) != NULL;
    return adzi_build_end(build, self, good);
}
