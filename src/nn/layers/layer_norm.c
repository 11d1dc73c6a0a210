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
    double eps;
    bool affine;
    adz_shape normalized;
} layer_norm_state;

static adz_tensor *forward(adz_module *self, adz_tensor *x)
{
    const layer_norm_state *state = self->state;
    return adz_layer_norm(
        x, state->normalized, adzi_parameter(self, WEIGHT), adzi_parameter(self, BIAS), state->eps);
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

/* Writes normalized_shape as Python prints a tuple, (5,) or (2, 3), then the options. */
static size_t extra_repr(adz_module *self, char *buffer, size_t size)
{
    const layer_norm_state *state = self->state;
    char sizes[ADZ_MAX_RANK * 24] = "";
    size_t n = 0;
    const adz_shape *shape = &state->normalized;
    for (int i = 0; i < shape->rank; ++i) {
        n += (size_t)snprintf(
            sizes + n, sizeof sizes - n, "%s%lld", i > 0 ? ", " : "", (long long)shape->sizes[i]);
    }
    return (size_t)snprintf(buffer, size, "(%s%s), eps=%s, elementwise_affine=%s", sizes,
        shape->rank == 1 ? "," : "", adzi_text_float(state->eps), adzi_text_bool(state->affine));
}

static const adz_module_type layer_norm_type = {
    .size = sizeof(adz_module_type),
    .name = "LayerNorm",
    .forward = forward,
    .reset_parameters = reset_parameters,
    .extra_repr = extra_repr,
};

ADZ_OPTIONS_INIT(adz_layer_norm_options_init, adz_layer_norm_options, ADZ_LAYER_NORM_OPTIONS)

static bool check(const char *op, adz_shape shape, const adz_layer_norm_options *o)
{
    if (!adz_check_parameter_dtype(op, o->dtype)) {
        return false;
    }
    if (shape.rank < 1 || shape.rank > ADZ_MAX_RANK) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "normalized_shape has %d sizes, but needs 1 to %d",
            shape.rank, ADZ_MAX_RANK);
        return false;
    }
    for (int i = 0; i < shape.rank; ++i) {
        if (shape.sizes[i] < 0) {
            adzi_error(op, ADZ_ERR_ARGUMENT, "normalized_shape %s must not be negative",
                adzi_text_sizes(shape.rank, shape.sizes));
            return false;
        }
    }
    if (!(o->eps >= 0)) {
        adzi_error(
            op, ADZ_ERR_ARGUMENT, "eps is %s, but must be 0 or more", adzi_text_number(o->eps));
        return false;
    }
    return true;
}

adz_module *adz_layer_norm_new(adz_shape normalized_shape, const adz_layer_norm_options *options)
{
    static const char op[] = "adz_layer_norm_new";
    adz_layer_norm_options o = ADZ_LAYER_NORM_OPTIONS;
    if (!ADZ_OPTIONS_READ(op, ADZ_LAYER_NORM_OPTIONS, &o, options)) {
        return NULL;
    }
    if (!check(op, normalized_shape, &o)) {
        return NULL;
    }
    adzi_build build = adzi_build_begin();
    adz_module *self = adz_module_new(&layer_norm_type, sizeof(layer_norm_state));
    bool good = self != NULL, bias = o.elementwise_affine && o.bias;
    if (good) {
        layer_norm_state *state = self->state;
        state->eps = o.eps;
        state->affine = o.elementwise_affine;
        state->normalized = normalized_shape;
        good = adz_module_add_parameter(self, "weight",
                   o.elementwise_affine ? adz_ones(normalized_shape, o.dtype) : ADZ_NONE) != NULL &&
               adz_module_add_parameter(
                   self, "bias", bias ? adz_zeros(normalized_shape, o.dtype) : ADZ_NONE) != NULL;
    }
    return adzi_build_end(build, self, good);
}
