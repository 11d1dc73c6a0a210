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
    print_text("%s: %lld characters, %lld different ones; the last %lld are for validation",
        t->name, (long long)t->characters, (long long)t->vocabulary,
        (long long)(t->characters - t->train_count));
    print_text(
        "%lld layer%s, %lld features, %lld head%s, windows of %lld, batches of %lld, %lld step%s, dropout %g",
        (long long)o->layers, plural(o->layers), (long long)o->d_model, (long long)o->heads,
        plural(o->heads), (long long)o->length, (long long)o->batch, (long long)o->steps,
        plural(o->steps), o->dropout);
    int64_t trainings = (int64_t)o->n_variants * o->runs;
    print_text("%lld training%s, %lld job%s; %s", (long long)trainings, plural(trainings),
        (long long)o->jobs, plural(o->jobs), adz_build_info());
}

static void report(const options *o, const corpus *text, const training *all, double began)
{
    size_t count;
    summary *s = summarize(o, all, &count);
    print_table(o, s, count);
    const double simple = bigram_loss(text->ids, text->train_count, text->ids + text->train_count,
        text->characters - text->train_count, text->vocabulary);
    printf("a bigram model of the same text has a validation loss of %.4f\n", simple);
    draw_picture(o, s, count);
    print_result_line(o, s, count, simple, seconds_now() - began);
    free_summaries(s, count);
}

int main(int argc, char **argv)
{
    setlocale(LC_NUMERIC, "C"); /* numbers have a decimal point, whatever the locale is */
    double began = seconds_now();
    report_errors();
    options o = parse_options(argc, argv);
    corpus text = load_corpus(o.text);
    check_corpus(&text, o.length, o.batch);
    report_errors(); /* no longer with the name of the text */
    const file_use files[] = { { "plot", plot_file(o.plot), true }, { "text", o.text, false },
        { "save", o.save, true } };
    check_files(files, 3);
    print_head(&o, &text);
    size_t finished;
    training *all = run_trainings(&o, &text, &finished);
    if (finished > 0) {
        report(&o, &text, all, began);
    } else {
        remark("no training is finished, so there is nothing to report");
    }
    free_trainings(&o, all);
    free_corpus(&text);
    free_options(&o);
    return finish_output();
}
