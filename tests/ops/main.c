/* test_ops [--test=NAME] OP...: the sweep over the operators named, or over all. With --test, only
 * the check of that name, such as replay. */
#include <stdio.h>
#include <stdlib.h>

#include "groups.h"
#include "ops/sweep.h"

static int run(const op_case *c)
{
    struct CMUnitTest tests[SWEEP_TESTS + 64];
    size_t n = sweep_tests(c, tests);
    for (size_t i = 0; i < c->n_facts && i < 64; ++i) {
        tests[n++] = c->facts[i];
    }
    return run_group(c->name, tests, n);
}

int main(int argc, char **argv)
{
    int failed = 0, ran = 0, first = 1;
    if (argc > 1 && strncmp(argv[1], "--test=", 7) == 0) {
        cmocka_set_test_filter(argv[1] + 7);
        first = 2;
    }
    for (int i = 0; i < n_op_cases; ++i) {
        if (is_chosen(op_cases[i]->name, first, argc, argv)) {
            failed += run(op_cases[i]);
            ++ran;
        }
    }
    printf(
        "%d operators: %zu samples, %zu layouts, %zu derivatives, %zu rejects, %zu refused requests\n",
        ran, counts.samples, counts.layouts, counts.derivatives, counts.rejects,
        counts.failure_points);
    if (ran == 0) {
        fprintf(stderr, "no operator of that name\n");
        return EXIT_FAILURE;
    }
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
