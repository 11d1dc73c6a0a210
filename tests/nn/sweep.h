/* The sweep over modules: what is checked of every sample. */
#ifndef ADZE_TESTS_NN_SWEEP_H
#define ADZE_TESTS_NN_SWEEP_H

#include "nn/case.h"

enum { MODULE_SWEEP_TESTS = 4 };

/** The tests of one case, written to `tests`; returns how many. */
size_t module_sweep_tests(const module_case *c, struct CMUnitTest *tests);

/** What the sweep has gone through so far. */
typedef struct module_counts {
    int samples, derivatives, failure_points;
} module_counts;
extern module_counts module_totals;

#endif
