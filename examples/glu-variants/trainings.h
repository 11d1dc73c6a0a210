/* All trainings, several at a time. */
#ifndef GLU_TRAININGS_H
#define GLU_TRAININGS_H

#include "experiment.h"

/* Trains every variant with every seed in threads of their own and shows how far they are. Training
 * r * n_variants + v is run r of variant v; what comes out depends on variant and seed alone. After
 * Ctrl-C some of them are not finished, which is said; the program ends if none is. End the list
 * with free_trainings. */
training *run_trainings(const options *o, const corpus *text);

void free_trainings(const options *o, training *all);

#endif
