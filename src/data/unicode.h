/* UTF-8, and what kind of character a code point is, whatever the locale. */
#ifndef ADZI_DATA_UNICODE_H
#define ADZI_DATA_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ADZI_REPLACEMENT = 0xfffd };

/**
 * Reads the code point at `at`, where `left` bytes are left, 1 or more. Returns its bytes, 1 to 4;
 * 0 where the bytes end in its middle; -1 where they are no UTF-8.
 */
int adzi_utf8_read(const char *at, size_t left, uint32_t *point);

/** adzi_utf8_read of text that was checked. */
uint32_t adzi_utf8_next(const char **at, const char *end);

/** The code point that ends at `at`, after `begin`, in text that was checked. */
uint32_t adzi_utf8_before(const char *begin, const char *at);

/** Writes a code point; returns its bytes. */
size_t adzi_utf8_write(uint32_t point, char to[4]);

/** The offset of the first byte that is no UTF-8; `size` when all are. */
size_t adzi_utf8_valid(const char *text, size_t size);

bool adzi_is_space(uint32_t point);        /* as Python's str.isspace */
bool adzi_is_alphanumeric(uint32_t point); /* as str.isalnum */
bool adzi_is_mark(uint32_t point);         /* joins the character before it */
bool adzi_is_upper(uint32_t point);        /* as str.isupper */
bool adzi_is_lower(uint32_t point);        /* as str.islower */

/** The lower case of a code point, as Python's str.lower gives it, if that is one code point; else
 * the code point itself. */
uint32_t adzi_to_lower(uint32_t point);

#endif
