/* test_nn MODULE...: the sweep over the modules named, or over all, and their facts. */
#include "groups.h"
#include "nn/sweep.h"

static int run(const module_case *c)
{
    struct CMUnitTest tests[MODULE_SWEEP_TESTS + 32];
    size_t n = module_sweep_tests(c, tests);
    for (size_t i = 0; i < c->n_facts && i < 32; ++i) {
        tests[n++] = c->facts[i];
    }
    return run_group(c->name, tests, n);
}

int main(int argc, char **argv)
{
    int failed = 0, ran = 0;
    for (int i = 0; i < n_module_cases; ++i) {
        if (is_chosen(module_cases[i]->name, 1, argc, argv)) {
            failed += run(module_cases[i]);
            ++ran;
        }
    }
    printf("%d families: %d samples, %d derivatives, %d refused requests\n", ran,
        module_totals.samples, module_totals.derivatives, module_totals.failure_points);
    if (ran == 0) {
        fprintf(stderr, "no module of that name\n");
        return EXIT_FAILURE;
    }
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
