/* Bilinear: y[..., o] = sum_ij x1[..., i] weight[o, i, j] x2[..., j] + bias[o]. */
#include "adze/nn/linear.h"

#include <math.h>

#include "adze/nn/init.h"
#include "adze/options.h"
#include "adze/ops/linalg.h"
#include "nn/module.h"
#include "base/error.h"

enum { WEIGHT, BIAS };

typedef struct {
    adz_bilinear_options o;
    int64_t in1_features, in2_features, out_features;
} bilinear_state;

static const adz_field fields[] = {
    ADZ_FIELD(bilinear_state, in1_features, ADZ_SIZE_FROM(1)),
    ADZ_FIELD(bilinear_state, in2_features, ADZ_SIZE_FROM(0)),
    ADZ_FIELD(bilinear_state, out_features, ADZ_SIZE_FROM(0)),
    ADZ_FIELD(adz_bilinear_options, bias, .value = true),
    ADZ_FIELD_PARAMETER_DTYPE(adz_bilinear_options),
};

ADZ_OPTIONS_TABLE(adz_bilinear_options, ADZ_BILINEAR_OPTIONS, fields)

static adz_status call(adz_module *self, const adz_values *in, adz_values *out)
{
    adz_tensor *x1 = adz_values_argument(in, 0, "x1"), *x2 = adz_values_argument(in, 1, "x2");
    return adz_values_add(
        out, "", adz_bilinear(x1, x2, adzi_parameter(self, WEIGHT), adzi_parameter(self, BIAS)));
}

/* Draws both from U(-1/sqrt(in1), 1/sqrt(in1)). */
static adz_status reset_parameters(adz_module *self)
{
    adz_tensor *weight = adzi_parameter(self, WEIGHT), *bias = adzi_parameter(self, BIAS);
    const double bound = 1 / sqrt((double)weight->sizes[1]);
    if (adz_init_uniform_(weight, -bound, bound, NULL) == NULL ||
        (!adzi_is_none(bias) && adz_init_uniform_(bias, -bound, bound, NULL) == NULL)) {
        return adz_error_code();
    }
    return ADZ_OK;
}

static const adz_module_type bilinear_type = {
    .size = sizeof(adz_module_type),
    .name = "Bilinear",
    .call = call,
    .reset_parameters = reset_parameters,
    ADZI_MODULE_FIELDS(fields),
};

adz_module *adz_bilinear_new(int64_t in1_features, int64_t in2_features, int64_t out_features,
    const adz_bilinear_options *options)
{
    bilinear_state s = {
        .in1_features = in1_features, .in2_features = in2_features, .out_features = out_features
    };
    if (!adz_options_take("adz_bilinear_new", &adz_bilinear_options_table, &s, options)) {
        return NULL;
    }
    const adz_shape shape = ADZ_SHAPE(out_features, in1_features, in2_features);
    adzi_build build = adzi_build_begin();
    adz_module *self = adzi_module_of(&bilinear_type, &s, sizeof s);
    const bool good =
        self != NULL &&
        adz_module_add_parameter(self, "weight", adz_empty(shape, s.o.dtype)) != NULL &&
        adz_module_add_parameter(self, "bias",
            s.o.bias ? adz_empty(ADZ_SHAPE(out_features), s.o.dtype) : ADZ_NONE) != NULL &&
        reset_parameters(self) == ADZ_OK;
    return adzi_build_end(build, self, good);
}
