/* Copying between layouts and dtypes. */
#ifndef ADZI_TENSOR_COPY_H
#define ADZI_TENSOR_COPY_H

#include "adze/tensor.h"

/** dst = src, src broadcast to dst; any layouts and dtypes. Allocates nothing and cannot fail. */
void adzi_copy(adz_tensor *dst, const adz_tensor *src);

/** Copies `bytes` bytes in a launch; the memory must not overlap. Cannot fail. */
void adzi_copy_bytes_to(void *dst, const void *src, size_t bytes);

/** Writes `value`, converted to the dtype, as the one element at `item`. */
void adzi_encode(adz_dtype dtype, double value, void *item);

/** dst = value, converted to dst's dtype. Cannot fail. */
void adzi_fill(adz_tensor *dst, double value);

/** IEEE half and bfloat16 as bits, rounded to nearest even. */
uint16_t adzi_f16_from_f32(float x);
float adzi_f32_from_f16(uint16_t bits);
uint16_t adzi_bf16_from_f32(float x);
float adzi_f32_from_bf16(uint16_t bits);

#endif
