/* The validation part: the second half of what lies before the test part, in three blocks. Networks
 * that were trained on all that lies before a block forecast it. Their errors choose the kind of
 * network, the number of epochs and the width of the band. */
#ifndef FORECAST_VALIDATION_H
#define FORECAST_VALIDATION_H

#include "ensemble.h"

enum { BLOCKS = 3 };

typedef struct validation {
    int64_t begins[BLOCKS]; /* where each block begins */
    origins blocks[BLOCKS]; /* the windows of each block */
    int64_t most, members;  /* epochs and networks that there is room for */
    int64_t epochs;         /* that were recorded so far */
    prediction *records;    /* one for each block, epoch and member */
} validation;

/* What the validation part says about one kind of network. */
typedef struct trial {
    network n;
    int64_t epochs; /* after which the error was smallest */
    double error;   /* the mean absolute error then, in the scales of the windows */
    double rmse;    /* the root mean square error then, in units of the series */
    band_fit fit;
} trial;

/* Ends the program if the series has too few values for window, horizon and season, if all values
 * of the validation part or of the test part are missing, or if those before the test part are
 * equal. */
void check_length(const network *n, const series *s);

/* Ends the program if the series has too few values to test networks that are trained already. */
void check_test_length(const network *n, const series *s);

validation new_validation(const network *n, const series *s, int64_t most_epochs);
void free_validation(validation *v);

/* The place of the prediction of one network after one epoch, from 0. */
prediction *record_at(const validation *v, size_t block, int64_t epoch, size_t member);

/* Finds the best number of epochs and fits the band. Absolute errors are compared and not squares,
 * and in the scales of the windows, so that one crisis does not decide. */
trial judge(const validation *v, const network *n, const series *s);

#endif
