/* Prints the scores and writes the history, the predictions and the picture. */
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/chart.h"
#include "../shared/command_line.h"
#include "../shared/files.h"
#include "../shared/ridge.h"

/* ---- numbers -------------------------------------------------------------------------------- */

typedef struct score {
    int64_t rows;
    double rmse, r2;
    double trivial; /* RMSE of always predicting the mean of the training rows */
    double ridge;   /* RMSE of ridge regression */
} score;

/* The mean squared distance of the target from one number. */
static double spread(adz_dataset *rows, double from)
{
    adz_tensor *away = adz_add_number(adz_dataset_at(rows, 1), -from);
    return adz_item(adz_mean(adz_mul(away, away), ADZ_ALL_DIMS, ADZ_DROPDIM));
}

static score score_of(const model *m, adz_dataset *rows, double train_mean, const ridge *simple)
{
    score s = { adz_dataset_row_count(rows), rmse_of(m, rows), NAN, NAN, ridge_rmse(simple, rows) };
    if (s.rows > 0) {
        adz_scope *scope = adz_scope_open();
        double mean = adz_item(adz_mean(adz_dataset_at(rows, 1), ADZ_ALL_DIMS, ADZ_DROPDIM));
        double variance = spread(rows, mean);
        s.r2 = variance > 0 ? 1 - s.rmse * s.rmse / variance : NAN; /* undefined for one row */
        s.trivial = sqrt(spread(rows, train_mean));
        adz_scope_close(scope);
    }
    return s;
}

static void print_score(const char *name, score s)
{
    if (s.rows > 0) {
        printf("%-12s %6lld %12.4g %8.4f %12.4g %14.4g\n", name, (long long)s.rows, s.rmse, s.r2,
            s.ridge, s.trivial);
    }
}

void print_report(const model *m, const problem *p, const history *h)
{
    double mean = adz_item(adz_module_get_buffer(target_standardizer(m), "mean"));
    ridge simple = fit_ridge(p->train, p->validation);
    score train = score_of(m, p->train, mean, &simple), test = score_of(m, p->test, mean, &simple);
    printf("\n%-12s %6s %12s %8s %12s %14s\n", m->target_name, "rows", "RMSE", "R2", "ridge RMSE",
        "trivial RMSE");
    print_score("train", train);
    print_score("validation", score_of(m, p->validation, mean, &simple));
    print_score("test", test);
    free_ridge(&simple);
    if (h->best > 0) {
        printf("the weights are those of epoch %lld\n", (long long)h->best);
    }
    printf(
        "result: test_rmse=%.4g test_r2=%.4g ridge_rmse=%.4g trivial_rmse=%.4g train_rmse=%.4g epochs=%lld seconds=%.2f\n",
        test.rmse, test.r2, test.ridge, test.trivial, train.rmse, (long long)h->count, h->seconds);
}

/* ---- files ---------------------------------------------------------------------------------- */

void write_history(const char *path, const history *h)
{
    FILE *file = create_file(path);
    fputs("epoch,lr,loss,train_rmse,validation_rmse\n", file);
    for (int64_t i = 0; i < h->count; ++i) {
        const epoch_record *e = &h->epochs[i];
        const double columns[] = { e->lr, e->loss, e->train_rmse, e->validation_rmse };
        write_row(file, i + 1, columns, sizeof columns / sizeof *columns);
    }
    finish_file(path, file);
}

void write_predictions(const char *path, const model *m, adz_tensor *y)
{
    FILE *file = create_file(path);
    write_field(file, m->target_name);
    fputc('\n', file);
    for (int64_t i = 0; i < adz_tensor_size(y, 0); ++i) {
        write_number(file, adz_tensor_at(y, (int64_t[]){ i, 0 }));
        fputc('\n', file);
    }
    finish_file(path, file);
}

/* ---- the picture ---------------------------------------------------------------------------- */

/* An axis from 0, or a logarithmic one if the RMSE falls by a large factor. */
static axis axis_of(const double *train, const double *validation, int64_t count)
{
    double low = INFINITY, high = 0;
    for (int64_t i = 0; i < 2 * count; ++i) {
        const double value = i < count ? train[i] : validation[i - count];
        if (value > 0 && isfinite(value)) {
            low = fmin(low, value);
            high = fmax(high, value);
        }
    }
    if (high > 10 * low) {
        return (axis){ .label = "RMSE", .scale = SCALE_LOG };
    }
    return (axis){ .label = "RMSE", .low = 0, .high = NAN };
}

void plot_history(const char *plot, const model *m, const history *h)
{
    const size_t n = (size_t)h->count;
    if (n == 0) {
        return;
    }
    double *all = allocate(3 * n * sizeof *all), *train = all + n, *validation = all + 2 * n;
    for (size_t i = 0; i < n; ++i) {
        all[i] = (double)(i + 1);
        train[i] = h->epochs[i].train_rmse;
        validation[i] = h->epochs[i].validation_rmse;
    }
    const layer layers[] = {
        { LAYER_LINE, .title = "training", .color = "#1f77b4", .size = 2, .count = n, .x = all,
            .y = train },
        { LAYER_LINE, .title = "validation", .color = "#d62728", .size = 2, .count = n, .x = all,
            .y = validation },
    };
    const panel one = { .title = m->target_name,
        .x = { .label = "epoch" },
        .y = axis_of(train, validation, h->count),
        .layers = layers,
        .count = isnan(validation[0]) ? 1 : 2 };
    draw_chart(plot, "loss curve", &one, 1, 800, 500);
    free(all);
}
