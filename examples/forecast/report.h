/* What the program prints, and the file of forecasts. */
#ifndef FORECAST_REPORT_H
#define FORECAST_REPORT_H

#include "backtest.h"
#include "validation.h"

/* Prints the sizes of the series and of its parts. */
void print_series(const network *n, const series *s);

/* Prints the autoregressions of the linear model that have the largest weights. */
void print_linear(const linear_model *l);

void print_trial_header(void);
void print_trial(const trial *t);

/* Prints the table of errors and the last line of the program. */
void print_scores(const scores *r, int model, double seconds);

/* Writes the first `steps` forecasts of the first window as CSV, with their times and both bands.
 */
void write_forecast(const char *path, const series *s, const forecasts *f, int64_t steps);

#endif
