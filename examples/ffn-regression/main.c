/* Trains a feed-forward network for regression, on a CSV file or an embedded problem.
 * ffn-regression --help lists the options. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../shared/interrupt.h"
#include "../shared/program.h"
#include "../shared/ranks.h"
#include "data.h"
#include "model.h"
#include "options.h"
#include "report.h"
#include "train.h"

/* What an option can do about an error of a table. */
static const char *way_out(const char *message)
{
    return strstr(message, "is a missing value") != NULL   ? "; --missing drop leaves such rows out"
           : strstr(message, "the delimiter is") != NULL   ? "; --delimiter names it"
           : strstr(message, "set decimal to ','") != NULL ? "; --decimal , does so"
                                                           : "";
}

/* Every error calls this function and ends the program, so that no return value needs a check. */
static void on_error(adz_status status, const char *message, void *user)
{
    (void)status;
    (void)user;
    fail("%s%s", message, way_out(message));
}

static void print_header(const options *o, const model *m, const problem *p)
{
    print_text("%s: '%s' from %zu features; %lld rows to train on, %lld to validate, %lld to test",
        o->data != NULL ? o->data : "embedded problem", m->target_name, m->n_features,
        (long long)adz_dataset_row_count(p->train), (long long)adz_dataset_row_count(p->validation),
        (long long)adz_dataset_row_count(p->test));
    print_network(m->root);
    print_ranks(o->micro_batches);
}

static void print_end(const options *o, const history *h)
{
    if (h->interrupted) {
        const bool goes_on = o->scratch != NULL;
        print_text("stopped by %s in epoch %lld%s%s%s", interrupt_name(), (long long)h->count,
            goes_on ? "; the same command with --load " : "", goes_on ? o->save : "",
            goes_on ? " goes on" : "");
    } else if (h->count < o->epochs) {
        printf(
            "stopped early: no better validation RMSE for %lld epochs\n", (long long)o->patience);
    }
}

/* Writes the files of --export-c and --export-onnx. */
static void write_exports(const options *o, const model *m)
{
    if (o->export_c != NULL) {
        export_c(m, o->export_c);
        print_text("'%s' from %zu columns as C: %s", m->target_name, m->n_features, o->export_c);
    }
    if (o->export_onnx != NULL) {
        export_onnx(m, o->export_onnx);
        print_text(
            "'%s' from %zu columns as ONNX: %s", m->target_name, m->n_features, o->export_onnx);
    }
}

static void write_results(const options *o, const model *m, const problem *p, const history *h)
{
    print_end(o, h);
    if (o->scratch != NULL) {
        unlink(o->scratch); /* a program that was killed while it saved has left it behind */
    }
    if (!h->interrupted) { /* the model has been saved already */
        save_model(m, o->save, NULL);
    }
    write_exports(o, m);
    write_history(o->history, h);
    stop_listening();
    print_text("model: %s, history: %s", o->save, o->history);
    plot_history(o->plot, m, h);
    print_report(m, p, h);
}

/* ---- a loaded model ------------------------------------------------------------------------- */

static void check_hidden(const options *o, const model *m)
{
    char there[MAX_HIDDEN * 8 + 1] = "";
    size_t n = 0;
    bool same = o->n_hidden == m->n_hidden;
    for (int i = 0; i < m->n_hidden; ++i) {
        same = same && o->hidden[i] == m->hidden[i];
        n += (size_t)snprintf(
            there + n, sizeof there - n, "%s%lld", i > 0 ? "," : "", (long long)m->hidden[i]);
    }
    if (is_given(o, "hidden") && !same) {
        fail("--hidden: %s was made with --hidden %s; --load brings the network along", o->load,
            there);
    }
}

/* Options that describe the network must agree with the loaded model. */
static void check_shape(const options *o, const model *m)
{
    check_hidden(o, m);
    if (is_given(o, "activation") && strcmp(o->activation, m->activation) != 0) {
        fail("--activation %s: %s was made with %s; --load brings the network along", o->activation,
            o->load, m->activation);
    }
    if (is_given(o, "dropout") && o->dropout != m->dropout) {
        fail("--dropout %g: %s was made with %g; --load brings the network along", o->dropout,
            o->load, m->dropout);
    }
    if (o->gated && !m->gated) {
        fail("--gated: %s was made without gates; --load brings the network along", o->load);
    }
}

/* The settings of an interrupted training. */
static void adopt_settings(options *o, adz_safetensors *training)
{
    char key[64], value[64];
    for (int i = 0; i < TRAINING_SETTINGS; ++i) {
        snprintf(key, sizeof key, "training.%s", training_setting(o, i, value, sizeof value));
        const char *there = adz_safetensors_get_metadata(training, key);
        if (there == NULL) {
            fail("%s: its metadata has no '%s'", o->load, key);
        }
        char *text = copy_text(there);
        adopt_setting(o, i, text);
        free(text);
    }
}

/* A loaded model knows its columns. It cannot be used with other columns. */
static void check_fit(const options *o, const model *m)
{
    if (o->data == NULL && !is_embedded(m->features, m->n_features, m->target_name)) {
        fail("%s was trained to predict '%s' from %zu columns: go on with --data FILE.csv", o->load,
            m->target_name, m->n_features);
    }
    if (o->target != NULL && strcmp(o->target, m->target_name) != 0) {
        fail("--target %s: %s was trained to predict '%s'", o->target, o->load, m->target_name);
    }
    if (o->n_features > 0 && o->n_features != m->n_features) {
        fail("--features names %zu columns, %s was trained on %zu", o->n_features, o->load,
            m->n_features);
    }
    for (size_t i = 0; i < o->n_features; ++i) {
        if (strcmp(o->features[i], m->features[i]) != 0) {
            fail("--features: column %zu is '%s', %s was trained with '%s' there", i + 1,
                o->features[i], o->load, m->features[i]);
        }
    }
}

static void train_and_report(options *o)
{
    model m = { 0 };
    problem p;
    adz_safetensors *training = NULL; /* an interrupted training */
    if (o->load != NULL) {
        m = load_model(o->load, &training);
        if (o->restart) {
            adz_safetensors_free(&training);
        }
        check_fit(o, &m);
        check_shape(o, &m);
        if (training != NULL) {
            adopt_settings(o, training);
        } else {
            print_text("%s: another training begins from its weights", o->load);
        }
    }
    seed_and_threads(o->seed, o->threads > 0 ? o->threads : threads_of_rank());
    if (o->load != NULL) {
        p = load_problem(o, m.features, m.n_features, m.target_name);
    } else {
        p = load_problem(o, NULL, 0, NULL);
        m = new_model(o, p.features, p.n_features, p.target);
        fit_standardizers(&m, &p);
    }
    print_header(o, &m, &p);
    history h = train(o, &m, &p, training);
    adz_safetensors_free(&training);
    if (is_first_rank()) {
        write_results(o, &m, &p, &h);
    }
    free(h.epochs);
    free_problem(&p);
    free_model(&m);
}

static void predict_rows(const options *o)
{
    model m = load_model(o->load, NULL);
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = load_features(o->predict, o, m.features, m.n_features);
    write_predictions(o->output, &m, predict(&m, x));
    print_text(
        "%lld predictions of '%s': %s", (long long)adz_tensor_size(x, 0), m.target_name, o->output);
    adz_scope_close(scope);
    write_exports(o, &m);
    free_model(&m);
}

static void only_export(const options *o)
{
    model m = load_model(o->load, NULL);
    write_exports(o, &m);
    free_model(&m);
}

int main(int argc, char **argv)
{
    setlocale(LC_NUMERIC, "C"); /* numbers have a decimal point, whatever the locale is */
    open_ranks();
    report_errors();
    adz_on_error(on_error, NULL);
    options o = parse_options(argc, argv);
    if ((o.export_c != NULL || o.export_onnx != NULL) && o.load != NULL && o.predict == NULL) {
        if (is_first_rank()) {
            only_export(&o);
        }
    } else if (o.predict == NULL) {
        train_and_report(&o);
    } else if (is_first_rank()) {
        seed_and_threads(o.seed, o.threads);
        predict_rows(&o);
    }
    free(o.features);
    free(o.scratch);
    return finish_output();
}
