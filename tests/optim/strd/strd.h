/* The nonlinear regressions of NIST's Statistical Reference Datasets, with certified results. */
#ifndef ADZE_TESTS_OPTIM_STRD_H
#define ADZE_TESTS_OPTIM_STRD_H

#include "../../nn.h"

enum { STRD_PARAMETERS = 9, STRD_ROWS = 256, STRD_PROBLEMS = 27 };

/** One regression. */
typedef struct strd_problem {
    char name[16];
    int parameters, rows, columns; /* columns of x: 1, or 2 for Nelson */
    double starts[2][STRD_PARAMETERS];
    double certified[STRD_PARAMETERS], deviations[STRD_PARAMETERS];
    double sum;                            /* the certified sum of squared residuals */
    double y[STRD_ROWS], x[2 * STRD_ROWS]; /* x: row by row */
} strd_problem;

/** The small regressions, which are compiled in. */
extern const strd_problem strd_small[];
extern const int strd_small_count;

/** Reads NAME.dat of a folder, a file of NIST. False if there is something wrong with it. */
bool strd_read(strd_problem *p, const char *folder, const char *name);

/** The names of all regressions. */
extern const char *const strd_names[STRD_PROBLEMS];

/** The model: the values [N] for the parameters b[P] and x[N] or x[N, 2]. */
adz_tensor *strd_model(const strd_problem *p, adz_tensor *b, adz_tensor *x);

#endif
