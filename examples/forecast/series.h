/* A series of numbers: read from a CSV file or made by the program, with its missing values. */
#ifndef FORECAST_SERIES_H
#define FORECAST_SERIES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct series {
    char *name;     /* of the file and the column, for people */
    double *values; /* n; a missing value is interpolated */
    bool *missing;  /* n; whether the value was missing */
    int64_t n, n_missing;
} series;

/* Reads a column of a CSV file with a header line. Ends the program if it cannot. Missing values
 * are interpolated in a straight line between the known values around them. At the ends of the
 * series they take the nearest known value. */
series read_series(const char *path, const char *column);

/* Makes 30 years of months: a trend, a season of 12 and noise that lasts. It is always the same. */
series make_series(void);

void free_series(series *s);

#endif
