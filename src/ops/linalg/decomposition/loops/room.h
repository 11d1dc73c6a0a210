/* Parts of a worker's memory. */
#ifndef ADZI_OPS_LINALG_DECOMPOSITION_LOOPS_ROOM_H
#define ADZI_OPS_LINALG_DECOMPOSITION_LOOPS_ROOM_H

#include <stdbool.h>
#include <stdint.h>

enum { ADZI_REFLECTORS = 32 /**< reflections that are applied by products */ };

/** Bytes that adzi_take() takes. */
static inline int64_t adzi_room(int64_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

/** Takes bytes from working memory; the next part begins at a multiple of 64. */
static inline void *adzi_take(char **memory, int64_t bytes)
{
    char *part = *memory;
    *memory += adzi_room(bytes);
    return part;
}

/** Bytes that a bidiagonal matrix of n rows and its vectors take, by the size of an element. */
static inline int64_t adzi_bidiagonal_bytes(int64_t n, int64_t size, bool left)
{
    return adzi_room(8 * n * 8) + adzi_room(3 * n * 8) + adzi_room(n * n * 8) +
           (left ? 6 : 5) * adzi_room(n * n * size);
}

/** Bytes of working memory to apply reflections of n elements to matrices of n rows or fewer. */
static inline int64_t adzi_reflectors_bytes(int64_t n, int64_t size)
{
    const int64_t b = ADZI_REFLECTORS;
    return 2 * adzi_room(b * b * size) + adzi_room(2 * n * b * size) + adzi_room(n * b * size);
}

/** Bytes of working memory for an item of eigh_large. */
static inline int64_t adzi_eigh_bytes(int64_t n, int64_t size)
{
    return adzi_room(n * n * size) + 2 * adzi_room(2 * ADZI_REFLECTORS * n * size) +
           2 * adzi_room(n * size) + adzi_room(n * 4) + adzi_reflectors_bytes(n, size) +
           adzi_bidiagonal_bytes(n, size, false);
}

/** Bytes of working memory for an item of svd_large, of k columns and `big` rows. */
static inline int64_t adzi_svd_bytes(int64_t big, int64_t k, int64_t size)
{
    return 3 * adzi_room(big * k * size) + adzi_room(k * k * size) +
           2 * adzi_room(2 * ADZI_REFLECTORS * big * size) + 4 * adzi_room(big * size) +
           adzi_room(k * 4) + adzi_reflectors_bytes(big, size) +
           adzi_bidiagonal_bytes(k, size, true);
}

#endif
