/* Linear: y[..., out] = x[..., in] weight^T + bias, with weight[out, in] and bias[out]. */
#include "nn/layers/linear.h"

#include <math.h>
#include <stdio.h>

#include "adze/nn/init.h"
#include "adze/ops/linalg.h"
#include "nn/module.h"
#include "ops/convert/q8_0.h"
#include "base/error.h"
#include "adze/options.h"

enum { WEIGHT, BIAS };

/* The arguments of the constructor. They are not kept: a weight of another shape may replace the
 * module's own, as where two modules share it. */
typedef struct {
    adz_linear_options o;
    int64_t in_features, out_features;
} linear_arguments;

static const adz_field fields[] = {
    ADZ_FIELD(linear_arguments, in_features, ADZ_SIZE_FROM(0)),
    ADZ_FIELD(linear_arguments, out_features, ADZ_SIZE_FROM(0)),
    ADZ_FIELD(adz_linear_options, bias, .value = true),
    ADZ_FIELD_PARAMETER_DTYPE(adz_linear_options),
};

ADZ_OPTIONS_TABLE(adz_linear_options, ADZ_LINEAR_OPTIONS, fields)

static adz_tensor *forward(adz_module *self, adz_tensor *x)
{
    return adz_linear(x, adzi_parameter(self, WEIGHT), adzi_parameter(self, BIAS));
}

/* Declares the module to be a linear layer (Note [Fused modules]). */
static void linear_parts(adz_module *self, adz_tensor **weight, adz_tensor **bias)
{
    *weight = adzi_parameter(self, WEIGHT);
    *bias = adzi_parameter(self, BIAS);
}

/* Draws both from U(-1/sqrt(in), 1/sqrt(in)). PyTorch draws the weight by kaiming_uniform_ with
 * a = sqrt(5), which is this distribution. */
static adz_status reset_parameters(adz_module *self)
{
    adz_tensor *weight = adzi_parameter(self, WEIGHT), *bias = adzi_parameter(self, BIAS);
    double in = (double)weight->sizes[1], bound = in > 0 ? 1 / sqrt(in) : 0;
    if (adz_init_uniform_(weight, -bound, bound, NULL) == NULL ||
        (!adzi_is_none(bias) && adz_init_uniform_(bias, -bound, bound, NULL) == NULL)) {
        return adz_error_code();
    }
    return ADZ_OK;
}

static size_t extra_repr(adz_module *self, char *buffer, size_t size)
{
    const adz_tensor *weight = adzi_parameter(self, WEIGHT);
    const int64_t in = weight->sizes[1] * (adzi_is_q8_0(weight) ? ADZI_Q8_0_VALUES : 1);
    return (size_t)snprintf(buffer, size, "in_features=%lld, out_features=%lld, bias=%s",
        (long long)in, (long long)weight->sizes[0],
        adzi_text_bool(!adzi_is_none(adzi_parameter(self, BIAS))));
}

#define LINEAR_TYPE(its_name)                                                    \
    {                                                                            \
        .size = sizeof(adz_module_type), .name = (its_name), .forward = forward, \
        .reset_parameters = reset_parameters, .extra_repr = extra_repr,          \
        .linear_parts = linear_parts, .half_parameters = 1u << WEIGHT,           \
        .block_parameters = 1u << WEIGHT,                                        \
    }

static const adz_module_type linear_type = LINEAR_TYPE("Linear");
static const adz_module_type projection_type = LINEAR_TYPE("NonDynamicallyQuantizableLinear");

static adz_module *make(const adz_module_type *type, int64_t in_features, int64_t out_features,
    const adz_linear_options *options)
{
    linear_arguments s = { .in_features = in_features, .out_features = out_features };
    if (!adz_options_take("adz_linear_new", &adz_linear_options_table, &s, options)) {
        return NULL;
    }
    adzi_build build = adzi_build_begin();
    adz_module *self = adz_module_new(type, 0);
    bool good = self != NULL &&
                adz_module_add_parameter(self, "weight",
                    adz_empty(ADZ_SHAPE(out_features, in_features), s.o.dtype)) != NULL &&
                adz_module_add_parameter(self, "bias",
                    s.o.bias ? adz_empty(ADZ_SHAPE(out_features), s.o.dtype) : ADZ_NONE) != NULL &&
                reset_parameters(self) == ADZ_OK;
    return adzi_build_end(build, self, good);
}

adz_module *adz_linear_new(
    int64_t in_features, int64_t out_features, const adz_linear_options *options)
{
    return make(&linear_type, in_features, out_features, options);
}

adz_module *adzi_attention_projection_new(int64_t features, const adz_linear_options *options)
{
    return make(&projection_type, features, features, options);
}
