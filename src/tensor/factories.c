/* Tensors from nothing, from values and from the caller's memory. */
#include <math.h>
#include <string.h>

#include "tensor/copy.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

static adz_tensor *make(const char *op, int rank, const int64_t *sizes, adz_dtype dtype)
{
    adzi_thread *thread = adzi_self();
    int64_t numel;
    if (adzi_check_sizes(op, rank, sizes, dtype, &numel) != ADZ_OK) {
        return NULL;
    }
    if (!adzi_scope_reserve(thread, 1)) {
        return adzi_fail_memory(op, sizeof(adz_tensor *));
    }
    adz_tensor *t = adzi_tensor_new(thread, op, dtype, rank, sizes);
    return t != NULL ? adzi_borrow(thread, t) : NULL;
}

static adz_tensor *filled(adz_tensor *t, double value)
{
    if (t != NULL) {
        adzi_fill(t, value);
    }
    return t;
}

adz_tensor *adz_empty(adz_shape shape, adz_dtype dtype)
{
    return make("empty", shape.rank, shape.sizes, dtype);
}

adz_tensor *adz_zeros(adz_shape shape, adz_dtype dtype)
{
    return filled(make("zeros", shape.rank, shape.sizes, dtype), 0);
}

adz_tensor *adz_ones(adz_shape shape, adz_dtype dtype)
{
    return filled(make("ones", shape.rank, shape.sizes, dtype), 1);
}

adz_tensor *adz_full(adz_shape shape, double value, adz_dtype dtype)
{
    return filled(make("full", shape.rank, shape.sizes, dtype), value);
}

adz_tensor *adz_scalar(double value, adz_dtype dtype)
{
    return filled(make("scalar", 0, NULL, dtype), value);
}

static adz_tensor *like(const char *op, const adz_tensor *t)
{
    return adzi_check_tensor(op, "t", t) ? make(op, t->rank, t->sizes, (adz_dtype)t->dtype) : NULL;
}

adz_tensor *adz_empty_like(const adz_tensor *t)
{
    return like("empty_like", t);
}

adz_tensor *adz_zeros_like(const adz_tensor *t)
{
    return filled(like("zeros_like", t), 0);
}

adz_tensor *adz_ones_like(const adz_tensor *t)
{
    return filled(like("ones_like", t), 1);
}

adz_tensor *adz_full_like(const adz_tensor *t, double value)
{
    return filled(like("full_like", t), value);
}

adz_tensor *adz_tensor_from(const void *data, adz_shape shape, adz_dtype dtype)
{
    adz_tensor *t = make("tensor_from", shape.rank, shape.sizes, dtype);
    if (t != NULL && data == NULL && t->numel > 0) {
        return adzi_fail("tensor_from", ADZ_ERR_NULL,
            "data is NULL, but shape %s has %lld elements", adzi_text_shape(t),
            (long long)t->numel);
    }
    if (t != NULL && t->numel > 0) {
        memcpy(t->data, data, (size_t)t->numel * adzi_item_size(t));
    }
    return t;
}
