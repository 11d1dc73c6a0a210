/* UTF-8, and classes of characters by Unicode. Nothing here depends on the locale. */
#ifndef ADZI_DATA_UNICODE_H
#define ADZI_DATA_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adze/data/text.h"

/**
 * Reads the code point at `at`, where `left` bytes, 1 or more, are left. Returns the number of its
 * bytes, 1 to 4. Returns 0 if the character is incomplete, and -1 if the bytes are not UTF-8.
 */
int adzi_utf8_read(const char *at, size_t left, uint32_t *point);

/** Reads a code point of valid UTF-8 and moves `*at` behind it. */
uint32_t adzi_utf8_next(const char **at, const char *end);

/** The code point before `at`, in valid UTF-8 that begins at `begin`. */
uint32_t adzi_utf8_before(const char *begin, const char *at);

/** Writes a code point and returns the number of its bytes. */
size_t adzi_utf8_write(uint32_t point, char to[4]);

/** The offset of the first byte that is not UTF-8; `size` if all are. */
size_t adzi_utf8_valid(const char *text, size_t size);

/** What turns bytes into UTF-8, as Python's errors='replace' does. All zeros but for `put`, which
 * gets complete characters and a U+FFFD for each run of bytes that begins none, and `to`. */
typedef struct adzi_utf8_repairing {
    bool (*put)(void *to, adz_text piece);
    void *to;
    char held[4];  /* the first bytes of an incomplete character */
    size_t n_held; /* bytes in `held` */
} adzi_utf8_repairing;

/** Takes more bytes. They may end within a character. False if `put` said so. */
bool adzi_utf8_repair(adzi_utf8_repairing *r, adz_text piece);

/** Ends a text: an incomplete character becomes U+FFFD. False if `put` said so. */
bool adzi_utf8_repair_end(adzi_utf8_repairing *r);

bool adzi_is_space(uint32_t point);        /* Python's str.isspace */
bool adzi_is_alphanumeric(uint32_t point); /* Python's str.isalnum */
bool adzi_is_mark(uint32_t point);  /* a mark on the character before it, such as an accent */
bool adzi_is_upper(uint32_t point); /* Python's str.isupper */
bool adzi_is_lower(uint32_t point); /* Python's str.islower */

/** The lower case of a code point by Python's str.lower. If that has several code points, the code
 * point itself is returned. */
uint32_t adzi_to_lower(uint32_t point);

#endif
