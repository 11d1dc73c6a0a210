/* Regression with dropout left on for prediction, on four sets with published results, or on a toy
 * set that the program makes. uci-regression --help lists the options. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "../shared/interrupt.h"
#include "../shared/program.h"
#include "report.h"
#include "toy.h"

static void print_set(const options *o, const uci_set *set)
{
    adz_scope *scope = adz_scope_open();
    int64_t rows = adz_dataset_row_count(set->rows), splits = (int64_t)set->n_splits;
    int64_t features = adz_tensor_size(adz_dataset_at(set->rows, 0), 1);
    int64_t epochs = o->epochs > 0 ? o->epochs : set->epochs;
    print_text("%s: %lld rows, %lld feature%s, %lld split%s; %lld hidden unit%s, %lld epoch%s",
        set->name, (long long)rows, (long long)features, plural(features), (long long)splits,
        plural(splits), (long long)set->hidden, plural(set->hidden), (long long)epochs,
        plural(epochs));
    adz_scope_close(scope);
}

/* Runs the sets one after the other and returns the number of results. After Ctrl-C only sets with
 * finished splits have one. */
static size_t run_sets(const options *o, const uci_set *sets, size_t n, set_result *results)
{
    size_t done = 0, begun = 0;
    while (begun < n && !is_interrupted()) {
        results[done] = run_set(o, &sets[begun++]);
        if (results[done].count > 0) {
            ++done;
        } else {
            free(results[done].splits);
        }
    }
    if (begun < n) {
        printf("stopped by %s; %zu of %zu sets were not begun\n", interrupt_name(), n - begun, n);
    }
    if (done == 0) {
        remark("no split is finished, so there is nothing to report");
        exit(finish_output()); /* with the code of the signal, without which a split is finished */
    }
    return done;
}

static void run_folders(const options *o)
{
    size_t n = 0;
    char **folders = find_sets(o->folders, o->n_folders, &n);
    uci_set *sets = allocate(n * sizeof *sets);
    set_result *results = allocate(n * sizeof *results);
    for (size_t i = 0; i < n; ++i) { /* checks all sets before one is trained */
        sets[i] = load_set(folders[i]);
        check_choices(o, &sets[i], folders[i]);
        print_set(o, &sets[i]);
    }
    listen_to_interrupts();
    print_text("%lld forward pass%s with dropout on, %lld job%s; %s", (long long)o->passes,
        o->passes == 1 ? "" : "es", (long long)o->jobs, plural(o->jobs), adz_build_info());
    size_t done = run_sets(o, sets, n, results);
    stop_listening();
    print_report(results, done);
    for (size_t i = 0; i < done; ++i) {
        free(results[i].splits);
    }
    for (size_t i = 0; i < n; ++i) {
        free_set(&sets[i]);
        free(folders[i]);
    }
    free(results);
    free(sets);
    free(folders);
}

int main(int argc, char **argv)
{
    setlocale(LC_NUMERIC, "C"); /* numbers have a decimal point, whatever the locale is */
    options o = parse_options(argc, argv);
    report_errors();
    if (o.n_folders > 0) {
        run_folders(&o);
    } else {
        run_toy(&o);
    }
    return finish_output();
}
