/* Regression with dropout left on for prediction, on four sets with published results, or on a toy
 * set of its own. uci-regression --help lists what it can. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "../shared/program.h"
#include "report.h"
#include "toy.h"

static void print_set(const options *o, const uci_set *set)
{
    adz_scope *scope = adz_scope_open();
    printf("%s: %lld rows, %lld features, %zu splits; %lld hidden units, %lld epochs\n", set->name,
        (long long)adz_dataset_size(set->rows),
        (long long)adz_tensor_size(adz_dataset_tensor(set->rows, 0), 1), set->n_splits,
        (long long)set->hidden, (long long)(o->epochs > 0 ? o->epochs : set->epochs));
    adz_scope_close(scope);
}

static void run_folders(const options *o)
{
    size_t n = 0;
    char **folders = find_sets(o->folders, o->n_folders, &n);
    uci_set *sets = allocate(n * sizeof *sets);
    set_result *results = allocate(n * sizeof *results);
    for (size_t i = 0; i < n; ++i) { /* all are checked before any is trained */
        sets[i] = load_set(folders[i]);
        check_choices(o, &sets[i], folders[i]);
        print_set(o, &sets[i]);
    }
    printf("%lld forward passes with dropout on, %lld jobs; %s\n", (long long)o->passes,
        (long long)o->jobs, adz_build_info());
    for (size_t i = 0; i < n; ++i) {
        results[i] = run_set(o, &sets[i]);
    }
    print_report(results, n);
    for (size_t i = 0; i < n; ++i) {
        free(results[i].splits);
        free_set(&sets[i]);
        free(folders[i]);
    }
    free(results);
    free(sets);
    free(folders);
}

int main(int argc, char **argv)
{
    setlocale(LC_NUMERIC, "C"); /* numbers with a point, whatever the host has set */
    options o = parse_options(argc, argv);
    report_errors();
    if (o.n_folders > 0) {
        run_folders(&o);
    } else {
        run_toy(&o);
    }
    return finish_output();
}
