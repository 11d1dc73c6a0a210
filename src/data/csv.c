/* Tables: names of columns, and the functions that give access to a table. */
#include "data/csv.h"
#include "base/capture.h"
#include "base/handle.h"

#include <stdio.h>
#include <string.h>

#include "base/source.h"
#include "tensor/copy.h"
#include "adze/options.h"

ADZ_OPTIONS_INIT(adz_csv_options_init, adz_csv_options, ADZ_CSV_OPTIONS)

void adz_csv_free(adz_csv **address)
{
    adz_csv *csv = adzi_handle_take("adz_csv_free", "csv", address);
    if (csv == NULL) {
        return;
    }
    adzi_columns_free(&csv->columns);
    adzi_drop(csv->values);
    adzi_handle_end(csv, sizeof *csv);
}

/* ---- names ---------------------------------------------------------------------------------- */

const char *adzi_list_names(adzi_name_text *known, char *const *names, size_t n)
{
    const size_t room = sizeof known->text - 24; /* " and 123 more" needs the rest */
    size_t used = 0, i = 0;
    known->text[0] = '\0';
    for (; i < n; ++i) {
        adzi_shown shown;
        const char *name = adzi_show(&shown, names[i]);
        if (used + strlen(name) + 4 >= room) {
            break;
        }
        used +=
            (size_t)snprintf(known->text + used, room - used, "%s'%s'", i > 0 ? ", " : "", name);
    }
    if (i < n) {
        snprintf(known->text + used, sizeof known->text - used, "%s%zu more", i > 0 ? " and " : "",
            n - i);
    }
    return known->text;
}

const char *adzi_delimiter_advice(const char *line, size_t length)
{
    static const struct {
        char delimiter;
        const char *advice;
    } others[] = {
        { ';', "; it looks as if the delimiter is ';'" },
        { '\t', "; it looks as if the delimiter is a tab" },
        { '|', "; it looks as if the delimiter is '|'" },
        { ',', "; it looks as if the delimiter is ','" },
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
        if (memchr(line, others[i].delimiter, length) != NULL) {
            return others[i].advice;
        }
    }
    return "";
}

static bool is_column(const void *names, size_t position, const void *name, size_t size)
{
    (void)size;
    return strcmp(((char *const *)names)[position], name) == 0;
}

static size_t position_of(
    const adzi_columns *columns, const adzi_index *positions, const char *name)
{
    return adzi_index_find(positions, name, strlen(name), is_column, columns->names);
}

bool adzi_columns_add(adzi_columns *columns, char *name)
{
    bool again = position_of(columns, &columns->positions, name) != ADZI_NOWHERE;
    adzi_index *positions = again ? &columns->again : &columns->positions;
    if (!adzi_index_reserve(positions, 1) || !adzi_grow(&columns->names, &columns->capacity,
                                                 columns->count + 1, sizeof *columns->names)) {
        return false;
    }
    if (position_of(columns, positions, name) == ADZI_NOWHERE) {
        adzi_index_enter(positions, name, strlen(name), columns->count);
    }
    columns->names[columns->count++] = name;
    return true;
}

void adzi_columns_free(adzi_columns *columns)
{
    for (size_t i = 0; i < columns->count; ++i) {
        adzi_string_free(columns->names[i]);
    }
    adzi_free(columns->names, columns->capacity * sizeof *columns->names);
    adzi_index_free(&columns->positions);
    adzi_index_free(&columns->again);
}

static size_t count_columns(const adzi_columns *columns, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < columns->count; ++i) {
        count += strcmp(columns->names[i], name) == 0 ? 1 : 0;
    }
    return count;
}

int64_t adzi_find_column(const char *op, adz_status code, const char *where,
    const adzi_columns *columns, const char *name)
{
    adzi_shown shown;
    adzi_name_text known;
    size_t position = position_of(columns, &columns->positions, name), n = columns->count;
    if (position == ADZI_NOWHERE) {
        adzi_error(op, code, "%s: there is no column '%s'; there %s %s%s%s", where,
            adzi_show(&shown, name), n == 1 ? "is" : "are",
            adzi_list_names(&known, columns->names, n), n == 1 ? " alone" : "",
            n == 1 ? adzi_delimiter_advice(columns->names[0], strlen(columns->names[0])) : "");
        return -1;
    }
    if (position_of(columns, &columns->again, name) != ADZI_NOWHERE) {
        adzi_error(op, code, "%s: %zu columns are named '%s'; which one is meant?", where,
            count_columns(columns, name), adzi_show(&shown, name));
        return -1;
    }
    return (int64_t)position;
}

/* ---- accessors ------------------------------------------------------------------------------ */

static bool check(const char *op, const adz_csv *csv)
{
    return adzi_check_handle(op, "csv", csv);
}

adz_tensor *adz_csv_values(const adz_csv *csv)
{
    ADZI_NOT_CAPTURED(ADZI_USES_ELEMENTS, NULL);
    return check("adz_csv_values", csv) ? csv->values : NULL;
}

int64_t adz_csv_row_count(const adz_csv *csv)
{
    return check("adz_csv_row_count", csv) ? csv->values->sizes[0] : -1;
}

int64_t adz_csv_column_count(const adz_csv *csv)
{
    return check("adz_csv_column_count", csv) ? csv->values->sizes[1] : -1;
}

int64_t adz_csv_dropped_count(const adz_csv *csv)
{
    return check("adz_csv_dropped_count", csv) ? csv->dropped : -1;
}

const char *adz_csv_name_at(const adz_csv *csv, int64_t column)
{
    const char *op = "adz_csv_name_at";
    if (!check(op, csv)) {
        return NULL;
    }
    if (column < 0 || (size_t)column >= csv->columns.count) {
        return adzi_fail(op, ADZ_ERR_INDEX, "column %lld is outside the table's %zu columns",
            (long long)column, csv->columns.count);
    }
    return csv->columns.names[column];
}

int64_t adz_csv_index(const adz_csv *csv, const char *name)
{
    const char *op = "adz_csv_index";
    if (!check(op, csv) || name == NULL) {
        adzi_error_null(op, "name");
        return -1;
    }
    return adzi_find_column(op, ADZ_ERR_ARGUMENT, csv->source.text, &csv->columns, name);
}

/* Copies one column of `from` to one of `to`. */
static bool copy_column(
    const char *op, adz_tensor *to, int64_t to_column, adz_tensor *from, int64_t from_column)
{
    adzi_thread *thread = adzi_self();
    size_t item = adzi_item_size(to);
    adz_tensor *dst = adzi_tensor_view(
        thread, op, to, 1, to->sizes, to->strides, to->data + to_column * (int64_t)item);
    adz_tensor *src = adzi_tensor_view(
        thread, op, from, 1, from->sizes, from->strides, from->data + from_column * (int64_t)item);
    bool done = dst != NULL && src != NULL;
    if (done) {
        adzi_copy(dst, src);
    }
    adzi_drop(dst);
    adzi_drop(src);
    return done;
}

adz_tensor *adz_csv_select(const adz_csv *csv, const char *const *names, size_t n)
{
    ADZI_NOT_CAPTURED(ADZI_USES_ELEMENTS, NULL);
    const char *op = "adz_csv_select";
    if (!check(op, csv) || names == NULL) {
        return adzi_fail_null(op, "names");
    }
    if (n == 0) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT, "no column is named; n is 0");
    }
    adz_tensor *values = csv->values;
    adz_tensor *chosen =
        adz_empty(ADZ_SHAPE(values->sizes[0], (int64_t)n), (adz_dtype)values->dtype);
    for (size_t i = 0; i < n && chosen != NULL; ++i) {
        int64_t column = names[i] == NULL ? -1
                                          : adzi_find_column(op, ADZ_ERR_ARGUMENT, csv->source.text,
                                                &csv->columns, names[i]);
        if (names[i] == NULL) {
            adzi_error_null(op, "a name");
        }
        if (column < 0 || !copy_column(op, chosen, (int64_t)i, values, column)) {
            return NULL;
        }
    }
    return chosen;
}
