/* A table that was read from a CSV file. The functions that read it and those that give access to
 * it share this header. */
#ifndef ADZI_DATA_CSV_H
#define ADZI_DATA_CSV_H

#include "adze/data/csv.h"
#include "base/handle.h"
#include "base/index.h"
#include "base/source.h"
#include "tensor/tensor.h"

/** The names of columns, with indices by which a name is found without comparing all. */
typedef struct adzi_columns {
    char **names; /* one per column, owned */
    size_t count, capacity;
    adzi_index positions; /* finds the first column with a name */
    adzi_index again;     /* finds the second column with a name that occurs more than once */
} adzi_columns;

/** Appends a column and takes over its name, a string from adzi_alloc. False if memory was refused;
 * the caller still owns the name then. */
bool adzi_columns_add(adzi_columns *columns, char *name);

/** Frees the lists and the names. */
void adzi_columns_free(adzi_columns *columns);

struct adz_csv {
    adzi_handle handle;
    adzi_columns columns;
    adz_tensor *values; /* [rows, columns], f32 or f64, one reference */
    int64_t dropped;    /* rows left out because a value is missing */
    adzi_shown source;  /* the file, as messages name it; "the text" */
};

/** A list of names as messages show it: "'a', 'b', 'c' and 5 more". */
typedef struct adzi_name_text {
    char text[260];
} adzi_name_text;

/** Writes a list of n names to `known`, as many as fit, and returns its text. */
const char *adzi_list_names(adzi_name_text *known, char *const *names, size_t n);

/** Advice for a message about a first line that is a single field: what might separate its fields,
 * or "". */
const char *adzi_delimiter_advice(const char *line, size_t length);

/**
 * The position of the column with this name. Returns -1 with an error recorded if there is no such
 * column or more than one.
 *
 * @param code   of the error: ADZ_ERR_FORMAT while a file is read, else ADZ_ERR_ARGUMENT
 * @param where  the file or the table, for the message
 */
int64_t adzi_find_column(const char *op, adz_status code, const char *where,
    const adzi_columns *columns, const char *name);

#endif
