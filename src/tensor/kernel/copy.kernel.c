/* Kernels of copies between layouts, and of fills with one value.
 *
 * A unit is one element of the output in row-major order. Elements are copied as bits, so there is
 * one instance per size (1, 2, 4 or 8 bytes) and none per dtype. */
#include <string.h>

#include "tensor/kernel/pointwise.h"
#include "tensor/kernel/strided.h"

/* Copies elements begin .. end - 1. If one side is contiguous, they are gathered or scattered
 * directly. If neither is, they go through a buffer of ADZI_CHUNK elements. */
static void copy(const adzi_pointwise_args *a, int64_t begin, int64_t end, const size_t item)
{
    char *y = a->out;
    const char *x = a->in[0];
    const int64_t from = begin * (int64_t)item;
    if (a->flat) {
        adzi_copy_bytes(y + from, x + from, (size_t)(end - begin) * item);
    } else if (adzi_operand_is_contiguous(a, a->out_strides)) {
        ADZI_GATHER(y + from, x, item, begin, end - begin, a->rank, a->sizes, a->in_strides[0]);
    } else if (adzi_operand_is_contiguous(a, a->in_strides[0])) {
        ADZI_SCATTER(y, x + from, item, begin, end - begin, a->rank, a->sizes, a->out_strides);
    } else {
        uint64_t buffer[ADZI_CHUNK];
        for (int64_t n; begin < end; begin += n) {
            n = end - begin < ADZI_CHUNK ? end - begin : ADZI_CHUNK;
            ADZI_GATHER(buffer, x, item, begin, n, a->rank, a->sizes, a->in_strides[0]);
            ADZI_SCATTER(y, buffer, item, begin, n, a->rank, a->sizes, a->out_strides);
        }
    }
}

/* The kernel for elements of `item` bytes. */
#define COPY(type, item)                                                       \
    void KERNEL_OF(copy, type)(const void *block, int64_t begin, int64_t end); \
    void KERNEL_OF(copy, type)(const void *block, int64_t begin, int64_t end)  \
    {                                                                          \
        copy(block, begin, end, item);                                         \
    }

COPY(b1, 1)
COPY(b2, 2)
COPY(b4, 4)
COPY(b8, 8)

/* Sets every element to one value. A contiguous output (rank 0 in the arguments) is written
 * directly. Any other is scattered from a buffer that holds ADZI_CHUNK copies of the value. */
void KERNEL_OF(fill, any)(const void *block, int64_t begin, int64_t end);
void KERNEL_OF(fill, any)(const void *block, int64_t begin, int64_t end)
{
    const adzi_fill_args *a = block;
    const char *item = (const char *)&a->item;
    if (a->rank == 0) {
        char *y = a->out + begin * a->size;
        if (a->item == 0) {
            memset(y, 0, (size_t)((end - begin) * a->size));
        } else {
            ADZI_SPLAT(y, item, (size_t)a->size, end - begin);
        }
        return;
    }
    uint64_t buffer[ADZI_CHUNK];
    const int64_t most = end - begin < ADZI_CHUNK ? end - begin : ADZI_CHUNK;
    ADZI_SPLAT(buffer, item, (size_t)a->size, most);
    for (int64_t n; begin < end; begin += n) {
        n = end - begin < most ? end - begin : most;
        ADZI_SCATTER(a->out, buffer, (size_t)a->size, begin, n, a->rank, a->sizes, a->strides);
    }
}
