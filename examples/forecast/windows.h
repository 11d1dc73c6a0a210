/* Windows of a series as a network sees them: its input is relative to the season before, its
 * target to the forecast of the linear model, and both are in the scale of the window.
 *
 * A window has an origin t, the index of the first value that is forecast. The network reads the
 * `window` values before t and predicts the `horizon` values from t on. Inputs and targets are
 * differences, so that a trend leads to no level that the network has never seen:
 *
 *     x[i][0] = (y[i] - y[i - season]) / scale     the change over one season
 *     x[i][1] = (y[i] - y[t - 1]) / distance       how far it is from the last value
 *     target[k] = (y[t + k] - base[k]) / scale     base: the forecast of the linear model
 *
 * The scale is the root mean square of the seasonal changes of the last half season, so that the
 * band is wide after a disturbance and narrow in quiet years. The distance is the root mean square
 * of y[i] - y[t - 1] over the window. */
#ifndef FORECAST_WINDOWS_H
#define FORECAST_WINDOWS_H

#include <adze/adze.h>

#include "options.h"
#include "series.h"

enum { CHANNELS = 2 };

/* Origins of windows. Free them with free_origins(). */
typedef struct origins {
    int64_t *at; /* count indices in the series */
    int64_t count;
    double
        *base; /* [count * horizon]: the forecasts of the linear model; NULL until it fills them */
} origins;

void free_origins(origins *o);

/* The index at which the test part begins, which is the last fifth of n values. */
int64_t test_start(int64_t n);

/* The smallest origin of a window: one window and one season lie before it. */
int64_t first_origin(const network *n);

/* Every `step`-th origin from `first` to last - 1 whose forecasts end before `end`. */
origins origins_between(const network *n, int64_t first, int64_t last, int64_t end, int64_t step);

/* Origins as origins_between() gives them, with the smallest step such that there are at most
 * `most` of them. */
origins at_most(const network *n, int64_t first, int64_t last, int64_t end, int64_t most);

/* The seasonal-naive forecast of step k, from 0. */
double seasonal_naive(const series *s, const network *n, int64_t origin, int64_t k);

double scale_of(const series *s, const network *n, int64_t origin);

/* x[B, window, CHANNELS] of the windows, f32, borrowed from the scope. */
adz_tensor *window_inputs(const series *s, const network *n, const origins *o);

/* How many seasons ahead the last step of the horizon is: 1 or more. */
int64_t seasons_ahead(const network *n);

/* target[B, horizon] of the windows, f32, borrowed from the scope. Targets beyond 3 scales for each
 * season ahead are cut there, so that a crisis does not decide what the networks learn. *known
 * becomes a tensor of the same shape: 0 where the value is missing, and else 1. */
adz_tensor *window_targets(const series *s, const network *n, const origins *o, adz_tensor **known);

#endif
