/* The backtest: forecasts of the test part from rolling origins, one horizon apart, compared with
 * the linear model, the naive forecast (the last value) and the seasonal-naive one (the value one
 * season before). */
#ifndef FORECAST_BACKTEST_H
#define FORECAST_BACKTEST_H

#include "ensemble.h"

/* The errors are in units of the series. Missing values are left out. */
typedef struct scores {
    double rmse, linear_rmse, naive_rmse, seasonal_naive_rmse;
    double mase; /* the mean absolute error, divided by that of the forecast "as one season before"
                    on the part before the test part; NaN if that is 0 */
    double coverage80, coverage95; /* the share of values inside the band */
    int64_t count;                 /* values that were compared */
} scores;

/* The origins of the test part. */
origins test_origins(const network *n, const series *s);

scores score(const network *n, const series *s, const forecasts *f);

#endif
