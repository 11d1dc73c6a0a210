/* All trainings, several at a time. */
#ifndef GLU_TRAININGS_H
#define GLU_TRAININGS_H

#include "experiment.h"

/* Trains every variant with every seed, each in a thread of its own, and shows the progress.
 * Training r * n_variants + v is run r of variant v. Its result depends on variant and seed only.
 * Goes on with the trainings of --load, and writes the file of --save. After Ctrl-C some trainings
 * may be unfinished, which is reported. `finished` receives how many are finished. End the list
 * with free_trainings. */
training *run_trainings(const options *o, const corpus *text, size_t *finished);

void free_trainings(const options *o, training *all);

#endif
