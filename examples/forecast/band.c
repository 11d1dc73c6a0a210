/* Measures bands and shares on the outcomes of past forecasts. */
#include "band.h"

#include <math.h>
#include <stdlib.h>

#include "../shared/command_line.h"

outcomes new_outcomes(int64_t most, int64_t horizon, int64_t span)
{
    outcomes all = { .count = 0, .span = span };
    all.at = allocate((size_t)(most + 1) * sizeof *all.at);
    all.items = allocate((size_t)(most * horizon + 1) * sizeof *all.items);
    return all;
}

void free_outcomes(outcomes *all)
{
    free(all->at);
    free(all->items);
    *all = (outcomes){ .count = 0 };
}

double unit_of(const network *n, const outcomes *all, const double *noise, double scale,
    double variance, int64_t k)
{
    return n->model == MODEL_LINEAR ? pow(scale, all->power - 1)
                                    : sqrt(variance + noise[k] + 1e-12);
}

void add_outcomes(outcomes *all, const network *n, const double *noise, const series *s,
    const origins *o, const prediction *p, int64_t first, int64_t end)
{
    for (int64_t b = 0; b < o->count; ++b) {
        double scale = scale_of(s, n, o->at[b]);
        outcome *to = all->items + all->count * n->horizon;
        all->at[all->count++] = o->at[b];
        for (int64_t k = 0; k < n->horizon; ++k) {
            int64_t at = o->at[b] + k, i = b * n->horizon + k;
            bool known = at >= first && at < end && !s->missing[at];
            to[k].target = known ? (s->values[at] - o->base[i]) / scale : NAN;
            to[k].mean = p->mean[i];
            to[k].unit = unit_of(n, all, noise, scale, p->variance[i], k);
        }
    }
}

/* ---- quantiles ------------------------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The sizes of the errors of step k that are known at an origin and are not too old. A negative k
 * stands for all steps. Returns their number. */
static size_t sizes_before(
    const outcomes *all, const network *n, int64_t origin, double share, int64_t k, double *sizes)
{
    size_t count = 0;
    int64_t from = k < 0 ? 0 : k, to = k < 0 ? n->horizon : k + 1;
    for (int64_t b = 0; b < all->count; ++b) {
        for (int64_t j = from; j < to && all->at[b] >= origin - all->span; ++j) {
            const outcome *o = &all->items[b * n->horizon + j];
            if (all->at[b] + j < origin && !isnan(o->target)) {
                sizes[count++] = fabs(o->target - share * o->mean) / o->unit;
            }
        }
    }
    return count;
}

/* The quantile that a further one of `count` sorted sizes stays below with the probability given,
 * between two of them in a straight line. */
static double quantile(const double *sizes, size_t count, double probability)
{
    double level = probability * (1 + 1 / (double)count);
    double position = fmin(level, 1) * (double)(count - 1);
    size_t i = (size_t)position, next = i + 1 < count ? i + 1 : i;
    return sizes[i] + (position - (double)i) * (sizes[next] - sizes[i]);
}

/* By how much a band must be wider that was measured on `windows` windows side by side. Two of them
 * count as one, because neighbours depend on each other; windows that overlap add nothing. This is
 * the beginning of the series for Student's 97.5% point, divided by that of a normal distribution,
 * and the error of the forecast's own mean. */
static double for_few(double windows)
{
    const double normal = 1.959963984540054, count = windows / 2;
    return (1 + (normal * normal + 1) / 4 / fmax(count - 1, 1)) * sqrt(1 + 1 / fmax(count, 1));
}

void measure_band(
    const outcomes *all, const network *n, int64_t origin, double share, const widths *to)
{
    double wider = for_few((double)all->span / (double)n->horizon), half80 = 0, half95 = 0;
    double *sizes = allocate((size_t)(all->count * n->horizon + 1) * sizeof *sizes);
    for (int64_t k = 0; k < n->horizon; ++k) {
        size_t count = sizes_before(all, n, origin, share, k, sizes);
        if (count == 0 && k == 0) {
            count = sizes_before(all, n, origin, share, -1, sizes);
        }
        if (count > 0) {
            qsort(sizes, count, sizeof *sizes, compare);
            half80 = fmax(half80, wider * quantile(sizes, count, 0.8));
            half95 = fmax(half95, wider * quantile(sizes, count, 0.95));
        }
        to->half80[k] = half80;
        to->half95[k] = half95;
    }
    free(sizes);
}

/* ---- choices -------------------------------------------------------------------------------- */

enum { POWERS = 3 };

double best_share(const outcomes *all, const network *n, int64_t origin)
{
    double least = INFINITY, best = 1;
    for (int share = 1; share <= SHARES && n->model != MODEL_LINEAR; ++share) {
        double sum = 0;
        for (int64_t b = 0; b < all->count; ++b) {
            for (int64_t k = 0; k < n->horizon && all->at[b] >= origin - all->span; ++k) {
                const outcome *o = &all->items[b * n->horizon + k];
                bool known = all->at[b] + k < origin && !isnan(o->target);
                sum += known ? fabs(o->target - o->mean * share / SHARES) : 0;
            }
        }
        if (sum < least) {
            least = sum;
            best = (double)share / SHARES;
        }
    }
    return best;
}

/* The interval score of a band, whose mean is smallest for the true quantiles: its width, and a
 * fine for an error outside. */
static double interval_score(double error, double half, double probability)
{
    return 2 * half + 2 / (1 - probability) * fmax(error - half, 0);
}

static double score_of(
    const outcomes *all, const network *n, const series *s, int64_t origin, const widths *w)
{
    double sum = 0;
    measure_band(all, n, origin, 0, w);
    for (int64_t b = 0; b < all->count; ++b) {
        double scale = scale_of(s, n, all->at[b]);
        for (int64_t k = 0; k < n->horizon; ++k) {
            const outcome *o = &all->items[b * n->horizon + k];
            if (all->at[b] + k < origin && !isnan(o->target)) {
                double error = fabs(o->target) * scale, unit = o->unit * scale;
                sum += interval_score(error, w->half80[k] * unit, 0.8) +
                       interval_score(error, w->half95[k] * unit, 0.95);
            }
        }
    }
    return sum;
}

static void set_power(outcomes *all, const network *n, const series *s, double power)
{
    all->power = power;
    for (int64_t b = 0; b < all->count; ++b) {
        double unit = pow(scale_of(s, n, all->at[b]), power - 1);
        for (int64_t k = 0; k < n->horizon; ++k) {
            all->items[b * n->horizon + k].unit = unit;
        }
    }
}

void choose_power(outcomes *all, const network *n, const series *s, int64_t origin)
{
    size_t size = (size_t)n->horizon;
    widths w = { allocate(size * sizeof *w.half80), allocate(size * sizeof *w.half95) };
    double least = INFINITY, best = 0;
    for (int i = 0; i < POWERS; ++i) {
        double power = (double)i / (POWERS - 1);
        set_power(all, n, s, power);
        double score = score_of(all, n, s, origin, &w);
        if (score < least) {
            least = score;
            best = power;
        }
    }
    set_power(all, n, s, best);
    free(w.half80);
    free(w.half95);
}
