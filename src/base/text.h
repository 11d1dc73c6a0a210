/* Text that grows: names with prefixes, printed trees, long messages. */
#ifndef ADZI_BASE_TEXT_H
#define ADZI_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct adzi_text {
    char *data; /* terminated, once anything was added */
    size_t length, capacity;
    bool failed; /* memory was refused; what follows is dropped */
} adzi_text;

/** Ends the memory; the text can be used anew. */
void adzi_text_free(adzi_text *text);

void adzi_text_add(adzi_text *text, const char *part);
void adzi_text_add_n(adzi_text *text, const char *part, size_t n);
void adzi_text_format(adzi_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Shortens to an earlier length. */
void adzi_text_cut(adzi_text *text, size_t length);

/** What was added so far; "" at first. */
const char *adzi_text_get(const adzi_text *text);

/** A double as Python prints it: 0.5, 1.0, 1e-05. Valid for the next few calls on this thread. */
const char *adzi_text_float(double x);

/** "True" or "False". */
const char *adzi_text_bool(bool x);

#endif
