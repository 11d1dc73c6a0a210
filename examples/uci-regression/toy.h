/* The embedded set: a curve whose noise grows from left to right, with a gap in the data. */
#ifndef UCI_TOY_H
#define UCI_TOY_H

#include "options.h"

/* Trains, scores, draws and reports. */
void run_toy(const options *o);

#endif
