/* Compares seven feed-forward networks in one transformer. glu-variants --help lists the options.
 */
#include <locale.h>
#include <stdio.h>

#include "../shared/bigram.h"
#include "../shared/files.h"
#include "../shared/svg.h"
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
    printf(
        "%lld layer%s, %lld features, %lld head%s, windows of %lld, batches of %lld, %lld step%s, dropout %g\n",
        (long long)o->layers, plural(o->layers), (long long)o->d_model, (long long)o->heads,
        plural(o->heads), (long long)o->length, (long long)o->batch, (long long)o->steps,
        plural(o->steps), o->dropout);
    int64_t trainings = (int64_t)o->n_variants * o->runs;
    printf("%lld training%s, %lld job%s; %s\n", (long long)trainings, plural(trainings),
        (long long)o->jobs, plural(o->jobs), adz_build_info());
    fflush(stdout);
}

int main(int argc, char **argv)
{
    setlocale(LC_NUMERIC, "C"); /* numbers have a decimal point, whatever the locale is */
    double began = seconds_now();
    options o = parse_options(argc, argv);
    corpus text = load_corpus(o.text);
    check_corpus(&text, o.length, o.batch);
    report_errors();
    const file_use files[] = { { "plot", plot_file(o.plot), true }, { "text", o.text, false } };
    check_files(files, 2);
    print_head(&o, &text);
    training *all = run_trainings(&o, &text);
    size_t count;
    summary *s = summarize(&o, all, &count);
    print_table(&o, s, count);
    const double simple = bigram_loss(text.ids, text.train_count, text.ids + text.train_count,
        text.characters - text.train_count, text.vocabulary);
    printf("a bigram model of the same text has a validation loss of %.4f\n", simple);
    draw_picture(&o, s, count);
    print_result_line(&o, s, count, simple, seconds_now() - began);
    free_summaries(s, count);
    free_trainings(&o, all);
    free_corpus(&text);
    return finish_output();
}
