/* Seven feed-forward networks in the same transformer, compared. glu-variants --help lists what it
 * can. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "../shared/files.h"
#include "../shared/program.h"
#include "../shared/progress.h"
#include "plot.h"
#include "report.h"
#include "trainings.h"

static void print_head(const options *o, const corpus *t)
{
    printf("%s: %lld characters, %lld different ones; the last %lld are for validation\n", t->name,
        (long long)t->characters, (long long)t->vocabulary,
        (long long)(t->characters - t->train_count));
    printf("%lld layers, %lld features, %lld heads, windows of %lld, batches of %lld, %lld steps, "
           "dropout %g\n",
        (long long)o->layers, (long long)o->d_model, (long long)o->heads, (long long)o->length,
        (long long)o->batch, (long long)o->steps, o->dropout);
    printf("%zu trainings, %lld jobs; %s\n", o->n_variants * (size_t)o->runs, (long long)o->jobs,
        adz_build_info());
    fflush(stdout);
}

int main(int argc, char **argv)
{
    setlocale(LC_NUMERIC, "C"); /* numbers with a point, whatever the host has set */
    double began = seconds_now();
    options o = parse_options(argc, argv);
    corpus text = load_corpus(o.text);
    check_corpus(&text, o.length, o.batch);
    report_errors();
    if (strcmp(o.plot, "none") != 0) {
        check_writable(o.plot);
    }
    print_head(&o, &text);
    training *all = run_trainings(&o, &text);
    summary *s = summarize(&o, all);
    print_table(&o, s);
    draw_picture(&o, s);
    print_result_line(&o, s, seconds_now() - began);
    free_summaries(&o, s);
    free_trainings(&o, all);
    free_corpus(&text);
    return finish_output();
}
