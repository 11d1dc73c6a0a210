#include "adze/nn/linear.h"

#include <math.h>

#include "adze/nn/init.h"
#include "adze/ops/linalg.h"
#include "adze/ops/shape.h"
#include "nn/layers/linear.h"
#include "nn/module.h"
#include "base/error.h"
#include "base/options.h"

enum { WEIGHT, BIAS };

adz_tensor *adzi_linear_forward(adz_module *self, adz_tensor *x)
{
    return adz_linear(x, adzi_parameter(self, WEIGHT), adzi_parameter(self, BIAS));
}

static void linear_parts(adz_module *self, adz_tensor **weight, adz_tensor **bias)
{
    *weight = adzi_parameter(self, WEIGHT);
    *bias = adzi_parameter(self, BIAS);
}

adz_tensor *adzi_linear_in_out(
    adz_module *self, const char *width, adz_tensor *x, adz_tensor *w, adz_tensor *b)
{
    const char *name = self->type.name;
    if (!adzi_check_tensor(name, "x", x)) {
        return NULL;
    }
    if (x->rank < 1 || x->sizes[x->rank - 1] != w->sizes[0]) {
        return adzi_fail(name, ADZ_ERR_SHAPE, "x%s must end in %s, which is %lld",
            adzi_text_shape(x), width, (long long)w->sizes[0]);
    }
    return adz_linear(x, adz_transpose(w, 0, 1), b);
}

/* PyTorch's kaiming_uniform_ with a = sqrt(5) is U(-1/sqrt(in), 1/sqrt(in)). */
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

size_t adzi_linear_repr(adz_module *self, char *buffer, size_t size)
{
    const adz_tensor *weight = adzi_parameter(self, WEIGHT);
    return (size_t)snprintf(buffer, size, "in_features=%lld, out_features=%lld, bias=%s",
        (long long)weight->sizes[1], (long long)weight->sizes[0],
        adzi_text_bool(!adzi_is_none(adzi_parameter(self, BIAS))));
}

static const adz_module_type linear_type = {
    .size = sizeof(adz_module_type),
    .name = "Linear",
    .forward = adzi_linear_forward,
    .reset_parameters = reset_parameters,
    .extra_repr = adzi_linear_repr,
    .linear_parts = linear_parts,
};

ADZI_OPTIONS_INIT(adz_linear_options_init, adz_linear_options, ADZ_LINEAR_OPTIONS)

adz_module *adzi_linear_new(const char *op, const adz_module_type *type, size_t state_size,
    int64_t in_features, int64_t out_features, const adz_linear_options *options)
{
    adz_linear_options o = ADZ_LINEAR_OPTIONS;
    if (!ADZI_OPTIONS_READ(op, ADZ_LINEAR_OPTIONS, &o, options)) {
        return NULL;
    }
    if (!adzi_check_module_dtype(op, o.dtype)) {
        return NULL;
    }
    if (in_features < 0 || out_features < 0) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT,
            "in_features %lld and out_features %lld must not be negative", (long long)in_features,
            (long long)out_features);
    }
    adzi_build build = adzi_build_begin();
    adz_module *self = adz_module_new(type, state_size);
    bool good = self != NULL &&
                adz_module_add_parameter(self, "weight",
                    adz_empty(ADZ_SHAPE(out_features, in_features), o.dtype)) != NULL &&
                adz_module_add_parameter(self, "bias",
                    o.bias ? adz_empty(ADZ_SHAPE(out_features), o.dtype) : ADZ_NONE) != NULL &&
                type->reset_parameters(self) == ADZ_OK;
    return adzi_build_end(build, self, good);
}

adz_module *adz_linear_new(
    int64_t in_features, int64_t out_features, const adz_linear_options *options)
{
    return adzi_linear_new("adz_linear_new", &linear_type, 0, in_features, out_features, options);
}
