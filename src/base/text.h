/* Text that grows, for names with prefixes, printed trees and long messages. */
#ifndef ADZI_BASE_TEXT_H
#define ADZI_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/** A text that is all zeros is empty. */
typedef struct adzi_text {
    char *data; /* NULL, or a string that ends with a 0 */
    size_t length, capacity;
    bool failed; /* memory was refused; nothing more is added */
} adzi_text;

/** Frees the memory. The text is empty then and can be used again. */
void adzi_text_free(adzi_text *text);

/** Append a string, n characters, or what printf would print. If memory is refused, `failed` is
 * set and the text stays as it is. */
void adzi_text_add(adzi_text *text, const char *part);
void adzi_text_add_n(adzi_text *text, const char *part, size_t n);
void adzi_text_format(adzi_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Shortens the text to its first `length` characters. */
void adzi_text_cut(adzi_text *text, size_t length);

/** The text as a string, "" for an empty one. It is valid until the text changes. */
const char *adzi_text_get(const adzi_text *text);

/** A double as Python prints it: 0.5, 1.0, 1e-05. Valid until the thread has asked for 8 more
 * texts. */
const char *adzi_text_float(double x);

/** "True" or "False". */
const char *adzi_text_bool(bool x);

#endif
