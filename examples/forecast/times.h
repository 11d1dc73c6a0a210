/* The times of the rows of a series: dates or numbers from a column of its table. */
#ifndef FORECAST_TIMES_H
#define FORECAST_TIMES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct times {
    char *name; /* of the column, for people; NULL without one: rows are counted from 1 */
    bool dates; /* the times are seconds since the begin of 1970 (calendar.h), else numbers */
    bool clock; /* a date has a time of day */
    double *at; /* n */
    int64_t n;
    int64_t months;  /* from one row to the next; 0: rows are `step` apart */
    bool month_ends; /* each date is the last day of its month */
    double step;     /* the median distance, if the rows are not evenly spaced */
} times;

/* Reads the times of n rows. Ends the program for a text that is no time and for a time that is not
 * later than the one before. Says so if the rows are not evenly spaced. Without a column the times
 * are numbers of rows. */
times read_times(const char *path, const char *column, int64_t n);

/* The time of a row, counted from 0. Beyond the end of the series rows go on as before. */
double time_of_row(const times *t, int64_t row);

/* Writes the time of a row as it is read: a date or a number. */
void write_time(FILE *file, const times *t, int64_t row);

void free_times(times *t);

#endif
