/* Text that grows, for the rules of the tokenizer. */
#ifndef ADZI_ZOO_FASTAI_TOKEN_TEXT_H
#define ADZI_ZOO_FASTAI_TOKEN_TEXT_H

#include "adze/data/text.h"

/** A text that grows. A zero byte follows it, which `length` does not count, once something was
 * added. */
typedef struct zoo_text {
    char *data; /* NULL before the first byte */
    size_t length, capacity;
    bool borrowed; /* `data` is memory of the caller */
    bool failed;   /* memory was refused, and the error is recorded; nothing more is added */
} zoo_text;

/** Makes room for a text of `length` bytes. */
void adzi_zoo_text_reserve(zoo_text *text, size_t length);

/** Appends n bytes, or a string. */
void adzi_zoo_text_add_n(zoo_text *text, const char *bytes, size_t n);
void adzi_zoo_text_add(zoo_text *text, const char *string);

void adzi_zoo_text_free(zoo_text *text);

/** The character at `*at` of a text that ends at `end`. Moves `*at` behind it. */
static inline uint32_t zoo_next_point(const char **at, const char *end)
{
    size_t offset = 0;
    const uint32_t point = adz_utf8_next((adz_text){ *at, (size_t)(end - *at) }, &offset);
    *at += offset;
    return point;
}

#endif
