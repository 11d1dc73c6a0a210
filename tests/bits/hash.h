/* SHA-256 over tensors, for the table of hashes. */
#ifndef ADZE_TESTS_BITS_HASH_H
#define ADZE_TESTS_BITS_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "adze/adze.h"

/** A running hash. */
typedef struct hash {
    uint32_t state[8];
    uint64_t length; /* in bytes, of all that was added */
    unsigned char block[64];
} hash;

void hash_begin(hash *h);
void hash_bytes(hash *h, const void *bytes, size_t n);

/** Adds dtype, sizes and elements. All NaN are one NaN, because IEEE 754 leaves their bits open. A
 * NULL or ADZ_NONE adds a mark. */
void hash_tensor(hash *h, adz_tensor *t);

/** Writes 64 hexadecimal digits and a 0. The hash cannot be used any more. */
void hash_end(hash *h, char text[65]);

#endif
