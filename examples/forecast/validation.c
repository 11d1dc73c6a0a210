/* Judges forecasts of the validation part. */
#include "validation.h"

#include <math.h>
#include <stdlib.h>

#include "../shared/command_line.h"

enum { MOST_JUDGED = 100, FEWEST_JUDGED = 8, MOST_TARGETS = 4096, FEWEST_WINDOWS = 8 };

/* ---- blocks --------------------------------------------------------------------------------- */

static int64_t begin_of(int64_t length, int block)
{
    int64_t test = test_start(length), half = test / 2;
    return half + (test - half) * block / BLOCKS;
}

/* The windows of a block. They may end in a later block, but not in the test part. */
static origins windows_of(const network *n, int64_t length, int block)
{
    int64_t most = MOST_TARGETS / n->horizon;
    most = most > MOST_JUDGED ? MOST_JUDGED : most < FEWEST_JUDGED ? FEWEST_JUDGED : most;
    int64_t begin = begin_of(length, block), first = first_origin(n);
    return at_most(
        n, begin > first ? begin : first, begin_of(length, block + 1), test_start(length), most);
}

static bool is_long_enough(const network *n, int64_t length)
{
    int64_t judged = 0, test = test_start(length), begin = begin_of(length, 0);
    origins windows = origins_between(n, first_origin(n), begin, begin, 1);
    int64_t trained = windows.count;
    free(windows.at);
    for (int i = 0; i < BLOCKS; ++i) {
        windows = windows_of(n, length, i);
        judged += windows.count;
        free(windows.at);
    }
    return trained >= FEWEST_WINDOWS && judged >= FEWEST_JUDGED && length - test >= n->horizon;
}

static bool can_be_tested(const network *n, int64_t length)
{
    return test_start(length) >= first_origin(n) && length - test_start(length) >= n->horizon;
}

/* Ends the program with the number of values that would be enough, if there are fewer. */
static void check_enough(
    const network *n, const series *s, bool (*is_enough)(const network *, int64_t))
{
    int64_t step = 1, least = s->n;
    if (is_enough(n, s->n)) {
        return;
    }
    while (!is_enough(n, s->n + step)) {
        least = s->n + step;
        step *= 2;
    }
    for (int64_t most = s->n + step; most - least > 1;) {
        int64_t middle = least + (most - least) / 2;
        *(is_enough(n, middle) ? &most : &least) = middle;
    }
    fail("%s: %lld values are too few for --window %lld, --horizon %lld and --season %lld, which "
         "need %lld; give a longer series or smaller numbers",
        s->name, (long long)s->n, (long long)n->window, (long long)n->horizon, (long long)n->season,
        (long long)least + 1);
}

/* Ends the program if all values of a part are missing. */
static void check_known(const series *s, const char *part, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; ++i) {
        if (!s->missing[i]) {
            return;
        }
    }
    fail("%s: all values of the %s part are missing, those of rows %lld to %lld; give a series "
         "without so long a gap",
        s->name, part, (long long)begin + 1, (long long)end);
}

void check_test_length(const network *n, const series *s)
{
    int64_t test = test_start(s->n);
    check_enough(n, s, can_be_tested);
    check_known(s, "test", test, s->n - (s->n - test) % n->horizon);
}

/* Ends the program if networks would learn from equal values. */
static void check_changes(const series *s)
{
    int64_t test = test_start(s->n), same = 1;
    while (same < test && s->values[same] == s->values[0]) {
        ++same;
    }
    if (same == test) {
        fail("%s: each of the first %lld values is %g, and the networks learn from these; leave "
             "out constant rows at the beginning",
            s->name, (long long)test, s->values[0]);
    }
}

void check_length(const network *n, const series *s)
{
    check_enough(n, s, is_long_enough);
    check_known(s, "validation", test_start(s->n) / 2, test_start(s->n));
    check_test_length(n, s);
    check_changes(s);
}

validation new_validation(const network *n, const series *s, int64_t most_epochs)
{
    validation v = { .most = most_epochs, .members = n->members };
    v.records = allocate((size_t)(BLOCKS * most_epochs * n->members) * sizeof *v.records);
    for (int i = 0; i < BLOCKS; ++i) {
        v.begins[i] = begin_of(s->n, i);
        v.blocks[i] = windows_of(n, s->n, i);
    }
    return v;
}

void free_validation(validation *v)
{
    for (int64_t i = 0; i < BLOCKS * v->most * v->members; ++i) {
        free_prediction(&v->records[i]);
    }
    for (int i = 0; i < BLOCKS; ++i) {
        free(v->blocks[i].at);
    }
    free(v->records);
}

prediction *record_at(const validation *v, size_t block, int64_t epoch, size_t member)
{
    size_t epochs = (size_t)v->most, members = (size_t)v->members;
    return &v->records[(block * epochs + (size_t)epoch) * members + member];
}

/* ---- residuals ------------------------------------------------------------------------------ */

/* How a forecast of a known value differs from it, in the scale of its window. */
typedef struct residual {
    double error, variance, scale;
    int64_t k; /* the step of the horizon */
} residual;

typedef struct residuals {
    residual *items;
    size_t count;
} residuals;

static void add_block(
    residuals *r, const prediction *p, const origins *o, const network *n, const series *s)
{
    size_t i = 0;
    for (int64_t b = 0; b < o->count; ++b) {
        double scale = scale_of(s, n, o->at[b]);
        for (int64_t k = 0; k < n->horizon; ++k, ++i) {
            int64_t at = o->at[b] + k;
            double target = (s->values[at] - seasonal_naive(s, n, o->at[b], k)) / scale;
            if (!s->missing[at]) {
                r->items[r->count++] = (residual){ target - p->mean[i], p->variance[i], scale, k };
            }
        }
    }
}

static residuals residuals_of(const validation *v, const network *n, const series *s, int64_t epoch)
{
    residuals r = { NULL, 0 };
    int64_t windows = v->blocks[0].count + v->blocks[1].count + v->blocks[2].count;
    r.items = allocate((size_t)(windows * n->horizon) * sizeof *r.items);
    for (size_t i = 0; i < BLOCKS; ++i) {
        size_t size = (size_t)(v->blocks[i].count * n->horizon);
        prediction p = mix(record_at(v, i, epoch, 0), v->members, size);
        add_block(&r, &p, &v->blocks[i], n, s);
        free_prediction(&p);
    }
    return r;
}

static double mean_absolute(const residuals *r)
{
    double sum = 0;
    for (size_t i = 0; i < r->count; ++i) {
        sum += fabs(r->items[i].error);
    }
    return sum / (double)r->count;
}

static double root_mean_square(const residuals *r)
{
    double sum = 0;
    for (size_t i = 0; i < r->count; ++i) {
        double error = r->items[i].error * r->items[i].scale;
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
    qsort(sizes, count, sizeof *sizes, compare);
    return count > 0 ? sizes[(count - 1) * 8 / 10] / HALF_80 : 0;
}

/* Dropout says nothing of the noise in the series, which is added for each step of the horizon. */
static void fit_noise(double *noise, const residuals *r, int64_t horizon, double *sizes)
{
    for (int64_t k = 0; k < horizon; ++k) {
        size_t count = 0;
        for (size_t i = 0; i < r->count; ++i) {
            if (r->items[i].k == k) {
                sizes[count++] = fabs(r->items[i].error);
            }
        }
        double deviation = deviation_of(sizes, count);
        noise[k] = deviation * deviation;
    }
}

/* The band is made wider until its 80% hold 80% of the validation values. It is never made
 * narrower, because a quiet validation part does not promise a quiet future. */
static band_fit fit_band(const network *n, const residuals *r)
{
    band_fit fit = { 1, allocate((size_t)n->horizon * sizeof *fit.noise) };
    double *sizes = allocate(r->count * sizeof *sizes);
    if (n->band == BAND_MC) {
        fit_noise(fit.noise, r, n->horizon, sizes);
    }
    for (size_t i = 0; i < r->count; ++i) {
        const residual *e = &r->items[i];
        sizes[i] = fabs(e->error) / sqrt(e->variance + fit.noise[e->k] + 1e-12);
    }
    fit.factor = fmax(1, deviation_of(sizes, r->count));
    free(sizes);
    return fit;
}

trial judge(const validation *v, const network *n, const series *s)
{
    trial t = { .n = *n, .error = INFINITY };
    for (int64_t epoch = 0; epoch < v->epochs; ++epoch) {
        residuals r = residuals_of(v, n, s, epoch);
        double error = mean_absolute(&r);
        if (error < t.error) {
            t.error = error;
            t.epochs = epoch + 1;
        }
        free(r.items);
    }
    if (t.epochs == 0) {
        fail("%s: the errors of '%s' are not finite; try a smaller --lr", s->name,
            model_name(n->model));
    }
    residuals r = residuals_of(v, n, s, t.epochs - 1);
    t.rmse = root_mean_square(&r);
    t.fit = fit_band(n, &r);
    free(r.items);
    return t;
}
