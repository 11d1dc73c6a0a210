/* LayerNorm: normalises x over its last dimensions, whose sizes are normalized_shape.
 *
 *     y = (x - mean) / sqrt(var + eps) * weight + bias
 *
 * weight and bias have the shape normalized_shape; the options can leave out both or the bias. */
#include "adze/nn/layer_norm.h"

#include "adze/nn/init.h"
#include "adze/ops/norm.h"
#include "nn/module.h"
#include "base/error.h"
#include "adze/options.h"

enum { WEIGHT, BIAS };

typedef struct {
    adz_layer_norm_options o;
    adz_shape normalized_shape;
} layer_norm_state;

static const adz_field fields[] = {
    ADZ_FIELD(layer_norm_state, normalized_shape, ADZ_AT_LEAST(0), .shown = ADZ_SHOWN_BARE),
    ADZ_FIELD(adz_layer_norm_options, eps, .value = 1e-5, ADZ_AT_LEAST(0)),
    ADZ_FIELD(adz_layer_norm_options, elementwise_affine, .value = true),
    ADZ_FIELD(adz_layer_norm_options, bias, .value = true, .shown = ADZ_SHOWN_NEVER),
    ADZ_FIELD_PARAMETER_DTYPE(adz_layer_norm_options),
};

ADZ_OPTIONS_TABLE(adz_layer_norm_options, ADZ_LAYER_NORM_OPTIONS, fields)

static adz_tensor *forward(adz_module *self, adz_tensor *x)
{
    const layer_norm_state *state = self->state;
    return adz_layer_norm(x, state->normalized_shape, adzi_parameter(self, WEIGHT),
        adzi_parameter(self, BIAS), state->o.eps);
}

static adz_status reset_parameters(adz_module *self)
{
    adz_tensor *weight = adzi_parameter(self, WEIGHT), *bias = adzi_parameter(self, BIAS);
    if ((!adzi_is_none(weight) && adz_init_ones_(weight) == NULL) ||
        (!adzi_is_none(bias) && adz_init_zeros_(bias) == NULL)) {
        return adz_error_code();
    }
    return ADZ_OK;
}

static const adz_module_type layer_norm_type = {
    .size = sizeof(adz_module_type),
    .name = "LayerNorm",
    .forward = forward,
    .reset_parameters = reset_parameters,
    ADZI_MODULE_FIELDS(fields),
};

adz_module *adz_layer_norm_new(adz_shape normalized_shape, const adz_layer_norm_options *options)
{
    static const char op[] = "adz_layer_norm_new";
    layer_norm_state s = { .normalized_shape = normalized_shape };
    if (!adz_options_take(op, &adz_layer_norm_options_table, &s, options)) {
        return NULL;
    }
    if (normalized_shape.rank == 0) {
        return adzi_fail(
            op, ADZ_ERR_ARGUMENT, "normalized_shape has 0 sizes, but needs 1 to %d", ADZ_MAX_RANK);
    }
    const bool affine = s.o.elementwise_affine, bias = affine && s.o.bias;
    adzi_build build = adzi_build_begin();
    adz_module *self = adzi_module_of(&layer_norm_type, &s, sizeof s);
    const bool good = self != NULL &&
                      adz_module_add_parameter(self, "weight",
                          affine ? adz_ones(normalized_shape, s.o.dtype) : ADZ_NONE) != NULL &&
                      adz_module_add_parameter(self, "bias",
                          bias ? adz_zeros(normalized_shape, s.o.dtype) : ADZ_NONE) != NULL;
    return adzi_build_end(build, self, good);
}
