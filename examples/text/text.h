/* The text that programs learn from if they are given no file: English, in the public domain. */
#ifndef EXAMPLES_TEXT_H
#define EXAMPLES_TEXT_H

#include <stddef.h>

extern const char embedded_name[];

/* The text with a terminating 0. The caller frees it. */
char *embedded_text(size_t *size);

#endif
