/* LPPool and MaxUnpool in one to three dimensions, UpsamplingNearest2d and UpsamplingBilinear2d. */
#include "adze/nn/pool.h"

#include "ops/pool/interpolate.h"
#include "ops/pool/lp_pool.h"
#include "ops/pool/max_unpool.h"
#include "adze/options.h"
#include "base/error.h"
#include "nn/module.h"

/* ---- LPPool -------------------------------------------------------------------------------- */

static adz_tensor *lp_pool1d(adz_module *self, adz_tensor *x)
{
    const adzi_lp_pool_arguments *s = self->state;
    return adz_lp_pool1d(x, s->norm_type, s->kernel_size.sizes[0], &s->o);
}

static adz_tensor *lp_pool2d(adz_module *self, adz_tensor *x)
{
    const adzi_lp_pool_arguments *s = self->state;
    return adz_lp_pool2d(x, s->norm_type, s->kernel_size, &s->o);
}

static adz_tensor *lp_pool3d(adz_module *self, adz_tensor *x)
{
    const adzi_lp_pool_arguments *s = self->state;
    return adz_lp_pool3d(x, s->norm_type, s->kernel_size, &s->o);
}

/* What a module without a stride prints. */
static const char *const none[] = { "None", NULL };
static const adz_field without_stride[] = {
    ADZ_FIELD(adzi_lp_pool_arguments, norm_type, .value = 0),
    ADZ_FIELD_AS(adzi_lp_pool_arguments, kernel_size, "kernel_size", ADZ_FIELD_SIZES, .value = 0),
    ADZ_FIELD_AS(adzi_lp_pool_arguments, no_stride, "stride", ADZ_FIELD_ENUM, .values = none),
    ADZ_FIELD(adz_lp_pool_options, ceil_mode, .value = false),
};

#define LP_POOL(its_name, function, its_fields)                                 \
    {                                                                           \
        .size = sizeof(adz_module_type), .name = its_name, .forward = function, \
        ADZI_MODULE_FIELDS(its_fields)                                          \
    }
#define LP_POOLS(name, function)                                                            \
    {                                                                                       \
        LP_POOL(name, function, without_stride), LP_POOL(name, function, adzi_lp_pool_rows) \
    }

/* By dimensions, and by whether there is a stride. */
static const adz_module_type lp_pool_types[][2] = { LP_POOLS("LPPool1d", lp_pool1d),
    LP_POOLS("LPPool2d", lp_pool2d), LP_POOLS("LPPool3d", lp_pool3d) };

static adz_module *lp_pool_new(const char *op, int n, double norm_type, adz_shape kernel_size,
    const adz_lp_pool_options *options)
{
    adzi_lp_pool_arguments s = { .norm_type = norm_type, .kernel_size = kernel_size };
    return adzi_lp_pool_read(op, n, &s, options)
               ? adzi_module_of(&lp_pool_types[n - 1][s.o.stride.rank > 0], &s, sizeof s)
               : NULL;
}

adz_module *adz_lp_pool1d_new(
    double norm_type, int64_t kernel_size, const adz_lp_pool_options *options)
{
    return lp_pool_new(__func__, 1, norm_type, ADZ_SHAPE(kernel_size), options);
}

adz_module *adz_lp_pool2d_new(
    double norm_type, adz_shape kernel_size, const adz_lp_pool_options *options)
{
    return lp_pool_new(__func__, 2, norm_type, kernel_size, options);
}

adz_module *adz_lp_pool3d_new(
    double norm_type, adz_shape kernel_size, const adz_lp_pool_options *options)
{
    return lp_pool_new(__func__, 3, norm_type, kernel_size, options);
}

/* ---- MaxUnpool ----------------------------------------------------------------------------- */

/* The lists of the state have one number for each dimension. */
static adz_status unpool(adz_module *self, const adz_values *in, adz_values *out)
{
    const adzi_max_unpool_arguments *s = self->state;
    const char *const name = self->type.name;
    adz_tensor *x = adz_values_argument(in, 0, "input");
    adz_tensor *indices = adz_values_argument(in, 1, "indices");
    if (adzi_is_none(x) || adzi_is_none(indices)) {
        return adzi_error(name, ADZ_ERR_ARGUMENT, "the call needs input and indices");
    }
    adz_tensor *y = adzi_max_unpool(name, s->kernel_size.rank, x, indices, s->kernel_size, &s->o);
    return y != NULL ? adz_values_add(out, "", y) : adz_error_code();
}

#define UNPOOL(its_name)                                                     \
    {                                                                        \
        .size = sizeof(adz_module_type), .name = (its_name), .call = unpool, \
        ADZI_MODULE_FIELDS(adzi_max_unpool_rows)                             \
    }

static const adz_module_type unpool_types[] = { UNPOOL("MaxUnpool1d"), UNPOOL("MaxUnpool2d"),
    UNPOOL("MaxUnpool3d") };

static adz_module *unpool_new(
    const char *op, int n, adz_shape kernel_size, const adz_max_unpool_options *options)
{
    adzi_max_unpool_arguments s = { .kernel_size = kernel_size };
    return adzi_max_unpool_read(op, n, &s, options)
               ? adzi_module_of(&unpool_types[n - 1], &s, sizeof s)
               : NULL;
}

adz_module *adz_max_unpool1d_new(int64_t kernel_size, const adz_max_unpool_options *options)
{
    return unpool_new(__func__, 1, ADZ_SHAPE(kernel_size), options);
}

adz_module *adz_max_unpool2d_new(adz_shape kernel_size, const adz_max_unpool_options *options)
{
    return unpool_new(__func__, 2, kernel_size, options);
}

adz_module *adz_max_unpool3d_new(adz_shape kernel_size, const adz_max_unpool_options *options)
{
    return unpool_new(__func__, 3, kernel_size, options);
}
