/* One fit of a regression: with what, in which units, and what came of it. */
#ifndef ADZE_TESTS_OPTIM_STRD_FITS_H
#define ADZE_TESTS_OPTIM_STRD_FITS_H

#include "strd.h"

typedef enum { BY_LM, BY_LBFGS, BY_SCALED_LBFGS } strd_method;

/** Residuals are multiplied by `residuals`, even parameters by `even` and odd ones by `odd`. */
typedef struct strd_units {
    double residuals, even, odd;
} strd_units;

typedef struct strd_result {
    adz_closure_reason reason;
    double digits; /* of the worst parameter, compared with the certified value */
    double slope;  /* the largest |gradient| |parameter| / loss at the end */
    int64_t evaluations;
} strd_result;

/** Fits from start 0 or 1 with the optimizer's defaults, by one step after another until the report
 * is none of a limit, or 4,000 evaluations have been made. */
strd_result strd_fit(const strd_problem *p, int start, strd_method method, strd_units units);

/** The largest relative error of the standard errors at the certified parameters, computed by
 * adz_levenberg_marquardt_covariance, compared with the certified deviations. */
double strd_deviation_error(const strd_problem *p, strd_units units);

#endif
