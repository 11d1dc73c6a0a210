/* The standardizer, a module that maps each column to mean 0 and deviation 1:
 *
 *     y[.., j] = (x[.., j] - mean[j]) / std[j]
 *
 * mean and std are buffers, which adz_standardizer_fit computes from a table x[rows, columns].
 * std[j] is the root of the mean squared distance from mean[j], and 1 for a column of equal values.
 */
#include "adze/data/standardizer.h"
#include "base/capture.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "adze/custom.h"
#include "adze/ops.h"
#include "tensor/copy.h"
#include "tensor/tensor.h"

/* The positions of the buffers in the module. */
enum { MEAN, STD };

/* ---- the module ----------------------------------------------------------------------------- */

static bool check_columns(const char *op, const adz_tensor *x, const adz_tensor *mean)
{
    if (!adzi_check_tensor(op, "x", x)) {
        return false;
    }
    if (x->rank == 0 || x->sizes[x->rank - 1] != mean->sizes[0]) {
        adzi_error(op, ADZ_ERR_SHAPE, "x%s must have %lld columns in its last dimension",
            adzi_text_shape(x), (long long)mean->sizes[0]);
        return false;
    }
    return true;
}

static adz_tensor *forward(adz_module *self, adz_tensor *x)
{
    adz_tensor *mean = adz_module_buffer_at(self, MEAN), *std = adz_module_buffer_at(self, STD);
    return check_columns("standardizer", x, mean) ? adz_div(adz_sub(x, mean), std) : NULL;
}

static size_t extra_repr(adz_module *self, char *buffer, size_t size)
{
    const adz_tensor *mean = adz_module_buffer_at(self, MEAN);
    int n = snprintf(buffer, size, "%lld", (long long)mean->sizes[0]);
    return n > 0 ? (size_t)n : 0;
}

static const adz_module_type standardizer_type = {
    .size = sizeof(adz_module_type),
    .name = "Standardizer",
    .forward = forward,
    .extra_repr = extra_repr,
};

adz_module *adz_standardizer_new(int64_t columns, adz_dtype dtype)
{
    const char *op = "adz_standardizer_new";
    if (columns < 1) {
        return adzi_fail(
            op, ADZ_ERR_ARGUMENT, "columns is %lld, but must be 1 or more", (long long)columns);
    }
    if (!adzi_is_float(dtype)) {
        return adzi_fail(
            op, ADZ_ERR_DTYPE, "dtype is %s, not float32 or float64", adz_dtype_name(dtype));
    }
    adz_scope *scope = adz_scope_open();
    adz_module *self = scope != NULL ? adz_module_new(&standardizer_type, 0) : NULL;
    if (self != NULL) {
        adz_shape shape = ADZ_SHAPE(columns);
        if (adz_module_add_buffer(self, "mean", adz_zeros(shape, dtype), true) == NULL ||
            adz_module_add_buffer(self, "std", adz_ones(shape, dtype), true) == NULL) {
            adz_module_release(&self);
        }
    }
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return self;
}

static bool check_kind(const char *op, adz_module *module)
{
    if (module == NULL) {
        adzi_error_null(op, "standardizer");
        return false;
    }
    if (adz_module_type_of(module) != &standardizer_type) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "the module is a %s, not a Standardizer",
            adz_module_name(module));
        return false;
    }
    return true;
}

adz_tensor *adz_standardizer_inverse(adz_module *standardizer, adz_tensor *y)
{
    const char *op = "adz_standardizer_inverse";
    if (!check_kind(op, standardizer) ||
        !check_columns(op, y, adz_module_buffer_at(standardizer, MEAN))) {
        return NULL;
    }
    return adz_add(adz_mul(y, adz_module_buffer_at(standardizer, STD)),
        adz_module_buffer_at(standardizer, MEAN));
}

/* ---- fitting -------------------------------------------------------------------------------- */

/* What is measured about a column: its smallest and largest value, mean and deviation. */
typedef struct {
    double low, high, mean, std;
} column;

/* Finds the smallest and largest value of a column of `rows` values, which are `stride` doubles
 * apart. Returns the first row whose value is not finite, or -1 if all are. */
static int64_t find_extremes(column *c, const double *x, int64_t rows, int64_t stride)
{
    c->low = c->high = x[0];
    for (int64_t i = 0; i < rows; ++i) {
        double value = x[i * stride];
        if (!isfinite(value)) {
            return i;
        }
        c->low = value < c->low ? value : c->low;
        c->high = value > c->high ? value : c->high;
    }
    return -1;
}

/* Computes mean and deviation of a column whose smallest and largest value are known. The values
 * are first multiplied by a power of two that brings them near 1. That rounds nothing, and their
 * squares then neither overflow nor underflow. */
static void measure(column *c, const double *x, int64_t rows, int64_t stride)
{
    int exponent;
    double sum = 0, squares = 0;
    (void)frexp(fmax(fabs(c->low), fabs(c->high)), &exponent);
    exponent = exponent > DBL_MIN_EXP ? exponent : DBL_MIN_EXP;
    const double scale = ldexp(1, -exponent);
    for (int64_t i = 0; i < rows; ++i) {
        sum += x[i * stride] * scale;
    }
    const double mean = sum / (double)rows;
    for (int64_t i = 0; i < rows; ++i) {
        double from_mean = x[i * stride] * scale - mean;
        squares += from_mean * from_mean;
    }
    c->mean = ldexp(mean, exponent);
    c->std = fmax(ldexp(sqrt(squares / (double)rows), exponent), DBL_TRUE_MIN);
}

/* Whether the buffers' dtype holds mean and deviation well enough. The results of the module for
 * the smallest and the largest value must be finite, and different if the two values are. */
static bool check_column(
    const char *op, const adz_tensor *x, int64_t i, const column *c, adz_dtype dtype)
{
    const bool single = dtype == ADZ_F32;
    double mean = single ? (double)(float)c->mean : c->mean;
    double std = single ? (double)(float)c->std : c->std;
    double low = (c->low - mean) / std, high = (c->high - mean) / std;
    if (isfinite(low) && isfinite(high) && (low < high) == (c->low < c->high)) {
        return true;
    }
    adzi_error(op, ADZ_ERR_NUMERIC,
        "x%s: column %lld lies between %s and %s, and its mean or its deviation %s does not fit %s; multiply the column by a constant%s",
        adzi_text_shape(x), (long long)i, adzi_text_number(c->low), adzi_text_number(c->high),
        adzi_text_number(c->std), adz_dtype_name(dtype),
        single ? ", or make the standardizer with ADZ_F64" : "");
    return false;
}

static adz_status measure_all(
    const char *op, const adz_tensor *x, adz_tensor *mean, adz_tensor *std, adz_dtype dtype)
{
    const double *values = (const double *)(const void *)x->data;
    double *means = (double *)(void *)mean->data, *stds = (double *)(void *)std->data;
    for (int64_t i = 0; i < x->sizes[1]; ++i) {
        column c;
        int64_t bad = find_extremes(&c, values + i, x->sizes[0], x->sizes[1]);
        if (bad >= 0) {
            return adzi_error(op, ADZ_ERR_NUMERIC,
                "x%s: row %lld of column %lld is %s; leave such rows out or replace the value",
                adzi_text_shape(x), (long long)bad, (long long)i,
                adzi_text_number(values[bad * x->sizes[1] + i]));
        }
        /* If all values are equal, the mean is that value. A computed mean would be rounded, and
         * the differences from it would not be 0. */
        c.mean = c.low;
        c.std = 1;
        if (c.low < c.high) {
            measure(&c, values + i, x->sizes[0], x->sizes[1]);
        }
        if (!check_column(op, x, i, &c, dtype)) {
            return ADZ_ERR_NUMERIC;
        }
        means[i] = c.mean;
        stds[i] = c.std;
    }
    return ADZ_OK;
}

/* Measures all columns in f64 and then changes the buffers, which cannot fail. */
static adz_status fit(const char *op, adz_module *standardizer, adz_tensor *x)
{
    adz_tensor *mean = adz_module_buffer_at(standardizer, MEAN);
    adz_tensor *std = adz_module_buffer_at(standardizer, STD);
    adz_tensor *wide = adz_contiguous(adz_to(adz_detach(x), ADZ_F64));
    adz_tensor *new_mean = wide != NULL ? adz_empty(ADZ_SHAPE(mean->sizes[0]), ADZ_F64) : NULL;
    adz_tensor *new_std = new_mean != NULL ? adz_empty_like(new_mean) : NULL;
    if (new_std == NULL) {
        return adz_error_code();
    }
    adz_status status = measure_all(op, wide, new_mean, new_std, (adz_dtype)mean->dtype);
    if (status == ADZ_OK) {
        adzi_copy(mean, new_mean);
        adzi_copy(std, new_std);
        adzi_written(mean, op);
        adzi_written(std, op);
    }
    return status;
}

adz_status adz_standardizer_fit(adz_module *standardizer, adz_tensor *x)
{
    ADZI_NOT_CAPTURED(ADZI_USES_ELEMENTS, ADZ_ERR_STATE);
    const char *op = "adz_standardizer_fit";
    if (!check_kind(op, standardizer) ||
        !check_columns(op, x, adz_module_buffer_at(standardizer, MEAN))) {
        return adz_error_code();
    }
    if (x->rank != 2 || x->sizes[0] < 1) {
        return adzi_error(op, ADZ_ERR_SHAPE, "x%s must be [rows, columns] with a row or more",
            adzi_text_shape(x));
    }
    if (!adzi_is_float((adz_dtype)x->dtype)) {
        return adzi_error(op, ADZ_ERR_DTYPE, "x is %s, not float32 or float64",
            adz_dtype_name((adz_dtype)x->dtype));
    }
    adz_scope *scope = adz_scope_open();
    if (scope == NULL) {
        return adz_error_code();
    }
    adz_status status = fit(op, standardizer, x);
    adz_scope_close(scope);
    return status;
}
