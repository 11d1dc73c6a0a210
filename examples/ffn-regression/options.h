/* The options of the program, as the command line gives them. */
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
    char decimal;
    int missing;           /* 1: rows with a missing value are left out; 0: they are an error */
    const char *test_rows; /* file, or NULL for a share */
    int64_t split;         /* the number of the line in that file */
    double test_share, validation_share;

    int64_t hidden[MAX_HIDDEN];
    int n_hidden;
    const char *activation;
    double dropout;
    bool gated;

    int64_t epochs, batch_size, micro_batches, patience; /* patience 0: no early stopping */
    double lr, momentum, weight_decay;
    int schedule;          /* a value of SCHEDULE_... */
    int64_t seed, threads; /* threads 0: as many as there are processors */

    const char *load, *save, *predict, *output, *history, *plot;
    const char *export_c, *export_onnx; /* NULL: no export */
    char *scratch;      /* a temporary file in the folder of --save, for free(); NULL if that is no
                           regular file */
    int64_t save_every; /* in epochs; 0: only at the end */
    bool restart;       /* a loaded model begins a new training */
    bool no_capture;

    uint64_t given; /* bit i: the command line has row i of the table in options.c */
} options;

/* Reads the command line; ends the program for --help, for what it cannot read, and if the ranks
 * have other options. */
options parse_options(int argc, char **argv);

/* The settings that a training must keep so that it can go on with the same bits. */
enum { TRAINING_SETTINGS = 13 };

/* The name of setting `index` of a training; its value is written to the buffer as text. */
const char *training_setting(const options *o, int index, char *value, size_t size);

/* Sets setting `index` from the file of an interrupted training. Ends the program if the command
 * line has another value. */
void adopt_setting(options *o, int index, char *text);

/* True if the command line has the option of this name, which must be in the table. */
bool is_given(const options *o, const char *name);

#endif
