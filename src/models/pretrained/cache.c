/* Caches of keys and values. */
#include "pretrained/cache.h"

#include "adze/autograd.h"

enum { CAPACITY = 4 }; /* dimension */

/* Whether the cache has the shape but for its capacity. */
static bool fits(const adz_tensor *cache, adz_shape shape)
{
    bool good = adz_tensor_rank(cache) == shape.rank;
    for (int i = 0; good && i < shape.rank; ++i) {
        good = i == CAPACITY || adz_tensor_size(cache, i) == shape.sizes[i];
    }
    return good;
}

bool adzi_models_check_cache(
    adz_module *self, models_cache_call *call, adz_shape shape, int64_t length)
{
    const char *name = adz_module_name(self);
    const adz_tensor *cache = call->cache;
    call->seen = 0;
    if (models_is_none(cache)) {
        if (!models_is_none(call->past)) {
            adz_error_format(name, ADZ_ERR_ARGUMENT, "past is given without a cache");
        }
        return models_is_none(call->past);
    }
    if (!adz_check_tensor(name, "cache", cache) || !adz_check_tensor(name, "past", call->past)) {
        return false;
    }
    if (adz_is_grad_enabled()) {
        adz_error_format(
            name, ADZ_ERR_GRAPH, "a cache has no gradient: call the model in an ADZ_NO_GRAD block");
        return false;
    }
    if (!fits(cache, shape)) {
        adz_error_format(name, ADZ_ERR_SHAPE,
            "cache%s must be [%lld, 2, %lld, %lld, capacity, %lld]", adz_text_shape(cache),
            (long long)shape.sizes[0], (long long)shape.sizes[2], (long long)shape.sizes[3],
            (long long)shape.sizes[5]);
        return false;
    }
    if (adz_tensor_numel(call->past) != 1 || adz_tensor_dtype(call->past) != ADZ_I64) {
        adz_error_format(
            name, ADZ_ERR_SHAPE, "past%s must be one int64", adz_text_shape(call->past));
        return false;
    }
    call->seen = adz_item_i64(call->past);
    if (call->seen < 0 || call->seen > adz_tensor_size(cache, CAPACITY) - length) {
        adz_error_format(name, ADZ_ERR_ARGUMENT,
            "%lld positions after a past of %lld do not fit the capacity of cache%s",
            (long long)length, (long long)call->seen, adz_text_shape(cache));
        return false;
    }
    return true;
}
