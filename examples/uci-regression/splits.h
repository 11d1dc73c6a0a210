/* Trains all splits of a set, several at a time. */
#ifndef UCI_SPLITS_H
#define UCI_SPLITS_H

#include "data.h"
#include "options.h"

typedef struct outcome {
    double dropout, tau; /* settings that were found in the grid or that are published */
    score score;
} outcome;

typedef struct set_result {
    const char *name; /* the name of the set */
    outcome *splits;  /* `count` finished splits, for free() */
    size_t count;
    double seconds;
} set_result;

/* Ends the program if the set has not the settings that the options ask for. */
void check_choices(const options *o, const uci_set *set, const char *folder);

/* Trains each split on one thread, several at a time, and prints a line for each in their order. A
 * result depends on the seed and the split only. After Ctrl-C the list has the finished splits
 * only, and a line says so. */
set_result run_set(const options *o, const uci_set *set);

#endif
