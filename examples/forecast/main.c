/* Forecasts a time series, from a CSV file or made by the program. forecast --help lists the
 * options. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../shared/files.h"
#include "../shared/svg.h"
#include "../shared/program.h"
#include "../shared/progress.h"
#include "plot.h"
#include "report.h"
#include "train.h"

/* Networks that have gained less than 1% after 20 epochs are not tried further. */
#define HOPELESS 0.99

/* Tries the kinds of network that the options allow, and returns the best of those that beat the
 * linear model, or the linear model. Networks that were asked for need not beat it. */
static trial choose(const options *o, const parts *p, const series *s)
{
    bool all = o->network.model == MODEL_AUTO;
    print_trial_header();
    trial linear = try_linear(&o->network, p, s), best = { .error = INFINITY };
    print_trial(&linear);
    for (int model = 0; model < NETWORKS; ++model) {
        network n = o->network;
        if (!all && n.model != model) {
            continue;
        }
        n.model = model;
        trial t = try_network(o, &n, p, s, all ? HOPELESS * linear.error : INFINITY);
        print_trial(&t);
        bool better = t.error < best.error && (!all || beats(&t, &linear));
        free_trial(better ? &best : &t);
        best = better ? t : best;
    }
    bool fails = best.each == NULL;
    free_trial(fails ? &best : &linear);
    return fails ? linear : best;
}

static void print_choice(const options *o, const trial *best, int64_t values)
{
    bool all = o->network.model == MODEL_AUTO;
    if (best->n.model == MODEL_LINEAR) {
        printf("%s\n", all ? "best: linear, which no network beats clearly" : "fitted: linear");
    } else {
        printf("%s %s with %lld epoch%s on the first %lld values\n",
            all ? "best:" : "trained:", model_name(best->n.model), (long long)best->epochs,
            plural(best->epochs), (long long)values);
    }
}

static ensemble choose_and_train(const options *o, const series *s)
{
    parts p = new_parts(&o->network, s, o->jobs);
    print_linear(&p.linear);
    trial best = choose(o, &p, s);
    print_choice(o, &best, test_start(s->n));
    ensemble e = train_ensemble(o, &best, &p, s);
    free_trial(&best);
    free_parts(&p);
    return e;
}

static ensemble load_and_check(const options *o, series *s)
{
    ensemble e = load_ensemble(o->load);
    if (e.n.positive) {
        take_logarithms(s);
    }
    if (e.n.model == MODEL_LINEAR) {
        check_length(&e.n, s); /* it is fitted to this series, and its band is measured on it */
    } else {
        check_test_length(&e.n, s);
    }
    fit_to_series(&e.linear, s);
    if (e.trained > test_start(s->n)) {
        remark(
            "%s was trained on %lld values, but the test part begins after %lld; its errors there look better than they are",
            o->load, (long long)e.trained, (long long)test_start(s->n));
    }
    return e;
}

/* The steps of --forecast. Ends the program if the networks cannot look that far ahead. */
static int64_t steps_ahead(const options *o, int64_t horizon)
{
    if (o->forecast > horizon) {
        usage_error(
            "--forecast %lld: the model looks %lld steps ahead; train it with --horizon %lld",
            (long long)o->forecast, (long long)horizon, (long long)o->forecast);
    }
    return o->forecast > 0 ? o->forecast : horizon;
}

static void check_all_files(const options *o)
{
    const file_use files[] = { { "save", o->save, true }, { "output", o->output, true },
        { "plot", plot_file(o->plot), true }, { "load", o->load, false },
        { "data", o->data, false } };
    check_files(files, sizeof files / sizeof *files);
}

static void report(const options *o, const ensemble *e, const series *s, double begin)
{
    int64_t steps = steps_ahead(o, e->n.horizon);
    origins end = { allocate(sizeof *end.at), 1, NULL };
    end.at[0] = s->n;
    outcomes known = observe(e, s);
    forecasts test = forecast(e, s, &known, test_origins(&e->n, s));
    forecasts ahead = forecast(e, s, &known, end);
    scores r = score(&e->n, s, &test);
    double seconds = seconds_now() - begin;
    if (o->save != NULL) {
        save_ensemble(e, o->save);
        printf("%s: %s\n", adz_module_child_count(e->root) > 0 ? "networks" : "model", o->save);
    }
    write_forecast(o->output, s, &ahead, steps);
    printf("forecast: %s\n", o->output);
    draw_picture(o->plot, s, e->trained, &test, &ahead, steps);
    print_scores(&r, e->n.model, seconds);
    free_outcomes(&known);
    free_forecasts(&ahead);
    free_forecasts(&test);
}

int main(int argc, char **argv)
{
    setlocale(LC_NUMERIC, "C"); /* numbers have a decimal point, whatever the locale is */
    options o = parse_options(argc, argv);
    double begin = seconds_now();
    report_errors();
    if (o.load == NULL) {
        steps_ahead(&o, o.network.horizon);
    }
    check_all_files(&o);
    series s = o.data != NULL ? read_series(o.data, o.column, o.time) : make_series();
    ensemble e;
    if (o.load == NULL && o.network.positive) {
        take_logarithms(&s);
    }
    if (o.load != NULL) {
        e = load_and_check(&o, &s);
        steps_ahead(&o, e.n.horizon);
        print_series(&e.n, &s);
    } else {
        check_length(&o.network, &s);
        print_series(&o.network, &s);
        e = choose_and_train(&o, &s);
    }
    if (adz_module_child_count(e.root) > 0) {
        print_network(adz_module_child_at(e.root, 0));
    }
    report(&o, &e, &s, begin);
    free_ensemble(&e);
    free_series(&s);
    return finish_output();
}
