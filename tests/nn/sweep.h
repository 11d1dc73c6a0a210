/* The sweep over modules: the checks of every sample. */
#ifndef ADZE_TESTS_NN_SWEEP_H
#define ADZE_TESTS_NN_SWEEP_H

#include "nn/case.h"

enum { MODULE_SWEEP_TESTS = 5 };

/** Writes the tests of one case to `tests` and returns their number. */
size_t module_sweep_tests(const module_case *c, struct CMUnitTest *tests);

/** The numbers of checks that the sweep has made so far. */
typedef struct module_counts {
    int samples, derivatives, failure_points;
} module_counts;
extern module_counts module_totals;

#endif
