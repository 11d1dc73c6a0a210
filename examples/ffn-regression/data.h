/* Reads or makes the data, and splits its rows into training, validation and test. */
#ifndef FFN_DATA_H
#define FFN_DATA_H

#include <adze/adze.h>

#include "options.h"

typedef struct problem {
    adz_dataset *train, *validation, *test; /* x[N, D] and y[N, 1], f64, in their own units */
    char **features;                        /* n_features names */
    size_t n_features;
    char *target;
} problem;

/* Reads the table, or draws the embedded problem, and splits its rows. `features` and `target` are
 * a loaded model's, or NULL to take them from the options. */
problem load_problem(
    const options *o, char *const *features, size_t n_features, const char *target);

/* The columns of a table that a model was trained on: x[N, D]. Borrowed from the scope. */
adz_tensor *load_features(
    const char *path, const options *o, char *const *features, size_t n_features);

/* True if these are the columns of the embedded problem. */
bool is_embedded(char *const *features, size_t n_features, const char *target);

void free_problem(problem *p);

#endif
