/* The training loop, and the verdicts of a model on texts. */
#ifndef CLASSIFIER_TRAIN_H
#define CLASSIFIER_TRAIN_H

#include "data.h"
#include "model.h"

typedef struct epoch_record {
    double lr;                                   /* the head's, at the epoch's end */
    double loss;                                 /* mean over the epoch, dropout on */
    double validation_loss, validation_accuracy; /* NaN without validation texts */
} epoch_record;

typedef struct history {
    epoch_record *epochs; /* count of them, ended with free */
    int64_t count;
    double seconds;
    bool interrupted;
} history;

/* One text's most probable class. */
typedef struct verdict {
    int64_t label;
    double probability;
} verdict;

/* Ended with free. In evaluation mode, without a graph; `loss` receives the
 * mean cross entropy if it is not NULL. */
verdict *judge(const model *m, const samples *s, int64_t batch_size, double *loss);

/* The share of texts whose label the verdict hits; NaN for none. */
double accuracy_of(const samples *s, const verdict *verdicts);

history train(const options *o, const model *m, const problem *p);

#endif
