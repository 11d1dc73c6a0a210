/* Chooses autoregressions and averages their forecasts. */
#include "linear.h"

#include <math.h>
#include <stdlib.h>

#include "../shared/command_line.h"
#include "../shared/crew.h"

/* ---- candidates ----------------------------------------------------------------------------- */

static const double ridges[] = { 1e-6, 1e-3, 1e-2, 1e-1 };

enum { RIDGES = sizeof ridges / sizeof *ridges, LENGTHS = 9, MOST_GROUPS = 2 * FORMS * LENGTHS };

/* Autoregressions that differ only in their ridge, and their errors on the validation part. */
typedef struct group {
    autoregression members[RIDGES];
    double errors[RIDGES];
} group;

typedef struct candidates {
    group groups[MOST_GROUPS];
    size_t count;
    const series *s;
    const network *n;
    const origins *o;
    fitting when;
} candidates;

/* Whether logarithms of the values can be regressed, which are no logarithms already. */
static bool all_positive(const series *s)
{
    if (s->logarithms) {
        return false;
    }
    for (int64_t i = 0; i < s->n; ++i) {
        if (s->values[i] <= 0) {
            return false;
        }
    }
    return true;
}

/* Adds the autoregressions of one form, unless they have fewer than two rows for each lag. */
static void add_group(candidates *c, int form, bool logarithm, int64_t lags, int64_t rows)
{
    for (size_t i = 0; i < c->count; ++i) {
        const autoregression *a = c->groups[i].members;
        if (a->form == form && a->logarithm == logarithm && a->lags == lags) {
            return;
        }
    }
    if (lags > MOST_LAGS || 3 * lags > rows) {
        return;
    }
    group *g = &c->groups[c->count++];
    for (size_t i = 0; i < RIDGES; ++i) {
        g->members[i] = (autoregression){ form, logarithm, lags, ridges[i], 0 };
    }
}

static void add_groups(candidates *c, bool logarithm, int64_t begin)
{
    int64_t season = c->n->season;
    const int64_t lengths[LENGTHS] = { 1, 2, 4, season, season + 1, 2 * season, 2 * season + 1, 12,
        24 };
    for (int form = 0; form < (season > 1 ? FORMS : FORM_SEASON); ++form) {
        for (size_t i = 0; i < LENGTHS; ++i) {
            add_group(c, form, logarithm, lengths[i], begin - season);
        }
    }
}

/* ---- errors --------------------------------------------------------------------------------- */

/* The geometric mean of the mean absolute and of the root mean square error. */
static double error_of(const candidates *c, const double *forecasts)
{
    double absolute = 0, square = 0, count = 0;
    for (int64_t b = 0; b < c->o->count; ++b) {
        for (int64_t k = 0; k < c->n->horizon; ++k) {
            int64_t at = c->o->at[b] + k;
            double error = c->s->values[at] - forecasts[b * c->n->horizon + k];
            if (!c->s->missing[at]) {
                absolute += fabs(error);
                square += error * error;
                ++count;
            }
        }
    }
    return sqrt(absolute / count * sqrt(square / count));
}

static void try_group(size_t piece, void *user)
{
    candidates *c = user;
    group *g = &c->groups[piece];
    double *forecasts[RIDGES];
    for (size_t i = 0; i < RIDGES; ++i) {
        forecasts[i] = allocate((size_t)(c->o->count * c->n->horizon) * sizeof **forecasts);
    }
    forecast_alike(g->members, RIDGES, c->s, c->n, c->o, c->when, forecasts);
    for (size_t i = 0; i < RIDGES; ++i) {
        g->errors[i] = error_of(c, forecasts[i]);
        free(forecasts[i]);
    }
}

/* ---- weights -------------------------------------------------------------------------------- */

/* An error 6% above the smallest one divides the weight by e. Logarithms count at all if their
 * smallest error is at most 10% above that of the values themselves. */
#define SHARPNESS     16.0
#define LARGEST_RATIO 1.1

static double smallest_error(const candidates *c, bool logarithm)
{
    double least = INFINITY;
    for (size_t i = 0; i < c->count * RIDGES; ++i) {
        const group *g = &c->groups[i / RIDGES];
        if (g->members[0].logarithm == logarithm && g->errors[i % RIDGES] < least) {
            least = g->errors[i % RIDGES];
        }
    }
    return least;
}

/* Weighs one half of the autoregressions, whose weights then add up to `share`. */
static void weigh(candidates *c, bool logarithm, double least, double share)
{
    double sum = 0;
    for (int round = 0; round < 2; ++round) {
        for (size_t i = 0; i < c->count * RIDGES; ++i) {
            group *g = &c->groups[i / RIDGES];
            autoregression *a = &g->members[i % RIDGES];
            if (a->logarithm != logarithm) {
                continue;
            }
            /* An exact forecast has no error, and then no other autoregression has a weight. */
            double ratio = g->errors[i % RIDGES] / fmax(least, 1e-300);
            double weight = isfinite(ratio) ? exp(-SHARPNESS * fmax(ratio - 1, 0)) : 0;
            a->weight = round == 0 ? weight : a->weight * share / sum;
            sum += round == 0 ? weight : 0;
        }
    }
}

static int by_weight(const void *a, const void *b)
{
    double x = ((const autoregression *)a)->weight, y = ((const autoregression *)b)->weight;
    return (x < y) - (x > y);
}

enum { SMALLEST_SHARE = 1000 }; /* terms with less than 1/1000 are left out */

static linear_model best_of(const candidates *c)
{
    linear_model l = { .count = 0 };
    autoregression all[MOST_GROUPS * RIDGES];
    double sum = 0;
    for (size_t i = 0; i < c->count * RIDGES; ++i) {
        all[i] = c->groups[i / RIDGES].members[i % RIDGES];
    }
    qsort(all, c->count * RIDGES, sizeof *all, by_weight);
    for (size_t i = 0; i < c->count * RIDGES && l.count < MOST_TERMS; ++i) {
        if (l.count == 0 || SMALLEST_SHARE * all[i].weight >= 1) {
            l.terms[l.count++] = all[i];
            sum += all[i].weight;
        }
    }
    for (size_t i = 0; i < l.count; ++i) {
        l.terms[i].weight /= sum;
    }
    return l;
}

void fit_to_series(linear_model *l, const series *s)
{
    linear_model rest = { .count = 0 };
    double sum = 0;
    for (size_t i = 0; i < l->count; ++i) {
        if (!l->terms[i].logarithm) {
            rest.terms[rest.count++] = l->terms[i];
            sum += l->terms[i].weight;
        }
    }
    if (rest.count == l->count || all_positive(s)) {
        return;
    }
    if (rest.count == 0) {
        fail(
            "%s: the linear model reads logarithms, but not all values are positive; train it on this series",
            s->name);
    }
    remark("%s: not all values are positive; autoregressions of logarithms are left out", s->name);
    for (size_t i = 0; i < rest.count; ++i) {
        rest.terms[i].weight /= sum;
    }
    *l = rest;
}

enum { MOST_TRIAL_FITS = 40, MOST_FITS = 200 };

linear_model choose_linear(
    const series *s, const network *n, int64_t begin, const origins *validation, int64_t jobs)
{
    candidates *c = allocate(sizeof *c);
    int64_t last = validation->at[validation->count - 1];
    int64_t step = (last - validation->at[0]) / MOST_TRIAL_FITS + 1;
    c->s = s;
    c->n = n;
    c->o = validation;
    c->when = (fitting){ -1, step > n->horizon ? step : n->horizon };
    add_groups(c, false, begin);
    if (all_positive(s)) {
        add_groups(c, true, begin);
    }
    run_crew(jobs, c->count, try_group, c);
    double least = smallest_error(c, false), least_log = smallest_error(c, true);
    bool logarithms = least_log <= LARGEST_RATIO * least;
    weigh(c, false, least, logarithms ? 0.5 : 1);
    weigh(c, true, least_log, logarithms ? 0.5 : 0);
    linear_model l = best_of(c);
    free(c);
    return l;
}

/* ---- forecasts ------------------------------------------------------------------------------ */

fitting at_each_horizon(const network *n, const origins *o)
{
    int64_t span = o->count > 0 ? o->at[o->count - 1] - o->at[0] : 0;
    int64_t step = span / MOST_FITS + 1;
    return (fitting){ -1, step > n->horizon ? step : n->horizon };
}

/* How many terms from term i on differ only in ridge and weight; they are moved together. */
static size_t gather_alike(autoregression *terms, size_t count)
{
    size_t alike = 1;
    for (size_t i = 1; i < count; ++i) {
        if (terms[i].form == terms[0].form && terms[i].logarithm == terms[0].logarithm &&
            terms[i].lags == terms[0].lags) {
            autoregression t = terms[i];
            terms[i] = terms[alike];
            terms[alike++] = t;
        }
    }
    return alike;
}

void forecast_linear(
    const linear_model *l, const series *s, const network *n, origins *o, fitting when)
{
    size_t size = (size_t)(o->count * n->horizon);
    linear_model sorted = *l;
    double *each[MOST_TERMS];
    for (size_t i = 0; i < l->count; ++i) {
        each[i] = allocate((size + 1) * sizeof **each);
    }
    for (size_t i = 0; i < l->count;) {
        size_t alike = gather_alike(sorted.terms + i, l->count - i);
        forecast_alike(sorted.terms + i, alike, s, n, o, when, each + i);
        i += alike;
    }
    free(o->base);
    o->base = allocate((size + 1) * sizeof *o->base);
    for (size_t i = 0; i < l->count; ++i) {
        for (size_t j = 0; j < size; ++j) {
            o->base[j] += sorted.terms[i].weight * each[i][j];
        }
        free(each[i]);
    }
}

/* ---- the table ------------------------------------------------------------------------------ */

enum { FORM, LOGARITHM, LAGS, RIDGE, WEIGHT, COLUMNS };

adz_tensor *linear_to_table(const linear_model *l)
{
    adz_tensor *table = adz_zeros(ADZ_SHAPE(MOST_TERMS, COLUMNS), ADZ_F64);
    double *row = adz_tensor_data_f64(table);
    for (size_t i = 0; i < l->count; ++i, row += COLUMNS) {
        row[FORM] = l->terms[i].form;
        row[LOGARITHM] = l->terms[i].logarithm;
        row[LAGS] = (double)l->terms[i].lags;
        row[RIDGE] = l->terms[i].ridge;
        row[WEIGHT] = l->terms[i].weight;
    }
    return table;
}

bool linear_from_table(adz_tensor *table, linear_model *l)
{
    const double *row = adz_tensor_data_f64(table);
    double sum = 0;
    *l = (linear_model){ .count = 0 };
    for (size_t i = 0; i < MOST_TERMS && row[WEIGHT] > 0; ++i, row += COLUMNS) {
        bool form = row[FORM] >= 0 && row[FORM] < FORMS && row[LAGS] >= 1 && row[LAGS] <= MOST_LAGS;
        if (!form || !(row[RIDGE] >= 0 && row[RIDGE] <= 1e6) || !(row[WEIGHT] <= 1)) {
            return false;
        }
        l->terms[l->count++] = (autoregression){ (int)row[FORM], row[LOGARITHM] != 0,
            (int64_t)row[LAGS], row[RIDGE], row[WEIGHT] };
        sum += row[WEIGHT];
    }
    return fabs(sum - 1) < 1e-6;
}
