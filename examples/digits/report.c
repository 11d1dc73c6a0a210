/* Accuracies, the confusion matrix, the worst mistakes, and the files of history and predictions.
 */
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../shared/files.h"
#include "linear.h"
#include "picture.h"

/* ---- accuracies ------------------------------------------------------------------------------ */

static void print_accuracy(const char *name, const verdict *verdicts, int64_t count, double linear)
{
    if (count > 0) {
        printf("%-12s %8lld %10.4f %10.4f %10.4f\n", name, (long long)count,
            accuracy_of(verdicts, count), loss_of(verdicts, count), linear);
    }
}

static void print_judged(const char *name, const model *m, adz_module *linear, adz_dataset *rows)
{
    verdict *verdicts = judge(m, rows);
    print_accuracy(name, verdicts, adz_dataset_row_count(rows), linear_accuracy(linear, m, rows));
    free(verdicts);
}

/* ---- the confusion matrix -------------------------------------------------------------------- */

static void print_matrix(const verdict *verdicts, int64_t count)
{
    int64_t counts[CLASSES][CLASSES] = { { 0 } };
    for (int64_t i = 0; i < count; ++i) {
        ++counts[verdicts[i].truth][verdicts[i].digit];
    }
    printf("\nconfusion matrix of the test images: rows are digits, columns what was said\n"
           "     ");
    for (int k = 0; k < CLASSES; ++k) {
        printf(" %4d", k);
    }
    printf("   images  accuracy\n");
    for (int i = 0; i < CLASSES; ++i) {
        int64_t all = 0;
        printf("%5d", i);
        for (int k = 0; k < CLASSES; ++k) {
            all += counts[i][k];
            printf(" %4lld", (long long)counts[i][k]);
        }
        printf(" %8lld", (long long)all);
        if (all > 0) {
            printf("    %6.4f", (double)counts[i][i] / (double)all);
        }
        putchar('\n');
    }
}

/* ---- mistakes -------------------------------------------------------------------------------- */

static int compare_places(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* A mistake, and where its image is in the dataset. */
typedef struct mistake {
    verdict verdict;
    int64_t row;
} mistake;

/* The largest loss first. */
static int compare_mistakes(const void *a, const void *b)
{
    const mistake *x = a, *y = b;
    if (x->verdict.loss != y->verdict.loss) {
        return x->verdict.loss > y->verdict.loss ? -1 : 1;
    }
    return compare_places(&x->row, &y->row);
}

/* Finds the mistakes, the worst first, for free(). */
static mistake *find_mistakes(const verdict *verdicts, int64_t count, int64_t *found)
{
    mistake *mistakes = allocate((size_t)count * sizeof *mistakes);
    *found = 0;
    for (int64_t i = 0; i < count; ++i) {
        if (verdicts[i].digit != verdicts[i].truth) {
            mistakes[(*found)++] = (mistake){ verdicts[i], i };
        }
    }
    qsort(mistakes, (size_t)*found, sizeof *mistakes, compare_mistakes);
    return mistakes;
}

static void print_mistakes(
    const options *o, const model *m, const verdict *mistakes, int64_t count, const float *pixels)
{
    const int64_t shown = count < o->show ? count : o->show;
    if (shown > 0) {
        printf("\n%lld of %lld mistake%s, the worst first\n", (long long)shown, (long long)count,
            plural(count));
    }
    for (int64_t k = 0; k < shown; ++k) {
        const verdict *v = &mistakes[k];
        printf("image %lld: said %lld (%.4f), true is %lld\n", (long long)v->image,
            (long long)v->digit, v->probability, (long long)v->truth);
        print_image(m, pixels + k * m->height * m->width);
    }
    putchar('\n');
}

static void report_mistakes(
    const options *o, const model *m, adz_dataset *rows, const verdict *verdicts)
{
    int64_t count, size = m->height * m->width;
    mistake *found = find_mistakes(verdicts, adz_dataset_row_count(rows), &count);
    verdict *mistakes = allocate((size_t)count * sizeof *mistakes);
    float *pixels = allocate((size_t)(count * size) * sizeof *pixels);
    adz_scope *scope = adz_scope_open();
    const float *all = adz_tensor_data_f32(adz_dataset_at(rows, PIXELS));
    for (int64_t k = 0; k < count; ++k) {
        mistakes[k] = found[k].verdict;
        for (int64_t i = 0; i < size; ++i) {
            pixels[k * size + i] = all[found[k].row * size + i];
        }
    }
    adz_scope_close(scope);
    print_mistakes(o, m, mistakes, count, pixels);
    draw_mistakes(o->plot, m, mistakes, count, pixels);
    free(pixels);
    free(mistakes);
    free(found);
}

void print_report(const options *o, const model *m, const problem *p, const history *h)
{
    const int64_t tests = adz_dataset_row_count(p->test);
    verdict *verdicts = judge(m, p->test);
    adz_module *linear = fit_linear(m, p->train);
    const double simple = linear_accuracy(linear, m, p->test);
    printf("\n%-12s %8s %10s %10s %10s\n", "", "images", "accuracy", "loss", "linear");
    print_judged("train", m, linear, p->train);
    print_judged("validation", m, linear, p->validation);
    print_accuracy("test", verdicts, tests, simple);
    adz_module_release(&linear);
    print_matrix(verdicts, tests);
    report_mistakes(o, m, p->test, verdicts);
    printf(
        "result: test_accuracy=%.4f linear_accuracy=%.4f test_loss=%.4f epochs=%lld seconds=%.2f\n",
        accuracy_of(verdicts, tests), simple, loss_of(verdicts, tests), (long long)h->count,
        h->seconds);
    free(verdicts);
}

/* ---- predictions ----------------------------------------------------------------------------- */

static void write_predictions(const char *path, const verdict *verdicts, int64_t count)
{
    FILE *file = create_file(path);
    fputs("image,digit,probability\n", file);
    for (int64_t i = 0; i < count; ++i) {
        fprintf(file, "%lld,", (long long)verdicts[i].image);
        write_row(file, verdicts[i].digit, &verdicts[i].probability, 1);
    }
    finish_file(path, file);
}

void report_predictions(const options *o, const model *m, adz_dataset *rows)
{
    const int64_t count = adz_dataset_row_count(rows), size = m->height * m->width;
    verdict *verdicts = judge(m, rows);
    adz_scope *scope = adz_scope_open();
    const float *pixels = adz_tensor_data_f32(adz_dataset_at(rows, PIXELS));
    for (int64_t i = 0; i < count; ++i) {
        const verdict *v = &verdicts[i];
        if (i < o->show) {
            print_image(m, pixels + i * size);
        }
        printf("image %lld: %lld (%.4f)", (long long)v->image, (long long)v->digit, v->probability);
        if (v->truth >= 0 && v->truth != v->digit) {
            printf(", true is %lld", (long long)v->truth);
        }
        putchar('\n');
    }
    adz_scope_close(scope);
    printf("%lld image%s", (long long)count, plural(count));
    if (verdicts[0].truth >= 0) {
        printf(
            ", accuracy %.4f, loss %.4f", accuracy_of(verdicts, count), loss_of(verdicts, count));
    }
    putchar('\n');
    if (o->output != NULL) {
        write_predictions(o->output, verdicts, count);
        printf("predictions: %s\n", o->output);
    }
    free(verdicts);
}

/* ---- the history ----------------------------------------------------------------------------- */

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
