/* Copies between strided tensors and contiguous buffers, for kernels. The functions are compiled
 * once per instruction set (strided.kernel.c). */
#ifndef ADZI_TENSOR_KERNEL_STRIDED_H
#define ADZI_TENSOR_KERNEL_STRIDED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/isa.h"
#include "tensor/kernel/registers.h"

/** The offset, in elements, of element `i` of a strided tensor, counted in row-major order. */
static inline int64_t adzi_strided_offset(
    int64_t i, int rank, const int64_t *sizes, const int64_t *strides)
{
    int64_t offset = 0;
    for (int d = rank - 1; d >= 0 && i != 0; --d) {
        offset += i % sizes[d] * strides[d];
        i /= sizes[d];
    }
    return offset;
}

#ifdef ADZI_ISA
enum { ADZI_FAR = 1 << 19 }; /* memmove is faster for copies of so many bytes or more */

/* Copies `step` bytes, a power of two, if the number of bytes has that bit. */
#define ADZI_COPY_REST(step) \
    if (bytes & (step)) {    \
        memcpy(y, x, step);  \
        y += (step);         \
        x += (step);         \
    }

/** Copies bytes to a target that is the source or does not overlap it. For data in the first two
 * caches memmove takes 1.5 times as long, and for a few bytes several times as long. */
static inline void adzi_copy_bytes(void *to, const void *from, size_t bytes)
{
    typedef char whole __attribute__((vector_size(ADZI_REGISTER_BYTES), aligned(1), may_alias));
    typedef char part __attribute__((vector_size(16), aligned(1), may_alias));
    char *y = to;
    const char *x = from;
    if (bytes >= ADZI_FAR) {
        memmove(y, x, bytes);
        return;
    }
    for (; bytes >= sizeof(whole); bytes -= sizeof(whole), x += sizeof(whole), y += sizeof(whole)) {
        *(whole *)(void *)y = *(const whole *)(const void *)x;
    }
    for (; bytes >= sizeof(part); bytes -= sizeof(part), x += sizeof(part), y += sizeof(part)) {
        *(part *)(void *)y = *(const part *)(const void *)x;
    }
    ADZI_COPY_REST(8)
    ADZI_COPY_REST(4)
    ADZI_COPY_REST(2)
    ADZI_COPY_REST(1)
}
#undef ADZI_COPY_REST

#define ADZI_GATHER  ADZI_PASTE3(adzi, gather, ADZI_SERVING(ADZI_ISA, gather))
#define ADZI_SCATTER ADZI_PASTE3(adzi, scatter, ADZI_SERVING(ADZI_ISA, scatter))
#define ADZI_SPLAT   ADZI_PASTE3(adzi, splat, ADZI_SERVING(ADZI_ISA, splat))

/** to[k] = element first + k, k = 0 .. n-1, of a tensor of `rank` dimensions at `from`. An item has
 * 1, 2, 4 or 8 bytes. Strides are in elements, and 0 for a broadcast dimension. */
void ADZI_GATHER(void *to, const char *from, size_t item, int64_t first, int64_t n, int rank,
    const int64_t *sizes, const int64_t *strides);

/** Element first + k of a tensor of `rank` dimensions at `to` = from[k], k = 0 .. n-1. */
void ADZI_SCATTER(char *to, const void *from, size_t item, int64_t first, int64_t n, int rank,
    const int64_t *sizes, const int64_t *strides);

/** to[k] = the element at `from`, k = 0 .. n-1. */
void ADZI_SPLAT(void *to, const char *from, size_t item, int64_t n);
#endif

#endif
