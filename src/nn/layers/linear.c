/* Linear: y[..., out] = x[..., in] weight^T + bias, with weight[out, in] and bias[out]. */
#include "adze/nn/linear.h"

#include <math.h>
#include <stdio.h>

#include "adze/nn/init.h"
#include "adze/ops/linalg.h"
#include "nn/module.h"
#include "base/error.h"
#include "adze/options.h"

enum { WEIGHT, BIAS };

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

static size_t repr(adz_module *self, char *buffer, size_t size)
{
    const adz_tensor *weight = adzi_parameter(self, WEIGHT);
    return (size_t)snprintf(buffer, size, "in_features=%lld, out_features=%lld, bias=%s",
        (long long)weight->sizes[1], (long long)weight->sizes[0],
        adzi_text_bool(!adzi_is_none(adzi_parameter(self, BIAS))));
}

static const adz_module_type linear_type = {
    .size = sizeof(adz_module_type),
    .name = "Linear",
    .forward = forward,
    .reset_parameters = reset_parameters,
    .extra_repr = repr,
    .linear_parts = linear_parts,
    .half_parameters = 1u << WEIGHT,
};

ADZ_OPTIONS_INIT(adz_linear_options_init, adz_linear_options, ADZ_LINEAR_OPTIONS)

adz_module *adz_linear_new(
    int64_t in_features, int64_t out_features, const adz_linear_options *options)
{
    static const char op[] = "adz_linear_new";
    adz_linear_options o = ADZ_LINEAR_OPTIONS;
    if (!ADZ_OPTIONS_READ(op, ADZ_LINEAR_OPTIONS, &o, options)) {
        return NULL;
    }
    if (!adz_check_parameter_dtype(op, o.dtype)) {
        return NULL;
    }
    if (in_features < 0 || out_features < 0) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT,
            "in_features %lld and out_features %lld must not be negative", (long long)in_features,
            (long long)out_features);
    }
    adzi_build build = adzi_build_begin();
    adz_module *self = adz_module_new(&linear_type, 0);
    bool good = self != NULL &&
                adz_module_add_parameter(self, "weight",
                    adz_empty(ADZ_SHAPE(out_features, in_features), o.dtype)) != NULL &&
                adz_module_add_parameter(self, "bias",
                    o.bias ? adz_empty(ADZ_SHAPE(out_features), o.dtype) : ADZ_NONE) != NULL &&
                reset_parameters(self) == ADZ_OK;
    return adzi_build_end(build, self, good);
}
