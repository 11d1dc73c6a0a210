/* A set of the benchmark: its rows, its splits, and the settings that the published run chose. */
#ifndef UCI_DATA_H
#define UCI_DATA_H

#include "recipe.h"

typedef struct numbers {
    double *values;
    size_t count;
} numbers;

typedef struct row_list {
    int64_t *rows;
    size_t count;
} row_list;

typedef struct uci_set {
    char *name;        /* name of the folder */
    adz_dataset *rows; /* x[N, D] and y[N, 1], f64 */
    row_list *test;    /* n_splits lists of test rows */
    size_t n_splits;
    int64_t hidden, epochs;
    numbers dropout, tau;               /* the grid */
    numbers chosen_dropout, chosen_tau; /* n_splits values each, or none if hyper.txt has none */
} uci_set;

/* Reads a folder and checks all of it, or ends the program. */
uci_set load_set(const char *folder);
void free_set(uci_set *set);

/* The rows of one split. Free both parts with adz_dataset_release. */
samples split_samples(const uci_set *set, size_t split);

/* The folders of sets. An argument is the folder of a set, or a folder of such folders, which are
 * sorted by name. Free each path and the list. */
char **find_sets(const char *const *folders, size_t n_folders, size_t *count);

#endif
