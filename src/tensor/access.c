/* Reading and writing elements from outside. */
#include <math.h>
#include <string.h>

#include "tensor/copy.h"
#include "tensor/half.h"
#include "tensor/tensor.h"

/* The element at an address, as a double. */
static double read_item(adz_dtype dtype, const void *at)
{
    union {
        float f4;
        double f8;
        int32_t i4;
        int64_t i8;
        uint8_t u1;
        uint16_t h2;
    } item;
    memcpy(&item, at, adz_dtype_size(dtype));
    switch (dtype) {
    case ADZ_F32:
        return (double)item.f4;
    case ADZ_F64:
        return item.f8;
    case ADZ_I32:
        return (double)item.i4;
    case ADZ_I64:
        return (double)item.i8;
    case ADZ_F16:
        return (double)adzi_from_f16(item.h2);
    case ADZ_BF16:
        return (double)adzi_from_bf16(item.h2);
    default:
        return (double)item.u1;
    }
}

static bool one_element(const char *op, const adz_tensor *t)
{
    if (!adzi_check_tensor(op, "t", t)) {
        return false;
    }
    if (t->numel != 1) {
        adzi_error(op, ADZ_ERR_SHAPE,
            "t%s has %lld elements, not one; use adz_tensor_at or reduce it", adzi_text_shape(t),
            (long long)t->numel);
        return false;
    }
    return true;
}

double adz_item(const adz_tensor *t)
{
    return one_element("item", t) ? read_item((adz_dtype)t->dtype, t->data) : NAN;
}

int64_t adz_item_i64(const adz_tensor *t)
{
    if (!one_element("item_i64", t)) {
        return 0;
    }
    if (t->dtype == ADZ_I64) {
        int64_t value;
        memcpy(&value, t->data, sizeof value);
        return value;
    }
    if (t->dtype == ADZ_I32 || t->dtype == ADZ_U8 || t->dtype == ADZ_BOOL) {
        return (int64_t)read_item((adz_dtype)t->dtype, t->data);
    }
    adzi_error(
        "item_i64", ADZ_ERR_DTYPE, "t is %s; use adz_item", adz_dtype_name((adz_dtype)t->dtype));
    return 0;
}

double adz_tensor_at(const adz_tensor *t, const int64_t *index)
{
    if (!adzi_check_tensor("tensor_at", "t", t)) {
        return NAN;
    }
    int64_t offset = 0;
    for (int i = 0; i < t->rank; ++i) {
        if (index[i] < 0 || index[i] >= t->sizes[i]) {
            adzi_error("tensor_at", ADZ_ERR_INDEX, "index %s is outside t%s",
                adzi_text_sizes(t->rank, index), adzi_text_shape(t));
            return NAN;
        }
        offset += index[i] * t->strides[i];
    }
    return read_item((adz_dtype)t->dtype, t->data + offset * (int64_t)adzi_item_size(t));
}
