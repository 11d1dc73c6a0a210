/* The options of the program, as the command line gives them. */
#ifndef GLU_OPTIONS_H
#define GLU_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include <adze/adze.h>

#include "../shared/arguments.h"

enum { VARIANTS = 7 };

/* The names of the variants, in the order of the paper. */
extern const char *const variant_names[VARIANTS];

typedef struct options {
    const char *text; /* path of a file; NULL: the embedded text */
    const char *plot, *save, *load;
    const char *variant_list; /* as the command line has it */
    const char *variants[VARIANTS];
    size_t n_variants;
    int64_t d_model, layers, heads, d_ff, length, batch, steps, warmup, evaluations;
    double dropout, lr, clip;
    int64_t runs, jobs, seed;
    bool no_capture;
    adz_safetensors *loaded; /* the file of --load */
} options;

enum { SAVED_OPTIONS = 16, MOST_OPTIONS = 24 };

/* Fills `table` with all options, first the SAVED_OPTIONS that decide the results. Returns their
 * number. */
size_t option_table(options *o, argument *table);

/* Reads the command line; ends the program for --help and for what it cannot read. */
options parse_options(int argc, char **argv);

void free_options(options *o);

#endif
