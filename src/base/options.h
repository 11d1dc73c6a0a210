/* Structs of options. Each begins with its size. A program that was compiled with another version
 * of the headers may pass a struct that is shorter or longer than the library's. */
#ifndef ADZI_BASE_OPTIONS_H
#define ADZI_BASE_OPTIONS_H

#include <stddef.h>
#include <string.h>

#include "base/error.h"

/** Records that the caller's struct begins with a size that is too small. Returns false. */
static inline bool adzi_options_unsized(const char *op, const char *start, size_t size)
{
    adzi_error(op, ADZ_ERR_ARGUMENT,
        "the struct's size is %zu, so none of its fields would be read; begin with %s, which sets "
        "the size and the defaults, and change fields after that",
        size, start);
    return false;
}

/**
 * Copies the caller's struct over the defaults. Fields that the caller's struct does not have keep
 * their defaults.
 *
 * @param op       for the message
 * @param start    the macro that fills such a struct, "ADZ_SGD_OPTIONS", for the message
 * @param all      the defaults, which are overwritten
 * @param size     sizeof *all
 * @param options  the caller's struct, which begins with its own size; NULL changes nothing
 * @return         false with ADZ_ERR_ARGUMENT recorded if the struct's size is smaller than the
 *                 field that holds it, as in a struct that was not filled; `all` is unchanged then
 */
static inline bool adzi_options_read(
    const char *op, const char *start, void *all, size_t size, const void *options)
{
    if (options == NULL) {
        return true;
    }
    size_t given;
    memcpy(&given, options, sizeof given);
    if (given < sizeof given) {
        return adzi_options_unsized(op, start, given);
    }
    memcpy(all, options, given < size ? given : size);
    return true;
}

/**
 * Fills the caller's struct of `size` bytes with the defaults in `all`, and writes the size into
 * its first field. ADZ_ERR_NULL if there is no struct, ADZ_ERR_ARGUMENT if it has no room for its
 * size.
 */
static inline adz_status adzi_options_fill(
    const char *op, void *options, size_t size, const void *all, size_t all_size)
{
    if (options == NULL) {
        return adzi_error_null(op, "the struct to fill");
    }
    if (size < sizeof size) {
        return adzi_error(op, ADZ_ERR_ARGUMENT,
            "size is %zu; hand over sizeof of the struct that is to be filled", size);
    }
    memset(options, 0, size);
    memcpy(options, all, size < all_size ? size : all_size);
    memcpy(options, &size, sizeof size);
    return ADZ_OK;
}

/**
 * Defines the public function that fills an option struct with its defaults:
 *
 *     ADZI_OPTIONS_INIT(adz_sgd_options_init, adz_sgd_options, ADZ_SGD_OPTIONS)
 */
#define ADZI_OPTIONS_INIT(function, type, DEFAULTS)                              \
    void function(type *options, size_t size)                                    \
    {                                                                            \
        const type defaults = DEFAULTS;                                          \
        adzi_options_fill(#function, options, size, &defaults, sizeof defaults); \
    }

/** Calls adzi_options_read. `all` points to a struct that was initialised with DEFAULTS. */
#define ADZI_OPTIONS_READ(op, DEFAULTS, all, options) \
    adzi_options_read((op), #DEFAULTS, (all), sizeof *(all), (options))

#endif
