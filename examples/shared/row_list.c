/* Reads files of row numbers. */
#include "row_list.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "command_line.h"
#include "files.h"

static void add_row(row_list *list, int64_t row, int64_t line)
{
    if (list->count == list->capacity) {
        list->capacity = 2 * list->capacity + 64;
        list->rows = reallocate(list->rows, list->capacity, sizeof *list->rows);
        list->lines = reallocate(list->lines, list->capacity, sizeof *list->lines);
    }
    list->rows[list->count] = row;
    list->lines[list->count++] = line;
}

/* Appends the row numbers of a line, counted from 1, to the list. Returns the first character after
 * the line. */
static const char *read_line(const char *path, int64_t line, const char *at, row_list *list)
{
    for (list->count = 0; *at != '\0' && *at != '\n';) {
        char *end;
        errno = 0;
        long long row = strtoll(at, &end, 10);
        if (end == at || errno != 0) {
            fail("%s: line %lld: '%.*s' is no row number", path, (long long)line,
                (int)(strcspn(at, " ,\t\r\n") % 40), at);
        }
        add_row(list, row, line);
        for (at = end; *at == ' ' || *at == ',' || *at == '\t' || *at == '\r'; ++at) {
        }
    }
    return *at == '\n' ? at + 1 : at;
}

row_list read_row_list(const char *path, int64_t split)
{
    size_t size;
    check_text_file(path);
    char *text = read_whole_file(path, &size);
    if (strlen(text) != size) {
        fail("%s: contains a zero byte, so it is no list of rows", path);
    }
    row_list chosen = { 0 }, line = { 0 }, singles = { 0 };
    int64_t lines = 0;
    bool single = true;
    for (const char *at = text; *at != '\0'; ++lines) {
        at = read_line(path, lines + 1, at, &line);
        for (size_t i = 0; i < line.count && lines == split; ++i) {
            add_row(&chosen, line.rows[i], lines + 1);
        }
        single = single && line.count <= 1;
        if (line.count == 1) {
            add_row(&singles, line.rows[0], lines + 1);
        }
    }
    free(text);
    free_row_list(&line);
    if (single && split == 0 && lines > 1) {
        free_row_list(&chosen);
        return singles;
    }
    free_row_list(&singles);
    if (split >= lines) {
        fail("%s has %lld lines, so there is no split %lld", path, (long long)lines,
            (long long)split);
    }
    return chosen;
}

void check_row_list(const char *path, const row_list *list, const char *data, int64_t n_rows)
{
    int64_t *first =
        allocate((size_t)n_rows * sizeof *first); /* the line of each row, 0 for none */
    for (size_t i = 0; i < list->count; ++i) {
        long long row = (long long)list->rows[i], line = (long long)list->lines[i];
        if (row < 0 || row >= n_rows) {
            fail(
                "%s: line %lld: there is no row %lld: %s has %lld rows, numbered from 0 without the header",
                path, line, row, data, (long long)n_rows);
        }
        if (first[row] > 0) {
            fail("%s: line %lld: row %lld is listed twice, first in line %lld; list it once", path,
                line, row, (long long)first[row]);
        }
        first[row] = line;
    }
    free(first);
}

void free_row_list(row_list *list)
{
    free(list->rows);
    free(list->lines);
    *list = (row_list){ 0 };
}
