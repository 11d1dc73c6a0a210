/* Cuts a series into windows. */
#include "windows.h"

#include <math.h>
#include <stdlib.h>

#include "../shared/command_line.h"

/* ---- origins -------------------------------------------------------------------------------- */

int64_t test_start(int64_t n)
{
    return n * 4 / 5;
}

int64_t first_origin(const network *n)
{
    return n->window + n->season;
}

void free_origins(origins *o)
{
    free(o->at);
    free(o->base);
    *o = (origins){ NULL, 0, NULL };
}

origins origins_between(const network *n, int64_t first, int64_t last, int64_t end, int64_t step)
{
    int64_t stop = end - n->horizon + 1 < last ? end - n->horizon + 1 : last;
    origins o = { .count = stop > first ? (stop - first - 1) / step + 1 : 0 };
    o.at = allocate((size_t)(o.count + 1) * sizeof *o.at);
    for (int64_t i = 0; i < o.count; ++i) {
        o.at[i] = first + i * step;
    }
    return o;
}

origins at_most(const network *n, int64_t first, int64_t last, int64_t end, int64_t most)
{
    origins all = origins_between(n, first, last, end, 1);
    int64_t step = (all.count + most - 1) / most;
    free_origins(&all);
    return origins_between(n, first, last, end, step > 1 ? step : 1);
}

/* ---- numbers -------------------------------------------------------------------------------- */

double seasonal_naive(const series *s, const network *n, int64_t origin, int64_t k)
{
    return s->values[origin + k % n->season - n->season];
}

/* The root mean square of the distances from the last value, over the window. */
static double distance_of(const series *s, const network *n, int64_t origin)
{
    double sum = 0;
    for (int64_t i = origin - n->window; i < origin; ++i) {
        double away = s->values[i] - s->values[origin - 1];
        sum += away * away;
    }
    return sum > 0 ? sqrt(sum / (double)n->window) : 1;
}

enum { LEAST_STEPS = 6, MOST_SCALES = 3 };

/* A series that repeats itself exactly has no seasonal changes. A thousandth of the distances in
 * the window is the smallest scale. */
double scale_of(const series *s, const network *n, int64_t origin)
{
    int64_t half = n->season / 2 > LEAST_STEPS ? n->season / 2 : LEAST_STEPS;
    int64_t steps = half < n->window ? half : n->window;
    double sum = 0;
    for (int64_t i = origin - steps; i < origin; ++i) {
        double change = s->values[i] - s->values[i - n->season];
        sum += change * change;
    }
    return fmax(sqrt(sum / (double)steps), 1e-3 * distance_of(s, n, origin));
}

int64_t seasons_ahead(const network *n)
{
    return (n->horizon - 1) / n->season + 1;
}

/* ---- tensors -------------------------------------------------------------------------------- */

adz_tensor *window_inputs(const series *s, const network *n, const origins *o)
{
    adz_tensor *x = adz_empty(ADZ_SHAPE(o->count, n->window, CHANNELS), ADZ_F32);
    float *to = adz_tensor_data_f32(x);
    for (int64_t b = 0; b < o->count; ++b) {
        int64_t t = o->at[b];
        double scale = scale_of(s, n, t), distance = distance_of(s, n, t);
        for (int64_t i = t - n->window; i < t; ++i) {
            *to++ = (float)((s->values[i] - s->values[i - n->season]) / scale);
            *to++ = (float)((s->values[i] - s->values[t - 1]) / distance);
        }
    }
    return x;
}

adz_tensor *window_targets(const series *s, const network *n, const origins *o, adz_tensor **known)
{
    adz_tensor *y = adz_empty(ADZ_SHAPE(o->count, n->horizon), ADZ_F32);
    *known = adz_empty(ADZ_SHAPE(o->count, n->horizon), ADZ_F32);
    float *to = adz_tensor_data_f32(y), *to_known = adz_tensor_data_f32(*known);
    for (int64_t b = 0; b < o->count; ++b) {
        double scale = scale_of(s, n, o->at[b]);
        for (int64_t k = 0; k < n->horizon; ++k) {
            int64_t at = o->at[b] + k;
            double target = (s->values[at] - o->base[b * n->horizon + k]) / scale;
            double bound = MOST_SCALES * (double)(k / n->season + 1);
            *to++ = (float)fmax(-bound, fmin(bound, target));
            *to_known++ = !s->missing[at];
        }
    }
    return y;
}
