/* The training loop. */
#ifndef FFN_TRAIN_H
#define FFN_TRAIN_H

#include "data.h"
#include "model.h"

/* The results of one epoch. RMSE is in the target's units. */
typedef struct epoch_record {
    double lr;
    double loss;            /* mean squared error on the standardised target, dropout on */
    double train_rmse;      /* from that loss */
    double validation_rmse; /* NaN without validation rows */
} epoch_record;

typedef struct history {
    epoch_record *epochs; /* `count` records, for free() */
    int64_t count;
    int64_t best; /* the epoch whose weights were kept, from 1; 0 without validation rows */
    double seconds;
    bool interrupted; /* the last epoch may be incomplete; the saved file can go on */
} history;

/* Fits the standardisers to the training rows. */
void fit_standardizers(const model *m, const problem *p);

/* Trains from the beginning, or continues the interrupted training in `training`, which may be
 * NULL. If this training is interrupted, it is saved before the function returns. */
history train(const options *o, const model *m, const problem *p, adz_safetensors *training);

/* Root mean squared error of the model's predictions; NaN without rows. */
double rmse_of(const model *m, adz_dataset *rows);

#endif
