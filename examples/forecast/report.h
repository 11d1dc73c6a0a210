/* What the program prints, and the file of forecasts. */
#ifndef FORECAST_REPORT_H
#define FORECAST_REPORT_H

#include "backtest.h"
#include "validation.h"

/* Prints the sizes of the series and of its parts. */
void print_series(const network *n, const series *s);

void print_trial_header(void);
void print_trial(const trial *t);

/* Prints the table of errors and the last line of the program. */
void print_scores(const scores *r, double seconds);

/* Writes the first `steps` forecasts of the first window as CSV, with both bands. */
void write_forecast(const char *path, const forecasts *f, int64_t steps);

#endif
