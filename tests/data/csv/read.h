/* Tables that are read from a string. */
#ifndef ADZE_TESTS_DATA_CSV_READ_H
#define ADZE_TESTS_DATA_CSV_READ_H

#include <string.h>

#include "adze/data/csv.h"
#include "data/csv.h"

static inline adz_csv *read_text(const char *text, const adz_csv_options *options)
{
    return adz_csv_from_memory(text, strlen(text), options);
}

static inline double at(adz_csv *csv, int64_t row, int64_t column)
{
    return adz_tensor_at(adz_csv_values(csv), (int64_t[]){ row, column });
}

#endif
