/* The training loop, and the verdicts of a model on texts. */
#ifndef CLASSIFIER_TRAIN_H
#define CLASSIFIER_TRAIN_H

#include "data.h"
#include "model.h"

typedef struct epoch_record {
    double lr;                                   /* rate of the head at the end of the epoch */
    double loss;                                 /* mean over the epoch, dropout on */
    double validation_loss, validation_accuracy; /* NaN without validation texts */
} epoch_record;

typedef struct history {
    epoch_record *epochs; /* `count` records, for free() */
    int64_t count;
    double seconds;
    bool interrupted;
} history;

/* The most probable class of one text. */
typedef struct verdict {
    int64_t label;
    double probability;
} verdict;

/* The verdicts on all samples, for free(). Runs in evaluation mode without a graph. `loss` receives
 * the mean cross entropy unless it is NULL. */
verdict *judge(const model *m, const samples *s, int64_t batch_size, double *loss);

/* The share of texts whose verdict is their label; NaN if there are no texts. */
double accuracy_of(const samples *s, const verdict *verdicts);

history train(const options *o, const model *m, const problem *p);

#endif
