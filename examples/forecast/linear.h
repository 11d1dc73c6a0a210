/* The linear model: the mean of ridge autoregressions that forecast the validation part well. It is
 * a forecast in its own right, and the networks predict what it leaves. */
#ifndef FORECAST_LINEAR_H
#define FORECAST_LINEAR_H

#include "regression.h"

enum { MOST_TERMS = 216, MOST_LAGS = 128 };

typedef struct linear_model {
    autoregression terms[MOST_TERMS];
    size_t count; /* terms; their weights add up to 1 */
} linear_model;

/* Tries autoregressions of several lags, ridges and forms on the windows of the validation part.
 * The better one forecasts them, the larger is its weight in the mean. `begin` is the index where
 * the validation part begins. */
linear_model choose_linear(
    const series *s, const network *n, int64_t begin, const origins *validation, int64_t jobs);

/* Forecasts windows: o->base[b * horizon + k] becomes the mean of the autoregressions. `when` says
 * on which values they are fitted. */
void forecast_linear(
    const linear_model *l, const series *s, const network *n, origins *o, fitting when);

/* Leaves out the autoregressions of logarithms if a value of the series is not positive, and says
 * so on stderr. Ends the program if no other one remains. */
void fit_to_series(linear_model *l, const series *s);

/* Fits again after each horizon, which is at each origin of the test part, but in at most 200 fits.
 */
fitting at_each_horizon(const network *n, const origins *o);

/* The model as a table [MOST_TERMS, 5] of numbers, borrowed from the scope, and back. False if the
 * table is none of this program. */
adz_tensor *linear_to_table(const linear_model *l);
bool linear_from_table(adz_tensor *table, linear_model *l);

#endif
