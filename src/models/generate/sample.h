/* The choice of a token from the logits of a row. */
#ifndef ADZI_MODELS_GENERATE_SAMPLE_H
#define ADZI_MODELS_GENERATE_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adze/models/generate.h"

/** A token and its logit. */
typedef struct models_candidate {
    float score;
    int64_t id;
} models_candidate;

/** Divides positive scores of the tokens in `ids` by the penalty and multiplies negative ones, each
 * token once. `met` has room for V flags that are false, and gets them back so. Tokens outside
 * 0 .. V-1 are left out. */
void adzi_models_penalise(
    float *scores, int64_t v, double penalty, const int64_t *ids, int64_t n_ids, bool *met);

/** Sets scores that are not to be drawn to -infinity: temperature, top-k, top-p, min-p, in this
 * order. `room` holds V candidates. */
void adzi_models_filter(
    float *scores, int64_t v, const adz_generate_options *o, models_candidate *room);

/** The token with the largest score, the first of equal ones. */
int64_t adzi_models_best(const float *scores, int64_t v);

/** The token that a number in [0, 1) draws from the softmax of the scores. */
int64_t adzi_models_draw(const float *scores, int64_t v, double number);

#endif
