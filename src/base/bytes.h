/* Byte order of numbers in files. The formats that adze writes are little-endian; an npy file may
 * say that it is big-endian. */
#ifndef ADZI_BASE_BYTES_H
#define ADZI_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool adzi_host_is_big_endian(void)
{
    const union {
        uint16_t number;
        unsigned char bytes[2];
    } one = { 1 };
    return one.bytes[0] == 0;
}

/** Reverses the bytes of each of `count` items of `size` bytes, in place. */
static inline void adzi_swap_bytes(void *items, size_t count, size_t size)
{
    unsigned char *at = items;
    for (size_t i = 0; i < count; ++i, at += size) {
        for (size_t low = 0, high = size - 1; low < high; ++low, --high) {
            unsigned char kept = at[low];
            at[low] = at[high];
            at[high] = kept;
        }
    }
}

/** Reads a little-endian number of `size` bytes, 0 to 8. */
static inline uint64_t adzi_read_little(const unsigned char *bytes, size_t size)
{
    uint64_t number = 0;
    for (size_t i = size; i > 0; --i) {
        number = number << 8 | bytes[i - 1];
    }
    return number;
}

/** Writes the lowest `size` bytes of a number, the lowest byte first. */
static inline void adzi_write_little(unsigned char *bytes, size_t size, uint64_t number)
{
    for (size_t i = 0; i < size; ++i, number >>= 8) {
        bytes[i] = (unsigned char)(number & 0xffu);
    }
}

#endif
