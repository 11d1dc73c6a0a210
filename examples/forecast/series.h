/* A series of numbers: read from a CSV file or made by the program, with its missing values. */
#ifndef FORECAST_SERIES_H
#define FORECAST_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "times.h"

typedef struct series {
    char *name;     /* of the file and the column, for people */
    double *values; /* n; a missing value is interpolated */
    bool *missing;  /* n; whether the value was missing */
    int64_t n, n_missing;
    times times;     /* of the rows */
    bool logarithms; /* true if the values are logarithms */
} series;

/* Replaces the values by their logarithms. Ends the program if one of them is not positive. */
void take_logarithms(series *s);

/* A value in the unit of the series, from one on the scale of s->values. */
double in_unit(const series *s, double value);

/* Reads a column of a CSV file with a header line, and the column of times unless it is NULL. Ends
 * the program if it cannot. Missing values are interpolated in a straight line between the known
 * values around them. At the ends of the series they take the nearest known value. */
series read_series(const char *path, const char *column, const char *time);

/* Makes 30 years of months: a trend, a season of 12 and noise that lasts. It is always the same. */
series make_series(void);

void free_series(series *s);

#endif
