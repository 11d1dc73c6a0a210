/* Options structs: the caller's may be shorter or longer than ours. */
#ifndef ADZI_TENSOR_OPTIONS_H
#define ADZI_TENSOR_OPTIONS_H

#include <stddef.h>
#include <string.h>

/** Overwrites the defaults in `all` with as much as the caller's struct has; NULL for none. */
static inline void adzi_options_read(void *all, size_t size, const void *options)
{
    size_t given = 0;
    if (options != NULL) {
        memcpy(&given, options, sizeof given);
        memcpy(all, options, given < size ? given : size);
    }
}

/** Fills the caller's struct of `size` bytes with the defaults in `all`, its size first. */
static inline void adzi_options_fill(void *options, size_t size, const void *all, size_t all_size)
{
    if (options != NULL && size >= sizeof(size_t)) {
        memset(options, 0, size);
        memcpy(options, all, size < all_size ? size : all_size);
        memcpy(options, &size, sizeof size);
    }
}

#endif
