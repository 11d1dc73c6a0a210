/* An ensemble: the linear model, networks of one kind whose predictions are averaged and added to
 * it, and the outcomes of their forecasts of the validation part. */
#ifndef FORECAST_ENSEMBLE_H
#define FORECAST_ENSEMBLE_H

#include "band.h"
#include "linear.h"

typedef struct ensemble {
    network n;
    linear_model linear;
    double *noise;    /* [horizon] variance that is added to that of the networks */
    outcomes known;   /* of the networks; origins count from the end of the training, negative */
    int64_t trained;  /* values of the series before the end of the training */
    adz_module *root; /* a ModuleList of the networks, none for MODEL_LINEAR; its buffers are what
                         the members `linear`, `noise` and `known` hold */
} ensemble;

/* An ensemble without networks. Append them to its root. `known` has origins of the series, or
 * nothing for MODEL_LINEAR. */
ensemble new_ensemble(const network *n, const linear_model *linear, const double *noise,
    const outcomes *known, int64_t trained);

void save_ensemble(const ensemble *e, const char *path);
ensemble load_ensemble(const char *path);
void free_ensemble(ensemble *e);

/* Forecasts on the scale of series.values; in_unit() gives those in the unit of the series. */
typedef struct forecasts {
    origins o;
    int64_t horizon;
    double *mean, *half80, *half95; /* [o.count * horizon]; half the width of the bands */
} forecasts;

/* What became of forecasts of this series. For networks these are the outcomes of the validation
 * part, and those of windows after it, whose origins lie as far apart. The linear model forecasts
 * this series again from the middle of what lies before its test part on. */
outcomes observe(const ensemble *e, const series *s);

/* Forecasts windows. The origins belong to the result, with the forecasts of the linear model,
 * which is fitted again as they advance. The share of the networks and the band follow from the
 * outcomes that are known at each origin. With dropout on, the random numbers follow from the
 * ensemble's seed. */
forecasts forecast(const ensemble *e, const series *s, const outcomes *known, origins o);

void free_forecasts(forecasts *f);

#endif
