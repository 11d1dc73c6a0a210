/* The experiment: one training of one variant. This is the part to copy from; everything around it
 * reads text, shares out the work and prints. */
#ifndef GLU_EXPERIMENT_H
#define GLU_EXPERIMENT_H

#include "options.h"
#include "corpus.h"

/* Whether a network has a third matrix. */
bool is_gated(const char *variant);

typedef struct curve_point {
    int64_t step;
    double train_loss; /* mean since the point before */
    double val_loss;   /* mean over the whole validation part */
} curve_point;

typedef struct training {
    const char *variant;
    uint64_t seed;
    int64_t d_ff, parameters;
    curve_point *curve; /* options.evaluations of them, `points` so far */
    int64_t points;
    double seconds;
} training;

/* Whether it got to its last step. */
bool is_finished(const options *o, const training *t);

/* Called after each evaluation. */
typedef void (*training_watch)(const training *t, void *user);

/* Trains t->variant from t->seed and fills the rest of t, whose curve has room. Ctrl-C ends it
 * after a step. */
void train_variant(
    const options *o, const corpus *text, training *t, training_watch watch, void *user);

#endif
