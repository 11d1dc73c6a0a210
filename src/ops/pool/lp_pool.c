#include <math.h>

#include "adze/options.h"
#include "adze/ops/pool.h"
#include "ops/op.h"
#include "ops/pool/lp_pool.h"
#include "ops/pool/windows.h"

/* The p-norm of each window, torch.nn.functional.lp_pool1d to lp_pool3d: compositions.
 *
 *     y = (the sum of x^p over the window)^(1 / p)
 *
 * The sum is that of avg_pool, times the number of elements of a whole window. A sum of 0 has
 * gradient 0: the root would have an infinite one. */

const adz_field adzi_lp_pool_rows[ADZI_LP_POOL_ROWS] = {
    ADZ_FIELD(adzi_lp_pool_arguments, norm_type, .value = 0),
    ADZ_FIELD_AS(adzi_lp_pool_arguments, kernel_size, "kernel_size", ADZ_FIELD_SIZES,
        ADZ_CLOSED(1, INT32_MAX)),
    ADZ_FIELD_AS(adz_lp_pool_options, stride, "stride", ADZ_FIELD_SIZES, ADZ_CLOSED(1, INT32_MAX)),
    ADZ_FIELD(adz_lp_pool_options, ceil_mode, .value = false),
};

ADZ_OPTIONS_TABLE(adz_lp_pool_options, ADZ_LP_POOL_OPTIONS, adzi_lp_pool_rows)

/* The pools of 1 to 3 dimensions behind one call. */
static adz_tensor *largest(
    int n, adz_tensor *x, adz_shape kernel_size, const adz_max_pool_options *o)
{
    return n == 1   ? adz_max_pool1d(x, kernel_size.sizes[0], o, NULL)
           : n == 2 ? adz_max_pool2d(x, kernel_size, o, NULL)
                    : adz_max_pool3d(x, kernel_size, o, NULL);
}

/* The mean of each window. */
static adz_tensor *mean(int n, adz_tensor *x, adz_shape kernel_size, const adz_avg_pool_options *o)
{
    return n == 1   ? adz_avg_pool1d(x, kernel_size.sizes[0], o)
           : n == 2 ? adz_avg_pool2d(x, kernel_size, o)
                    : adz_avg_pool3d(x, kernel_size, o);
}

/* The norm of a p that is infinite: the largest or the smallest absolute value. */
static adz_tensor *of_infinity(int n, adz_tensor *x, const adzi_lp_pool_arguments *all)
{
    const adz_max_pool_options o = {
        .size = sizeof o, .stride = all->o.stride, .ceil_mode = all->o.ceil_mode
    };
    adz_tensor *absolute = adz_abs(x);
    return all->norm_type > 0 ? largest(n, absolute, all->kernel_size, &o)
                              : adz_neg(largest(n, adz_neg(absolute), all->kernel_size, &o));
}

/* Modules check their arguments by this when they are made. */
bool adzi_lp_pool_read(
    const char *op, int n, adzi_lp_pool_arguments *all, const adz_lp_pool_options *options)
{
    const adz_lp_pool_options defaults = ADZ_LP_POOL_OPTIONS;
    int64_t kernel[ADZI_AXES], stride[ADZI_AXES];
    if (!adz_options_take(
            op, &adz_lp_pool_options_table, all, options != NULL ? options : &defaults)) {
        return false;
    }
    if (all->norm_type == 0 || all->norm_type != all->norm_type) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "norm_type is %s, but must be a number other than 0",
            adzi_text_number(all->norm_type));
        return false;
    }
    return adzi_spread_given(op, "kernel_size", &all->kernel_size, n, kernel) &&
           adzi_spread(op, "stride", &all->o.stride, n, stride);
}

/* The pool of n dimensions. */
static adz_tensor *lp_pool(const char *op, int n, adz_tensor *x, double norm_type,
    adz_shape kernel_size, const adz_lp_pool_options *options)
{
    adzi_lp_pool_arguments all = { .norm_type = norm_type, .kernel_size = kernel_size };
    if (!adzi_check_tensor(op, "x", x) || !adzi_lp_pool_read(op, n, &all, options) ||
        !adzi_check_planes(op, x, n)) {
        return NULL;
    }
    if (x->dtype != ADZ_F32 && x->dtype != ADZ_F64) {
        return adzi_fail(op, ADZ_ERR_DTYPE,
            "x%s is %s, but must be float32 or float64; convert it with adz_to", adzi_text_shape(x),
            adz_dtype_name((adz_dtype)x->dtype));
    }
    if (isinf(norm_type)) {
        return of_infinity(n, x, &all);
    }
    adz_avg_pool_options o = ADZ_AVG_POOL_OPTIONS;
    o.stride = all.o.stride;
    o.ceil_mode = all.o.ceil_mode;
    double elements = 1;
    for (int d = 0; d < n; ++d) {
        elements *= (double)kernel_size.sizes[kernel_size.rank == 1 ? 0 : d];
    }
    adz_tensor *means = mean(n, adz_pow_number(x, norm_type), kernel_size, &o);
    if (means == NULL) {
        return NULL;
    }
    adz_tensor *zero = adz_eq_number(means, 0);
    adz_tensor *sums = adz_mul_number(adz_masked_fill(means, zero, 1), elements);
    return adz_masked_fill(
        adz_pow_number(sums, 1 / norm_type), zero, norm_type > 0 ? 0 : (double)INFINITY);
}

/* x is [C, L] or [N, C, L]. */
adz_tensor *adz_lp_pool1d(
    adz_tensor *x, double norm_type, int64_t kernel_size, const adz_lp_pool_options *options)
{
    ADZI_COMPOSED();
    return lp_pool("lp_pool1d", 1, x, norm_type, ADZ_SHAPE(kernel_size), options);
}

/* x is [C, H, W] or [N, C, H, W]. */
adz_tensor *adz_lp_pool2d(
    adz_tensor *x, double norm_type, adz_shape kernel_size, const adz_lp_pool_options *options)
{
    ADZI_COMPOSED();
    return lp_pool("lp_pool2d", 2, x, norm_type, kernel_size, options);
}

/* x is [C, D, H, W] or [N, C, D, H, W]. */
adz_tensor *adz_lp_pool3d(
    adz_tensor *x, double norm_type, adz_shape kernel_size, const adz_lp_pool_options *options)
{
    ADZI_COMPOSED();
    return lp_pool("lp_pool3d", 3, x, norm_type, kernel_size, options);
}
