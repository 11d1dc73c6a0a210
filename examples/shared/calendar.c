/* Converts between dates and seconds. The year is taken to begin in March, so that the day which
 * leap years add is its last one. */
#include "calendar.h"

#include <math.h>

enum { DAYS_OF_400_YEARS = 146097, MARCH_OF_YEAR_0 = 719468 }; /* the latter in days before 1970 */

static int64_t divide_down(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

double time_of_date(date d)
{
    const int64_t months = d.month - 3; /* since March; months before it belong to the last year */
    const int64_t year = d.year + divide_down(months, 12),
                  month = months - 12 * divide_down(months, 12);
    const int64_t days = 365 * year + divide_down(year, 4) - divide_down(year, 100) +
                         divide_down(year, 400) + (153 * month + 2) / 5 + d.day - 1;
    return 86400.0 * (double)(days - MARCH_OF_YEAR_0);
}

date date_of_time(double seconds)
{
    const int64_t days = (int64_t)floor(seconds / 86400) + MARCH_OF_YEAR_0;
    const int64_t era = divide_down(days, DAYS_OF_400_YEARS), rest = days - era * DAYS_OF_400_YEARS;
    const int64_t years = (rest - rest / 1460 + rest / 36524 - rest / 146096) / 365;
    const int64_t day = rest - (365 * years + years / 4 - years / 100); /* of the year, from 0 */
    const int64_t month = (5 * day + 2) / 153;
    return (date){ 400 * era + years + (month >= 10), (int)(month < 10 ? month + 3 : month - 9),
        (int)(day - (153 * month + 2) / 5 + 1) };
}
