/* Reads a CSV file or draws the embedded problem, and splits the rows. */
#include "data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/files.h"
#include "../shared/plain_text.h"
#include "../shared/row_list.h"

enum { EMBEDDED_ROWS = 2000, EMBEDDED_INPUTS = 8 };

/* ---- the embedded problem ------------------------------------------------------------------- */

/* Friedman's first function: eight inputs, of which three have no effect, and noise of deviation 1.
 *     y = 10 sin(pi x0 x1) + 20 (x2 - 1/2)^2 + 10 x3 + 5 x4 + noise
 */
static adz_dataset *embedded_rows(uint64_t seed)
{
    const double pi = 3.14159265358979323846;
    adz_scope *scope = adz_scope_open();
    adz_generator *generator = adz_generator_new(seed);
    adz_tensor *x =
        adz_generator_rand(generator, ADZ_SHAPE(EMBEDDED_ROWS, EMBEDDED_INPUTS), ADZ_F64);
    adz_tensor *noise = adz_generator_randn(generator, ADZ_SHAPE(EMBEDDED_ROWS, 1), ADZ_F64);
    adz_tensor *column[5];
    for (int i = 0; i < 5; ++i) {
        column[i] = adz_slice(x, 1, i, i + 1, 1);
    }
    adz_tensor *wave = adz_sin(adz_mul_number(adz_mul(column[0], column[1]), pi));
    adz_tensor *bowl = adz_square(adz_add_number(column[2], -0.5));
    adz_tensor *y = adz_add(adz_mul_number(wave, 10), adz_mul_number(bowl, 20));
    y = adz_add(y, adz_add(adz_mul_number(column[3], 10), adz_mul_number(column[4], 5)));
    adz_tensor *both[] = { x, adz_add(y, noise) };
    adz_dataset *rows = adz_dataset_new(both, 2);
    adz_generator_free(&generator);
    adz_scope_close(scope);
    return rows;
}

static void embedded_name(int feature, char name[16])
{
    snprintf(name, 16, "x%d", feature);
}

bool is_embedded(char *const *features, size_t n_features, const char *target)
{
    bool same = n_features == EMBEDDED_INPUTS && strcmp(target, "y") == 0;
    for (int i = 0; same && i < EMBEDDED_INPUTS; ++i) {
        char name[16];
        embedded_name(i, name);
        same = strcmp(features[i], name) == 0;
    }
    return same;
}

static void name_embedded(problem *p)
{
    p->n_features = EMBEDDED_INPUTS;
    p->features = allocate(EMBEDDED_INPUTS * sizeof *p->features);
    for (int i = 0; i < EMBEDDED_INPUTS; ++i) {
        char name[16];
        embedded_name(i, name);
        p->features[i] = copy_text(name);
    }
    p->target = copy_text("y");
}

/* ---- a table -------------------------------------------------------------------------------- */

static adz_csv_options csv_options(const options *o)
{
    adz_csv_options c = ADZ_CSV_OPTIONS;
    c.delimiter = o->delimiter;
    c.decimal = o->decimal;
    c.missing = o->missing ? ADZ_CSV_MISSING_DROP : ADZ_CSV_MISSING_ERROR;
    return c;
}

/* An infinity would turn all values that are computed from it into NaN. */
static void check_finite(const char *path, adz_csv *csv)
{
    const double *values = adz_tensor_data_f64(adz_csv_values(csv));
    int64_t columns = adz_csv_column_count(csv);
    for (int64_t i = 0; i < adz_csv_row_count(csv) * columns; ++i) {
        if (!isfinite(values[i])) {
            fail("%s: row %lld (from 0, without the header) of column '%s' is %g", path,
                (long long)(i / columns), adz_csv_name_at(csv, i % columns), values[i]);
        }
    }
}

/* The model's file and the picture contain the names of columns, and a prediction finds its columns
 * by them. A name that cannot be used for this is reported before the training. */
static void check_name(const char *path, const char *name)
{
    const char *fault = text_fault(name);
    if (fault != NULL) {
        fail("%s: the name of the column '%s' %s; rename it in the first line%s", path, name, fault,
            has_control(name) ? "" : ", or convert the file to UTF-8: the model is saved with it");
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void check_names(const char *path, char *const *features, size_t n, const char *target)
{
    char **sorted = allocate(n * sizeof *sorted);
    check_name(path, target);
    for (size_t i = 0; i < n; ++i) {
        check_name(path, features[i]);
        sorted[i] = features[i];
    }
    qsort(sorted, n, sizeof *sorted, compare_names);
    for (size_t i = 1; i < n; ++i) {
        if (strcmp(sorted[i - 1], sorted[i]) == 0) {
            fail(
                "%s: two columns are named '%s', and a model could not tell them apart when it predicts; rename one in the first line, or choose others with --features",
                path, sorted[i]);
        }
    }
    free(sorted);
}

/* Finds features and target by name. Without names, every column but the target is a feature. */
static adz_dataset *table_rows(const options *o, const char *const *features, size_t n_features,
    const char *target, problem *p)
{
    adz_csv_options c = csv_options(o);
    const char **columns = allocate((n_features + 1) * sizeof *columns);
    for (size_t i = 0; i < n_features; ++i) {
        columns[i] = features[i];
        if (strcmp(features[i], target) == 0) {
            fail("the target '%s' is among the features", target);
        }
    }
    columns[n_features] = target;
    c.columns = n_features > 0 ? columns : NULL;
    c.n_columns = n_features > 0 ? n_features + 1 : 0;
    check_text_file(o->data);
    adz_csv *csv = adz_csv_read(o->data, &c);
    if (adz_csv_dropped_count(csv) > 0 && o->test_rows != NULL) {
        fail("%s: rows were dropped, so the numbers in %s no longer fit", o->data, o->test_rows);
    }
    if (adz_csv_dropped_count(csv) > 0) {
        printf("%lld rows with missing values left out\n", (long long)adz_csv_dropped_count(csv));
    }
    check_finite(o->data, csv);
    adz_dataset *rows = adz_dataset_from_csv(csv, features, n_features, target);
    p->target = copy_text(target);
    p->features = allocate((size_t)adz_csv_column_count(csv) * sizeof *p->features);
    for (int64_t i = 0; i < adz_csv_column_count(csv); ++i) {
        if (strcmp(adz_csv_name_at(csv, i), target) != 0) {
            p->features[p->n_features++] = copy_text(adz_csv_name_at(csv, i));
        }
    }
    check_names(o->data, p->features, p->n_features, p->target);
    adz_csv_free(&csv);
    free(columns);
    return rows;
}

adz_tensor *load_features(
    const char *path, const options *o, char *const *features, size_t n_features)
{
    adz_csv_options c = csv_options(o);
    const char **columns = allocate(n_features * sizeof *columns);
    for (size_t i = 0; i < n_features; ++i) {
        columns[i] = features[i];
    }
    c.columns = columns;
    c.n_columns = n_features;
    check_text_file(path);
    adz_csv *csv = adz_csv_read(path, &c);
    check_finite(path, csv);
    adz_tensor *x = adz_csv_select(csv, columns, n_features);
    adz_csv_free(&csv);
    free(columns);
    return x;
}

/* ---- the split ------------------------------------------------------------------------------- */

static void split_rows(const options *o, adz_dataset *all, problem *p)
{
    adz_dataset *rest = NULL, *parts[2];
    adz_generator *generator = adz_generator_new((uint64_t)o->seed);
    if (o->test_rows != NULL) {
        row_list list = read_row_list(o->test_rows, o->split);
        adz_dataset_split_rows(all, list.rows, list.count, &p->test, &rest);
        free_row_list(&list);
    } else {
        const double shares[] = { 1 - o->test_share, o->test_share };
        adz_dataset_split(all, shares, 2, generator, parts);
        rest = parts[0];
        p->test = parts[1];
    }
    const double shares[] = { 1 - o->validation_share, o->validation_share };
    adz_dataset_split(rest, shares, 2, generator, parts);
    p->train = parts[0];
    p->validation = parts[1];
    adz_dataset_release(&rest);
    adz_generator_free(&generator);
}

/* ---- the problem ---------------------------------------------------------------------------- */

static void check_rows(const problem *p)
{
    if (adz_dataset_row_count(p->train) < 2 || adz_dataset_row_count(p->test) < 1) {
        fail("%lld rows to train on and %lld to test on are too few",
            (long long)adz_dataset_row_count(p->train), (long long)adz_dataset_row_count(p->test));
    }
    adz_scope *scope = adz_scope_open();
    adz_tensor *y = adz_dataset_at(p->train, 1);
    const double *values = adz_tensor_data_f64(y);
    int64_t n = adz_tensor_numel(y), same = 1;
    while (same < n && values[same] == values[0]) {
        ++same;
    }
    if (same == n) {
        fail("the target '%s' is %g in every training row: there is nothing to learn", p->target,
            values[0]);
    }
    adz_scope_close(scope);
}

problem load_problem(const options *o, char *const *features, size_t n_features, const char *target)
{
    problem p = { 0 };
    adz_dataset *all;
    if (o->data == NULL) {
        all = embedded_rows((uint64_t)o->seed);
        name_embedded(&p);
    } else {
        const char **names = allocate((n_features + o->n_features) * sizeof *names);
        size_t n = features != NULL ? n_features : o->n_features;
        for (size_t i = 0; i < n; ++i) {
            names[i] = features != NULL ? features[i] : o->features[i];
        }
        all = table_rows(o, names, n, target != NULL ? target : o->target, &p);
        free(names);
    }
    split_rows(o, all, &p);
    adz_dataset_release(&all);
    check_rows(&p);
    return p;
}

void free_problem(problem *p)
{
    adz_dataset_release(&p->train);
    adz_dataset_release(&p->validation);
    adz_dataset_release(&p->test);
    for (size_t i = 0; i < p->n_features; ++i) {
        free(p->features[i]);
    }
    free(p->features);
    free(p->target);
}
