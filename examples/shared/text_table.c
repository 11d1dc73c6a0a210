/* Reads and writes CSV files of texts. */
#include "text_table.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../text/encoding.h"
#include "command_line.h"
#include "files.h"

enum { MOST_COLUMNS = 4096 };

/* A file that is being cut into fields. The fields overwrite its text. */
typedef struct reader {
    const char *path;
    char *at, *end;
    size_t line; /* the number of the line of `at` */
} reader;

static bool is_line_end(const reader *r)
{
    return r->at == r->end || *r->at == '\n' || *r->at == '\r';
}

/* Reads the text between quotes and turns doubled quotes into single ones. Returns the end of the
 * text. */
static char *unquote(reader *r)
{
    size_t first = r->line;
    char *to = r->at++;
    while (r->at < r->end && (*r->at != '"' || (r->at + 1 < r->end && r->at[1] == '"'))) {
        r->line += *r->at == '\n';
        r->at += *r->at == '"';
        *to++ = *r->at++;
    }
    if (r->at == r->end) {
        fail("%s: line %zu: a quote is not closed", r->path, first);
    }
    ++r->at;
    if (!is_line_end(r) && *r->at != ',') {
        fail("%s: line %zu: there is text behind a closing quote", r->path, r->line);
    }
    return to;
}

/* The next field with a terminating 0. *last becomes true if it ends its line. */
static char *next_field(reader *r, bool *last)
{
    char *field = r->at, *end = field;
    if (r->at < r->end && *r->at == '"') {
        end = unquote(r);
    } else {
        while (!is_line_end(r) && *r->at != ',') {
            ++r->at;
        }
        end = r->at;
    }
    *last = is_line_end(r);
    if (r->at < r->end) {
        bool both = *r->at == '\r' && r->at + 1 < r->end && r->at[1] == '\n';
        r->line += *last;
        r->at += both ? 2 : 1;
    }
    *end = '\0';
    return field;
}

/* Stores the fields of the next line that is not blank and returns their number, or 0 at the end.
 */
static size_t next_line(reader *r, char **fields, size_t *line)
{
    while (r->at < r->end && is_line_end(r)) {
        r->line += *r->at == '\n' || (*r->at == '\r' && (r->at + 1 == r->end || r->at[1] != '\n'));
        ++r->at;
    }
    size_t n = 0;
    *line = r->line;
    for (bool last = r->at == r->end; !last;) {
        if (n == MOST_COLUMNS) {
            fail("%s: line %zu has more than %d fields", r->path, *line, MOST_COLUMNS);
        }
        fields[n++] = next_field(r, &last);
    }
    return n;
}

static size_t find_column(const char *path, char **names, size_t n, const char *wanted)
{
    char all[1024] = "";
    size_t used = 0, found = n;
    for (size_t i = 0; i < n; ++i) {
        bool same = strcmp(names[i], wanted) == 0;
        if (same && found < n) {
            fail("%s: columns %zu and %zu are both named '%s'; rename one", path, found + 1, i + 1,
                wanted);
        }
        found = same ? i : found;
        if (used < sizeof all) {
            used += (size_t)snprintf(
                all + used, sizeof all - used, "%s'%s'", i > 0 ? ", " : "", names[i]);
        }
    }
    if (found == n) {
        fail("%s: there is no column '%s'; there are %s", path, wanted, n > 0 ? all : "none");
    }
    return found;
}

/* Cuts off white space around a label, so that "yes" and "yes " are one class. */
static char *trim(char *field)
{
    static const char space[] = " \t\r\n";
    size_t length = strlen(field);
    while (length > 0 && strchr(space, field[length - 1]) != NULL) {
        field[--length] = '\0';
    }
    return field + strspn(field, space);
}

/* A copy of a field. Ends the program if the field is empty. */
static char *field_copy(const reader *r, const char *name, const char *field, size_t line)
{
    if (field[strspn(field, " \t\r\n")] == '\0') {
        fail("%s: line %zu: column '%s' is empty", r->path, line, name);
    }
    return copy_text(field);
}

static void read_rows(reader *r, const char *text, const char *label, text_table *table)
{
    char **fields = allocate(MOST_COLUMNS * sizeof *fields);
    size_t line, capacity = 0, columns = next_line(r, fields, &line);
    size_t text_at = find_column(r->path, fields, columns, text);
    size_t label_at = label != NULL ? find_column(r->path, fields, columns, label) : 0;
    for (size_t n; (n = next_line(r, fields, &line)) > 0;) {
        if (n != columns) {
            fail("%s: line %zu has %zu fields, the header has %zu", r->path, line, n, columns);
        }
        if (table->count == capacity) {
            capacity = capacity > 0 ? 2 * capacity : 64;
            table->rows = reallocate(table->rows, capacity, sizeof *table->rows);
        }
        text_row *row = &table->rows[table->count++];
        row->line = line;
        row->text = field_copy(r, text, fields[text_at], line);
        row->label = label != NULL ? field_copy(r, label, trim(fields[label_at]), line) : NULL;
    }
    free(fields);
}

text_table read_text_table(const char *path, const char *text, const char *label)
{
    static const char mark[] = "\xef\xbb\xbf";
    size_t size;
    check_text_file(path);
    char *file = read_whole_file(path, &size);
    check_utf8(path, file, size, ""); /* labels are saved in metadata, which is UTF-8 */
    size_t skipped = size >= 3 && memcmp(file, mark, 3) == 0 ? 3 : 0;
    reader r = { path, file + skipped, file + size, 1 };
    text_table table = { NULL, 0 };
    read_rows(&r, text, label, &table);
    free(file);
    if (table.count == 0) {
        fail("%s: there are no rows", path);
    }
    return table;
}

void write_text_table(const char *path, const text_table *table)
{
    FILE *file = create_file(path);
    fputs("text,label\n", file);
    for (size_t i = 0; i < table->count; ++i) {
        write_field(file, table->rows[i].text);
        fputc(',', file);
        write_field(file, table->rows[i].label);
        fputc('\n', file);
    }
    finish_file(path, file);
}

void free_text_table(text_table *table)
{
    for (size_t i = 0; i < table->count; ++i) {
        free(table->rows[i].text);
        free(table->rows[i].label);
    }
    free(table->rows);
}
