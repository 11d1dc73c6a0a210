/* A running training, and the file from which it can be resumed. */
#ifndef FFN_TRAINER_H
#define FFN_TRAINER_H

#include <adze/data_parallel.h>

#include "../shared/steps.h"
#include "train.h"

typedef struct trainer {
    const options *o;
    const model *m;
    const problem *p;
    adz_loader *loader;
    adz_data_parallel *parallel;
    steps *each; /* NULL if steps are not captured */
    adz_optimizer *sgd;
    adz_scheduler *scheduler; /* NULL for a constant rate */
    double target_std;
    int64_t step;     /* number of steps that are done */
    bool interrupted; /* by Ctrl-C or SIGTERM, on any rank */
    double loss_sum;  /* sum over the rows that the current epoch has trained so far */
    int64_t loss_rows;
    adz_module *best; /* a copy of the network with the smallest validation RMSE, or NULL */
    double best_rmse;
    int64_t best_epoch;
} trainer;

/* Gives the network the weights of another one of its kind. */
void copy_weights(adz_module *to, adz_module *from);

/* A text by which a run recognises its data: the numbers of rows, and a hash of the rows, their
 * order and their use. */
void rows_text(const problem *p, char text[64]);

/* Saves the model, with the best weights if there are validation rows, together with all that the
 * training needs to continue bit for bit. `epochs` epochs are complete. The network is not changed.
 * A device or a pipe gets the model only. All ranks call it. */
void save_training(trainer *t, const epoch_record *epochs, int64_t count);

/* Continues the training that a file holds. Returns the number of complete epochs, whose records
 * are filled in. */
int64_t resume_training(trainer *t, adz_safetensors *file, epoch_record *epochs);

#endif
