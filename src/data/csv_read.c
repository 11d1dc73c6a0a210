/* Reads CSV texts into tables of numbers. The names of the columns come first, then each row is
 * read into an array of doubles, which becomes a tensor in the end. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/capture.h"
#include "base/handle.h"
#include "data/csv.h"
#include "data/csv_field.h"
#include "data/csv_lexer.h"
#include "base/source.h"
#include "adze/options.h"

/* A table that is being read. */
typedef struct reading {
    const char *op;
    const char *where; /* the file, as messages show it */
    adz_csv_options options;
    adzi_csv_lexer lexer;
    adzi_csv_numbers numbers;
    const char *advice;   /* about the delimiter, or "" */
    adzi_columns columns; /* all columns of the file */
    int64_t *slots;       /* for each column of the file, its column in the table, or -1 */
    size_t width;         /* the number of columns of the table */
    double *values;       /* the rows read so far */
    size_t n_values, values_capacity;
    int64_t dropped; /* rows left out because a value is missing */
} reading;

/* ---- errors --------------------------------------------------------------------------------- */

static adz_status no_memory(const reading *r, size_t bytes)
{
    adzi_fail_memory(r->op, bytes);
    return ADZ_ERR_MEMORY;
}

/* Records an error about the contents of a field, with line, column and name of the column. */
static adz_status bad_field(
    const reading *r, const adzi_csv_field *field, size_t column, const char *what)
{
    adzi_shown name, text;
    bool named = r->options.header;
    return adzi_error(r->op, ADZ_ERR_FORMAT, "%s: line %lld, column %zu%s%s%s: '%s' %s%s", r->where,
        (long long)field->line, column + 1, named ? " (" : "",
        named ? adzi_show(&name, r->columns.names[column]) : "", named ? ")" : "",
        adzi_show_bytes(&text, field->text, field->length), what, r->advice);
}

/* Records the error for a field that the lexer could not read. */
static adz_status bad_syntax(
    const reading *r, adzi_csv_found found, const adzi_csv_field *field, size_t column)
{
    if (found == ADZI_CSV_NO_MEMORY) {
        return no_memory(r, field->length);
    }
    return adzi_error(r->op, ADZ_ERR_FORMAT, "%s: line %lld, column %zu: %s", r->where,
        (long long)field->line, column + 1,
        found == ADZI_CSV_OPEN_QUOTE ? "the quote that opens here is never closed"
                                     : "something follows the closing quote of the field");
}

/* Records that a line has more or fewer fields than the first line. */
static adz_status bad_length(const reading *r, int64_t line, size_t fields)
{
    return adzi_error(r->op, ADZ_ERR_FORMAT,
        "%s: line %lld has %s%zu fields, the first line has %zu%s", r->where, (long long)line,
        fields > r->columns.count ? "more than " : "",
        fields > r->columns.count ? r->columns.count : fields, r->columns.count, r->advice);
}

/* ---- the first line ------------------------------------------------------------------------- */

/* Appends a column with a copy of its name. */
static adz_status add_name(reading *r, const char *text, size_t length)
{
    if (memchr(text, '\0', length) != NULL) {
        return adzi_error(r->op, ADZ_ERR_FORMAT,
            "%s: the name of column %zu contains a zero byte; this is no text file", r->where,
            r->columns.count + 1);
    }
    const size_t bytes = length + 1;
    char *name = adzi_alloc(bytes);
    if (name == NULL) {
        return no_memory(r, bytes);
    }
    memcpy(name, text, length);
    name[length] = '\0';
    if (!adzi_columns_add(&r->columns, name)) {
        adzi_string_free(name);
        return no_memory(r, (r->columns.count + 1) * sizeof name);
    }
    return ADZ_OK;
}

/* Names the columns after the fields of the first line. If the file has no header line, the names
 * are "0", "1", ..., and the lexer goes back to the start of the first line. */
static adz_status read_names(reading *r)
{
    adzi_csv_lexer before = r->lexer;
    adzi_csv_field field = { .last = false };
    adzi_csv_found found = adzi_csv_next_line(&r->lexer, &field);
    bool all_numbers = true;
    if (found == ADZI_CSV_END) {
        return adzi_error(r->op, ADZ_ERR_FORMAT,
            "%s: it is empty; a table has a line of names or of numbers", r->where);
    }
    for (;;) {
        char number[24];
        double value;
        if (found != ADZI_CSV_FIELD) {
            return bad_syntax(r, found, &field, r->columns.count);
        }
        all_numbers = all_numbers && adzi_csv_number_read(&r->numbers, field.text, field.length,
                                         &value) == ADZI_NUMBER_OK;
        if (field.last && r->columns.count == 0) {
            r->advice = adzi_delimiter_advice(field.text, field.length);
        }
        size_t n = (size_t)snprintf(number, sizeof number, "%zu", r->columns.count);
        adz_status status =
            r->options.header ? add_name(r, field.text, field.length) : add_name(r, number, n);
        if (status != ADZ_OK) {
            return status;
        }
        if (field.last) {
            break;
        }
        found = adzi_csv_next_field(&r->lexer, &field);
    }
    if (r->options.header && all_numbers) {
        adzi_warn(r->op,
            "%s: its first line, taken for names, consists of numbers; set header to false if it has none",
            r->where);
    }
    if (!r->options.header) {
        r->lexer.at = before.at;
        r->lexer.line = before.line;
    }
    return ADZ_OK;
}

/* Decides which column of the table each column of the file becomes. */
static adz_status position_columns(reading *r)
{
    const adz_csv_options *o = &r->options;
    r->width = o->n_columns > 0 ? o->n_columns : r->columns.count;
    r->slots = adzi_alloc(r->columns.count * sizeof *r->slots);
    if (r->slots == NULL) {
        return no_memory(r, r->columns.count * sizeof *r->slots);
    }
    for (size_t i = 0; i < r->columns.count; ++i) {
        r->slots[i] = o->n_columns > 0 ? -1 : (int64_t)i;
    }
    for (size_t i = 0; i < o->n_columns; ++i) {
        adzi_shown shown;
        int64_t column =
            adzi_find_column(r->op, ADZ_ERR_FORMAT, r->where, &r->columns, o->columns[i]);
        if (column < 0) {
            return adz_error_code();
        }
        if (r->slots[column] >= 0) {
            return adzi_error(r->op, ADZ_ERR_ARGUMENT,
                "column '%s' is asked for twice; list it once", adzi_show(&shown, o->columns[i]));
        }
        r->slots[column] = (int64_t)i;
    }
    return ADZ_OK;
}

/* ---- the rows ------------------------------------------------------------------------------- */

/* Removes spaces and tabs at both ends of a field, which a quoted field may have. */
static void trim(adzi_csv_field *field)
{
    while (field->length > 0 && (*field->text == ' ' || *field->text == '\t')) {
        ++field->text;
        --field->length;
    }
    while (field->length > 0 &&
           (field->text[field->length - 1] == ' ' || field->text[field->length - 1] == '\t')) {
        --field->length;
    }
}

/* What a message says of a field that is not a number. */
static const char *not_a_number(const reading *r, const adzi_csv_field *field)
{
    size_t commas = 0, points = 0, digits = 0;
    for (size_t i = 0; i < field->length; ++i) {
        commas += field->text[i] == ',';
        points += field->text[i] == '.';
        digits += field->text[i] >= '0' && field->text[i] <= '9';
    }
    const bool whole = digits > 0 && digits + commas + points + 1 >= field->length; /* and a sign */
    if (whole && commas == 1 && points == 0 && r->options.decimal == '.' &&
        r->options.delimiter != ',') {
        return "is not a number; if its comma is a decimal one, set decimal to ','";
    }
    if (whole && commas + points > 1) {
        return "is not a number; if it has separators of thousands, set thousands (and decimal)";
    }
    return "is not a number; a column that is not needed can be left out by listing the others";
}

/* Reads a field as a number. `drop` becomes true if the value is missing and its row is left out.
 */
static adz_status read_value(
    reading *r, adzi_csv_field *field, size_t column, double *value, bool *drop)
{
    trim(field);
    if (adzi_csv_is_missing(field->text, field->length)) {
        *value = NAN;
        *drop = *drop || r->options.missing == ADZ_CSV_MISSING_DROP;
        return r->options.missing != ADZ_CSV_MISSING_ERROR
                   ? ADZ_OK
                   : bad_field(r, field, column,
                         "is a missing value; choose what becomes of such (NaN, or its row left out)");
    }
    adzi_number_result result =
        adzi_csv_number_read(&r->numbers, field->text, field->length, value);
    if (result == ADZI_NUMBER_NO_MEMORY) {
        return no_memory(r, field->length);
    }
    if (result == ADZI_NUMBER_NONE) {
        return bad_field(r, field, column, not_a_number(r, field));
    }
    bool single = r->options.dtype == ADZ_F32;
    if (result == ADZI_NUMBER_TOO_LARGE || (single && isfinite(*value) && isinf((float)*value))) {
        return bad_field(
            r, field, column, single ? "is too large for float32" : "is too large for float64");
    }
    return ADZ_OK;
}

/* Reads a line, whose first field has been read already, into `row`. */
static adz_status read_row(reading *r, adzi_csv_found found, adzi_csv_field *field, double *row)
{
    bool drop = false;
    int64_t line = field->line;
    for (size_t column = 0;; ++column) {
        if (found != ADZI_CSV_FIELD) {
            return bad_syntax(r, found, field, column);
        }
        if (column == r->columns.count) {
            return bad_length(r, line, column + 1);
        }
        bool last = field->last;
        if (r->slots[column] >= 0) {
            adz_status status = read_value(r, field, column, &row[r->slots[column]], &drop);
            if (status != ADZ_OK) {
                return status;
            }
        }
        if (last && column + 1 < r->columns.count) {
            return bad_length(r, line, column + 1);
        }
        if (last) {
            break;
        }
        found = adzi_csv_next_field(&r->lexer, field);
    }
    r->n_values += drop ? 0 : r->width;
    r->dropped += drop ? 1 : 0;
    return ADZ_OK;
}

static adz_status read_rows(reading *r)
{
    for (;;) {
        adzi_csv_field field = { .last = false };
        adzi_csv_found found = adzi_csv_next_line(&r->lexer, &field);
        if (found == ADZI_CSV_END) {
            return ADZ_OK;
        }
        if (!adzi_grow(
                &r->values, &r->values_capacity, r->n_values + r->width, sizeof *r->values)) {
            return no_memory(r, (r->n_values + r->width) * sizeof *r->values);
        }
        adz_status status = read_row(r, found, &field, r->values + r->n_values);
        if (status != ADZ_OK) {
            return status;
        }
    }
}

/* ---- the table ------------------------------------------------------------------------------ */

/* Moves the names of the table's columns to the table. */
static bool take_names(reading *r, adz_csv *csv)
{
    size_t *from = adzi_alloc(r->width * sizeof *from); /* each table column's file column */
    bool good = from != NULL;
    for (size_t i = 0; i < r->columns.count && good; ++i) {
        if (r->slots[i] >= 0) {
            from[r->slots[i]] = i;
        }
    }
    for (size_t i = 0; i < r->width && good; ++i) {
        good = adzi_columns_add(&csv->columns, r->columns.names[from[i]]);
        if (good) {
            r->columns.names[from[i]] = NULL;
        }
    }
    adzi_free(from, r->width * sizeof *from);
    return good;
}

/* Makes the table from the values that were read. */
static adz_csv *make_table(reading *r)
{
    adz_csv *csv = adzi_handle_new(sizeof *csv);
    const int64_t sizes[] = { (int64_t)(r->n_values / r->width), (int64_t)r->width };
    if (csv == NULL) {
        return adzi_fail_memory(r->op, sizeof *csv);
    }
    csv->dropped = r->dropped;
    snprintf(csv->source.text, sizeof csv->source.text, "%s", r->where);
    csv->values = adzi_tensor_new(adzi_self(), r->op, r->options.dtype, 2, sizes);
    if (csv->values == NULL) {
        adz_csv_free(&csv);
        return NULL;
    }
    if (!take_names(r, csv)) {
        adz_csv_free(&csv);
        return adzi_fail_memory(r->op, r->width * sizeof(char *));
    }
    for (size_t i = 0; i < r->n_values; ++i) {
        if (r->options.dtype == ADZ_F32) {
            ((float *)(void *)csv->values->data)[i] = (float)r->values[i];
        } else {
            ((double *)(void *)csv->values->data)[i] = r->values[i];
        }
    }
    return csv;
}

/* Checks the characters that separate fields and digits and begin comments. */
static adz_status check_characters(const reading *r, adz_status code)
{
    static const char taken[] =
        "\"\r\n+-.0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const adz_csv_options *o = &r->options;
    /* strchr finds a character of 0 as well: at the end of the string. */
    if (strchr(taken, o->delimiter) != NULL) {
        return adzi_error(r->op, code,
            "delimiter 0x%02x can be part of a number or a quoted field; use ',', ';', '|' or a tab",
            (unsigned)(unsigned char)o->delimiter);
    }
    if (o->decimal != '.' && o->decimal != ',') {
        return adzi_error(
            r->op, code, "decimal 0x%02x must be '.' or ','", (unsigned)(unsigned char)o->decimal);
    }
    if (strchr(".,'_ ", o->thousands) == NULL) {
        return adzi_error(r->op, code,
            "thousands 0x%02x must be '.', ',', ' ', '\'' or '_', or 0 for none",
            (unsigned)(unsigned char)o->thousands);
    }
    if (o->comment != '\0' && (strchr(taken, o->comment) != NULL || strchr(" \t,", o->comment))) {
        return adzi_error(r->op, code,
            "comment 0x%02x can be part of a field; use '#', '%%', '!' or 0 for none",
            (unsigned)(unsigned char)o->comment);
    }
    /* A quoted field may contain the delimiter, so it may be a separator in numbers, too. */
    const bool comments = o->comment != '\0';
    if (o->decimal == o->thousands ||
        (comments && (o->comment == o->delimiter || o->comment == o->thousands))) {
        return adzi_error(r->op, code,
            "decimal 0x%02x and thousands 0x%02x must differ, and comment 0x%02x from both and from delimiter 0x%02x",
            (unsigned)(unsigned char)o->decimal, (unsigned)(unsigned char)o->thousands,
            (unsigned)(unsigned char)o->comment, (unsigned)(unsigned char)o->delimiter);
    }
    return ADZ_OK;
}

static adz_csv *read_text(reading *r, const char *text, size_t size)
{
    const adz_csv_options *o = &r->options;
    if (!adzi_csv_numbers_begin(&r->numbers, o->decimal, o->thousands)) {
        return adzi_fail_memory(r->op, 0);
    }
    adzi_csv_lexer_begin(&r->lexer, text, size, o->delimiter, o->comment);
    /* The first line of the text may have chosen another delimiter. */
    r->options.delimiter = r->lexer.delimiter;
    r->advice = "";
    adz_status status = check_characters(r, ADZ_ERR_FORMAT);
    status = status == ADZ_OK ? read_names(r) : status;
    status = status == ADZ_OK ? position_columns(r) : status;
    status = status == ADZ_OK ? read_rows(r) : status;
    adz_csv *csv = status == ADZ_OK ? make_table(r) : NULL;
    adzi_free(r->slots, r->columns.count * sizeof *r->slots);
    adzi_columns_free(&r->columns);
    adzi_free(r->values, r->values_capacity * sizeof *r->values);
    adzi_csv_lexer_end(&r->lexer);
    adzi_csv_numbers_end(&r->numbers);
    return csv;
}

static adz_status check_options(reading *r, const adz_csv_options *options)
{
    adz_csv_options *o = &r->options;
    *o = (adz_csv_options)ADZ_CSV_OPTIONS;
    if (!ADZ_OPTIONS_READ(r->op, ADZ_CSV_OPTIONS, o, options)) {
        return adz_error_code();
    }
    if (check_characters(r, ADZ_ERR_ARGUMENT) != ADZ_OK) {
        return adz_error_code();
    }
    if (o->dtype != ADZ_F32 && o->dtype != ADZ_F64) {
        return adzi_error(r->op, ADZ_ERR_ARGUMENT, "dtype is %s, not float32 or float64",
            adz_dtype_name(o->dtype));
    }
    if ((unsigned)o->missing > ADZ_CSV_MISSING_DROP) {
        return adzi_error(r->op, ADZ_ERR_ARGUMENT,
            "missing is %d, which is no adz_csv_missing; ADZ_CSV_MISSING_ERROR is the default",
            (int)o->missing);
    }
    o->n_columns = o->columns == NULL ? 0 : o->n_columns;
    for (size_t i = 0; i < o->n_columns; ++i) {
        if (o->columns[i] == NULL) {
            return adzi_error_null(r->op, "a name of columns");
        }
    }
    return ADZ_OK;
}

adz_csv *adz_csv_read(const char *path, const adz_csv_options *options)
{
    ADZI_HOLD_REPORTS;
    ADZI_NOT_CAPTURED(ADZI_MAKES_OBJECT, NULL);
    adzi_shown shown;
    adzi_source source;
    reading r = { .op = "adz_csv_read" };
    if (check_options(&r, options) != ADZ_OK || adzi_source_open(r.op, path, &source) != ADZ_OK) {
        return NULL;
    }
    r.where = adzi_show(&shown, path);
    adz_csv *csv = NULL;
    if (adzi_source_fill(r.op, &source) == ADZ_OK) {
        csv = read_text(&r, (const char *)source.bytes, (size_t)source.size);
    }
    adzi_source_close(&source);
    return csv;
}

adz_csv *adz_csv_from_memory(const char *text, size_t size, const adz_csv_options *options)
{
    ADZI_HOLD_REPORTS;
    ADZI_NOT_CAPTURED(ADZI_MAKES_OBJECT, NULL);
    reading r = { .op = "adz_csv_from_memory", .where = "the text" };
    if (text == NULL) {
        return adzi_fail_null(r.op, "text");
    }
    return check_options(&r, options) == ADZ_OK ? read_text(&r, text, size) : NULL;
}
