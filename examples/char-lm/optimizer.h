/* The optimizer and the schedule of its learning rate. */
#ifndef CHAR_LM_OPTIMIZER_H
#define CHAR_LM_OPTIMIZER_H

#include "model.h"

/* AdamW, with weight decay for matrices and tables only. */
adz_optimizer *new_adamw(const options *o, adz_module *network);

/* The one-cycle schedule; NULL for the other schedule. */
adz_scheduler *new_cycle(const options *o, adz_optimizer *adamw);

/* Sets the learning rate before a step, which is counted from 0. `cycle` may be NULL. */
void set_rate(const options *o, adz_optimizer *adamw, adz_scheduler *cycle, int64_t step);

#endif
