/* The options of the program, as the command line gives them. */
#ifndef GLU_OPTIONS_H
#define GLU_OPTIONS_H

#include <stdint.h>

#include "../shared/command_line.h"
#include <stddef.h>

enum { VARIANTS = 7 };

/* The names of the variants, in the order of the paper. */
extern const char *const variant_names[VARIANTS];

typedef struct options {
    const char *text; /* path of a file; NULL: the embedded text */
    const char *plot;
    const char *variants[VARIANTS];
    size_t n_variants;
    int64_t d_model, layers, heads, d_ff, length, batch, steps, warmup, evaluations;
    double dropout, lr, clip;
    int64_t runs, jobs, seed;
} options;

/* Reads the command line; ends the program for --help and for what it cannot read. */
options parse_options(int argc, char **argv);

#endif
