/* Dates of the Gregorian calendar as seconds since the begin of 1970, in UTC, without leap seconds.
 */
#ifndef EXAMPLES_CALENDAR_H
#define EXAMPLES_CALENDAR_H

#include <stdint.h>

typedef struct date {
    int64_t year;
    int month, day; /* from 1 */
} date;

/* The seconds from the begin of 1970 to the begin of the day. A month may be any number: month 13
 * is the January of the next year. */
double time_of_date(date d);

/* The date of a time. */
date date_of_time(double seconds);

#endif
