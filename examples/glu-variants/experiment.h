/* The experiment: one training of one variant. This is the part to copy. The other files read text,
 * run several trainings at a time and print. */
#ifndef GLU_EXPERIMENT_H
#define GLU_EXPERIMENT_H

#include "options.h"
#include "corpus.h"

/* True if the variant has a gate, which is a third matrix. */
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
    curve_point *curve; /* options.evaluations elements, of which `points` are filled */
    int64_t points;
    double loss_sum; /* losses since the last point */
    double seconds;
    char *state; /* of an interrupted training, else NULL; for free() */
    size_t state_size;
} training;

/* The step after which point `i` of the curve is due. */
int64_t step_of_point(const options *o, int64_t i);

/* True if the training has done its last step. */
bool is_finished(const options *o, const training *t);

/* Called after each evaluation. */
typedef void (*training_watch)(const training *t, void *user);

/* Trains t->variant from t->seed, or goes on from t->state, and fills the other members of t.
 * t->curve must have memory for all evaluations. Ctrl-C ends the training after a step, and then
 * t->state says how to go on. */
void train_variant(
    const options *o, const corpus *text, training *t, training_watch watch, void *user);

#endif
