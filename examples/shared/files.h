/* Files that the example programs read and write. */
#ifndef EXAMPLES_FILES_H
#define EXAMPLES_FILES_H

#include <stddef.h>
#include <stdio.h>

/* All of a file for free(), terminated beyond its size; or the end of the program. */
char *read_whole_file(const char *path, size_t *size);

/* Ends the program if no file could be written there: said before the work, not after it. */
void check_writable(const char *path);

/* A new file, or the end of the program. */
FILE *create_file(const char *path);

/* Closes it; ends the program if not all of it could be written. */
void finish_file(const char *path, FILE *file);

/* A field of a CSV file, in quotes. */
void write_field(FILE *file, const char *text);

#endif
