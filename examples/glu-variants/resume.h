/* The file of an experiment: its options, the curves of its trainings, and the state of those that
 * Ctrl-C has interrupted. */
#ifndef GLU_RESUME_H
#define GLU_RESUME_H

#include "experiment.h"

/* Replaces the options that decide the results by those of the file --load. Ends the program if the
 * command line contradicts them, or if the file is none of this program's. */
void load_options(options *o, argument *table);

/* Fills trainings with what the file --load knows about them. Ends the program if the text is not
 * the one of the file. */
void load_trainings(const options *o, const corpus *text, training *all, size_t count);

/* Writes the file --save. */
void save_trainings(const options *o, const corpus *text, const training *all, size_t count);

/* Saves and restores a training between two steps. `checkpoint` has its parts. */
void pause_training(const options *o, training *t, const adz_checkpoint *checkpoint);
void resume_training(const options *o, const training *t, adz_checkpoint *checkpoint);

#endif
