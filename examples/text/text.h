/* The text that programs learn from where they are given none: English in the public domain. */
#ifndef EXAMPLES_TEXT_H
#define EXAMPLES_TEXT_H

#include <stddef.h>

extern const char embedded_name[];

/* The text, terminated, to be ended with free. */
char *embedded_text(size_t *size);

#endif
