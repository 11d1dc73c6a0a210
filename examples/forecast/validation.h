/* Judges forecasts of the validation part. */
#ifndef FORECAST_VALIDATION_H
#define FORECAST_VALIDATION_H

#include "ensemble.h"
#include "parts.h"

/* What networks of one kind predict of the validation part, after each epoch. */
typedef struct validation {
    const parts *parts;
    int64_t most, members; /* epochs and networks that there is room for */
    int64_t epochs;        /* that were recorded so far */
    prediction *records;   /* one for each block, epoch and member */
} validation;

/* What the validation part says about one kind of model. */
typedef struct trial {
    network n;
    int64_t epochs; /* after which the error was smallest; 0 for the linear model */
    double share;   /* the share of the networks' prediction that is added to the linear model */
    double error;   /* the mean absolute error then, in the scales of the windows */
    double rmse;    /* the root mean square error then, in units of the series */
    double *noise;  /* [horizon] variance to add to that of networks; 0 without --band mc */
    outcomes known; /* of the windows then; none for the linear model */
    double *each;   /* [windows]: the sum of the absolute errors in each window */
    int64_t windows;
    double apart; /* how many windows fit side by side, which therefore share no value */
} trial;

void free_trial(trial *t);

validation new_validation(const network *n, const parts *p, int64_t most_epochs);
void free_validation(validation *v);

/* The index of the prediction of one network after one epoch, from 0. */
prediction *record_at(const validation *v, size_t block, int64_t epoch, size_t member);

/* Finds the best number of epochs and the best share. Absolute errors are
 * compared and not squares, and in the scales of the windows, so that one crisis does not decide.
 */
trial judge(const validation *v, const network *n, const series *s);

/* The trial of the linear model alone. */
trial try_linear(const network *n, const parts *p, const series *s);

/* True if networks are to be taken instead of the linear model. They must beat it by both errors,
 * by 3% in the mean absolute one, and by two standard errors of the difference between windows.
 * Windows that overlap count once for this. */
bool beats(const trial *t, const trial *linear);

#endif
