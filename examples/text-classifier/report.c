/* Accuracies, the confusion matrix, and the files of history and predictions. */
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/files.h"
#include "../shared/plain_text.h"
#include "bag.h"
#include "grammar.h"

enum { LONGEST_LABEL = 24, PAIRS = 20 };

/* ---- accuracies ------------------------------------------------------------------------------ */

/* The share of texts whose label is the class of the grammar's rule; NaN for texts of a file. */
static double rule_accuracy(const samples *s)
{
    size_t hits = 0;
    for (size_t i = 0; i < s->count; ++i) {
        hits += s->items[i].by_rule == s->items[i].label;
    }
    bool known = s->count > 0 && s->items[0].by_rule >= 0;
    return known ? (double)hits / (double)s->count : NAN;
}

/* The accuracy of always predicting the most frequent label. */
static double trivial_accuracy(const samples *s, size_t n_labels)
{
    size_t *counts = allocate(n_labels * sizeof *counts), most = 0;
    for (size_t i = 0; i < s->count; ++i) {
        size_t n = ++counts[s->items[i].label];
        most = n > most ? n : most;
    }
    free(counts);
    return (double)most / (double)s->count;
}

static void print_accuracy(
    const char *name, const samples *s, double accuracy, const bag *words, size_t n_labels)
{
    if (s->count == 0) {
        return;
    }
    printf("%-12s %8zu %10.4f %12.4f %12.4f", name, s->count, accuracy, bag_accuracy(words, s),
        trivial_accuracy(s, n_labels));
    if (!isnan(rule_accuracy(s))) {
        printf(" %10.4f", rule_accuracy(s));
    }
    putchar('\n');
}

static double judged_accuracy(const options *o, const model *m, const samples *s)
{
    verdict *verdicts = judge(m, s, o->batch_size, NULL);
    double accuracy = accuracy_of(s, verdicts);
    free(verdicts);
    return accuracy;
}

/* ---- the confusion matrix -------------------------------------------------------------------- */

static size_t *count_pairs(const samples *s, const verdict *verdicts, size_t n)
{
    size_t *counts = allocate(n * n * sizeof *counts);
    for (size_t i = 0; i < s->count; ++i) {
        ++counts[(size_t)s->items[i].label * n + (size_t)verdicts[i].label];
    }
    return counts;
}

/* Copies of the labels with visible control characters, for free_shown. */
static char **show_labels(const model *m)
{
    char **shown = allocate(m->n_labels * sizeof *shown);
    for (size_t i = 0; i < m->n_labels; ++i) {
        shown[i] = allocate(4 * strlen(m->labels[i]) + 1);
        make_visible(m->labels[i], shown[i]);
    }
    return shown;
}

static void free_shown(char **shown, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        free(shown[i]);
    }
    free(shown);
}

/* The width of a column of the matrix, which cuts long labels. */
static size_t label_width(char *const *labels, size_t n)
{
    size_t width = 8;
    for (size_t i = 0; i < n; ++i) {
        size_t length = strlen(labels[i]);
        width = length > width ? length : width;
    }
    return width < LONGEST_LABEL ? width : LONGEST_LABEL;
}

static bool matrix_fits(char *const *labels, size_t n)
{
    const size_t width = label_width(labels, n);
    return width + n * (width + 2) <= 80;
}

static void print_matrix(char *const *labels, size_t n, const size_t *counts)
{
    const size_t width = label_width(labels, n);
    printf("\nconfusion matrix of the test texts: rows are labels, columns predictions\n%*s",
        (int)width, "");
    for (size_t i = 0; i < n; ++i) {
        printf("  %*.*s", (int)width, (int)width, labels[i]);
    }
    putchar('\n');
    for (size_t i = 0; i < n; ++i) {
        printf("%-*.*s", (int)width, (int)width, labels[i]);
        for (size_t k = 0; k < n; ++k) {
            printf("  %*zu", (int)width, counts[i * n + k]);
        }
        putchar('\n');
    }
}

/* The pairs of labels that are confused most. Printed if the matrix would not fit. */
static void print_confusions(char *const *labels, size_t n, size_t *counts)
{
    printf("\nwhat was confused most among the test texts (label: predicted)\n");
    for (int line = 0; line < PAIRS; ++line) {
        size_t most = 0;
        for (size_t i = 0; i < n * n; ++i) {
            most = i / n != i % n && (most / n == most % n || counts[i] > counts[most]) ? i : most;
        }
        if (most / n == most % n || counts[most] == 0) {
            return;
        }
        printf("%8zu  %s: %s\n", counts[most], labels[most / n], labels[most % n]);
        counts[most] = 0;
    }
}

void print_report(const options *o, const model *m, const problem *p, const history *h)
{
    verdict *verdicts = judge(m, &p->test, o->batch_size, NULL);
    double accuracy = accuracy_of(&p->test, verdicts);
    bool grammar = !isnan(rule_accuracy(&p->test));
    bag words = fit_bag(m, &p->train);
    const double simple = bag_accuracy(&words, &p->test);
    printf("\n%-12s %8s %10s %12s %12s%s\n", "", "texts", "accuracy", "bag of words", "one label",
        grammar ? "   the rule" : "");
    print_accuracy("train", &p->train, judged_accuracy(o, m, &p->train), &words, m->n_labels);
    print_accuracy(
        "validation", &p->validation, judged_accuracy(o, m, &p->validation), &words, m->n_labels);
    print_accuracy("test", &p->test, accuracy, &words, m->n_labels);
    free_bag(&words);
    size_t *counts = count_pairs(&p->test, verdicts, m->n_labels);
    char **labels = show_labels(m);
    if (matrix_fits(labels, m->n_labels)) {
        print_matrix(labels, m->n_labels, counts);
    } else {
        print_confusions(labels, m->n_labels, counts);
    }
    free_shown(labels, m->n_labels);
    free(counts);
    free(verdicts);
    char best[16] = "unknown";
    if (grammar) {
        snprintf(best, sizeof best, "%.4f", GRAMMAR_BEST);
    }
    printf("result: accuracy=%.4f bag_accuracy=%.4f best_possible=%s seconds=%.2f\n", accuracy,
        simple, best, h->seconds);
}

/* ---- files ----------------------------------------------------------------------------------- */

void write_history(const char *path, const history *h)
{
    FILE *file = create_file(path);
    fputs("epoch,lr,loss,validation_loss,validation_accuracy\n", file);
    for (int64_t i = 0; i < h->count; ++i) {
        const epoch_record *e = &h->epochs[i];
        const double columns[] = { e->lr, e->loss, e->validation_loss, e->validation_accuracy };
        write_row(file, i + 1, columns, sizeof columns / sizeof *columns);
    }
    finish_file(path, file);
}

void write_predictions(const char *path, const model *m, const verdict *verdicts, size_t count)
{
    FILE *file = create_file(path);
    fputs("label,probability\n", file);
    for (size_t i = 0; i < count; ++i) {
        write_field(file, m->labels[verdicts[i].label]);
        fputc(',', file);
        write_number(file, verdicts[i].probability);
        fputc('\n', file);
    }
    finish_file(path, file);
}
