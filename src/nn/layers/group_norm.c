/* GroupNorm normalises groups of channels of x[N, C, ...], InstanceNorm1d, 2d and 3d single
 * channels of x[N, C, L], x[N, C, H, W] and x[N, C, D, H, W].
 *
 *     y = (x - mean) / sqrt(var + eps) * weight + bias
 *
 * Parameters, where they are asked for: weight[C], bias[C]. Buffers of an InstanceNorm that tracks
 * statistics: running_mean[C], running_var[C], and num_batches_tracked, which PyTorch never raises.
 */
#include "adze/nn/group_norm.h"

#include "adze/nn/init.h"
#include "adze/ops/norm.h"
#include "adze/ops/shape.h"
#include "base/error.h"
#include "adze/options.h"
#include "nn/module.h"

enum { WEIGHT, BIAS }; /* parameters */
enum { MEAN, VAR };    /* buffers */

/* Weight and bias of ones and zeros, which `affine` can leave out. */
static bool add_affine(adz_module *self, bool affine, int64_t channels, adz_dtype dtype)
{
    const adz_shape shape = ADZ_SHAPE(channels);
    return adz_module_add_parameter(self, "weight", affine ? adz_ones(shape, dtype) : ADZ_NONE) !=
               NULL &&
           adz_module_add_parameter(self, "bias", affine ? adz_zeros(shape, dtype) : ADZ_NONE) !=
               NULL;
}

static adz_status reset_affine(adz_module *self)
{
    adz_tensor *weight = adzi_parameter(self, WEIGHT), *bias = adzi_parameter(self, BIAS);
    const bool good =
        adzi_is_none(weight) || (adz_init_ones_(weight) != NULL && adz_init_zeros_(bias) != NULL);
    return good ? ADZ_OK : adz_error_code();
}

/* ---- GroupNorm ----------------------------------------------------------------------------- */

typedef struct {
    adz_group_norm_options o;
    int64_t num_groups, num_channels;
} group_norm_state;

static const adz_field group_norm_fields[] = {
    ADZ_FIELD(group_norm_state, num_groups, ADZ_SIZE_FROM(1), .shown = ADZ_SHOWN_BARE),
    ADZ_FIELD(group_norm_state, num_channels, ADZ_SIZE_FROM(0), .shown = ADZ_SHOWN_BARE),
    ADZ_FIELD(adz_group_norm_options, eps, .value = 1e-5, ADZ_AT_LEAST(0)),
    ADZ_FIELD(adz_group_norm_options, affine, .value = true),
    ADZ_FIELD_PARAMETER_DTYPE(adz_group_norm_options),
};

ADZ_OPTIONS_TABLE(adz_group_norm_options, ADZ_GROUP_NORM_OPTIONS, group_norm_fields)

static adz_tensor *group_norm(adz_module *self, adz_tensor *x)
{
    const group_norm_state *state = self->state;
    if (!adzi_check_tensor("GroupNorm", "x", x)) {
        return NULL;
    }
    if (x->rank < 2 || x->sizes[1] != state->num_channels) {
        return adzi_fail("GroupNorm", ADZ_ERR_SHAPE, "x%s must be [N, %lld, ...]",
            adzi_text_shape(x), (long long)state->num_channels);
    }
    return adz_group_norm(x, state->num_groups, adzi_parameter(self, WEIGHT),
        adzi_parameter(self, BIAS), state->o.eps);
}

static const adz_module_type group_norm_type = {
    .size = sizeof(adz_module_type),
    .name = "GroupNorm",
    .forward = group_norm,
    .reset_parameters = reset_affine,
    ADZI_MODULE_FIELDS(group_norm_fields),
};

adz_module *adz_group_norm_new(
    int64_t num_groups, int64_t num_channels, const adz_group_norm_options *options)
{
    static const char op[] = "adz_group_norm_new";
    group_norm_state s = { .num_groups = num_groups, .num_channels = num_channels };
    if (!adz_options_take(op, &adz_group_norm_options_table, &s, options)) {
        return NULL;
    }
    if (num_channels % num_groups != 0) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT,
            "num_groups %lld does not divide num_channels %lld; use 1 or a divisor",
            (long long)num_groups, (long long)num_channels);
    }
    adzi_build build = adzi_build_begin();
    adz_module *self = adzi_module_of(&group_norm_type, &s, sizeof s);
    const bool good = self != NULL && add_affine(self, s.o.affine, num_channels, s.o.dtype);
    return adzi_build_end(build, self, good);
}

/* ---- InstanceNorm1d, 2d and 3d --------------------------------------------------------------- */

typedef struct {
    adz_instance_norm_options o;
    int64_t num_features;
    int spatial; /* dimensions behind the channels */
} instance_norm_state;

static const adz_field instance_norm_fields[] = {
    ADZ_FIELD(instance_norm_state, num_features, ADZ_SIZE_FROM(0), .shown = ADZ_SHOWN_BARE),
    ADZ_FIELD(adz_instance_norm_options, eps, .value = 1e-5, ADZ_AT_LEAST(0)),
    ADZ_FIELD(adz_instance_norm_options, momentum, .value = 0.1, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(adz_instance_norm_options, affine, .value = false),
    ADZ_FIELD(adz_instance_norm_options, track_running_stats, .value = false),
    ADZ_FIELD_PARAMETER_DTYPE(adz_instance_norm_options),
};

ADZ_OPTIONS_TABLE(adz_instance_norm_options, ADZ_INSTANCE_NORM_OPTIONS, instance_norm_fields)

static adz_tensor *instance_norm(adz_module *self, adz_tensor *x)
{
    const instance_norm_state *state = self->state;
    const char *name = self->type.name;
    if (!adzi_check_tensor(name, "x", x)) {
        return NULL;
    }
    const bool batched = x->rank == state->spatial + 2;
    if ((!batched && x->rank != state->spatial + 1) ||
        x->sizes[batched ? 1 : 0] != state->num_features) {
        static const char *const behind[] = { "L", "H, W", "D, H, W" };
        const char *sizes = behind[state->spatial - 1];
        const long long c = state->num_features;
        return adzi_fail(name, ADZ_ERR_SHAPE, "x%s must be [N, %lld, %s] or [%lld, %s]",
            adzi_text_shape(x), c, sizes, c, sizes);
    }
    adz_tensor *y = adz_instance_norm(batched ? x : adz_unsqueeze(x, 0), self->buffers[MEAN].tensor,
        self->buffers[VAR].tensor, adzi_parameter(self, WEIGHT), adzi_parameter(self, BIAS),
        self->training || !state->o.track_running_stats, state->o.momentum, state->o.eps);
    return batched ? y : adz_squeeze(y, 0);
}

static adz_status reset_instance_norm(adz_module *self)
{
    const instance_norm_state *state = self->state;
    if (state->o.track_running_stats && (adz_init_zeros_(self->buffers[MEAN].tensor) == NULL ||
                                            adz_init_ones_(self->buffers[VAR].tensor) == NULL)) {
        return adz_error_code();
    }
    return reset_affine(self);
}

#define INSTANCE_NORM(its_name)                                                           \
    {                                                                                     \
        .size = sizeof(adz_module_type), .name = its_name, .forward = instance_norm,      \
        .reset_parameters = reset_instance_norm, ADZI_MODULE_FIELDS(instance_norm_fields) \
    }

static const adz_module_type instance_norm_types[] = { INSTANCE_NORM("InstanceNorm1d"),
    INSTANCE_NORM("InstanceNorm2d"), INSTANCE_NORM("InstanceNorm3d") };

/* Running statistics of zeros and ones, which `track` can leave out. */
static bool add_running(adz_module *self, bool track, int64_t features, adz_dtype dtype)
{
    const adz_shape shape = ADZ_SHAPE(features);
    return adz_module_add_buffer(
               self, "running_mean", track ? adz_zeros(shape, dtype) : ADZ_NONE, true) != NULL &&
           adz_module_add_buffer(
               self, "running_var", track ? adz_ones(shape, dtype) : ADZ_NONE, true) != NULL &&
           adz_module_add_buffer(self, "num_batches_tracked",
               track ? adz_zeros(ADZ_SHAPE_SCALAR, ADZ_I64) : ADZ_NONE, true) != NULL;
}

static adz_module *instance_norm_new(
    const char *op, int spatial, int64_t num_features, const adz_instance_norm_options *options)
{
    instance_norm_state s = { .num_features = num_features, .spatial = spatial };
    if (!adz_options_take(op, &adz_instance_norm_options_table, &s, options)) {
        return NULL;
    }
    adzi_build build = adzi_build_begin();
    adz_module *self = adzi_module_of(&instance_norm_types[spatial - 1], &s, sizeof s);
    const bool good = self != NULL && add_affine(self, s.o.affine, num_features, s.o.dtype) &&
                      add_running(self, s.o.track_running_stats, num_features, s.o.dtype);
    return adzi_build_end(build, self, good);
}

adz_module *adz_instance_norm1d_new(int64_t num_features, const adz_instance_norm_options *options)
{
    return instance_norm_new("adz_instance_norm1d_new", 1, num_features, options);
}

adz_module *adz_instance_norm2d_new(int64_t num_features, const adz_instance_norm_options *options)
{
    return instance_norm_new("adz_instance_norm2d_new", 2, num_features, options);
}

adz_module *adz_instance_norm3d_new(int64_t num_features, const adz_instance_norm_options *options)
{
    return instance_norm_new("adz_instance_norm3d_new", 3, num_features, options);
}
