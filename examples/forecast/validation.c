/* Judges forecasts of the validation part. */
#include "validation.h"

#include <math.h>
#include <stdlib.h>

#include "../shared/command_line.h"

validation new_validation(const network *n, const parts *p, int64_t most_epochs)
{
    validation v = { .parts = p, .most = most_epochs, .members = n->members };
    v.records = allocate((size_t)(BLOCKS * most_epochs * n->members) * sizeof *v.records);
    return v;
}

void free_validation(validation *v)
{
    for (int64_t i = 0; i < BLOCKS * v->most * v->members; ++i) {
        free_prediction(&v->records[i]);
    }
    free(v->records);
}

prediction *record_at(const validation *v, size_t block, int64_t epoch, size_t member)
{
    size_t epochs = (size_t)v->most, members = (size_t)v->members;
    return &v->records[(block * epochs + (size_t)epoch) * members + member];
}

/* ---- residuals ------------------------------------------------------------------------------ */

/* What the linear model leaves of a known value, and what the networks predict of that, in the
 * scale of the window. */
typedef struct residual {
    double target, mean, scale;
    int64_t k;      /* the step of the horizon */
    int64_t window; /* counted through all blocks */
} residual;

typedef struct residuals {
    residual *items;
    size_t count;
    int64_t windows;
} residuals;

static void add_block(
    residuals *r, const prediction *p, const origins *o, const network *n, const series *s)
{
    size_t i = 0;
    for (int64_t b = 0; b < o->count; ++b, ++r->windows) {
        double scale = scale_of(s, n, o->at[b]);
        for (int64_t k = 0; k < n->horizon; ++k, ++i) {
            int64_t at = o->at[b] + k;
            double target = (s->values[at] - o->base[b * n->horizon + k]) / scale;
            if (!s->missing[at]) {
                r->items[r->count++] = (residual){ target, p->mean[i], scale, k, r->windows };
            }
        }
    }
}

static residuals residuals_of(const validation *v, const network *n, const series *s, int64_t epoch)
{
    residuals r = { NULL, 0, 0 };
    const origins *blocks = v->parts->blocks;
    int64_t windows = blocks[0].count + blocks[1].count + blocks[2].count;
    r.items = allocate((size_t)(windows * n->horizon) * sizeof *r.items);
    for (size_t i = 0; i < BLOCKS; ++i) {
        size_t size = (size_t)(blocks[i].count * n->horizon);
        prediction p = mix(record_at(v, i, epoch, 0), v->members, size);
        add_block(&r, &p, &blocks[i], n, s);
        free_prediction(&p);
    }
    return r;
}

static double error_at(const residual *r, double share)
{
    return r->target - share * r->mean;
}

static double mean_absolute(const residuals *r, double share)
{
    double sum = 0;
    for (size_t i = 0; i < r->count; ++i) {
        sum += fabs(error_at(&r->items[i], share));
    }
    return sum / (double)r->count;
}

static double root_mean_square(const residuals *r, double share)
{
    double sum = 0;
    for (size_t i = 0; i < r->count; ++i) {
        double error = error_at(&r->items[i], share) * r->items[i].scale;
        sum += error * error;
    }
    return sqrt(sum / (double)r->count);
}

/* ---- the band ------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The deviation of a normal distribution that has 80% of the sizes below the same bound. Sorts the
 * sizes. Unlike the root mean square it is not moved by a few large sizes. */
static double deviation_of(double *sizes, size_t count)
{
    const double normal = 1.2815515655446004;
    qsort(sizes, count, sizeof *sizes, compare);
    return count > 0 ? sizes[(count - 1) * 8 / 10] / normal : 0;
}

/* Dropout says nothing of the noise in the series, which is added for each step of the horizon. A
 * later step has no less noise than an earlier one. */
static void fit_noise(double *noise, const residuals *r, double share, int64_t horizon)
{
    double *sizes = allocate((r->count + 1) * sizeof *sizes);
    for (int64_t k = 0; k < horizon; ++k) {
        size_t count = 0;
        for (size_t i = 0; i < r->count; ++i) {
            if (r->items[i].k == k) {
                sizes[count++] = fabs(error_at(&r->items[i], share));
            }
        }
        double deviation = deviation_of(sizes, count);
        noise[k] = fmax(deviation * deviation, k > 0 ? noise[k - 1] : 0);
    }
    free(sizes);
}

/* What became of the windows of all blocks, as they were forecast after an epoch. */
static outcomes outcomes_of(
    const validation *v, const network *n, const double *noise, const series *s, int64_t epoch)
{
    const parts *p = v->parts;
    int64_t windows = p->blocks[0].count + p->blocks[1].count + p->blocks[2].count;
    outcomes all = new_outcomes(windows, n->horizon, test_start(s->n) - p->begins[0]);
    for (size_t i = 0; i < BLOCKS; ++i) {
        size_t size = (size_t)(p->blocks[i].count * n->horizon);
        prediction mean = mix(record_at(v, i, epoch, 0), v->members, size);
        add_outcomes(&all, n, noise, s, &p->blocks[i], &mean, 0, test_start(s->n));
        free_prediction(&mean);
    }
    return all;
}

/* ---- trials --------------------------------------------------------------------------------- */

/* The sum of the absolute errors of each window, to be freed. */
static double *errors_of_windows(const residuals *r, double share)
{
    double *sums = allocate((size_t)r->windows * sizeof *sums);
    for (size_t i = 0; i < r->count; ++i) {
        sums[r->items[i].window] += fabs(error_at(&r->items[i], share));
    }
    return sums;
}

static trial finish_trial(trial t, const validation *v, const series *s)
{
    int64_t epoch = t.epochs > 0 ? t.epochs - 1 : 0;
    residuals r = residuals_of(v, &t.n, s, epoch);
    t.error = mean_absolute(&r, t.share);
    t.rmse = root_mean_square(&r, t.share);
    t.windows = r.windows;
    t.each = errors_of_windows(&r, t.share);
    t.apart = (double)(test_start(s->n) - v->parts->begins[0]) / (double)t.n.horizon;
    t.noise = allocate((size_t)t.n.horizon * sizeof *t.noise);
    if (t.n.model != MODEL_LINEAR) {
        if (t.n.band == BAND_MC) {
            fit_noise(t.noise, &r, t.share, t.n.horizon);
        }
        t.known = outcomes_of(v, &t.n, t.noise, s, epoch);
    }
    free(r.items);
    return t;
}

trial judge(const validation *v, const network *n, const series *s)
{
    trial t = { .n = *n, .error = INFINITY };
    for (int64_t epoch = 0; epoch < v->epochs; ++epoch) {
        residuals r = residuals_of(v, n, s, epoch);
        for (int share = 1; share <= SHARES; ++share) {
            double error = mean_absolute(&r, (double)share / SHARES);
            if (error < t.error) {
                t.error = error;
                t.epochs = epoch + 1;
                t.share = (double)share / SHARES;
            }
        }
        free(r.items);
    }
    if (t.epochs == 0) {
        fail("%s: the errors of '%s' are not finite; try a smaller --lr", s->name,
            model_name(n->model));
    }
    return finish_trial(t, v, s);
}

trial try_linear(const network *n, const parts *p, const series *s)
{
    trial t = { .n = *n };
    t.n.model = MODEL_LINEAR;
    t.n.members = 1; /* a prediction of nothing stands for the networks */
    validation v = new_validation(&t.n, p, 1);
    for (size_t i = 0; i < BLOCKS; ++i) {
        size_t size = (size_t)(p->blocks[i].count * n->horizon) + 1;
        prediction *none = record_at(&v, i, 0, 0);
        none->mean = allocate(size * sizeof *none->mean);
        none->variance = allocate(size * sizeof *none->variance);
    }
    t = finish_trial(t, &v, s);
    free_validation(&v);
    t.n.members = n->members;
    return t;
}

void free_trial(trial *t)
{
    free(t->noise);
    free_outcomes(&t->known);
    free(t->each);
}

/* Of networks of four kinds after many epochs, the best gains something by chance. */
#define LEAST_GAIN   0.03
#define LEAST_ERRORS 2.0 /* standard errors */

bool beats(const trial *t, const trial *linear)
{
    double count = (double)t->windows, mean = 0, square = 0;
    for (int64_t i = 0; i < t->windows; ++i) {
        mean += (linear->each[i] - t->each[i]) / count;
    }
    for (int64_t i = 0; i < t->windows; ++i) {
        double away = linear->each[i] - t->each[i] - mean;
        square += away * away / count;
    }
    double standard_error = sqrt(square / fmin(count, t->apart));
    return t->error < (1 - LEAST_GAIN) * linear->error && t->rmse < linear->rmse &&
           mean > LEAST_ERRORS * standard_error;
}
