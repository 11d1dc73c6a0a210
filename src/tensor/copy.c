/* Copies, conversions between dtypes, and filling. */
#include "tensor/copy.h"

#include <string.h>

#include "tensor/kernel/half.h"
#include "base/isa.h"
#include "base/threads/parallel.h"
#include "base/tracer.h"
#include "tensor/kernel/pointwise.h"
#include "tensor/tensor.h"

/* ---- copies without a conversion ------------------------------------------------------------- */

KERNEL_TABLE_SIZES(copy);

static adzi_kernel copy_kernel(const adz_tensor *t)
{
    return KERNEL_FOR_SIZE(copy, adzi_item_size(t));
}

/* ---- conversions ----------------------------------------------------------------------------- */

#define DECLARE_TO(to)                 \
    ADZI_DECLARE_KERNEL(from_f32, to); \
    ADZI_DECLARE_KERNEL(from_f64, to); \
    ADZI_DECLARE_KERNEL(from_i32, to); \
    ADZI_DECLARE_KERNEL(from_i64, to); \
    ADZI_DECLARE_KERNEL(from_u8, to);  \
    ADZI_DECLARE_KERNEL(from_f16, to); \
    ADZI_DECLARE_KERNEL(from_bf16, to)

DECLARE_TO(f32);
DECLARE_TO(f64);
DECLARE_TO(i32);
DECLARE_TO(i64);
DECLARE_TO(u8);
DECLARE_TO(b8);
DECLARE_TO(f16);
DECLARE_TO(bf16);

/* convert_kernels[level][to][from], both dtypes in the order of adz_dtype. A bool is read as a u8.
 */
#define TO_ROW(to, level)                                                                     \
    {                                                                                         \
        ADZI_KERNEL_COLUMN(from_f32, to, level), ADZI_KERNEL_COLUMN(from_f64, to, level),     \
            ADZI_KERNEL_COLUMN(from_i32, to, level), ADZI_KERNEL_COLUMN(from_i64, to, level), \
            ADZI_KERNEL_COLUMN(from_u8, to, level), ADZI_KERNEL_COLUMN(from_u8, to, level),   \
            ADZI_KERNEL_COLUMN(from_f16, to, level), ADZI_KERNEL_COLUMN(from_bf16, to, level) \
    }
#define TO_LEVEL(level)                                                                   \
    {                                                                                     \
        TO_ROW(f32, level), TO_ROW(f64, level), TO_ROW(i32, level), TO_ROW(i64, level),   \
            TO_ROW(u8, level), TO_ROW(b8, level), TO_ROW(f16, level), TO_ROW(bf16, level) \
    }
static const adzi_kernel convert_kernels[ADZI_CPU_LEVELS][8][8] = { TO_LEVEL(baseline),
    TO_LEVEL(avx2), TO_LEVEL(avx512) };

void adzi_copy(adz_tensor *dst, const adz_tensor *src)
{
    adz_tensor *in[1];
    memcpy(in, &src, sizeof src); /* removes const; adzi_pointwise does not change its operands */
    adzi_kernel kernel = dst->dtype == src->dtype
                             ? copy_kernel(dst)
                             : convert_kernels[adzi_cpu_level][dst->dtype][src->dtype];
    adzi_pointwise(kernel, dst, 1, in, NULL);
}

/* Copies bytes; a unit is a byte. */
typedef struct {
    char *to;
    const char *from;
} bytes_args;

ADZI_ADDRESSES(bytes_args, to, from);

static void copy_bytes(const void *block, int64_t begin, int64_t end)
{
    const bytes_args *args = block;
    memcpy(args->to + begin, args->from + begin, (size_t)(end - begin));
}

void adzi_copy_bytes_to(void *dst, const void *src, size_t bytes)
{
    const bytes_args args = { dst, src };
    if (bytes > 0) {
        adzi_launch(copy_bytes, bytes_args, &args, (int64_t)bytes, 8 * ADZI_POINTWISE_GRAIN);
    }
}

/* ---- filling --------------------------------------------------------------------------------- */

/* One kernel fills elements of every dtype, because it copies the element as bytes. */
ADZI_DECLARE_KERNEL(fill, any);
static const adzi_kernel fill_kernels[ADZI_CPU_LEVELS][1] = {
    { ADZI_KERNEL_COLUMN(fill, any, baseline) },
    { ADZI_KERNEL_COLUMN(fill, any, avx2) },
    { ADZI_KERNEL_COLUMN(fill, any, avx512) },
};

/* A double outside the range of i64 becomes INT64_MIN, and NaN does as well. */
void adzi_encode(adz_dtype dtype, double value, void *item)
{
    float f = (float)value;
    int64_t i = value >= -0x1p63 && value < 0x1p63 ? (int64_t)value : INT64_MIN;
    int32_t i4 = (int32_t)i;
    uint8_t u = dtype == ADZ_BOOL ? (uint8_t)(value != 0) : (uint8_t)i;
    const float once = adzi_half_source_f64(value);
    uint16_t h = dtype == ADZ_F16 ? adzi_to_f16(once) : adzi_to_bf16(once);
    const void *from[] = { &f, &value, &i4, &i, &u, &u, &h, &h };
    memcpy(item, from[dtype], adz_dtype_size(dtype));
}

void adzi_fill(adz_tensor *dst, double value)
{
    if (dst->numel == 0) {
        return;
    }
    adzi_capture_number(value);
    adzi_fill_args args = { .out = dst->data, .size = (int64_t)adzi_item_size(dst) };
    adzi_encode((adz_dtype)dst->dtype, value, &args.item);
    if (!adzi_is_contiguous(dst)) {
        args.rank = dst->rank;
        memcpy(args.sizes, dst->sizes, (size_t)dst->rank * sizeof *args.sizes);
        memcpy(args.strides, dst->strides, (size_t)dst->rank * sizeof *args.strides);
    }
    adzi_capture *capture = adzi_capture_of(adzi_self());
    if (capture != NULL) {
        const uint8_t items[ADZI_ELEMENTWISE_OPERANDS] = { (uint8_t)args.size };
        capture->elementwise(capture, items, true);
    }
    adzi_launch(KERNEL_FOR(fill, 0), adzi_fill_args, &args, dst->numel, ADZI_POINTWISE_GRAIN);
}

void adzi_fill_constant(adz_tensor *dst, double value)
{
    const bool open = adzi_trace_open(true);
    adzi_fill(dst, value);
    adzi_trace_open(open);
    adzi_trace_constant(dst);
}

uint16_t adzi_f16_from_f32(float x)
{
    return adzi_to_f16(x);
}

float adzi_f32_from_f16(uint16_t bits)
{
    return adzi_from_f16(bits);
}

uint16_t adzi_bf16_from_f32(float x)
{
    return adzi_to_bf16(x);
}

float adzi_f32_from_bf16(uint16_t bits)
{
    return adzi_from_bf16(bits);
}
