/* The checks and texts of adze/checks.h, which the constructors of modules share. */
#include "adze/checks.h"

#include "base/error.h"
#include "base/text.h"
#include "nn/module.h"

/* The largest number of features. No tensor in memory reaches it. 16 times this number still fits
 * int64_t, so that a layer can multiply it by its number of gates. */
#define MOST_FEATURES (INT64_MAX / 16)

bool adz_check_tensor(const char *op, const char *argument, const adz_tensor *t)
{
    const bool sound = t != NULL && t->alive == ADZI_ALIVE && !adzi_is_none(t);
    return sound || adzi_refuse_tensor(adzi_error_name(op), argument, t);
}

bool adz_check_size(const char *op, const char *name, int64_t size, int64_t least)
{
    if (size < least) {
        adz_error_format(op, ADZ_ERR_ARGUMENT, "%s is %lld, but must be %lld or more", name,
            (long long)size, (long long)least);
    } else if (size > MOST_FEATURES) {
        adz_error_format(
            op, ADZ_ERR_ARGUMENT, "%s is %lld, more than fit in memory", name, (long long)size);
    }
    return size >= least && size <= MOST_FEATURES;
}

bool adz_check_range(const char *op, const char *name, int64_t n, int64_t least, int64_t most)
{
    if (n < least || n > most) {
        adz_error_format(op, ADZ_ERR_ARGUMENT, "%s is %lld, but must be in [%lld, %lld]", name,
            (long long)n, (long long)least, (long long)most);
    }
    return n >= least && n <= most;
}

bool adz_check_probability(const char *op, const char *name, double p)
{
    const bool good = p >= 0 && p <= 1;
    if (!good) {
        adz_error_format(
            op, ADZ_ERR_ARGUMENT, "%s is %s, but must be in [0, 1]", name, adzi_text_number(p));
    }
    return good;
}

bool adz_check_parameter_dtype(const char *op, adz_dtype dtype)
{
    if (!adzi_is_float(dtype)) {
        adz_error_format(
            op, ADZ_ERR_DTYPE, "parameters are float32 or float64, not %s", adz_dtype_name(dtype));
    }
    return adzi_is_float(dtype);
}

const char *adz_text_shape(const adz_tensor *t)
{
    return t == NULL ? "(NULL)" : t->alive != ADZI_ALIVE ? "(ended)" : adzi_text_shape(t);
}

const char *adz_text_sizes(adz_shape shape)
{
    return adzi_text_sizes(shape.rank, shape.sizes);
}

const char *adz_text_number(double x)
{
    return adzi_text_number(x);
}

const char *adz_text_float(double x)
{
    return adzi_text_float(x);
}
