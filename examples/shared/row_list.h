/* Files of row numbers, which say which rows of a table are for testing. */
#ifndef EXAMPLES_ROW_LIST_H
#define EXAMPLES_ROW_LIST_H

#include <stddef.h>
#include <stdint.h>

typedef struct row_list {
    int64_t *rows;  /* `count` numbers, from 0, for free() */
    int64_t *lines; /* the line of the file that each number stands in, from 1, for free() */
    size_t count, capacity;
} row_list;

/* Reads the rows in line `split` of the file, from 0. If every line has one number, the whole file
 * is one list. Ends the program for what is no number, and if there is no such line. */
row_list read_row_list(const char *path, int64_t split);

/* Ends the program if a row is not from 0 to n_rows - 1, or is listed twice. `data` names the table
 * in the message. */
void check_row_list(const char *path, const row_list *list, const char *data, int64_t n_rows);

void free_row_list(row_list *list);

#endif
