/* Text from files and options: checks whether it can be shown, and makes other bytes visible. */
#ifndef EXAMPLES_PLAIN_TEXT_H
#define EXAMPLES_PLAIN_TEXT_H

#include <stdbool.h>
#include <stdio.h>

/* True if the text has a control character: below U+0020, or U+007F to U+009F. */
bool has_control(const char *text);

/* A pointer to the end of the text if it is UTF-8, else to its first byte that is not. */
const char *utf8_end(const char *text);

/* The reason why a text cannot be a name or a title, for messages like "the name %s": "is not
 * UTF-8" or "contains a control character". NULL if it can. */
const char *text_fault(const char *text);

/* Writes the text in one line to `shown`, which has room for 4 times its bytes and the end. Control
 * characters and bytes that are not UTF-8 become escapes: \n, \t or \x1b. */
void make_visible(const char *text, char *shown);

/* Prints a text in lines of at most 80 characters, which end at spaces. Lines after the first one
 * are indented further than it. A word that is longer gets a line of its own. */
void print_wrapped(FILE *file, const char *text);

#endif
