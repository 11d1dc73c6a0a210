/* Copying between layouts and dtypes, and filling. */
#ifndef ADZI_TENSOR_COPY_H
#define ADZI_TENSOR_COPY_H

#include "tensor/tensor.h"

/** dst = src. src is broadcast to the sizes of dst and converted to its dtype; both may have any
 * layout. Allocates nothing and cannot fail. */
void adzi_copy(adz_tensor *dst, const adz_tensor *src);

/** Copies `bytes` bytes by a launch, so that a replayed step copies them too. The two ranges must
 * not overlap. Cannot fail. */
void adzi_copy_bytes_to(void *dst, const void *src, size_t bytes);

/** Writes one element of the dtype to `item`: `value`, converted. */
void adzi_encode(adz_dtype dtype, double value, void *item);

/** dst = value, converted to dst's dtype. Cannot fail. */
void adzi_fill(adz_tensor *dst, double value);

/** Fills a tensor with zeros, and says so to those who would multiply with it. */
static inline void adzi_fill_zeros(adz_tensor *dst)
{
    adzi_fill(dst, 0);
    dst->is_zero = true;
}

/** adzi_fill for a new tensor whose elements are a constant: a trace takes it for one, wherever the
 * call is. */
void adzi_fill_constant(adz_tensor *dst, double value);

/** Conversions of f16 (IEEE half) and bf16, which are given as bits. Rounding is to nearest even.
 */
uint16_t adzi_f16_from_f32(float x);
float adzi_f32_from_f16(uint16_t bits);
uint16_t adzi_bf16_from_f32(float x);
float adzi_f32_from_bf16(uint16_t bits);

#endif
