/* Trains a classifier of texts, on a CSV file or on reviews from a grammar. text-classifier --help
 * lists the options. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../pretrained/folder.h"
#include "../shared/files.h"
#include "../shared/interrupt.h"
#include "../shared/plain_text.h"
#include "../shared/program.h"
#include "data.h"
#include "grammar.h"
#include "model.h"
#include "options.h"
#include "pretrained.h"
#include "report.h"
#include "train.h"
#include "transfer.h"

/* Every error calls this function, so that no return value needs a check. */
static void on_error(adz_status status, const char *message, void *user)
{
    (void)status;
    (void)user;
    fail("%s%s", reading(), message);
}

/* Loads or draws the texts to learn from. *by_rule becomes the classes that the grammar's rule
 * gives, or NULL for texts of a file. */
static text_table load_table(const options *o, int64_t **by_rule)
{
    *by_rule = NULL;
    if (o->data != NULL) {
        return read_text_table(o->data, o->text_column, o->label_column);
    }
    *by_rule = allocate((size_t)o->examples * sizeof **by_rule);
    text_table table = draw_reviews(o->examples, (uint64_t)o->seed, *by_rule);
    if (o->write_data != NULL) {
        write_text_table(o->write_data, &table);
    }
    return table;
}

static model make_model(const options *o, const text_table *table, const char *name)
{
    size_t n_labels;
    char **labels = find_labels(table, name, &n_labels);
    if (o->pretrained != NULL) {
        return open_pretrained(o->pretrained, o->network.max_len, labels, n_labels);
    }
    if (o->encoder != NULL) {
        return model_from_language_model(o, table, name, labels, n_labels);
    }
    adz_token_kind kind = o->tokens == TOKENS_WORDS ? ADZ_TOKENS_WORDS : ADZ_TOKENS_CHARACTERS;
    adz_tokenizer *tokenizer = make_tokenizer(table, name, kind, o->max_vocab, o->min_freq);
    return new_model(&o->network, tokenizer, labels, n_labels);
}

static void print_header(const char *name, const model *m, const problem *p)
{
    char *shown = allocate(4 * strlen(name) + 1);
    make_visible(name, shown);
    print_text(
        "%s: %zu labels; %zu texts to train on, %zu to validate, %zu to test; %lld tokens in the vocabulary",
        shown, m->n_labels, p->train.count, p->validation.count, p->test.count,
        (long long)adz_tokenizer_count(m->tokenizer));
    free(shown);
    print_network(m->root);
}

/* A model may be saved to the file that it was loaded from. Every other file that is read must not
 * be written. */
static void check_training_files(const options *o)
{
    bool back = o->load != NULL && same_file(o->load, o->save);
    if (o->published) {
        if (o->pretrained != NULL && same_file(o->pretrained, o->save)) {
            usage_error("--save %s would overwrite the model of --pretrained", o->save);
        }
        make_model_folder(o->save);
    }
    const file_use files[] = { { "save", o->published ? NULL : o->save, true },
        { "history", o->history, true }, { "write-data", o->write_data, true },
        { "load", back ? NULL : o->load, false }, { "encoder", o->encoder, false },
        { "data", o->data, false } };
    check_files(files, sizeof files / sizeof *files);
}

/* Ends the program if --no-capture would have no effect. The file decides what the encoder is. */
static void check_capture(const options *o, const model *m)
{
    if (o->no_capture && (m->published || m->network.arch != ARCH_TRANSFORMER)) {
        fail("%s: its encoder is not that of --arch transformer, to which --no-capture belongs",
            o->load != NULL ? o->load : o->encoder);
    }
}

static void train_and_report(options *o)
{
    check_training_files(o);
    const char *name = o->data != NULL ? o->data : "reviews from a grammar";
    int64_t *by_rule;
    text_table table = load_table(o, &by_rule);
    model m = o->load != NULL ? load_model(o->load) : make_model(o, &table, name);
    check_capture(o, &m);
    fill_in_rate(o, &m.network);
    problem p = split_samples(o, encode_rows(&table, name, &m, by_rule));
    free_text_table(&table);
    free(by_rule);
    check_lengths(&m, &p.train);
    check_lengths(&m, &p.validation);
    check_lengths(&m, &p.test);
    print_header(name, &m, &p);
    if (o->frozen > 0 && o->frozen >= o->epochs) {
        print_text(
            "--freeze %lld and --epochs %lld: the head alone is trained; more epochs train the encoder, too",
            (long long)o->frozen, (long long)o->epochs);
    }
    history h = train(o, &m, &p);
    if (h.interrupted) {
        printf("stopped by %s in epoch %lld\n", interrupt_name(), (long long)h.count);
    }
    save_model(&m, o->save);
    write_history(o->history, &h);
    stop_listening();
    printf("model: %s, history: %s\n", o->save, o->history);
    print_report(o, &m, &p, &h);
    free(h.epochs);
    free_problem(&p);
    free_model(&m);
}

static void predict(const options *o)
{
    const file_use files[] = { { "output", o->output, true }, { "predict", o->predict, false },
        { "load", o->load, false } };
    check_files(files, sizeof files / sizeof *files);
    model m = load_model(o->load);
    text_table table = read_text_table(o->predict, o->text_column, NULL);
    samples s = encode_rows(&table, o->predict, &m, NULL);
    check_lengths(&m, &s);
    verdict *verdicts = judge(&m, &s, o->batch_size, NULL);
    write_predictions(o->output, &m, verdicts, s.count);
    printf("%zu prediction%s: %s\n", s.count, plural((int64_t)s.count), o->output);
    free(verdicts);
    free_samples(&s);
    free_text_table(&table);
    free_model(&m);
}

int main(int argc, char **argv)
{
    setlocale(LC_NUMERIC, "C"); /* numbers have a decimal point, whatever the locale is */
    options o = parse_options(argc, argv);
    report_errors();
    adz_on_error(on_error, NULL);
    seed_and_threads(o.seed, o.threads);
    if (o.predict != NULL) {
        predict(&o);
    } else {
        train_and_report(&o);
    }
    return finish_output();
}
