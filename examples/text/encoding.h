/* Checks that bytes are text. */
#ifndef EXAMPLES_ENCODING_H
#define EXAMPLES_ENCODING_H

#include <stddef.h>

/* Ends the program unless the bytes of a file are text in UTF-8 without zero bytes. A zero byte
 * must follow them. The message names the first wrong byte and says how to convert the file.
 * `instead` is appended to the message: another way out, or "". */
void check_utf8(const char *path, const char *text, size_t size, const char *instead);

#endif
