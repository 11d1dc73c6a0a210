#ifndef ADZI_AUTOGRAD_OPS_DECOMPOSITION_QR_KERNEL_H
#define ADZI_AUTOGRAD_OPS_DECOMPOSITION_QR_KERNEL_H

#include "autograd/ops/decomposition/workers.h"

enum { ADZI_QR_BLOCK = 32 }; /**< columns whose reflections are applied by products */

/** Arguments of qr; k is the smaller one of m and n. */
typedef struct adzi_qr_args {
    const char *a; /**< [items, m, n] */
    char *q, *r;   /**< [items, m, k] and [items, k, n] */
    int64_t m, n;
    adzi_workers workers;
} adzi_qr_args;

/** Elements of working memory for an item. */
static inline int64_t adzi_qr_room(int64_t m, int64_t n)
{
    const int64_t b = ADZI_QR_BLOCK, k = m < n ? m : n;
    return m * n + m * b + 2 * b * n + k * b + b * b;
}

#endif
