/* Trains networks on windows of a series. */
#ifndef FORECAST_TRAIN_H
#define FORECAST_TRAIN_H

#include "ensemble.h"
#include "validation.h"

/* Trains networks of one kind on the beginning of the series, and judges their forecasts of the
 * validation part. */
trial try_network(const options *o, const network *n, const series *s);

/* Trains the networks of an ensemble on all that lies before the test part. */
ensemble train_ensemble(const options *o, const trial *t, const series *s);

#endif
