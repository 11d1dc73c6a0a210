/* Means and standard errors over the splits, and the table next to the published results. */
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct figure {
    double mean, error; /* standard error of the mean; NaN for a single value, which has none */
} figure;

typedef struct figures {
    figure rmse, log_likelihood, rmse_no_dropout, ridge_rmse;
} figures;

/* Gal and Ghahramani's experiment as its authors ran it again in 2018, over the same 20 splits. */
static const struct {
    const char *name;
    figures figures;
} published[] = {
    { "concrete", { .rmse = { 4.83, 0.16 },
                      .log_likelihood = { -2.94, 0.02 },
                      .rmse_no_dropout = { 5.45, 0.19 } } },
    { "energy", { .rmse = { 0.54, 0.01 },
                    .log_likelihood = { -1.21, 0.01 },
                    .rmse_no_dropout = { 0.97, 0.06 } } },
    { "wine-quality-red", { .rmse = { 0.62, 0.01 },
                              .log_likelihood = { -0.93, 0.01 },
                              .rmse_no_dropout = { 0.66, 0.01 } } },
    { "yacht", { .rmse = { 0.67, 0.05 },
                   .log_likelihood = { -1.25, 0.02 },
                   .rmse_no_dropout = { 1.23, 0.37 } } },
};

static const figures *find_published(const char *name)
{
    for (size_t i = 0; i < sizeof published / sizeof *published; ++i) {
        if (strcmp(published[i].name, name) == 0) {
            return &published[i].figures;
        }
    }
    return NULL;
}

/* ---- figures -------------------------------------------------------------------------------- */

static figure figure_of(const outcome *splits, size_t count, double (*value)(const score *))
{
    figure f = { 0, count > 1 ? 0 : NAN };
    for (size_t i = 0; i < count; ++i) {
        f.mean += value(&splits[i].score) / (double)count;
    }
    for (size_t i = 0; i < count && count > 1; ++i) {
        double away = value(&splits[i].score) - f.mean;
        f.error += away * away / (double)(count - 1) / (double)count;
    }
    f.error = sqrt(f.error);
    return f;
}

static double rmse_of(const score *s)
{
    return s->rmse;
}

static double log_likelihood_of(const score *s)
{
    return s->log_likelihood;
}

static double rmse_no_dropout_of(const score *s)
{
    return s->rmse_no_dropout;
}

static double ridge_rmse_of(const score *s)
{
    return s->ridge_rmse;
}

static figures figures_of(const outcome *splits, size_t count)
{
    return (figures){ figure_of(splits, count, rmse_of),
        figure_of(splits, count, log_likelihood_of), figure_of(splits, count, rmse_no_dropout_of),
        figure_of(splits, count, ridge_rmse_of) };
}

/* ---- the table ------------------------------------------------------------------------------ */

/* A row of the table. Only the first row of a set has its name. */
static void print_pair(const char *set, const char *name, figure here, const figure *there)
{
    printf("%-24s %-18s %8.3f", set, name, here.mean);
    char error[32] = "";
    if (!isnan(here.error)) {
        snprintf(error, sizeof error, " +- %.3f", here.error);
    }
    if (there != NULL) {
        printf("%-9s  %6.2f +- %.2f\n", error, there->mean, there->error);
    } else {
        puts(error);
    }
}

/* How far a figure is worse than chance explains; 0 or less if chance explains it. */
static double excess(figure here, figure there, double sign)
{
    return sign * (here.mean - there.mean) - 2 * there.error - 2 * here.error;
}

static int print_misses(const char *name, const figures *here, const figures *there)
{
    int misses = 0;
    if (excess(here->rmse, there->rmse, 1) > 0) {
        printf("%s: the RMSE is worse than published\n", name);
        ++misses;
    }
    if (excess(here->log_likelihood, there->log_likelihood, -1) > 0) {
        printf("%s: the log likelihood is worse than published\n", name);
        ++misses;
    }
    return misses;
}

static void print_verdict(const set_result *results, size_t count)
{
    int compared = 0, misses = 0;
    for (size_t i = 0; i < count; ++i) {
        const figures *there = find_published(results[i].name);
        if (there != NULL &&
            results[i].count > 1) { /* chance explains the difference of one split */
            const figures here = figures_of(results[i].splits, results[i].count);
            misses += print_misses(results[i].name, &here, there);
            compared += 2;
        }
    }
    if (compared > 0) {
        print_text(
            "%d of %d figures (RMSE and log likelihood) lie within two published standard errors plus two of these, or are better.",
            compared - misses, compared);
    }
}

void print_report(const set_result *results, size_t count)
{
    printf("\n%-24s %-18s %8s %10s %s\n", "set", "", "here", "", "published");
    for (size_t i = 0; i < count; ++i) {
        const set_result *r = &results[i];
        const figures here = figures_of(r->splits, r->count), *there = find_published(r->name);
        print_pair(r->name, "RMSE, MC dropout", here.rmse, there != NULL ? &there->rmse : NULL);
        print_pair("", "log likelihood", here.log_likelihood,
            there != NULL ? &there->log_likelihood : NULL);
        print_pair("", "RMSE, dropout off", here.rmse_no_dropout,
            there != NULL ? &there->rmse_no_dropout : NULL);
        print_pair("", "ridge RMSE", here.ridge_rmse, NULL);
        printf("%-24s %-18s %8.1f\n", "", "seconds", r->seconds);
    }
    print_verdict(results, count);
    for (size_t i = 0; i < count; ++i) {
        print_result_line(results[i].name, results[i].splits, results[i].count, results[i].seconds);
    }
}

void print_result_line(const char *name, const outcome *splits, size_t count, double seconds)
{
    const figures f = figures_of(splits, count);
    if (count == 1) { /* one split has no standard error */
        printf(
            "result: set=%s rmse=%.4f ll=%.4f rmse_no_dropout=%.4f ridge_rmse=%.4f seconds=%.1f\n",
            name, f.rmse.mean, f.log_likelihood.mean, f.rmse_no_dropout.mean, f.ridge_rmse.mean,
            seconds);
        return;
    }
    printf(
        "result: set=%s rmse=%.4f rmse_se=%.4f ll=%.4f ll_se=%.4f rmse_no_dropout=%.4f ridge_rmse=%.4f seconds=%.1f\n",
        name, f.rmse.mean, f.rmse.error, f.log_likelihood.mean, f.log_likelihood.error,
        f.rmse_no_dropout.mean, f.ridge_rmse.mean, seconds);
}
