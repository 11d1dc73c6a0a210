/* Checks of the arguments that constructors of modules share. */
#include "base/error.h"
#include "nn/module.h"

bool adzi_check_module_dtype(const char *op, adz_dtype dtype)
{
    if (!adzi_is_float(dtype)) {
        adzi_error(
            op, ADZ_ERR_DTYPE, "parameters are float32 or float64, not %s", adz_dtype_name(dtype));
        return false;
    }
    return true;
}

bool adzi_check_features(const char *op, const char *name, int64_t size, int64_t least)
{
    if (size < least) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "%s is %lld, but must be %lld or more", name,
            (long long)size, (long long)least);
    } else if (size > ADZI_MOST_FEATURES) {
        adzi_error(
            op, ADZ_ERR_ARGUMENT, "%s is %lld, more than fit in memory", name, (long long)size);
    }
    return size >= least && size <= ADZI_MOST_FEATURES;
}

bool adzi_check_layers(const char *op, const char *name, int64_t n, int64_t least)
{
    const int64_t most = 65535;
    if (n < least || n > most) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "%s is %lld, but must be in [%lld, %lld]", name,
            (long long)n, (long long)least, (long long)most);
    }
    return n >= least && n <= most;
}
