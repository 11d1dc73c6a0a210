/* MaxPool, AvgPool, AdaptiveAvgPool and AdaptiveMaxPool in one and two dimensions, and Upsample.
 * They have no parameters: each calls its operator. */
#include "adze/nn/pool.h"

#include <stdio.h>
#include <string.h>

#include "ops/pool/avg_pool.h"
#include "ops/pool/interpolate.h"
#include "ops/pool/max_pool.h"
#include "base/error.h"
#include "adze/options.h"
#include "nn/layers/numbers.h"
#include "nn/module.h"

#define POOL(its_name, function, repr, maximum)                                 \
    {                                                                           \
        .size = sizeof(adz_module_type), .name = its_name, .forward = function, \
        .extra_repr = repr, .takes_maximum = maximum                            \
    }

/* A module that holds a copy of the `size` bytes at `state`. */
static adz_module *new_with(const adz_module_type *type, const void *state, size_t size)
{
    adz_module *self = adz_module_new(type, size);
    if (self != NULL) {
        memcpy(self->state, state, size);
    }
    return self;
}

/* ---- the largest element ------------------------------------------------------------------- */

typedef struct {
    adz_shape kernel_size; /* with one number or two, as the caller gave it */
    adz_max_pool_options options;
} max_pool_state;

static adz_tensor *max_pool1d(adz_module *self, adz_tensor *x)
{
    const max_pool_state *state = self->state;
    return adz_max_pool1d(x, state->kernel_size.sizes[0], &state->options, NULL);
}

static adz_tensor *max_pool2d(adz_module *self, adz_tensor *x)
{
    const max_pool_state *state = self->state;
    return adz_max_pool2d(x, state->kernel_size, &state->options, NULL);
}

static size_t max_pool_repr(adz_module *self, char *buffer, size_t size)
{
    const max_pool_state *state = self->state;
    const adz_max_pool_options *o = &state->options;
    char kernel[ADZI_NUMBERS], stride[ADZI_NUMBERS], padding[ADZI_NUMBERS], dilation[ADZI_NUMBERS];
    adzi_print_numbers(kernel, state->kernel_size, false);
    adzi_print_numbers(stride, o->stride.rank > 0 ? o->stride : state->kernel_size, false);
    adzi_print_numbers(padding, o->padding.rank > 0 ? o->padding : ADZ_SHAPE(0), false);
    adzi_print_numbers(dilation, o->dilation.rank > 0 ? o->dilation : ADZ_SHAPE(1), false);
    return (size_t)snprintf(buffer, size,
        "kernel_size=%s, stride=%s, padding=%s, dilation=%s, ceil_mode=%s", kernel, stride, padding,
        dilation, adzi_text_bool(o->ceil_mode));
}

static const adz_module_type max_pool_types[] = {
    POOL("MaxPool1d", max_pool1d, max_pool_repr, true),
    POOL("MaxPool2d", max_pool2d, max_pool_repr, true),
};

static adz_module *max_pool_new(
    const char *op, int n, adz_shape kernel_size, const adz_max_pool_options *options)
{
    adzi_window_attr attr;
    max_pool_state state = { kernel_size, ADZ_MAX_POOL_OPTIONS };
    if (!ADZ_OPTIONS_READ(op, ADZ_MAX_POOL_OPTIONS, &state.options, options) ||
        !adzi_max_pool_read(op, n, kernel_size, options, &attr)) {
        return NULL;
    }
    state.options.size = sizeof state.options;
    return new_with(&max_pool_types[n - 1], &state, sizeof state);
}

adz_module *adz_max_pool1d_new(int64_t kernel_size, const adz_max_pool_options *options)
{
    return max_pool_new("adz_max_pool1d_new", 1, ADZ_SHAPE(kernel_size), options);
}

adz_module *adz_max_pool2d_new(adz_shape kernel_size, const adz_max_pool_options *options)
{
    return max_pool_new("adz_max_pool2d_new", 2, kernel_size, options);
}

/* ---- the mean ------------------------------------------------------------------------------ */

typedef struct {
    adz_shape kernel_size;
    adz_avg_pool_options options;
} avg_pool_state;

static adz_tensor *avg_pool1d(adz_module *self, adz_tensor *x)
{
    const avg_pool_state *state = self->state;
    return adz_avg_pool1d(x, state->kernel_size.sizes[0], &state->options);
}

static adz_tensor *avg_pool2d(adz_module *self, adz_tensor *x)
{
    const avg_pool_state *state = self->state;
    return adz_avg_pool2d(x, state->kernel_size, &state->options);
}

/* PyTorch prints the numbers of AvgPool1d as tuples. */
static size_t avg_pool_repr(adz_module *self, char *buffer, size_t size)
{
    const avg_pool_state *state = self->state;
    const adz_avg_pool_options *o = &state->options;
    const bool tuples = self->type.forward == avg_pool1d;
    char kernel[ADZI_NUMBERS], stride[ADZI_NUMBERS], padding[ADZI_NUMBERS];
    adzi_print_numbers(kernel, state->kernel_size, tuples);
    adzi_print_numbers(stride, o->stride.rank > 0 ? o->stride : state->kernel_size, tuples);
    adzi_print_numbers(padding, o->padding.rank > 0 ? o->padding : ADZ_SHAPE(0), tuples);
    return (size_t)snprintf(
        buffer, size, "kernel_size=%s, stride=%s, padding=%s", kernel, stride, padding);
}

static const adz_module_type avg_pool_types[] = {
    POOL("AvgPool1d", avg_pool1d, avg_pool_repr, false),
    POOL("AvgPool2d", avg_pool2d, avg_pool_repr, false),
};

static adz_module *avg_pool_new(
    const char *op, int n, adz_shape kernel_size, const adz_avg_pool_options *options)
{
    adzi_window_attr attr;
    avg_pool_state state = { kernel_size, ADZ_AVG_POOL_OPTIONS };
    if (!ADZ_OPTIONS_READ(op, ADZ_AVG_POOL_OPTIONS, &state.options, options) ||
        !adzi_avg_pool_read(op, n, kernel_size, options, &attr)) {
        return NULL;
    }
    state.options.size = sizeof state.options;
    return new_with(&avg_pool_types[n - 1], &state, sizeof state);
}

adz_module *adz_avg_pool1d_new(int64_t kernel_size, const adz_avg_pool_options *options)
{
    return avg_pool_new("adz_avg_pool1d_new", 1, ADZ_SHAPE(kernel_size), options);
}

adz_module *adz_avg_pool2d_new(adz_shape kernel_size, const adz_avg_pool_options *options)
{
    return avg_pool_new("adz_avg_pool2d_new", 2, kernel_size, options);
}

/* ---- adaptive ------------------------------------------------------------------------------ */

/* The state is the output_size. */
static const adz_shape *output_size_of(const adz_module *self)
{
    return self->state;
}

static adz_tensor *adaptive_avg_pool1d(adz_module *self, adz_tensor *x)
{
    return adz_adaptive_avg_pool1d(x, output_size_of(self)->sizes[0]);
}

static adz_tensor *adaptive_avg_pool2d(adz_module *self, adz_tensor *x)
{
    return adz_adaptive_avg_pool2d(x, *output_size_of(self));
}

static adz_tensor *adaptive_max_pool1d(adz_module *self, adz_tensor *x)
{
    return adz_adaptive_max_pool1d(x, output_size_of(self)->sizes[0], NULL);
}

static adz_tensor *adaptive_max_pool2d(adz_module *self, adz_tensor *x)
{
    return adz_adaptive_max_pool2d(x, *output_size_of(self), NULL);
}

static size_t adaptive_repr(adz_module *self, char *buffer, size_t size)
{
    char numbers[ADZI_NUMBERS];
    adzi_print_numbers(numbers, *output_size_of(self), false);
    return (size_t)snprintf(buffer, size, "output_size=%s", numbers);
}

static const adz_module_type adaptive_avg_pool_types[] = {
    POOL("AdaptiveAvgPool1d", adaptive_avg_pool1d, adaptive_repr, false),
    POOL("AdaptiveAvgPool2d", adaptive_avg_pool2d, adaptive_repr, false),
};

static const adz_module_type adaptive_max_pool_types[] = {
    POOL("AdaptiveMaxPool1d", adaptive_max_pool1d, adaptive_repr, true),
    POOL("AdaptiveMaxPool2d", adaptive_max_pool2d, adaptive_repr, true),
};

static adz_module *adaptive_new(
    const char *op, const adz_module_type *types, int n, adz_shape output_size)
{
    int64_t sizes[ADZI_AXES];
    if (!adzi_read_pair(op, "output_size", n, output_size, -1, NULL, sizes)) {
        return NULL;
    }
    return new_with(&types[n - 1], &output_size, sizeof output_size);
}

adz_module *adz_adaptive_avg_pool1d_new(int64_t output_size)
{
    return adaptive_new(
        "adz_adaptive_avg_pool1d_new", adaptive_avg_pool_types, 1, ADZ_SHAPE(output_size));
}

adz_module *adz_adaptive_avg_pool2d_new(adz_shape output_size)
{
    return adaptive_new("adz_adaptive_avg_pool2d_new", adaptive_avg_pool_types, 2, output_size);
}

adz_module *adz_adaptive_max_pool1d_new(int64_t output_size)
{
    return adaptive_new(
        "adz_adaptive_max_pool1d_new", adaptive_max_pool_types, 1, ADZ_SHAPE(output_size));
}

adz_module *adz_adaptive_max_pool2d_new(adz_shape output_size)
{
    return adaptive_new("adz_adaptive_max_pool2d_new", adaptive_max_pool_types, 2, output_size);
}

/* ---- interpolation ------------------------------------------------------------------------- */

typedef struct {
    adz_shape size; /* rank 0: the options have a scale_factor */
    adz_interpolate_options options;
} upsample_state;

static adz_tensor *upsample(adz_module *self, adz_tensor *x)
{
    const upsample_state *state = self->state;
    return adz_interpolate(x, state->size, &state->options);
}

static size_t upsample_repr(adz_module *self, char *buffer, size_t size)
{
    static const char *const modes[] = { "nearest", "linear", "bilinear" };
    const upsample_state *state = self->state;
    char sizes[ADZI_NUMBERS];
    adzi_print_numbers(sizes, state->size, false);
    const bool scaled = state->size.rank == 0;
    return (size_t)snprintf(buffer, size, "%s=%s, mode='%s'", scaled ? "scale_factor" : "size",
        scaled ? adzi_text_float(state->options.scale_factor) : sizes, modes[state->options.mode]);
}

static const adz_module_type upsample_type = {
    .size = sizeof(adz_module_type),
    .name = "Upsample",
    .forward = upsample,
    .extra_repr = upsample_repr,
};

adz_module *adz_upsample_new(adz_shape size, const adz_interpolate_options *options)
{
    static const char op[] = "adz_upsample_new";
    upsample_state state = { size, ADZ_INTERPOLATE_OPTIONS };
    int64_t sizes[ADZI_AXES];
    const int n = size.rank == 1 ? 1 : ADZI_AXES;
    if (!adzi_interpolate_read(op, size, options, &state.options) ||
        (size.rank != 0 && !adzi_read_pair(op, "size", n, size, 1, NULL, sizes))) {
        return NULL;
    }
    state.options.size = sizeof state.options;
    return new_with(&upsample_type, &state, sizeof state);
}
