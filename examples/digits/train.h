/* The training loop, and the verdicts of a model on images. */
#ifndef DIGITS_TRAIN_H
#define DIGITS_TRAIN_H

#include "data.h"

typedef struct epoch_record {
    double lr;                                   /* at the end of the epoch */
    double loss;                                 /* mean over the epoch, with augmentation */
    double validation_loss, validation_accuracy; /* NaN without validation images */
} epoch_record;

typedef struct history {
    epoch_record *epochs; /* `count` records, for free() */
    int64_t count;
    int64_t best; /* the epoch whose weights are kept, from 1; 0: those of the last epoch */
    double seconds;
    bool interrupted;
} history;

/* What the model says about one image. */
typedef struct verdict {
    int64_t image; /* the number of the image in its file */
    int64_t digit;
    double probability;
    int64_t truth; /* -1 if it is unknown */
    double loss;   /* cross entropy; NaN if the truth is unknown */
} verdict;

/* The verdicts on all images of a dataset, for free(). Runs in evaluation mode without a graph. */
verdict *judge(const model *m, adz_dataset *rows);

/* The share of verdicts that are true, and the mean of their losses; NaN if there are none. */
double accuracy_of(const verdict *verdicts, int64_t count);
double loss_of(const verdict *verdicts, int64_t count);

history train(const options *o, const model *m, const problem *p);

#endif
