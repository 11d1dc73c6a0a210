/* RMSNorm: divides x by the root of its mean square over its last dimensions.
 *
 *     y = x / sqrt(mean(x^2) + eps) * weight
 *
 * weight has the shape normalized_shape; the options can leave it out. */
#include "adze/nn/layer_norm.h"

#include <stdio.h>

#include "adze/nn/init.h"
#include "adze/ops/norm.h"
#include "base/error.h"
#include "adze/options.h"
#include "nn/layers/numbers.h"
#include "nn/module.h"

enum { WEIGHT };

typedef struct {
    double eps;
    bool affine;
    adz_shape normalized;
} rms_norm_state;

static adz_tensor *forward(adz_module *self, adz_tensor *x)
{
    const rms_norm_state *state = self->state;
    return adz_rms_norm(x, state->normalized, adzi_parameter(self, WEIGHT), state->eps);
}

static adz_status reset_parameters(adz_module *self)
{
    adz_tensor *weight = adzi_parameter(self, WEIGHT);
    return adzi_is_none(weight) || adz_init_ones_(weight) != NULL ? ADZ_OK : adz_error_code();
}

static size_t extra_repr(adz_module *self, char *buffer, size_t size)
{
    const rms_norm_state *state = self->state;
    char sizes[ADZI_NUMBERS];
    adzi_print_numbers(sizes, state->normalized, true);
    return (size_t)snprintf(buffer, size, "%s, eps=%s, elementwise_affine=%s", sizes,
        state->eps == ADZ_EPS_OF_DTYPE ? "None" : adzi_text_float(state->eps),
        adzi_text_bool(state->affine));
}

static const adz_module_type rms_norm_type = {
    .size = sizeof(adz_module_type),
    .name = "RMSNorm",
    .forward = forward,
    .reset_parameters = reset_parameters,
    .extra_repr = extra_repr,
};

ADZ_OPTIONS_INIT(adz_rms_norm_options_init, adz_rms_norm_options, ADZ_RMS_NORM_OPTIONS)

static bool check(const char *op, adz_shape shape, const adz_rms_norm_options *o)
{
    bool good = shape.rank >= 1 && shape.rank <= ADZ_MAX_RANK;
    for (int i = 0; i < shape.rank && good; ++i) {
        good = shape.sizes[i] >= 0;
    }
    if (!good) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "normalized_shape %s must have 1 to %d sizes of 0 or more",
            shape.rank < 0 ? "(more than 8 sizes)" : adzi_text_sizes(shape.rank, shape.sizes),
            ADZ_MAX_RANK);
        return false;
    }
    if (!(o->eps >= 0 || o->eps == ADZ_EPS_OF_DTYPE)) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "eps is %s, but must be 0 or more, or ADZ_EPS_OF_DTYPE",
            adzi_text_number(o->eps));
        return false;
    }
    return adz_check_parameter_dtype(op, o->dtype);
}

adz_module *adz_rms_norm_new(adz_shape normalized_shape, const adz_rms_norm_options *options)
{
    static const char op[] = "adz_rms_norm_new";
    adz_rms_norm_options o = ADZ_RMS_NORM_OPTIONS;
    if (!ADZ_OPTIONS_READ(op, ADZ_RMS_NORM_OPTIONS, &o, options) ||
        !check(op, normalized_shape, &o)) {
        return NULL;
    }
    adzi_build build = adzi_build_begin();
    adz_module *self = adz_module_new(&rms_norm_type, sizeof(rms_norm_state));
    bool good = self != NULL;
    if (good) {
        *(rms_norm_state *)self->state =
            (rms_norm_state){ o.eps, o.elementwise_affine, normalized_shape };
        good = adz_module_add_parameter(self, "weight",
                   o.elementwise_affine ? adz_ones(normalized_shape, o.dtype) : ADZ_NONE) != NULL;
    }
    return adzi_build_end(build, self, good);
}
