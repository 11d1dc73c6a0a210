/* Prints the scores and writes the history, the predictions and the picture. */
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../shared/files.h"
#include "../shared/gnuplot.h"
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
        write_float(file, adz_tensor_at(y, (int64_t[]){ i, 0 }));
        fputc('\n', file);
    }
    finish_file(path, file);
}

/* ---- the picture ---------------------------------------------------------------------------- */

static void widen(double value, double *low, double *high)
{
    if (value > 0) { /* false for NaN */
        *low = value < *low ? value : *low;
        *high = value > *high ? value : *high;
    }
}

/* Writes a linear axis from 0. If RMSE falls by a large factor, writes a logarithmic axis with
 * marks at 1, 2 and 5. */
static void write_axis(FILE *script, const history *h)
{
    double low = INFINITY, high = 0;
    for (int64_t i = 0; i < h->count; ++i) {
        widen(h->epochs[i].train_rmse, &low, &high);
        widen(h->epochs[i].validation_rmse, &low, &high);
    }
    if (!(high > 10 * low)) {
        fputs("set yrange [0:*]\n", script);
        return;
    }
    fprintf(script, "set logscale y\nset yrange [%g:%g]\nset ytics (", low / 1.1, high * 1.1);
    const char *comma = "";
    for (double decade = pow(10, floor(log10(low))); decade <= high; decade *= 10) {
        for (int i = 0; i < 3; ++i, comma = ", ") {
            fprintf(script, "%s%g", comma, decade * (const double[]){ 1, 2, 5 }[i]);
        }
    }
    fputs(")\n", script);
}

/* The script contains the numbers. gnuplot leaves out a point that is NaN. */
static void write_data(FILE *script, const history *h)
{
    fputs("$history << END\n", script);
    for (int64_t i = 0; i < h->count; ++i) {
        const epoch_record *e = &h->epochs[i];
        double validation = isfinite(e->validation_rmse) ? e->validation_rmse : NAN;
        fprintf(script, "%lld %.6g %.6g\n", (long long)i + 1, e->train_rmse, validation);
    }
    fputs("END\n", script);
}

static void write_script(FILE *script, const model *m, const history *h)
{
    bool validation = h->count > 0 && !isnan(h->epochs[0].validation_rmse);
    write_data(script, h);
    fputs("set key top right\nset grid lt 1 lc rgb '#e4e4e4'\n"
          "set xlabel 'epoch'\nset ylabel 'RMSE'\nset autoscale xfix\nset title ",
        script);
    gnuplot_text(script, m->target_name);
    fputc('\n', script);
    write_axis(script, h);
    fputs("plot $history using 1:2 with lines lw 2 lc rgb '#1f77b4' title 'training'", script);
    if (validation) {
        fputs(", $history using 1:3 with lines lw 2 lc rgb '#d62728' title 'validation'", script);
    }
    fputc('\n', script);
}

void plot_history(const char *plot, const model *m, const history *h)
{
    if (plot_file(plot) == NULL || h->count == 0) {
        return;
    }
    FILE *script = gnuplot_begin(plot, 800, 500);
    if (script != NULL) {
        write_script(script, m, h);
    }
    gnuplot_end(script, "loss curve", plot);
}
