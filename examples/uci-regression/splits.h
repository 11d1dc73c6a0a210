/* Trains all splits of a set, several at a time. */
#ifndef UCI_SPLITS_H
#define UCI_SPLITS_H

#include "data.h"
#include "options.h"

typedef struct outcome {
    double dropout, tau; /* chosen or published */
    score score;
} outcome;

typedef struct set_result {
    const char *name; /* the set's */
    outcome *splits;  /* count of them, all finished, ended with free */
    size_t count;
    double seconds;
} set_result;

/* Ends the program where a set lacks what the options need of it. */
void check_choices(const options *o, const uci_set *set, const char *folder);

/* Trains each split in a thread of its own and prints a line for each, in their order. A result
 * depends on the seed and the split only. After Ctrl-C the list holds the finished splits, perhaps
 * none, and a line says so. */
set_result run_set(const options *o, const uci_set *set);

#endif
