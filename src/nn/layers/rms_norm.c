/* RMSNorm: divides x by the root of its mean square over its last dimensions.
 *
 *     y = x / sqrt(mean(x^2) + eps) * weight
 *
 * weight has the shape normalized_shape; the options can leave it out. */
#include "adze/nn/layer_norm.h"

#include "adze/nn/init.h"
#include "adze/ops/norm.h"
#include "base/error.h"
#include "adze/options.h"
#include "nn/module.h"

enum { WEIGHT };

typedef struct {
    adz_rms_norm_options o;
    adz_shape normalized_shape;
} rms_norm_state;

static const adz_field fields[] = {
    ADZ_FIELD(rms_norm_state, normalized_shape, ADZ_AT_LEAST(0), .shown = ADZ_SHOWN_BARE),
    ADZ_FIELD(adz_rms_norm_options, eps, .value = ADZ_EPS_OF_DTYPE, ADZ_AT_LEAST(0),
        .none = ADZ_EPS_OF_DTYPE, .none_name = "ADZ_EPS_OF_DTYPE"),
    ADZ_FIELD(adz_rms_norm_options, elementwise_affine, .value = true),
    ADZ_FIELD_PARAMETER_DTYPE(adz_rms_norm_options),
};

ADZ_OPTIONS_TABLE(adz_rms_norm_options, ADZ_RMS_NORM_OPTIONS, fields)

static adz_tensor *forward(adz_module *self, adz_tensor *x)
{
    const rms_norm_state *state = self->state;
    return adz_rms_norm(x, state->normalized_shape, adzi_parameter(self, WEIGHT), state->o.eps);
}

static adz_status reset_parameters(adz_module *self)
{
    adz_tensor *weight = adzi_parameter(self, WEIGHT);
    return adzi_is_none(weight) || adz_init_ones_(weight) != NULL ? ADZ_OK : adz_error_code();
}

static const adz_module_type rms_norm_type = {
    .size = sizeof(adz_module_type),
    .name = "RMSNorm",
    .forward = forward,
    .reset_parameters = reset_parameters,
    ADZI_MODULE_FIELDS(fields),
};

adz_module *adz_rms_norm_new(adz_shape normalized_shape, const adz_rms_norm_options *options)
{
    static const char op[] = "adz_rms_norm_new";
    rms_norm_state s = { .normalized_shape = normalized_shape };
    if (!adz_options_take(op, &adz_rms_norm_options_table, &s, options)) {
        return NULL;
    }
    if (normalized_shape.rank == 0) {
        return adzi_fail(
            op, ADZ_ERR_ARGUMENT, "normalized_shape has 0 sizes, but needs 1 to %d", ADZ_MAX_RANK);
    }
    adzi_build build = adzi_build_begin();
    adz_module *self = adzi_module_of(&rms_norm_type, &s, sizeof s);
    adz_tensor *weight = s.o.elementwise_affine ? adz_ones(normalized_shape, s.o.dtype) : ADZ_NONE;
    const bool good = self != NULL && adz_module_add_parameter(self, "weight", weight) != NULL;
    return adzi_build_end(build, self, good);
}
