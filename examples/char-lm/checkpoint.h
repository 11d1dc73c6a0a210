/* Checkpoints: a training in one file, with its options and its vocabulary. */
#ifndef CHAR_LM_CHECKPOINT_H
#define CHAR_LM_CHECKPOINT_H

#include <adze/adze.h>
#include <adze/data_parallel.h>

#include "options.h"

/* The options in a checkpoint as text, for free(). Ends the program if the file is no checkpoint of
 * char-lm. */
char *checkpoint_options(const char *path);

/* The vocabulary in a checkpoint. */
adz_tokenizer *checkpoint_tokenizer(const char *path);

/* Writes the network with the state that it carries from step to step, the optimizer, the schedule
 * unless it is NULL, the default generator and the number of steps done. All ranks call it. */
void save_checkpoint(const char *path, const options *o, adz_module *network,
    adz_tokenizer *tokenizer, adz_data_parallel *parallel, adz_optimizer *optimizer,
    adz_scheduler *schedule, int64_t step);

/* Reads a checkpoint that save_checkpoint wrote and returns the number of steps done. All but the
 * network may be NULL. */
int64_t load_checkpoint(const char *path, adz_module *network, adz_data_parallel *parallel,
    adz_optimizer *optimizer, adz_scheduler *schedule);

#endif
