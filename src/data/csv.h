/* A table as it is kept, for its reader and its accessors. */
#ifndef ADZI_DATA_CSV_H
#define ADZI_DATA_CSV_H

#include "adze/data/csv.h"
#include "tensor/tensor.h"

struct adz_csv {
    char **names; /* one per column */
    size_t n_names, names_capacity;
    adz_tensor *values;
    int64_t dropped;
};

/** "'a', 'b', 'c' and 5 more", for messages. */
typedef struct adzi_listing {
    char text[260];
} adzi_listing;

const char *adzi_list_names(adzi_listing *listing, char *const *names, size_t n);

/**
 * The position of `name` among `names`, or -1 with ADZ_ERR_FORMAT (reading a file) or
 * ADZ_ERR_ARGUMENT as given, naming `where` and the names there are.
 */
int64_t adzi_find_name(const char *op, adz_status code, const char *where, char *const *names,
    size_t n, const char *name);

#endif
