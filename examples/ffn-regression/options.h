/* What the command line says. */
#ifndef FFN_OPTIONS_H
#define FFN_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../shared/command_line.h"

enum { MAX_HIDDEN = 16 };

enum { SCHEDULE_NONE, SCHEDULE_COSINE, SCHEDULE_STEP, SCHEDULE_EXPONENTIAL };

typedef struct options {
    const char *data, *target; /* NULL: the embedded problem */
    const char **features;     /* n_features names; 0 for every column but the target */
    size_t n_features;
    char delimiter;
    int missing;           /* 1: rows with a missing value are left out; 0: they are an error */
    const char *test_rows; /* file, or NULL for a share */
    int64_t split;         /* which line of that file */
    double test_share, validation_share;

    int64_t hidden[MAX_HIDDEN];
    int n_hidden;
    const char *activation;
    double dropout;
    bool gated;

    int64_t epochs, batch_size, patience; /* patience 0: no early stopping */
    double lr, momentum, weight_decay;
    int schedule;          /* one of the above */
    int64_t seed, threads; /* threads 0: as many as there are processors */

    const char *load, *save, *predict, *output, *history, *plot;
} options;

/* Reads the command line; ends the program for --help and for what it cannot read. */
options parse_options(int argc, char **argv);

#endif
