/* Chooses the marks of an axis. */
#include "ticks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calendar.h"

bool can_show(scale s, double value)
{
    return s == SCALE_TIME  ? value >= -6.2e10 && value <= 3e12
           : s == SCALE_LOG ? value >= 1e-300 && value <= 1e300
                            : fabs(value) <= 1e300; /* false for NaN */
}

/* ---- linear --------------------------------------------------------------------------------- */

/* The smallest of 1, 2 and 5 times a power of ten that is not below the value. */
static double round_up(double value)
{
    const double power = pow(10, floor(log10(value))), times = value / power * (1 - 1e-12);
    return power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}

/* The first step of round numbers with at most `most` marks in the range. */
static double linear_step(double low, double high, size_t most)
{
    double step = round_up((high - low) / (double)most);
    while (floor(high / step + 1e-9) - ceil(low / step - 1e-9) + 1 > (double)most) {
        step = round_up(1.5 * step);
    }
    return step;
}

/* Writes a number in powers of ten, such as 2.5e9, with the digits that tell `step` apart. */
static void write_power(double value, double step, char *text, size_t size)
{
    const double exponent = floor(log10(fabs(value)) + 1e-12);
    const int digits = (int)(exponent - floor(log10(step) + 1e-9));
    char number[32];
    snprintf(number, sizeof number, "%.*f",
        digits < 0    ? 0
        : digits > 15 ? 15
                      : digits,
        value / pow(10, exponent));
    char *end = number + strlen(number);
    while (strchr(number, '.') != NULL && (end[-1] == '0' || end[-1] == '.')) {
        *--end = '\0';
    }
    snprintf(text, size, "%se%d", number, (int)exponent);
}

static void write_number_of_tick(double value, double step, double largest, char *text, size_t size)
{
    const int decimals = (int)-floor(log10(step) + 1e-9);
    if (value != 0 && (decimals > 6 || (largest >= 1e7 && largest < 1e5 * step))) {
        write_power(value, step, text, size);
    } else {
        snprintf(text, size, "%.*f", decimals > 0 && value != 0 ? decimals : 0, value);
    }
}

static size_t linear_ticks(double low, double high, size_t most, tick *ticks)
{
    const double step = linear_step(low, high, most), first = ceil(low / step - 1e-9);
    const double largest = fmax(fabs(low), fabs(high));
    size_t n = 0;
    for (; n < most && (first + (double)n) * step <= high + 1e-9 * step; ++n) {
        ticks[n] = (tick){ .at = (first + (double)n) * step };
        write_number_of_tick(ticks[n].at, step, largest, ticks[n].text, sizeof ticks[n].text);
    }
    return n;
}

void extend_to_ticks(double *low, double *high, size_t most)
{
    const double step = linear_step(*low, *high, most);
    *low = step * floor(*low / step + 1e-9);
    *high = step * ceil(*high / step - 1e-9);
}

/* ---- logarithmic ---------------------------------------------------------------------------- */

/* Marks at powers of ten whose exponents are multiples of `every`, and at 2 and 5 times them if
 * there are three kinds. */
static size_t powers_of_ten(double low, double high, int every, int kinds, tick *ticks)
{
    static const int times[] = { 1, 2, 5 };
    const int last = (int)floor(log10(high) + 1e-9);
    size_t n = 0;
    for (int e = every * (int)floor(log10(low) / every); e <= last; e += every) {
        for (int k = 0; k < kinds && n < MOST_TICKS; ++k) {
            const double at = times[k] * pow(10, e);
            if (at < low * (1 - 1e-9) || at > high * (1 + 1e-9)) {
                continue;
            }
            ticks[n] = (tick){ .at = at };
            if (e < -4 || e > 5) {
                snprintf(ticks[n].text, sizeof ticks[n].text, "%de%d", times[k], e);
            } else {
                snprintf(ticks[n].text, sizeof ticks[n].text, "%.*f", e < 0 ? -e : 0, at);
            }
            ++n;
        }
    }
    return n;
}

static size_t log_ticks(double low, double high, size_t most, tick *ticks)
{
    const double decades = log10(high / low);
    if (decades < 1) {
        return linear_ticks(low, high, most, ticks);
    }
    if (3 * decades + 1 <= (double)most) {
        return powers_of_ten(low, high, 1, 3, ticks);
    }
    return powers_of_ten(low, high, (int)ceil(decades / (double)(most - 1)), 1, ticks);
}

/* ---- time ----------------------------------------------------------------------------------- */

static const char *const month_names[] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug",
    "Sep", "Oct", "Nov", "Dec" };

/* Distances of marks. A mark stands at each multiple of the months since the year 0, or of the
 * seconds since 1970. */
typedef struct distance {
    int months;
    double seconds; /* about as long as the months, where there are months */
} distance;

static const double day_length = 86400, year_length = 86400 * 365.2425;

static distance time_step(double range, size_t most)
{
    static const double seconds[] = { 1, 2, 5, 15, 30, 60, 120, 300, 900, 1800, 3600, 7200, 10800,
        21600, 43200, 86400, 172800, 604800 };
    static const int months[] = { 1, 3, 6 };
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; ++i) {
        if (range / seconds[i] + 1 <= (double)most) {
            return (distance){ 0, seconds[i] };
        }
    }
    for (size_t i = 0; i < sizeof months / sizeof *months; ++i) {
        const double length = months[i] * year_length / 12;
        if (range / length + 1 <= (double)most) {
            return (distance){ months[i], length };
        }
    }
    const double years = fmax(1, round_up(range / year_length / (double)(most - 1)));
    return (distance){ (int)(12 * years), years * year_length };
}

/* The first line says when within a day, a year or the century; the second one which day or year,
 * where it differs from that of the mark before. */
static void write_time(tick *t, const distance *step, char *last)
{
    const date d = date_of_time(t->at);
    char below[sizeof t->below] = "";
    if (step->months >= 12) {
        snprintf(t->text, sizeof t->text, "%lld", (long long)d.year);
    } else if (step->months > 0) {
        snprintf(t->text, sizeof t->text, "%s", month_names[d.month - 1]);
        snprintf(below, sizeof below, "%lld", (long long)d.year);
    } else if (step->seconds >= day_length) {
        snprintf(t->text, sizeof t->text, "%d %s", d.day, month_names[d.month - 1]);
        snprintf(below, sizeof below, "%lld", (long long)d.year);
    } else {
        const int second = (int)(t->at - day_length * floor(t->at / day_length));
        const int length =
            snprintf(t->text, sizeof t->text, "%02d:%02d", second / 3600, second / 60 % 60);
        if (step->seconds < 60) {
            snprintf(t->text + length, sizeof t->text - (size_t)length, ":%02d", second % 60);
        }
        snprintf(
            below, sizeof below, "%d %s %lld", d.day, month_names[d.month - 1], (long long)d.year);
    }
    snprintf(t->below, sizeof t->below, "%s", strcmp(below, last) != 0 ? below : "");
    snprintf(last, sizeof t->below, "%s", below);
}

static size_t time_ticks(double low, double high, size_t most, tick *ticks)
{
    const distance step = time_step(high - low, most);
    const date begin = date_of_time(low);
    const int64_t months = 12 * begin.year + begin.month - 1;
    int64_t month =
        step.months > 0 ? months - (months % step.months + step.months) % step.months : 0;
    double at = step.seconds * ceil(low / step.seconds);
    char last[sizeof ticks->below] = "";
    size_t n = 0;
    while (n < most) {
        if (step.months > 0) {
            at = time_of_date((date){ month / 12, (int)(month % 12) + 1, 1 });
            month += step.months;
        }
        if (at > high) {
            break;
        }
        if (at >= low) {
            ticks[n] = (tick){ .at = at };
            write_time(&ticks[n++], &step, last);
        }
        at += step.seconds;
    }
    return n;
}

size_t make_ticks(scale s, double low, double high, size_t most, tick *ticks)
{
    return s == SCALE_LOG    ? log_ticks(low, high, most, ticks)
           : s == SCALE_TIME ? time_ticks(low, high, most, ticks)
                             : linear_ticks(low, high, most, ticks);
}
