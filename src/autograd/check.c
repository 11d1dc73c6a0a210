/* Looks for elements that are NaN or infinite, for anomaly mode and for what saves weights. */
#include <float.h>
#include <string.h>

#include "autograd/op.h"

/* The bits of a float that are all ones in NaN and infinity, and those that are all zeros in
 * infinity alone. */
typedef struct {
    uint64_t exponent, fraction;
} float_bits;

static float_bits bits_of(adz_dtype dtype)
{
    switch (dtype) {
    case ADZ_F16:
        return (float_bits){ 0x7c00, 0x03ff };
    case ADZ_BF16:
        return (float_bits){ 0x7f80, 0x007f };
    case ADZ_F32:
        return (float_bits){ 0x7f800000, 0x007fffff };
    default:
        return (float_bits){ 0x7ff0000000000000, 0x000fffffffffffff };
    }
}

static adzi_nonfinite kind_of(const char *element, size_t bytes, float_bits bits)
{
    uint16_t half;
    uint32_t single;
    uint64_t x;
    switch (bytes) {
    case 2:
        memcpy(&half, element, bytes), x = half;
        break;
    case 4:
        memcpy(&single, element, bytes), x = single;
        break;
    default:
        memcpy(&x, element, bytes);
        break;
    }
    if ((x & bits.exponent) != bits.exponent) {
        return ADZI_FINITE;
    }
    return (x & bits.fraction) != 0 ? ADZI_NAN : ADZI_INFINITE;
}

/* Whether some of n floats is NaN or infinite. Compilers make vectors of this loop, by which large
 * weights are looked at before they are saved. */
static bool any_of_singles(const float *x, int64_t n)
{
    int finite = 1;
    for (int64_t i = 0; i < n; ++i) {
        finite &= x[i] >= -FLT_MAX && x[i] <= FLT_MAX;
    }
    return finite == 0;
}

/* Walks the elements in row-major order: `index` counts like the digits of a number, and `offset`
 * follows it in memory. */
adzi_nonfinite adzi_find_nonfinite(const adz_tensor *t, bool nan_only, int64_t *index)
{
    const adz_dtype dtype = (adz_dtype)t->dtype;
    if ((!adzi_is_float(dtype) && !adzi_is_half(dtype)) || t->numel == 0 ||
        (dtype == ADZ_F32 && adzi_is_contiguous(t) &&
            !any_of_singles((const float *)(const void *)t->data, t->numel))) {
        return ADZI_FINITE;
    }
    int64_t own[ADZ_MAX_RANK], *at = index != NULL ? index : own, offset = 0;
    const int64_t bytes = (int64_t)adzi_item_size(t);
    const float_bits bits = bits_of(dtype);
    memset(at, 0, ADZ_MAX_RANK * sizeof *at);
    for (int64_t i = 0; i < t->numel; ++i) {
        const adzi_nonfinite kind = kind_of(t->data + offset * bytes, (size_t)bytes, bits);
        if (kind == ADZI_NAN || (kind == ADZI_INFINITE && !nan_only)) {
            return kind;
        }
        for (int d = t->rank - 1; d >= 0; --d) {
            offset += t->strides[d];
            if (++at[d] < t->sizes[d]) {
                break;
            }
            offset -= t->strides[d] * t->sizes[d];
            at[d] = 0;
        }
    }
    return ADZI_FINITE;
}

const char *adzi_nonfinite_text(adzi_nonfinite kind)
{
    return kind == ADZI_NAN ? "NaN" : "infinity";
}
