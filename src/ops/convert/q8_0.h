/* Weights in blocks of Q8_0, as tensors: u8[..., D / 32, 34] holds w[..., D]. */
#ifndef ADZI_OPS_CONVERT_Q8_0_H
#define ADZI_OPS_CONVERT_Q8_0_H

#include <stdbool.h>

#include "tensor/kernel/q8_0.h"
#include "tensor/tensor.h"

/** True for bytes that adz_dequantize_q8_0() takes: u8 whose last dimension is a block. */
static inline bool adzi_is_q8_0(const adz_tensor *t)
{
    return t->dtype == ADZ_U8 && t->rank >= 2 && t->sizes[t->rank - 1] == ADZI_Q8_0_BYTES;
}

#endif
