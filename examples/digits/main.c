/* Trains a small convolutional network to read images of digits. digits --help lists the options.
 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/files.h"
#include "../shared/svg.h"
#include "../shared/interrupt.h"
#include "../shared/plain_text.h"
#include "../shared/program.h"
#include "report.h"

static void print_header(const model *m, const problem *p)
{
    char *shown = allocate(4 * strlen(p->name) + 1);
    make_visible(p->name, shown);
    print_text(
        "%s: %lld x %lld pixels from 0 to %g; %lld images to train on, %lld to validate, %lld to test",
        shown, (long long)m->height, (long long)m->width, m->range,
        (long long)adz_dataset_row_count(p->train), (long long)adz_dataset_row_count(p->validation),
        (long long)adz_dataset_row_count(p->test));
    free(shown);
    print_network(m->root);
}

/* A model may be saved to the file that it was loaded from. Every other file that is read must not
 * be written. */
static void check_training_files(const options *o)
{
    bool back = o->load != NULL && same_file(o->load, o->save);
    const file_use files[] = { { "save", o->save, true }, { "history", o->history, true },
        { "plot", plot_file(o->plot), true }, { "write-data", o->write_data, true },
        { "load", back ? NULL : o->load, false }, { "data", o->data, false },
        { "test-rows", o->test_rows, false }, { "images", o->images, false },
        { "labels", o->labels, false }, { "test-images", o->test_images, false },
        { "test-labels", o->test_labels, false } };
    check_files(files, sizeof files / sizeof *files);
}

static void print_end(const options *o, const history *h)
{
    if (h->interrupted) {
        printf("stopped by %s in epoch %lld\n", interrupt_name(), (long long)h->count);
    } else if (h->count < o->epochs) {
        print_text("stopped after epoch %lld: the validation loss has not fallen for %lld epoch%s",
            (long long)h->count, (long long)o->patience, plural(o->patience));
    }
    if (h->best > 0) {
        print_text("kept are the weights of epoch %lld, whose validation loss was the smallest",
            (long long)h->best);
    }
}

static void train_and_report(const options *o)
{
    check_training_files(o);
    const bool loaded = o->load != NULL;
    model m = { 0 };
    if (loaded) {
        m = load_digits(o->load);
    }
    problem p = load_problem(o, loaded ? &m : NULL);
    if (!loaded) {
        m = new_digits(&o->network, p.height, p.width, p.range);
    }
    print_header(&m, &p);
    history h = train(o, &m, &p);
    print_end(o, &h);
    save_digits(&m, o->save);
    write_history(o->history, &h);
    stop_listening();
    printf("model: %s, history: %s\n", o->save, o->history);
    print_report(o, &m, &p, &h);
    free(h.epochs);
    free_problem(&p);
    free_digits(&m);
}

static void predict(const options *o)
{
    const file_use files[] = { { "output", o->output, true }, { "predict", o->predict, false },
        { "load", o->load, false } };
    check_files(files, sizeof files / sizeof *files);
    model m = load_digits(o->load);
    adz_dataset *rows = load_unknown(o, &m);
    report_predictions(o, &m, rows);
    adz_dataset_release(&rows);
    free_digits(&m);
}

int main(int argc, char **argv)
{
    setlocale(LC_NUMERIC, "C"); /* numbers have a decimal point, whatever the locale is */
    options o = parse_options(argc, argv);
    report_errors();
    seed_and_threads(o.seed, o.threads);
    if (o.predict != NULL) {
        predict(&o);
    } else {
        train_and_report(&o);
    }
    return finish_output();
}
