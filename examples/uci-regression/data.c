/* Reads the folder of a set and checks its files: data.csv, test_rows.txt and hyper.txt. */
#define _GNU_SOURCE
#include "data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/files.h"
#include "files.h"
#include "options.h"

/* ---- data.csv ------------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* If two columns have one name, it is not clear which one is meant. */
static void check_names(const char *path, adz_csv *csv)
{
    size_t n = (size_t)adz_csv_column_count(csv);
    const char **names = allocate(n * sizeof *names);
    for (size_t i = 0; i < n; ++i) {
        names[i] = adz_csv_name_at(csv, (int64_t)i);
    }
    qsort(names, n, sizeof *names, by_text);
    for (size_t i = 1; i < n; ++i) {
        if (strcmp(names[i], names[i - 1]) == 0) {
            fail(
                "%s: several columns are named '%s'; rename or remove all but one", path, names[i]);
        }
    }
    free(names);
}

static void check_columns(const char *path, adz_csv *csv)
{
    bool found = false;
    check_names(path, csv);
    for (int64_t i = 0; i < adz_csv_column_count(csv) && !found; ++i) {
        found = strcmp(adz_csv_name_at(csv, i), "y") == 0;
    }
    if (!found) {
        fail("%s: there is no column 'y', the target", path);
    }
    if (adz_csv_column_count(csv) < 2) {
        fail("%s: there is no column but 'y', so nothing to predict it from", path);
    }
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

static adz_dataset *read_table(const char *path)
{
    check_text_file(path);
    adz_csv *csv = adz_csv_read(path, NULL);
    if (adz_csv_row_count(csv) == 0) {
        fail("%s: there are no rows", path);
    }
    check_columns(path, csv);
    check_finite(path, csv);
    adz_dataset *rows = adz_dataset_from_csv(csv, NULL, 0, "y");
    adz_csv_free(&csv);
    return rows;
}

/* ---- test_rows.txt -------------------------------------------------------------------------- */

static row_list read_split(const char *path, size_t line, const char *text, int64_t n)
{
    numbers listed = read_numbers(path, line, text);
    row_list list = { allocate(listed.count * sizeof *list.rows), listed.count };
    bool *taken = allocate((size_t)n * sizeof *taken);
    for (size_t i = 0; i < listed.count; ++i) {
        double row = listed.values[i];
        if (!(row >= 0 && row < (double)n) || row != floor(row)) {
            fail("%s: line %zu: there is no row %.15g; data.csv has rows 0 to %lld", path, line,
                row, (long long)n - 1);
        }
        list.rows[i] = (int64_t)row;
        if (taken[list.rows[i]]) {
            fail("%s: line %zu: row %.15g stands there twice", path, line, row);
        }
        taken[list.rows[i]] = true;
    }
    if (listed.count == 0 || (int64_t)listed.count > n - 2) {
        fail(
            "%s: line %zu: %zu of %lld rows to test on leave %lld to train on; at least 1 and 2 are needed",
            path, line, listed.count, (long long)n, (long long)n - (int64_t)listed.count);
    }
    free(taken);
    free(listed.values);
    return list;
}

static void read_splits(const char *path, uci_set *set)
{
    char *text = read_text(path), *next = text;
    size_t lines = 1;
    for (const char *at = text; *at != '\0'; ++at) {
        lines += *at == '\n';
    }
    set->test = allocate(lines * sizeof *set->test);
    for (char *line; (line = next_line(&next)) != NULL;) {
        set->test[set->n_splits] =
            read_split(path, set->n_splits + 1, line, adz_dataset_row_count(set->rows));
        ++set->n_splits;
    }
    if (set->n_splits == 0) {
        fail("%s: there is no split", path);
    }
    free(text);
}

/* Ends the program if the training rows of a split all have one target: nothing can be learnt. */
static void check_targets(const char *folder, const uci_set *set)
{
    for (size_t k = 0; k < set->n_splits; ++k) {
        adz_scope *scope = adz_scope_open();
        samples rows = split_samples(set, k);
        const double *y = adz_tensor_data_f64(adz_dataset_at(rows.train, 1));
        int64_t n = adz_dataset_row_count(rows.train), same = 1;
        while (same < n && y[same] == y[0]) {
            ++same;
        }
        if (same == n) {
            fail(
                "%s: the target 'y' is %g in every training row of split %zu: there is nothing to learn",
                folder, y[0], k + 1);
        }
        adz_dataset_release(&rows.train);
        adz_dataset_release(&rows.test);
        adz_scope_close(scope);
    }
}

/* ---- hyper.txt ------------------------------------------------------------------------------ */

static double whole_number(const char *path, size_t line, const char *name, double value)
{
    if (!(value >= 1 && value <= 1e9) || value != floor(value)) {
        fail("%s: line %zu: %s is %g, but must be a whole number above 0", path, line, name, value);
    }
    return value;
}

static double one_number(const char *path, size_t line, const char *name, const char *text)
{
    numbers n = read_numbers(path, line, text);
    if (n.count != 1) {
        fail("%s: line %zu: %s has %zu values, but needs one", path, line, name, n.count);
    }
    double value = n.values[0];
    free(n.values);
    return whole_number(path, line, name, value);
}

/* Reads a number of epochs: "40", or "40 x100" for 4000. */
static int64_t read_epochs(const char *path, size_t line, char *text)
{
    char *times = strchr(text, 'x');
    double factor = 1;
    if (times != NULL) {
        *times = '\0';
        factor = one_number(path, line, "the factor of epochs", times + 1);
    }
    return (int64_t)whole_number(
        path, line, "epochs", factor * one_number(path, line, "epochs", text));
}

static numbers read_range(
    const char *path, size_t line, const char *name, const char *text, double below)
{
    numbers n = read_numbers(path, line, text);
    if (n.count == 0) {
        fail("%s: line %zu: %s has no values", path, line, name);
    }
    for (size_t i = 0; i < n.count; ++i) {
        bool rate = below <= 1;
        if (!(n.values[i] < below && (rate ? n.values[i] >= 0 : n.values[i] > 0))) {
            fail("%s: line %zu: %s is %g, but must be %s", path, line, name, n.values[i],
                rate ? "at least 0 and below 1" : "above 0 and finite");
        }
    }
    return n;
}

static void read_entry(const char *path, size_t line, const char *name, char *values, uci_set *set)
{
    const struct {
        const char *name;
        numbers *to;
        double below;
    } lists[] = { { "dropout", &set->dropout, 1 }, { "tau", &set->tau, INFINITY },
        { "chosen_dropout_per_split", &set->chosen_dropout, 1 },
        { "chosen_tau_per_split", &set->chosen_tau, INFINITY } };
    bool hidden = strcmp(name, "hidden") == 0, epochs = strcmp(name, "epochs") == 0;
    bool twice = (hidden && set->hidden > 0) || (epochs && set->epochs > 0);
    size_t i = 0;
    while (i < 4 && strcmp(lists[i].name, name) != 0) {
        ++i;
    }
    if (!hidden && !epochs && i == 4) {
        fail(
            "%s: line %zu: '%s' is not known; there are hidden, epochs, dropout, tau, chosen_dropout_per_split and chosen_tau_per_split",
            path, line, name);
    }
    if (twice || (i < 4 && lists[i].to->count > 0)) {
        fail("%s: line %zu: %s stands there twice", path, line, name);
    }
    if (hidden) {
        set->hidden = (int64_t)one_number(path, line, name, values);
    } else if (epochs) {
        set->epochs = read_epochs(path, line, values);
    } else {
        *lists[i].to = read_range(path, line, name, values, lists[i].below);
    }
}

static void check_chosen(const char *path, const char *name, const numbers *n, size_t splits)
{
    if (n->count > 0 && n->count != splits) {
        fail("%s: %s has %zu values for the %zu splits of test_rows.txt", path, name, n->count,
            splits);
    }
}

static void read_hyper(const char *path, uci_set *set)
{
    char *text = read_text(path), *next = text, *line;
    for (size_t number = 1; (line = next_line(&next)) != NULL; ++number) {
        char *name = line + strspn(line, " \t");
        size_t length = strcspn(name, " \t");
        char *values = name + length + (name[length] != '\0');
        name[length] = '\0';
        if (length > 0) {
            read_entry(path, number, name, values, set);
        }
    }
    if (set->hidden == 0 || set->epochs == 0) {
        fail("%s: there is no line '%s'", path, set->hidden == 0 ? "hidden" : "epochs");
    }
    check_chosen(path, "chosen_dropout_per_split", &set->chosen_dropout, set->n_splits);
    check_chosen(path, "chosen_tau_per_split", &set->chosen_tau, set->n_splits);
    free(text);
}

/* ---- a set ---------------------------------------------------------------------------------- */

uci_set load_set(const char *folder)
{
    uci_set set = { .name = last_part(folder) };
    char *table = join(folder, "data.csv"), *splits = join(folder, "test_rows.txt");
    char *hyper = join(folder, "hyper.txt");
    set.rows = read_table(table);
    read_splits(splits, &set);
    read_hyper(hyper, &set);
    check_targets(folder, &set);
    free(table);
    free(splits);
    free(hyper);
    return set;
}

void free_set(uci_set *set)
{
    for (size_t i = 0; i < set->n_splits; ++i) {
        free(set->test[i].rows);
    }
    numbers *lists[] = { &set->dropout, &set->tau, &set->chosen_dropout, &set->chosen_tau };
    for (size_t i = 0; i < 4; ++i) {
        free(lists[i]->values);
    }
    free(set->test);
    free(set->name);
    adz_dataset_release(&set->rows);
}

samples split_samples(const uci_set *set, size_t split)
{
    samples s = { NULL, NULL };
    adz_dataset_split_rows(
        set->rows, set->test[split].rows, set->test[split].count, &s.test, &s.train);
    return s;
}

static bool is_set(const char *folder)
{
    return has_file(folder, "data.csv") || has_file(folder, "test_rows.txt") ||
           has_file(folder, "hyper.txt");
}

static void add(char ***list, size_t *count, char *folder)
{
    *list = realloc(*list, (*count + 1) * sizeof **list);
    if (*list == NULL) {
        fail("out of memory");
    }
    (*list)[(*count)++] = folder;
}

char **find_sets(const char *const *folders, size_t n_folders, size_t *count)
{
    char **found = NULL;
    *count = 0;
    for (size_t i = 0; i < n_folders; ++i) {
        size_t n = 0, before = *count;
        char **inside = list_folder(folders[i], &n); /* ends the program if there is no folder */
        bool itself = is_set(folders[i]);
        if (itself) {
            add(&found, count, join(folders[i], ""));
        }
        for (size_t k = 0; k < n; ++k) {
            if (!itself && is_set(inside[k])) {
                add(&found, count, inside[k]);
            } else {
                free(inside[k]);
            }
        }
        free(inside);
        if (*count == before) {
            fail("%s: there is no data.csv in it, nor in a folder of it", folders[i]);
        }
    }
    return found;
}
