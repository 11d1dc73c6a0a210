/* BatchNorm1d, 2d and 3d: normalise each feature of x[N, D], x[N, D, L], x[N, D, H, W] or
 * x[N, D, T, H, W] over all other dimensions.
 *
 *     y = (x - mean) / sqrt(var + eps) * weight + bias
 *
 * In training, mean and var are those of x, and the running statistics move towards them. In
 * evaluation the running statistics are used. Parameters: weight[D], bias[D]. Buffers:
 * running_mean[D], running_var[D], num_batches_tracked, an int64 scalar. */
#include "nn/batch_norm.h"

#include "adze/nn/init.h"
#include "adze/ops/norm.h"
#include "ops/norm/batch_norm.h"
#include "base/threads/parallel.h"
#include "base/tracer.h"
#include "nn/micro_state.h"
#include "base/error.h"
#include "adze/options.h"

enum { WEIGHT, BIAS };     /* parameters */
enum { MEAN, VAR, COUNT }; /* buffers */

typedef struct {
    adz_batch_norm1d_options o;
    int64_t num_features;
    int spatial; /* 1: x is [N, D] or [N, D, L]; 2: x is [N, D, H, W]; 3: x is [N, D, T, H, W] */
} batch_norm_state;

static const adz_field fields[] = {
    ADZ_FIELD(batch_norm_state, num_features, ADZ_SIZE_FROM(0), .shown = ADZ_SHOWN_BARE),
    ADZ_FIELD(adz_batch_norm1d_options, eps, .value = 1e-5, ADZ_AT_LEAST(0)),
    ADZ_FIELD(adz_batch_norm1d_options, momentum, .value = 0.1, ADZ_CLOSED(0, 1),
        .none = ADZ_CUMULATIVE_MOMENTUM, .none_name = "ADZ_CUMULATIVE_MOMENTUM"),
    ADZ_FIELD(adz_batch_norm1d_options, affine, .value = true),
    ADZ_FIELD(adz_batch_norm1d_options, track_running_stats, .value = true),
    ADZ_FIELD_PARAMETER_DTYPE(adz_batch_norm1d_options),
};

ADZ_OPTIONS_TABLE(adz_batch_norm1d_options, ADZ_BATCH_NORM1D_OPTIONS, fields)
ADZ_OPTIONS_TABLE(adz_batch_norm2d_options, ADZ_BATCH_NORM2D_OPTIONS, fields)
ADZ_OPTIONS_TABLE(adz_batch_norm3d_options, ADZ_BATCH_NORM3D_OPTIONS, fields)

static adz_tensor *buffer(const adz_module *self, size_t i)
{
    return self->buffers[i].tensor;
}

typedef struct {
    int64_t *count;
    bool reset; /* set the count to 0; otherwise add 1 */
} count_args;

ADZI_ADDRESSES(count_args, count);

/* Kernel of one unit that changes the number of batches. It is a launch, so that a replayed step
 * counts its batch too. */
static void change_count(const void *block, int64_t begin, int64_t end)
{
    const count_args *args = block;
    if (begin < end) {
        *args->count = args->reset ? 0 : *args->count + 1;
    }
}

static void launch_count(adz_module *self, bool reset)
{
    const count_args args = { (int64_t *)(void *)buffer(self, COUNT)->data, reset };
    const bool open = adzi_trace_open(true); /* an export has no use for the count */
    adzi_capture_changes(buffer(self, COUNT));
    adzi_launch(change_count, count_args, &args, 1, 1);
    adzi_trace_open(open);
    adzi_written(buffer(self, COUNT), self->type.name);
}

/* Checks that x has the dimensions of the module and its number of features. */
static bool fits(const char *name, const batch_norm_state *state, const adz_tensor *x)
{
    const long long d = state->num_features;
    const bool rank = x->rank == state->spatial + 2 || (state->spatial == 1 && x->rank == 2);
    if (rank && x->sizes[1] == state->num_features) {
        return true;
    }
    if (state->spatial > 1) {
        adzi_error(name, ADZ_ERR_SHAPE, "x%s must be [N, %lld, %s]", adzi_text_shape(x), d,
            state->spatial == 2 ? "H, W" : "D, H, W");
    } else {
        adzi_error(
            name, ADZ_ERR_SHAPE, "x%s must be [N, %lld] or [N, %lld, L]", adzi_text_shape(x), d, d);
    }
    return false;
}

static adz_tensor *forward(adz_module *self, adz_tensor *x)
{
    const batch_norm_state *state = self->state;
    const char *name = self->type.name;
    if (!adzi_check_tensor(name, "x", x) || !fits(name, state, x)) {
        return NULL;
    }
    bool update = self->training && state->o.track_running_stats;
    const bool cumulative = state->o.momentum == ADZ_CUMULATIVE_MOMENTUM;
    adz_tensor *mean = buffer(self, MEAN), *var = buffer(self, VAR), *y;
    adz_tensor *w = adzi_parameter(self, WEIGHT), *b = adzi_parameter(self, BIAS);
    const adzi_batch_norm_inputs in = { x, mean, var, w, b };
    double *batch = update && self->micro != NULL ? adzi_micro_state_batch(self) : NULL;
    if (batch != NULL) {
        y = adzi_batch_norm_hand_out(&in, batch, state->o.eps);
        if (y != NULL) {
            adzi_written(buffer(self, COUNT), self->type.name); /* Note [Handing statistics out] */
        }
        return y;
    }
    if (cumulative && update) {
        y = adzi_batch_norm_cumulative(&in, buffer(self, COUNT), state->o.eps);
    } else {
        y = adz_batch_norm(x, mean, var, w, b, self->training || !state->o.track_running_stats,
            cumulative ? 0 : state->o.momentum, state->o.eps);
    }
    if (y != NULL && update) {
        launch_count(self, false);
    }
    return y;
}

adz_status adzi_batch_norm_reset(adz_module *self)
{
    if (adz_init_ones_(buffer(self, VAR)) == NULL || adz_init_zeros_(buffer(self, MEAN)) == NULL) {
        return adz_error_code();
    }
    launch_count(self, true);
    return ADZ_OK;
}

/* Sets weight and running variance to 1, bias and running mean to 0, the number of batches to 0. */
static adz_status reset_parameters(adz_module *self)
{
    const batch_norm_state *state = self->state;
    if (state->o.affine && (adz_init_ones_(adzi_parameter(self, WEIGHT)) == NULL ||
                               adz_init_zeros_(adzi_parameter(self, BIAS)) == NULL)) {
        return adz_error_code();
    }
    return state->o.track_running_stats ? adzi_batch_norm_reset(self) : ADZ_OK;
}

#define TYPE(its_name)                                                         \
    {                                                                          \
        .size = sizeof(adz_module_type), .name = its_name, .forward = forward, \
        .reset_parameters = reset_parameters, ADZI_MODULE_FIELDS(fields)       \
    }

enum { MOST_SPATIAL = 3 };

/* By the number of spatial dimensions less 1. */
static const adz_module_type types[MOST_SPATIAL] = { TYPE("BatchNorm1d"), TYPE("BatchNorm2d"),
    TYPE("BatchNorm3d") };

/* Whether a running mean or variance has the shape and dtype that it was made with. A user may have
 * replaced it. */
static bool is_running(const adz_tensor *t, int64_t features)
{
    return !adzi_is_none(t) && t->rank == 1 && t->sizes[0] == features &&
           adzi_is_float((adz_dtype)t->dtype) && adzi_is_dense(t);
}

static bool is_batch_norm(const adz_module *module)
{
    bool is_norm = false;
    for (int i = 0; i < MOST_SPATIAL; ++i) {
        is_norm = is_norm || module->identity == &types[i];
    }
    return is_norm;
}

double *adzi_batch_norm_momentum(adz_module *module)
{
    batch_norm_state *state = is_batch_norm(module) ? module->state : NULL;
    return state != NULL && state->o.track_running_stats ? &state->o.momentum : NULL;
}

bool adzi_batch_norm_running(const adz_module *module, adzi_running_buffers *running)
{
    if (!is_batch_norm(module)) {
        return false;
    }
    const batch_norm_state *state = module->state;
    *running = (adzi_running_buffers){ buffer(module, MEAN), buffer(module, VAR),
        buffer(module, COUNT), state->o.momentum };
    return state->o.track_running_stats && is_running(running->mean, state->num_features) &&
           is_running(running->var, state->num_features) && !adzi_is_none(running->count) &&
           running->count->numel == 1 && running->count->dtype == ADZ_I64;
}

/* Zeros[features] for a parameter or buffer that is present, else ADZ_NONE. */
static adz_tensor *features_or_none(bool present, int64_t features, adz_dtype dtype)
{
    return present ? adz_zeros(ADZ_SHAPE(features), dtype) : ADZ_NONE;
}

/* Makes each of the modules. Its name in messages is `op`. */
static adz_module *batch_norm_new(
    const char *op, int spatial, int64_t num_features, const adz_batch_norm1d_options *options)
{
    static const adz_options_table *const tables[MOST_SPATIAL] = { &adz_batch_norm1d_options_table,
        &adz_batch_norm2d_options_table, &adz_batch_norm3d_options_table };
    batch_norm_state s = { .num_features = num_features, .spatial = spatial };
    if (!adz_options_take(op, tables[spatial - 1], &s, options)) {
        return NULL;
    }
    adzi_build build = adzi_build_begin();
    adz_module *self = adzi_module_of(&types[spatial - 1], &s, sizeof s);
    if (self == NULL) {
        return adzi_build_end(build, NULL, false);
    }
    const adz_batch_norm1d_options o = s.o;
    const bool track = o.track_running_stats;
    bool good = adz_module_add_parameter(
                    self, "weight", features_or_none(o.affine, num_features, o.dtype)) != NULL &&
                adz_module_add_parameter(
                    self, "bias", features_or_none(o.affine, num_features, o.dtype)) != NULL &&
                adz_module_add_buffer(self, "running_mean",
                    features_or_none(track, num_features, o.dtype), true) != NULL &&
                adz_module_add_buffer(self, "running_var",
                    features_or_none(track, num_features, o.dtype), true) != NULL &&
                adz_module_add_buffer(self, "num_batches_tracked",
                    track ? adz_zeros(ADZ_SHAPE_SCALAR, ADZ_I64) : ADZ_NONE, true) != NULL &&
                reset_parameters(self) == ADZ_OK;
    return adzi_build_end(build, self, good);
}

adz_module *adz_batch_norm1d_new(int64_t num_features, const adz_batch_norm1d_options *options)
{
    return batch_norm_new("adz_batch_norm1d_new", 1, num_features, options);
}

adz_module *adz_batch_norm2d_new(int64_t num_features, const adz_batch_norm2d_options *options)
{
    return batch_norm_new("adz_batch_norm2d_new", 2, num_features, options);
}

adz_module *adz_batch_norm3d_new(int64_t num_features, const adz_batch_norm3d_options *options)
{
    return batch_norm_new("adz_batch_norm3d_new", 3, num_features, options);
}
