/* MaxPool, AvgPool, AdaptiveAvgPool and AdaptiveMaxPool in one to three dimensions, and Upsample.
 * They have no parameters: each calls its operator. */
#include "adze/nn/pool.h"

#include <stdio.h>
#include <string.h>

#include "ops/pool/avg_pool.h"
#include "ops/pool/interpolate.h"
#include "ops/pool/max_pool.h"
#include "base/error.h"
#include "adze/options.h"
#include "nn/module.h"

#define POOL(its_name, function, its_fields, maximum)                           \
    {                                                                           \
        .size = sizeof(adz_module_type), .name = its_name, .forward = function, \
        ADZI_MODULE_FIELDS(its_fields), .takes_maximum = maximum                \
    }

/* ---- the largest element ------------------------------------------------------------------- */

static adz_tensor *max_pool1d(adz_module *self, adz_tensor *x)
{
    const adzi_max_pool_arguments *state = self->state;
    return adz_max_pool1d(x, state->kernel_size.sizes[0], &state->o, NULL);
}

static adz_tensor *max_pool2d(adz_module *self, adz_tensor *x)
{
    const adzi_max_pool_arguments *state = self->state;
    return adz_max_pool2d(x, state->kernel_size, &state->o, NULL);
}

static adz_tensor *max_pool3d(adz_module *self, adz_tensor *x)
{
    const adzi_max_pool_arguments *state = self->state;
    return adz_max_pool3d(x, state->kernel_size, &state->o, NULL);
}

static const adz_module_type max_pool_types[] = {
    POOL("MaxPool1d", max_pool1d, adzi_max_pool_rows, true),
    POOL("MaxPool2d", max_pool2d, adzi_max_pool_rows, true),
    POOL("MaxPool3d", max_pool3d, adzi_max_pool_rows, true),
};

static adz_module *max_pool_new(
    const char *op, int n, adz_shape kernel_size, const adz_max_pool_options *options)
{
    adzi_window_attr attr;
    adzi_max_pool_arguments state = { .kernel_size = kernel_size };
    if (!adzi_max_pool_read(op, n, &state, options, &attr)) {
        return NULL;
    }
    state.o.stride = state.o.stride.rank > 0 ? state.o.stride : kernel_size;
    return adzi_module_of(&max_pool_types[n - 1], &state, sizeof state);
}

adz_module *adz_max_pool1d_new(int64_t kernel_size, const adz_max_pool_options *options)
{
    return max_pool_new("adz_max_pool1d_new", 1, ADZ_SHAPE(kernel_size), options);
}

adz_module *adz_max_pool2d_new(adz_shape kernel_size, const adz_max_pool_options *options)
{
    return max_pool_new("adz_max_pool2d_new", 2, kernel_size, options);
}

adz_module *adz_max_pool3d_new(adz_shape kernel_size, const adz_max_pool_options *options)
{
    return max_pool_new("adz_max_pool3d_new", 3, kernel_size, options);
}

/* ---- the mean ------------------------------------------------------------------------------ */

static adz_tensor *avg_pool1d(adz_module *self, adz_tensor *x)
{
    const adzi_avg_pool_arguments *state = self->state;
    return adz_avg_pool1d(x, state->kernel_size.sizes[0], &state->o);
}

static adz_tensor *avg_pool2d(adz_module *self, adz_tensor *x)
{
    const adzi_avg_pool_arguments *state = self->state;
    return adz_avg_pool2d(x, state->kernel_size, &state->o);
}

static adz_tensor *avg_pool3d(adz_module *self, adz_tensor *x)
{
    const adzi_avg_pool_arguments *state = self->state;
    return adz_avg_pool3d(x, state->kernel_size, &state->o);
}

static const adz_module_type avg_pool_types[] = {
    POOL("AvgPool1d", avg_pool1d, adzi_avg_pool_rows[0], false),
    POOL("AvgPool2d", avg_pool2d, adzi_avg_pool_rows[1], false),
    POOL("AvgPool3d", avg_pool3d, adzi_avg_pool_rows[1], false),
};

static adz_module *avg_pool_new(
    const char *op, int n, adz_shape kernel_size, const adz_avg_pool_options *options)
{
    adzi_window_attr attr;
    adzi_avg_pool_arguments state = { .kernel_size = kernel_size };
    if (!adzi_avg_pool_read(op, n, &state, options, &attr)) {
        return NULL;
    }
    state.o.stride = state.o.stride.rank > 0 ? state.o.stride : kernel_size;
    return adzi_module_of(&avg_pool_types[n - 1], &state, sizeof state);
}

adz_module *adz_avg_pool1d_new(int64_t kernel_size, const adz_avg_pool_options *options)
{
    return avg_pool_new("adz_avg_pool1d_new", 1, ADZ_SHAPE(kernel_size), options);
}

adz_module *adz_avg_pool2d_new(adz_shape kernel_size, const adz_avg_pool_options *options)
{
    return avg_pool_new("adz_avg_pool2d_new", 2, kernel_size, options);
}

adz_module *adz_avg_pool3d_new(adz_shape kernel_size, const adz_avg_pool_options *options)
{
    return avg_pool_new("adz_avg_pool3d_new", 3, kernel_size, options);
}

/* ---- adaptive ------------------------------------------------------------------------------ */

typedef struct {
    adz_shape output_size;
} adaptive_state;

static const adz_field adaptive_fields[] = { ADZ_FIELD_AS(
    adaptive_state, output_size, "output_size", ADZ_FIELD_SIZES, .value = 0) };

static const adz_shape *output_size_of(const adz_module *self)
{
    return &((const adaptive_state *)self->state)->output_size;
}

static adz_tensor *adaptive_avg_pool1d(adz_module *self, adz_tensor *x)
{
    return adz_adaptive_avg_pool1d(x, output_size_of(self)->sizes[0]);
}

static adz_tensor *adaptive_avg_pool2d(adz_module *self, adz_tensor *x)
{
    return adz_adaptive_avg_pool2d(x, *output_size_of(self));
}

static adz_tensor *adaptive_avg_pool3d(adz_module *self, adz_tensor *x)
{
    return adz_adaptive_avg_pool3d(x, *output_size_of(self));
}

static adz_tensor *adaptive_max_pool1d(adz_module *self, adz_tensor *x)
{
    return adz_adaptive_max_pool1d(x, output_size_of(self)->sizes[0], NULL);
}

static adz_tensor *adaptive_max_pool2d(adz_module *self, adz_tensor *x)
{
    return adz_adaptive_max_pool2d(x, *output_size_of(self), NULL);
}

static adz_tensor *adaptive_max_pool3d(adz_module *self, adz_tensor *x)
{
    return adz_adaptive_max_pool3d(x, *output_size_of(self), NULL);
}

static const adz_module_type adaptive_avg_pool_types[] = {
    POOL("AdaptiveAvgPool1d", adaptive_avg_pool1d, adaptive_fields, false),
    POOL("AdaptiveAvgPool2d", adaptive_avg_pool2d, adaptive_fields, false),
    POOL("AdaptiveAvgPool3d", adaptive_avg_pool3d, adaptive_fields, false),
};

static const adz_module_type adaptive_max_pool_types[] = {
    POOL("AdaptiveMaxPool1d", adaptive_max_pool1d, adaptive_fields, true),
    POOL("AdaptiveMaxPool2d", adaptive_max_pool2d, adaptive_fields, true),
    POOL("AdaptiveMaxPool3d", adaptive_max_pool3d, adaptive_fields, true),
};

static adz_module *adaptive_new(
    const char *op, const adz_module_type *types, int n, adz_shape output_size)
{
    adzi_adaptive_attr attr;
    if (!adzi_read_adaptive(op, n, &output_size, &attr)) {
        return NULL;
    }
    return adzi_module_of(&types[n - 1], &output_size, sizeof output_size);
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

adz_module *adz_adaptive_avg_pool3d_new(adz_shape output_size)
{
    return adaptive_new("adz_adaptive_avg_pool3d_new", adaptive_avg_pool_types, 3, output_size);
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

adz_module *adz_adaptive_max_pool3d_new(adz_shape output_size)
{
    return adaptive_new("adz_adaptive_max_pool3d_new", adaptive_max_pool_types, 3, output_size);
}

/* ---- interpolation ------------------------------------------------------------------------- */

typedef struct {
    adz_interpolate_options options;
    adz_shape size; /* rank 0: the options have a scale_factor */
} upsample_state;

static const char *const upsample_modes[] = { "'nearest'", "'linear'", "'bilinear'", "'trilinear'",
    NULL };

/* A module prints its size or its factor: without the second row, or without the first. */
static const adz_field upsample_fields[] = {
    ADZ_FIELD_AS(upsample_state, size, "size", ADZ_FIELD_SIZES, ADZ_CLOSED(1, INT32_MAX)),
    ADZ_FIELD_AS(adz_interpolate_options, mode, "mode", ADZ_FIELD_ENUM, .values = upsample_modes),
    ADZ_FIELD(adz_interpolate_options, scale_factor, .value = 0),
    ADZ_FIELD_AS(adz_interpolate_options, mode, "mode", ADZ_FIELD_ENUM, .values = upsample_modes),
};

static adz_tensor *upsample(adz_module *self, adz_tensor *x)
{
    const upsample_state *state = self->state;
    return adz_interpolate(x, state->size, &state->options);
}

#define UPSAMPLE_TYPE(its_name, first_field)                                    \
    {                                                                           \
        .size = sizeof(adz_module_type), .name = its_name, .forward = upsample, \
        .fields = upsample_fields + first_field, .n_fields = 2                  \
    }
#define UPSAMPLES(name)                                \
    {                                                  \
        UPSAMPLE_TYPE(name, 0), UPSAMPLE_TYPE(name, 2) \
    }

/* By name, and by whether the module has a size. */
enum { UPSAMPLE, UPSAMPLING_NEAREST, UPSAMPLING_BILINEAR };
static const adz_module_type upsample_types[][2] = { UPSAMPLES("Upsample"),
    UPSAMPLES("UpsamplingNearest2d"), UPSAMPLES("UpsamplingBilinear2d") };

static adz_module *upsample_new(
    const char *op, int kind, adz_shape size, const adz_interpolate_options *options)
{
    upsample_state state = { .size = size };
    int64_t sizes[ADZI_AXES];
    const int most = kind == UPSAMPLE ? ADZI_AXES : 2;
    const int n = size.rank > most ? most : size.rank > 1 ? size.rank : 1;
    if (!adzi_interpolate_read(op, &size, options, &state.options) ||
        !adz_fields_check(op, upsample_fields, 1, &state) ||
        !adzi_spread(op, "size", &size, n, sizes)) {
        return NULL;
    }
    state.options.size = sizeof state.options;
    return adzi_module_of(&upsample_types[kind][size.rank == 0], &state, sizeof state);
}

adz_module *adz_upsample_new(adz_shape size, const adz_interpolate_options *options)
{
    return upsample_new(__func__, UPSAMPLE, size, options);
}

adz_module *adz_upsampling_nearest2d_new(adz_shape size, double scale_factor)
{
    adz_interpolate_options o = ADZ_INTERPOLATE_OPTIONS;
    o.scale_factor = scale_factor;
    return upsample_new(__func__, UPSAMPLING_NEAREST, size, &o);
}

adz_module *adz_upsampling_bilinear2d_new(adz_shape size, double scale_factor)
{
    adz_interpolate_options o = ADZ_INTERPOLATE_OPTIONS;
    o.mode = ADZ_INTERPOLATE_BILINEAR;
    o.scale_factor = scale_factor;
    o.align_corners = true;
    return upsample_new(__func__, UPSAMPLING_BILINEAR, size, &o);
}
