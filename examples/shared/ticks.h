/* The marks of an axis: where they are and what stands at them. */
#ifndef EXAMPLES_TICKS_H
#define EXAMPLES_TICKS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum scale {
    SCALE_LINEAR,
    SCALE_LOG,  /* values of 0 and below are not drawn */
    SCALE_TIME, /* values are seconds since the begin of 1970, in UTC (calendar.h) */
} scale;

enum { MOST_TICKS = 24 };

typedef struct tick {
    double at;
    char text[40];
    char below[24]; /* a second line, such as the year of a month; empty where it is as before */
} tick;

/* True if an axis of this scale can show the value: it is finite, positive for SCALE_LOG, and from
 * the year 5 to 97,000 for SCALE_TIME. Values above 1e300 count as infinite, because an axis is
 * longer than its values. */
bool can_show(scale s, double value);

/* The marks from `low` to `high`, at most `most`, which is at least 2 and at most MOST_TICKS.
 * Returns their number, which can be less than 2 only on a scale of time in seconds. */
size_t make_ticks(scale s, double low, double high, size_t most, tick *ticks);

/* Moves both ends of a linear range outwards to the next mark. */
void extend_to_ticks(double *low, double *high, size_t most);

#endif
