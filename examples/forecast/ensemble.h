/* An ensemble: the linear model, networks of one kind whose predictions are averaged and added to
 * it, and the width of the band. */
#ifndef FORECAST_ENSEMBLE_H
#define FORECAST_ENSEMBLE_H

#include "linear.h"
#include "model.h"

/* How the variances of a network become a band. In the scale of a window, the deviation of a
 * forecast is factor * sqrt(variance + noise[k]). */
typedef struct band_fit {
    double factor;
    double *noise; /* [horizon], zeros for BAND_VARIANCE */
} band_fit;

typedef struct ensemble {
    network n;
    linear_model linear;
    adz_module *root; /* a ModuleList of the networks, none for MODEL_LINEAR; its buffers are the
                         linear model, the share and the band */
    int64_t trained;  /* values of the series before the end of the training */
} ensemble;

/* An ensemble without networks. Append them to its root. The share of what they predict is added to
 * the linear model. */
ensemble new_ensemble(const network *n, const linear_model *linear, double share,
    const band_fit *fit, int64_t trained);

void save_ensemble(const ensemble *e, const char *path);
ensemble load_ensemble(const char *path);
void free_ensemble(ensemble *e);

/* Forecasts in units of the series. */
typedef struct forecasts {
    origins o;
    int64_t horizon;
    double *mean, *deviation; /* [o.count * horizon] */
} forecasts;

/* Half the width of a band that holds 80% or 95% of a normal distribution, in deviations. */
#define HALF_80 1.2815515655446004
#define HALF_95 1.959963984540054

/* Forecasts windows. The origins belong to the result, with the forecasts of the linear model,
 * which is fitted again as they advance. With dropout on, the random numbers follow from the
 * ensemble's seed. */
forecasts forecast(const ensemble *e, const series *s, origins o);

void free_forecasts(forecasts *f);

#endif
