/* The parts of a series. The last fifth is the test part. The second half of what lies before it is
 * the validation part, in three blocks: models that were fitted on all that lies before a block
 * forecast it. Their errors choose the kind of model and the number of epochs, and make the first
 * band. */
#ifndef FORECAST_PARTS_H
#define FORECAST_PARTS_H

#include "linear.h"

enum { BLOCKS = 3 };

typedef struct parts {
    int64_t begins[BLOCKS];     /* where each block begins */
    origins blocks[BLOCKS];     /* the windows of each block */
    origins learnt[BLOCKS + 1]; /* windows to learn from: before each block, and before the test */
    linear_model linear;        /* its forecasts are in all of the windows */
} parts;

/* Chooses the linear model, with `jobs` threads, and forecasts all windows with it. The windows of
 * the blocks are forecast as the user would: the model is fitted again as the origins advance. */
parts new_parts(const network *n, const series *s, int64_t jobs);
void free_parts(parts *p);

/* Ends the program if the series has too few values for window, horizon and season, if all values
 * of the validation part or of the test part are missing, or if those before the test part are
 * equal. */
void check_length(const network *n, const series *s);

/* Ends the program if the series has too few values to test models that are trained already. */
void check_test_length(const network *n, const series *s);

#endif
