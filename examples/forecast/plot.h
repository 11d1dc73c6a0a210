/* The picture: the series, the forecasts and their bands, and where the training ended. */
#ifndef FORECAST_PLOT_H
#define FORECAST_PLOT_H

#include "ensemble.h"

/* Draws the picture, unless the path is "none". `test` are the forecasts of the
 * backtest, `ahead` those beyond the end of the series, of which the first `steps` are drawn. */
void draw_picture(const char *path, const series *s, int64_t trained, const forecasts *test,
    const forecasts *ahead, int64_t steps);

#endif
