/* The lines of the text in text.h, chapter by chapter. Each list ends with NULL. */
#ifndef EXAMPLES_TEXT_CHAPTERS_H
#define EXAMPLES_TEXT_CHAPTERS_H

#include <stddef.h>

extern const char *const chapters_1_to_3[], *const chapters_4_to_6[];

#endif
