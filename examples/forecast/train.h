/* Trains networks on windows of a series. */
#ifndef FORECAST_TRAIN_H
#define FORECAST_TRAIN_H

#include "ensemble.h"
#include "validation.h"

/* Trains networks of one kind on the beginning of the series, and judges their forecasts of the
 * validation part. Ends after 20 epochs if no error was below `most`. */
trial try_network(const options *o, const network *n, const parts *p, const series *s, double most);

/* Trains the networks of an ensemble on all that lies before the test part. An ensemble of the
 * linear model has none. */
ensemble train_ensemble(const options *o, const trial *t, const parts *p, const series *s);

#endif
