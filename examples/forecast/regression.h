/* Ridge autoregressions: the next value is a weighted sum of the last ones. */
#ifndef FORECAST_REGRESSION_H
#define FORECAST_REGRESSION_H

#include "windows.h"

/* What is regressed: the values, their changes from one step to the next, or their changes over one
 * season. */
enum { FORM_VALUE, FORM_CHANGE, FORM_SEASON, FORMS };

typedef struct autoregression {
    int form;
    bool logarithm; /* regress the logarithms of the values, which must be positive */
    int64_t lags;   /* how many last values are read */
    double ridge;   /* the penalty, in mean variances of the values that are read */
    double weight;  /* the share of this autoregression in the mean of several */
} autoregression;

/* When an autoregression is fitted. */
typedef struct fitting {
    int64_t end;  /* once, on the values before this index; or -1: again as the origins advance */
    int64_t step; /* then a fit serves origins that lie less than so many values apart */
} fitting;

/* Forecasts all windows with `count` autoregressions that differ only in ridge and weight. A
 * forecast of several steps feeds each step to the next. Element [i][b * horizon + k] of `to`
 * becomes the forecast of autoregression i. The origins must ascend. */
void forecast_alike(const autoregression *a, size_t count, const series *s, const network *n,
    const origins *o, fitting when, double **to);

#endif
