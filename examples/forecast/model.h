/* The networks: four kinds, each with Monte-Carlo dropout and, if wanted, a predicted variance. */
#ifndef FORECAST_MODEL_H
#define FORECAST_MODEL_H

#include <adze/adze.h>

#include "options.h"
#include "windows.h"

/* A new network of kind n->model, with drawn weights. It maps x[B, window, CHANNELS] to
 * [B, horizon], or for BAND_VARIANCE to [B, 2 * horizon]: first the means, then the logarithms of
 * the variances. */
adz_module *new_network(const network *n);

/* The loss of a batch: that of a normal distribution for BAND_VARIANCE, and else Huber's. Elements
 * whose target is not known do not count. */
adz_tensor *loss_of(
    adz_module *net, const network *n, adz_tensor *x, adz_tensor *target, adz_tensor *known);

/* The mean and the variance of each target, in the scale of its window. */
typedef struct prediction {
    float *mean, *variance; /* [windows * horizon] */
} prediction;

/* Predicts windows with one network: the variance is the predicted one, or for BAND_MC that of
 * `passes` predictions with dropout on. */
prediction predict_windows(
    adz_module *net, const network *n, const series *s, const origins *o, int64_t passes);

/* The mean of several networks' predictions of `size` targets. The variance is the mean of their
 * variances plus the variance of their means. */
prediction mix(const prediction *each, int64_t count, size_t size);

void free_prediction(prediction *p);

#endif
