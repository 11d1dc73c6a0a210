/* A table as it is kept, for its reader and its accessors. */
#ifndef ADZI_DATA_CSV_H
#define ADZI_DATA_CSV_H

#include "adze/data/csv.h"
#include "base/index.h"
#include "tensor/tensor.h"

/** Names of columns, found without walking through them. */
typedef struct adzi_columns {
    char **names; /* one per column */
    size_t count, capacity;
    adzi_index places; /* of each name, where it stands first */
    adzi_index again;  /* of names that stand more than once, where the second is */
} adzi_columns;

/** Appends a name that adzi_alloc gave, taking it over. False when memory was refused. */
bool adzi_columns_add(adzi_columns *columns, char *name);

/** Also ends the names. */
void adzi_columns_free(adzi_columns *columns);

struct adz_csv {
    adzi_columns columns;
    adz_tensor *values;
    int64_t dropped;
};

/** "'a', 'b', 'c' and 5 more", for messages. */
typedef struct adzi_listing {
    char text[260];
} adzi_listing;

const char *adzi_list_names(adzi_listing *listing, char *const *names, size_t n);

/**
 * The position of the column called `name`, or -1 with ADZ_ERR_FORMAT (reading a file) or
 * ADZ_ERR_ARGUMENT as given, naming `where` and the names there are.
 */
int64_t adzi_find_column(const char *op, adz_status code, const char *where,
    const adzi_columns *columns, const char *name);

#endif
