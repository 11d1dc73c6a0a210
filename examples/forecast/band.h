/* The band around a forecast. It is made of quantiles of the errors of past forecasts, one for each
 * step of the horizon, and moves along with the origin: whatever is known there counts, and errors
 * older than the validation part is long do not. This is a conformal band: of m errors that could
 * come in any order, the next one is below their quantile of (m + 1) / m * 0.95 in 95% of cases.
 * Errors of a series do depend on each other, so that its promise is no guarantee. */
#ifndef FORECAST_BAND_H
#define FORECAST_BAND_H

#include "model.h"

enum { SHARES = 4 }; /* multiples of 1/4 of what networks predict are tried */

/* What networks and linear model said of a value, in the scale of the window. */
typedef struct outcome {
    double target; /* what the linear model left; NaN where the value is missing or not known */
    double mean;   /* what the networks predicted of that; 0 for MODEL_LINEAR */
    double unit;   /* the error is divided by it before it is compared with others */
} outcome;

/* Forecasts of one kind of model in the order of their origins. */
typedef struct outcomes {
    int64_t *at;    /* [count] origins */
    outcome *items; /* [count * horizon] */
    int64_t count;
    int64_t span; /* how many values before an origin its band is measured on */
    double power; /* MODEL_LINEAR: errors are taken to grow with this power of the scale */
} outcomes;

outcomes new_outcomes(int64_t most, int64_t horizon, int64_t span);
void free_outcomes(outcomes *all);

/* The unit of step k of a window. `noise` [horizon] is variance that the networks do not predict;
 * MODEL_LINEAR needs none. */
double unit_of(const network *n, const outcomes *all, const double *noise, double scale,
    double variance, int64_t k);

/* Adds what became of windows. Values before the index `first` or from the index `end` on do not
 * count. There must be room. */
void add_outcomes(outcomes *all, const network *n, const double *noise, const series *s,
    const origins *o, const prediction *p, int64_t first, int64_t end);

/* Half the width of the bands at an origin, for each step, in the unit of the outcomes. */
typedef struct widths {
    double *half80, *half95; /* [horizon] */
} widths;

/* Measures the band at an origin, if `share` of the networks' prediction is added. A later step has
 * no narrower band than an earlier one. */
void measure_band(
    const outcomes *all, const network *n, int64_t origin, double share, const widths *to);

/* The share of the networks' prediction that makes the mean absolute error before an origin
 * smallest. */
double best_share(const outcomes *all, const network *n, int64_t origin);

/* Sets the power of the scale to 0, 1/2 or 1, whose bands are best for the outcomes of the linear
 * model that are known at an origin. */
void choose_power(outcomes *all, const network *n, const series *s, int64_t origin);

#endif
