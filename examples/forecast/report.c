/* Prints the results and writes the forecast. */
#include "report.h"

#include <math.h>
#include <stdio.h>

#include "../shared/command_line.h"
#include "../shared/files.h"

void print_series(const network *n, const series *s)
{
    int64_t test = test_start(s->n);
    print_text("%s: %lld values; %lld to learn from, of which the last %lld validate; %lld to test",
        s->name, (long long)s->n, (long long)test, (long long)(test - test / 2),
        (long long)(s->n - test));
    if (s->n_missing > 0) {
        print_text(
            "%lld missing value%s: interpolated where the networks read them, and left out of losses, errors and coverage",
            (long long)s->n_missing, plural(s->n_missing));
    }
    if (s->logarithms) {
        print_text(
            "positive: the models forecast logarithms, whose errors stand in the table of the validation part");
    }
    printf("window %lld, horizon %lld, season %lld\n", (long long)n->window, (long long)n->horizon,
        (long long)n->season);
}

/* ---- validation ----------------------------------------------------------------------------- */

enum { SHOWN = 3 };

void print_linear(const linear_model *l)
{
    static const char *const forms[FORMS] = { "values", "changes", "changes over a season" };
    printf("\nlinear: the mean of %zu autoregression%s, fitted again at each origin\n", l->count,
        plural((int64_t)l->count));
    for (size_t i = 0; i < l->count && i < SHOWN; ++i) {
        const autoregression *a = &l->terms[i];
        printf("%6.1f%%  %s%s, %lld lag%s, ridge %g\n", 100 * a->weight, forms[a->form],
            a->logarithm ? " of logarithms" : "", (long long)a->lags, plural(a->lags), a->ridge);
    }
    if (l->count > SHOWN) {
        printf("   ...\n");
    }
}

void print_trial_header(void)
{
    printf("\nvalidation   epochs   share   mean absolute error      RMSE\n"
           "                              (in scales of windows)\n");
}

void print_trial(const trial *t)
{
    printf("%-12s %6lld   %-7.2f %-24.4f %.5g\n", model_name(t->n.model), (long long)t->epochs,
        t->share, t->error, t->rmse);
    fflush(stdout);
}

/* ---- the backtest --------------------------------------------------------------------------- */

/* Says so if a naive forecast has beaten the model on the test part. */
static void print_winner(const scores *r, int model)
{
    const bool seasonal = r->seasonal_naive_rmse < r->naive_rmse;
    const double naive = seasonal ? r->seasonal_naive_rmse : r->naive_rmse;
    if (naive < r->rmse) {
        print_text(
            "remark: the %s forecast, %s, was better than %s on the test part (RMSE %.4g, not %.4g); prefer it unless you know why it should not last",
            seasonal ? "seasonal-naive" : "naive",
            seasonal ? "the value of one season before" : "the last value",
            model == MODEL_LINEAR ? "the linear model" : "the networks", naive, r->rmse);
    }
}

void print_scores(const scores *r, int model, double seconds)
{
    printf("\n%lld values of the test part, from origins one horizon apart\n", (long long)r->count);
    printf("%-16s %10s   inside the band of 80%%   of 95%%\n", "forecast", "RMSE");
    printf("%-16s %10.5g %22.1f%% %8.1f%%\n", model == MODEL_LINEAR ? "linear, chosen" : "networks",
        r->rmse, 100 * r->coverage80, 100 * r->coverage95);
    printf("%-16s %10.5g\n%-16s %10.5g\n%-16s %10.5g\n", "linear", r->linear_rmse, "naive",
        r->naive_rmse, "seasonal-naive", r->seasonal_naive_rmse);
    print_winner(r, model);
    printf(
        "result: rmse=%.4g mase=%.4f naive_rmse=%.4g seasonal_naive_rmse=%.4g linear_rmse=%.4g coverage80=%.4f coverage95=%.4f seconds=%.2f\n",
        r->rmse, r->mase, r->naive_rmse, r->seasonal_naive_rmse, r->linear_rmse, r->coverage80,
        r->coverage95, seconds);
}

void write_forecast(const char *path, const series *s, const forecasts *f, int64_t steps)
{
    FILE *file = create_file(path);
    fputs("row,", file);
    if (s->times.name != NULL) {
        write_field(file, s->times.name);
        fputc(',', file);
    }
    fputs("forecast,lower80,upper80,lower95,upper95\n", file);
    for (int64_t k = 0; k < steps; ++k) {
        const double mean = f->mean[k], half80 = f->half80[k], half95 = f->half95[k];
        const double columns[] = { mean, mean - half80, mean + half80, mean - half95,
            mean + half95 };
        const int64_t row = f->o.at[0] + k;
        fprintf(file, "%lld", (long long)row + 1);
        if (s->times.name != NULL) {
            fputc(',', file);
            write_time(file, &s->times, row);
        }
        for (size_t i = 0; i < sizeof columns / sizeof *columns; ++i) {
            fputc(',', file);
            write_number(file, in_unit(s, columns[i]));
        }
        fputc('\n', file);
    }
    finish_file(path, file);
}
