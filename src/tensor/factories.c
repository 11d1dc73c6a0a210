/* Factories: tensors that are filled with a number, copied from values, wrapped around the caller's
 * memory, or made of a sequence. Results are borrowed from the innermost scope. */
#include <math.h>
#include <string.h>

#include "base/threads/parallel.h"
#include "base/tracer.h"
#include "tensor/copy.h"
#include "tensor/kernel/pointwise.h"
#include "tensor/kernel/real.h"
#include "tensor/range.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* A contiguous tensor with undefined elements, borrowed from the innermost scope. */
static adz_tensor *make(const char *op, int rank, const int64_t *sizes, adz_dtype dtype)
{
    adzi_thread *thread = adzi_self();
    int64_t numel;
    if (adzi_check_sizes(op, rank, sizes, dtype, &numel) != ADZ_OK) {
        return NULL;
    }
    adzi_capture_name(op);
    adz_tensor *t = adzi_tensor_borrowed(thread, op, dtype, rank, sizes);
    adzi_trace_constant(t);
    return t;
}

/* Fills t with a number and returns it. NULL is passed on. */
static adz_tensor *filled(adz_tensor *t, double value)
{
    if (t != NULL) {
        adzi_fill_constant(t, value);
    }
    return t;
}

/* Whether a dtype can hold a value; records an error if not. An integer drops the fraction, as
 * PyTorch does. */
static bool holds(const char *op, double value, adz_dtype dtype)
{
    if (!adzi_is_integer(dtype) || adzi_in_range(trunc(value), dtype)) {
        return true;
    }
    adzi_error(op, ADZ_ERR_ARGUMENT, "value is %s, which %s does not hold", adzi_text_number(value),
        adz_dtype_name(dtype));
    return false;
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
    adz_tensor *t =
        holds("full", value, dtype) ? make("full", shape.rank, shape.sizes, dtype) : NULL;
    return filled(t, value);
}

adz_tensor *adz_scalar(double value, adz_dtype dtype)
{
    return filled(holds("scalar", value, dtype) ? make("scalar", 0, NULL, dtype) : NULL, value);
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
    if (!adzi_check_tensor("full_like", "t", t) ||
        !holds("full_like", value, (adz_dtype)t->dtype)) {
        return NULL;
    }
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
        adzi_capture *capture = adzi_capture_of(adzi_self());
        if (capture != NULL) {
            capture->constant(capture, t);
        }
    }
    return t;
}

adz_tensor *adz_tensor_from_sized(const void *data, adz_shape shape, adz_dtype dtype, size_t item)
{
    const size_t needed = adz_dtype_size(dtype);
    if (item != 0 && needed != 0 && item != needed) {
        return adzi_fail("tensor_from", ADZ_ERR_DTYPE,
            "the array has elements of %zu bytes, and %s has %zu; take the array's dtype, or cast the array to void * if its bytes are %s",
            item, adz_dtype_name(dtype), needed, adz_dtype_name(dtype));
    }
    return adz_tensor_from(data, shape, dtype);
}

adz_tensor *adz_tensor_wrap(void *data, adz_shape shape, adz_dtype dtype,
    void (*deleter)(void *data, void *user), void *user)
{
    static const char op[] = "tensor_wrap";
    adzi_thread *thread = adzi_self();
    int64_t numel;
    if (adzi_check_sizes(op, shape.rank, shape.sizes, dtype, &numel) != ADZ_OK ||
        adzi_is_captured(op, "the program may write the memory")) {
        return NULL;
    }
    if (data == NULL) {
        return adzi_fail_null(op, "data");
    }
    if ((uintptr_t)data % adz_dtype_size(dtype) != 0) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT, "data is not aligned to the %zu bytes of %s",
            adz_dtype_size(dtype), adz_dtype_name(dtype));
    }
    size_t bytes = (size_t)numel * adz_dtype_size(dtype);
    adzi_storage *storage = adzi_scope_reserve(thread, 1) ? adzi_storage_around(data, bytes) : NULL;
    if (storage == NULL) {
        return adzi_fail_memory(op, sizeof *storage);
    }
    adz_tensor *t = adzi_tensor_over(thread, op, storage, dtype, shape.rank, shape.sizes);
    if (t != NULL) { /* the deleter must not run if the call fails, so it is set last */
        adzi_storage_hand_over(storage, deleter, user);
    }
    adzi_storage_release(storage);
    return t != NULL ? adzi_borrow(thread, t) : NULL;
}

/* ---- sequences ------------------------------------------------------------------------------- */

/* A unit is an element of the contiguous result. */
typedef struct {
    char *out;
    adz_dtype dtype;
    double start, step, end; /* `end` may be NAN */
    int64_t last;            /* the index whose value is exactly `end`; -1 for none */
    double base; /* the elements are its powers by the values; NAN: the values themselves */
} sequence_args;

ADZI_ADDRESSES(sequence_args, out);

/* value(i) = start + i * step. Each value is computed from its index, so that rounding errors do
 * not add up. */
static void write_sequence(const void *block, int64_t begin, int64_t end)
{
    const sequence_args *args = block;
    const int64_t item = (int64_t)adz_dtype_size(args->dtype);
    for (int64_t i = begin; i < end; ++i) {
        const double value = i == args->last ? args->end : args->start + (double)i * args->step;
        adzi_encode(args->dtype, isnan(args->base) ? value : adzi_real_pow(args->base, value),
            args->out + i * item);
    }
}

/* A tensor of `count` values start + i * step, or of the powers of a base by them. The last value
 * is exactly `end`, unless `end` is NAN. `out` and `last` are set here. */
static adz_tensor *sequence(const char *op, double count, sequence_args args)
{
    if (args.dtype == ADZ_BOOL) {
        return adzi_fail(op, ADZ_ERR_DTYPE, "a sequence cannot be bool; choose a dtype of numbers");
    }
    if (!(count <= 0x1p62)) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT, "the sequence has too many elements");
    }
    int64_t n = (int64_t)count;
    adz_tensor *t = make(op, 1, &n, args.dtype);
    if (t != NULL) {
        adzi_capture_number(args.start);
        adzi_capture_number(args.step);
        adzi_capture_number(isnan(args.base) ? 0 : args.base);
        args.out = t->data;
        args.last = isnan(args.end) ? -1 : n - 1;
        const bool open = adzi_trace_open(true);
        adzi_launch(write_sequence, sequence_args, &args, n, ADZI_POINTWISE_GRAIN);
        adzi_trace_open(open);
    }
    return t;
}

adz_tensor *adz_arange(double start, double end, double step, adz_dtype dtype)
{
    if (!(isfinite(start) && isfinite(end) && isfinite(step)) || step == 0 ||
        (end - start) / step < 0) {
        return adzi_fail("arange", ADZ_ERR_ARGUMENT, "from %s to %s by %s: step must lead to end",
            adzi_text_number(start), adzi_text_number(end), adzi_text_number(step));
    }
    return sequence("arange", ceil((end - start) / step),
        (sequence_args){ .dtype = dtype, .start = start, .step = step, .end = NAN, .base = NAN });
}

/* The values of linspace, or the powers of a base by them. `step` is set here. */
static adz_tensor *spaced(const char *op, int64_t steps, sequence_args args)
{
    const double start = args.start, end = args.end;
    if (steps < 0 || !isfinite(start) || !isfinite(end)) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT,
            "%lld steps from %s to %s: steps must be 0 or more and both ends finite",
            (long long)steps, adzi_text_number(start), adzi_text_number(end));
    }
    args.step = steps > 1 ? (end - start) / (double)(steps - 1) : 0;
    args.end = steps > 1 ? end : NAN;
    return sequence(op, (double)steps, args);
}

adz_tensor *adz_linspace(double start, double end, int64_t steps, adz_dtype dtype)
{
    return spaced("linspace", steps,
        (sequence_args){ .dtype = dtype, .start = start, .end = end, .base = NAN });
}

/* An integer holds neither infinity nor NaN, so the powers of both ends have to be in its range. A
 * positive base has all others between them. */
adz_tensor *adz_logspace(double start, double end, int64_t steps, double base, adz_dtype dtype)
{
    static const char op[] = "logspace";
    if (!isfinite(base)) {
        return adzi_fail(
            op, ADZ_ERR_ARGUMENT, "base is %s, but must be finite", adzi_text_number(base));
    }
    if (adzi_is_integer(dtype) && base <= 0) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT,
            "base is %s, but must be positive for %s, which holds no NaN; use a dtype of floats",
            adzi_text_number(base), adz_dtype_name(dtype));
    }
    if (isfinite(start) && isfinite(end) && steps > 0 &&
        (!holds(op, adzi_real_pow(base, start), dtype) ||
            (steps > 1 && !holds(op, adzi_real_pow(base, end), dtype)))) {
        return NULL;
    }
    return spaced(
        op, steps, (sequence_args){ .dtype = dtype, .start = start, .end = end, .base = base });
}

/* A unit is an element of the diagonal of out[rows, columns]. */
typedef struct {
    char *out;
    adz_dtype dtype;
    int64_t columns;
} diagonal_args;

ADZI_ADDRESSES(diagonal_args, out);

static void write_diagonal(const void *block, int64_t begin, int64_t end)
{
    const diagonal_args *args = block;
    const int64_t item = (int64_t)adz_dtype_size(args->dtype);
    for (int64_t i = begin; i < end; ++i) {
        adzi_encode(args->dtype, 1, args->out + i * (args->columns + 1) * item);
    }
}

adz_tensor *adz_eye(int64_t rows, int64_t columns, adz_dtype dtype)
{
    adz_tensor *t = filled(make("eye", 2, (int64_t[]){ rows, columns }, dtype), 0);
    if (t != NULL && t->numel > 0) {
        const diagonal_args args = { t->data, dtype, columns };
        const bool open = adzi_trace_open(true);
        adzi_launch(write_diagonal, diagonal_args, &args, rows < columns ? rows : columns,
            ADZI_POINTWISE_GRAIN);
        adzi_trace_open(open);
    }
    return t;
}
