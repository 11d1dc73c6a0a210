/* Columns of texts in CSV files: one column, or texts and their labels. */
#ifndef EXAMPLES_TEXT_TABLE_H
#define EXAMPLES_TEXT_TABLE_H

#include <stddef.h>

typedef struct text_row {
    char *text, *label; /* label is NULL if no column of labels was asked for */
    size_t line;        /* the line of the file, from 1 */
} text_row;

typedef struct text_table {
    text_row *rows;
    size_t count;
} text_table;

/* Reads two columns of a CSV file (RFC 4180) with a header line. `label` may be NULL. Ends the
 * program for a file that is not CSV or not UTF-8, for a column that is missing or occurs twice,
 * and for an empty field. */
text_table read_text_table(const char *path, const char *text, const char *label);

void write_text_table(const char *path, const text_table *table);
void free_text_table(text_table *table);

#endif
