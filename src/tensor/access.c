/* Reading, writing and comparing the elements of tensors from a program: adz_item, adz_tensor_at,
 * adz_equal, adz_allclose, adz_tensor_read and adz_tensor_write. */
#include <math.h>
#include <string.h>

#include "base/tracer.h"
#include "base/errors/unheard.h"
#include "tensor/copy.h"
#include "tensor/kernel/half.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* Reads the element at an address as a double. i64 is rounded if it has more than 53 bits. */
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

/* Why functions that hand elements to the program fail while a plan captures one of its functions.
 */
static const char reads[] = ADZI_USES_ELEMENTS;

/* Whether t has a single element. Records an error if it does not. */
static bool one_element(const char *op, const adz_tensor *t)
{
    if (!adzi_check_tensor(op, "t", t)) {
        adzi_count_refused(adzi_self());
        return false;
    }
    if (t->numel != 1) {
        adzi_error(op, ADZ_ERR_SHAPE,
            "t%s has %lld elements, not one; use adz_tensor_at or reduce it", adzi_text_shape(t),
            (long long)t->numel);
        return false;
    }
    return adzi_host_may_touch(op, t, reads);
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
    if (!adzi_check_tensor("tensor_at", "t", t) || !adzi_host_may_touch("tensor_at", t, reads)) {
        return NAN;
    }
    if (index == NULL && t->rank > 0) {
        adzi_error_null("tensor_at", "index");
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

/* ---- whole tensors --------------------------------------------------------------------------- */

/* A walk over the elements of a tensor of any layout, in row-major order. */
typedef struct {
    int64_t index[ADZ_MAX_RANK], offset; /* offset: elements from the first to the one at index */
} walk;

/* Moves to the next element. After the last element it is at the first again. */
static void walk_on(walk *w, const adz_tensor *t)
{
    for (int d = t->rank - 1; d >= 0; --d) {
        w->offset += t->strides[d];
        if (++w->index[d] < t->sizes[d]) {
            return;
        }
        w->offset -= t->strides[d] * t->sizes[d];
        w->index[d] = 0;
    }
}

static const char *at_offset(const adz_tensor *t, int64_t offset)
{
    return t->data + offset * (int64_t)adzi_item_size(t);
}

static bool comparable(const char *op, const adz_tensor *a, const adz_tensor *b)
{
    return adzi_check_tensor(op, "a", a) && adzi_check_tensor(op, "b", b) &&
           adzi_host_may_touch(op, a, reads) && adzi_host_may_touch(op, b, reads) &&
           adzi_same_sizes(a, b);
}

bool adz_equal(const adz_tensor *a, const adz_tensor *b)
{
    if (!comparable("equal", a, b)) {
        return false;
    }
    /* i64 is compared as bits, because a double does not hold every i64. */
    bool integers = a->dtype == ADZ_I64 && b->dtype == ADZ_I64;
    walk wa = { { 0 }, 0 }, wb = { { 0 }, 0 };
    for (int64_t i = 0; i < a->numel; ++i, walk_on(&wa, a), walk_on(&wb, b)) {
        const char *pa = at_offset(a, wa.offset), *pb = at_offset(b, wb.offset);
        bool same = integers
                        ? memcmp(pa, pb, sizeof(int64_t)) == 0
                        : read_item((adz_dtype)a->dtype, pa) == read_item((adz_dtype)b->dtype, pb);
        if (!same) {
            return false;
        }
    }
    return true;
}

bool adz_allclose(
    const adz_tensor *a, const adz_tensor *b, double rtol, double atol, bool equal_nan)
{
    if (!comparable("allclose", a, b)) {
        return false;
    }
    walk wa = { { 0 }, 0 }, wb = { { 0 }, 0 };
    for (int64_t i = 0; i < a->numel; ++i, walk_on(&wa, a), walk_on(&wb, b)) {
        double x = read_item((adz_dtype)a->dtype, at_offset(a, wa.offset));
        double y = read_item((adz_dtype)b->dtype, at_offset(b, wb.offset));
        bool nan = equal_nan && isnan(x) && isnan(y);
        if (!nan && x != y && !(isfinite(y) && fabs(x - y) <= atol + rtol * fabs(y))) {
            return false;
        }
    }
    return true;
}

/* Whether the caller's buffer has exactly the bytes of the tensor's elements. Records an error if
 * not. */
static bool check_bytes(const char *op, const adz_tensor *t, const void *buffer, size_t bytes)
{
    if (!adzi_check_tensor(op, "t", t)) {
        return false;
    }
    size_t needed = (size_t)t->numel * adzi_item_size(t);
    if (buffer == NULL && needed > 0) {
        adzi_error_null(op, "buffer");
        return false;
    }
    if (bytes != needed) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "buffer has %zu bytes, but %s t%s needs exactly %zu",
            bytes, adz_dtype_name((adz_dtype)t->dtype), adzi_text_shape(t), needed);
        return false;
    }
    return adzi_host_may_touch(op, t, reads);
}

/* A header, without a storage, over a buffer of contiguous elements shaped like t. Only adzi_copy
 * may use it. */
static adz_tensor around(const adz_tensor *t, const void *buffer)
{
    adz_tensor flat = { .dtype = t->dtype, .rank = t->rank, .numel = t->numel };
    memcpy(&flat.data, &buffer, sizeof buffer);
    memcpy(flat.sizes, t->sizes, sizeof flat.sizes);
    adzi_contiguous_strides(t->rank, t->sizes, flat.strides);
    return flat;
}

adz_status adz_tensor_read(const adz_tensor *t, void *buffer, size_t bytes)
{
    if (!check_bytes("tensor_read", t, buffer, bytes)) {
        return adz_error_code();
    }
    adz_tensor out = around(t, buffer);
    const bool open = adzi_trace_open(true);
    adzi_copy(&out, t);
    adzi_trace_open(open);
    return ADZ_OK;
}

adz_status adz_tensor_write(adz_tensor *t, const void *buffer, size_t bytes)
{
    static const char op[] = "tensor_write";
    if (!check_bytes(op, t, buffer, bytes)) {
        return adz_error_code();
    }
    if (adzi_self()->grad_enabled && adzi_requires_grad(t)) {
        return adzi_error(op, ADZ_ERR_INPLACE,
            "t%s takes part in a graph; write inside ADZ_NO_GRAD, which is no part of it",
            adzi_text_shape(t));
    }
    if (!adzi_is_dense(t)) {
        return adzi_error(op, ADZ_ERR_INPLACE,
            "t%s was expanded: several elements lie at one address; write to a copy (adz_contiguous)",
            adzi_text_shape(t));
    }
    adz_tensor in = around(t, buffer);
    const bool open = adzi_trace_open(true);
    adzi_copy(t, &in);
    adzi_trace_open(open);
    adzi_written(t, op);
    return ADZ_OK;
}

/* ---- conditions ------------------------------------------------------------------------------ */

typedef struct {
    const char *op;
    const bool *elements; /* contiguous */
    const char *message;
    int64_t n;
    adz_shape shape;
} assert_args;

ADZI_ADDRESSES(assert_args, op, elements, message);

static adz_status assert_all(const void *block)
{
    const assert_args *args = block;
    int64_t i = 0, index[ADZ_MAX_RANK];
    while (i < args->n && args->elements[i]) {
        ++i;
    }
    if (i == args->n) {
        return ADZ_OK;
    }
    for (int d = args->shape.rank - 1; d >= 0; --d) {
        index[d] = i % args->shape.sizes[d];
        i /= args->shape.sizes[d];
    }
    return adzi_error(args->op, ADZ_ERR_ARGUMENT, "%s, first at position %s", args->message,
        adzi_text_sizes(args->shape.rank, index));
}

adz_status adz_assert_all(adz_tensor *condition, const char *message)
{
    return adzi_assert_all("assert_all", condition, message);
}

adz_status adzi_assert_all(const char *op, adz_tensor *condition, const char *message)
{
    if (!adzi_check_tensor(op, "condition", condition)) {
        return adz_error_code();
    }
    if (message == NULL) {
        return adzi_error_null(op, "message");
    }
    if (condition->dtype != ADZ_BOOL) {
        return adzi_error(op, ADZ_ERR_DTYPE, "condition is %s, but must be bool",
            adz_dtype_name((adz_dtype)condition->dtype));
    }
    const adz_tensor *t = condition;
    if (!adzi_is_contiguous(condition)) {
        adz_tensor *copy =
            adzi_tensor_borrowed(adzi_self(), op, ADZ_BOOL, condition->rank, condition->sizes);
        if (copy == NULL) {
            return ADZ_ERR_MEMORY;
        }
        adzi_copy(copy, condition);
        t = copy;
    }
    const assert_args args = { op, (const bool *)(const void *)t->data, message, t->numel,
        adz_tensor_shape(t) };
    return adzi_repeat(assert_all, assert_args, &args);
}
