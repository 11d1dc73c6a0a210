/* Reads a file of texts, one in each line. */
#ifndef EXAMPLES_LINES_H
#define EXAMPLES_LINES_H

#include <adze/adze.h>
#include <stddef.h>

typedef struct text_lines {
    char *bytes;     /* of the file; the texts point into it */
    adz_text *texts; /* without the ends of the lines, \n or \r\n */
    size_t count;
} text_lines;

/* Reads the lines of a file in UTF-8; "-" is standard input. Ends the program if there are none.
 * The caller frees both arrays. */
text_lines read_lines(const char *path);

#endif
