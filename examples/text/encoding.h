/* Whether bytes are text. */
#ifndef EXAMPLES_ENCODING_H
#define EXAMPLES_ENCODING_H

#include <stddef.h>

/* Ends the program unless the bytes of a file, which a zero byte follows, are text in UTF-8 without
 * zero bytes. The message says where they are not and how to convert them; `instead` goes on with
 * another way out, or is "". */
void check_utf8(const char *path, const char *text, size_t size, const char *instead);

#endif
