/* Files that the example programs read and write. */
#ifndef EXAMPLES_FILES_H
#define EXAMPLES_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Reads a whole file into memory, for free(), with a zero after its last byte. Ends the program if
 * it cannot. */
char *read_whole_file(const char *path, size_t *size);

/* Ends the program if the beginning of a file shows that it is no text. The message says what it is
 * and what to do. A file that cannot be opened is ignored here, because reading it will fail. */
void check_text_file(const char *path);

/* Ends the program if no file can be written at the path. Call it before the work, not after it.
 * Reasons are a folder that takes no new file, a control character in the name, and a link that
 * leads nowhere. */
void check_writable(const char *path);

/* True if two paths lead to one file, by links or by another spelling. The file need not exist. */
bool same_file(const char *a, const char *b);

/* A file of the command line, under the name of its option without the dashes. */
typedef struct file_use {
    const char *option;
    const char *path; /* NULL: not used */
    bool written;     /* true if this run writes the file; false if it reads it */
} file_use;

/* Checks all files that a run reads and writes; call it before the first step. Ends the program if
 * a file cannot be written (check_writable), or if a written file is in the list twice. */
void check_files(const file_use *files, size_t n);

/* Makes a new file. Ends the program if it cannot. */
FILE *create_file(const char *path);

/* Closes a file. Ends the program if not all of it could be written. */
void finish_file(const char *path, FILE *file);

/* Writes a field of a CSV file, in quotes. */
void write_field(FILE *file, const char *text);

/* Writes a number that reads back as the same double (number_text). NaN becomes an empty field. */
void write_number(FILE *file, double x);

/* Writes a row of a CSV file: a whole number, and columns as write_number() writes them. */
void write_row(FILE *file, int64_t row, const double *columns, size_t n);

#endif
