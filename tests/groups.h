/* Groups of tests that are chosen on the command line. */
#ifndef ADZE_TESTS_GROUPS_H
#define ADZE_TESTS_GROUPS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/alloc.h"

/** True if the names in argv[first ..] contain this one, or if there are no names. */
static inline bool is_chosen(const char *name, int first, int argc, char **argv)
{
    bool chosen = argc <= first;
    for (int i = first; i < argc; ++i) {
        chosen = chosen || strcmp(argv[i], name) == 0;
    }
    return chosen;
}

/** Runs a group of tests and returns how many failed. Tensors that stay alive count as a failure.
 */
static inline int run_group(const char *name, const struct CMUnitTest *tests, size_t n)
{
    int64_t live = adzi_live_tensors();
    int failed = _cmocka_run_group_tests(name, tests, n, NULL, NULL);
    if (failed == 0 && adzi_live_tensors() != live) {
        fprintf(stderr, "%s: %lld tensors are still alive\n", name,
            (long long)(adzi_live_tensors() - live));
        failed = 1;
    }
    return failed;
}

#endif
