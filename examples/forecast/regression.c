/* Fits autoregressions by the normal equations, which grow with the series. */
#include "regression.h"

#include <math.h>
#include <stdlib.h>

#include "../shared/command_line.h"

/* ---- the series as it is regressed ---------------------------------------------------------- */

typedef struct regression {
    const series *s;
    const network *n;
    int form;
    bool logarithm;
    int64_t lags, offset; /* the first `offset` values have no change */
    double *z;            /* [s->n], minus `shift`, divided by `unit` */
    double shift, unit;
    double *sums;     /* [lags + 2, lags + 2]: the products of 1, the lags and the target */
    int64_t until;    /* targets before this index are in the sums */
    double low, high; /* of the first `seen` values */
    int64_t seen;
} regression;

/* The value before a change is taken. */
static double plain(const regression *r, int64_t at)
{
    return r->logarithm ? log(r->s->values[at]) : r->s->values[at];
}

/* Mean 0 and size 1 over the first `end` values, so that sums of squares lose no digits. */
static void standardise(regression *r, int64_t end)
{
    double sum = 0, most = 0;
    for (int64_t i = r->offset; i < end; ++i) {
        sum += r->z[i] / (double)(end - r->offset);
    }
    for (int64_t i = r->offset; i < end; ++i) {
        most = fmax(most, fabs(r->z[i] - sum));
    }
    r->shift = sum;
    r->unit = most > 0 ? most : 1;
    for (int64_t i = r->offset; i < r->s->n; ++i) {
        r->z[i] = (r->z[i] - r->shift) / r->unit;
    }
}

static regression new_regression(
    const autoregression *a, const series *s, const network *n, int64_t end)
{
    regression r = { .s = s, .n = n, .form = a->form, .logarithm = a->logarithm, .lags = a->lags };
    size_t width = (size_t)a->lags + 2;
    r.offset = a->form == FORM_VALUE ? 0 : a->form == FORM_CHANGE ? 1 : n->season;
    r.z = allocate((size_t)s->n * sizeof *r.z);
    r.sums = allocate(width * width * sizeof *r.sums);
    for (int64_t i = r.offset; i < s->n; ++i) {
        r.z[i] = plain(&r, i) - (r.offset > 0 ? plain(&r, i - r.offset) : 0);
    }
    standardise(&r, end);
    r.until = r.offset + r.lags;
    return r;
}

static void free_regression(regression *r)
{
    free(r->z);
    free(r->sums);
}

/* ---- normal equations ----------------------------------------------------------------------- */

enum { MOST_ROWS = 4096 };

/* Rows of 1, the lags and the target, for known targets from `r->until` to end - 1. */
static adz_tensor *rows_until(const regression *r, int64_t end)
{
    int64_t width = r->lags + 2, count = 0;
    for (int64_t t = r->until; t < end; ++t) {
        count += !r->s->missing[t];
    }
    adz_tensor *rows = adz_empty(ADZ_SHAPE(count, width), ADZ_F64);
    double *to = adz_tensor_data_f64(rows);
    for (int64_t t = r->until; t < end; ++t) {
        if (!r->s->missing[t]) {
            *to++ = 1;
            for (int64_t i = t - r->lags; i <= t; ++i) {
                *to++ = r->z[i];
            }
        }
    }
    return rows;
}

/* Adds the products of all targets before `end` to the sums. */
static void add_until(regression *r, int64_t end)
{
    size_t size = (size_t)((r->lags + 2) * (r->lags + 2));
    while (r->until < end) {
        int64_t stop = end - r->until > MOST_ROWS ? r->until + MOST_ROWS : end;
        adz_scope *scope = adz_scope_open();
        adz_tensor *rows = rows_until(r, stop);
        if (adz_tensor_size(rows, 0) > 0) {
            adz_tensor *product = adz_contiguous(adz_matmul(adz_transpose(rows, 0, 1), rows));
            const double *from = adz_tensor_data_f64(product);
            for (size_t i = 0; i < size; ++i) {
                r->sums[i] += from[i];
            }
        }
        adz_scope_close(scope);
        r->until = stop;
    }
}

/* Cholesky's factor U of the matrix A = U^T U in the upper triangle of a[m, m]. A pivot that
 * rounding has made too small becomes `least`. */
static void factorise(double *a, int64_t m, double least)
{
    for (int64_t j = 0; j < m; ++j) {
        const double *row = a + j * m;
        double pivot = sqrt(fmax(row[j], least));
        for (int64_t k = j; k < m; ++k) {
            a[j * m + k] = k == j ? pivot : row[k] / pivot;
        }
        for (int64_t i = j + 1; i < m; ++i) {
            double *restrict to = a + i * m;
            double factor = row[i];
            for (int64_t k = i; k < m; ++k) {
                to[k] -= factor * row[k];
            }
        }
    }
}

/* Solves U^T U y = x; y replaces x. */
static void substitute(const double *u, int64_t m, double *x)
{
    for (int64_t i = 0; i < m; ++i) {
        x[i] /= u[i * m + i];
        for (int64_t k = i + 1; k < m; ++k) {
            x[k] -= u[i * m + k] * x[i];
        }
    }
    for (int64_t i = m - 1; i >= 0; --i) {
        for (int64_t k = i + 1; k < m; ++k) {
            x[i] -= u[i * m + k] * x[k];
        }
        x[i] /= u[i * m + i];
    }
}

/* w[lags] become the weights of the lags, the oldest first; the result is the intercept, which no
 * penalty makes smaller. Without rows all are 0. */
static double fit(const regression *r, double ridge, double *w)
{
    int64_t m = r->lags, width = m + 2;
    double count = r->sums[0], trace = 0, *a = allocate((size_t)(m * m) * sizeof *a);
    const double *mean = r->sums; /* the first row, divided by the count */
    double intercept = count > 0 ? mean[m + 1] / count : 0;
    for (int64_t i = 0; i < m; ++i) {
        const double *row = r->sums + (i + 1) * width;
        for (int64_t j = 0; j < m && count > 0; ++j) {
            a[i * m + j] = row[j + 1] - mean[i + 1] * mean[j + 1] / count;
        }
        w[i] = count > 0 ? row[m + 1] - mean[i + 1] * mean[m + 1] / count : 0;
        trace += a[i * m + i];
    }
    double unit = trace > 0 ? trace / (double)m : 1;
    for (int64_t i = 0; i < m; ++i) {
        a[i * m + i] += ridge * unit;
    }
    factorise(a, m, 1e-12 * unit);
    substitute(a, m, w);
    for (int64_t i = 0; i < m && count > 0; ++i) {
        intercept -= w[i] * mean[i + 1] / count;
    }
    free(a);
    return intercept;
}

/* ---- forecasts ------------------------------------------------------------------------------ */

/* Forecasts of z from the origin on. `path` has room for lags + horizon values. What lies before
 * the series counts as its mean, 0. */
static void iterate(
    const regression *r, const double *w, double intercept, int64_t origin, double *path)
{
    for (int64_t i = 0; i < r->lags; ++i) {
        int64_t at = origin - r->lags + i;
        path[i] = at >= r->offset ? r->z[at] : 0;
    }
    for (int64_t k = 0; k < r->n->horizon; ++k) {
        double next = intercept;
        for (int64_t i = 0; i < r->lags; ++i) {
            next += w[i] * path[k + i];
        }
        path[r->lags + k] = next;
    }
}

/* Brings the smallest and the largest value before the origin up to date. */
static void widen(regression *r, int64_t origin)
{
    for (; r->seen < origin; ++r->seen) {
        double value = r->s->values[r->seen];
        r->low = r->seen == 0 ? value : fmin(r->low, value);
        r->high = r->seen == 0 ? value : fmax(r->high, value);
    }
}

/* Forecasts of the series from those of z. A forecast stays within one span of the values before
 * the origin, because an unstable autoregression leaves every bound. */
static void restore(const regression *r, int64_t origin, const double *z, double *to)
{
    for (int64_t k = 0; k < r->n->horizon; ++k) {
        double base = 0;
        if (r->offset > 0) {
            base = k < r->offset ? plain(r, origin + k - r->offset) : to[k - r->offset];
        }
        to[k] = base + z[k] * r->unit + r->shift;
    }
    for (int64_t k = 0; k < r->n->horizon; ++k) {
        double value = r->logarithm ? exp(to[k]) : to[k];
        to[k] = fmin(fmax(value, r->low - (r->high - r->low)), r->high + (r->high - r->low));
    }
}

void forecast_alike(const autoregression *a, size_t count, const series *s, const network *n,
    const origins *o, fitting when, double **to)
{
    if (o->count == 0) {
        return;
    }
    int64_t fitted = -1;
    regression r = new_regression(a, s, n, when.end >= 0 ? when.end : o->at[0]);
    double *w = allocate(count * (size_t)r.lags * sizeof *w), *c = allocate(count * sizeof *c);
    double *path = allocate((size_t)(r.lags + n->horizon) * sizeof *path);
    for (int64_t b = 0; b < o->count; ++b) {
        int64_t origin = o->at[b];
        widen(&r, origin);
        if (fitted < 0 || (when.end < 0 && origin - fitted >= when.step)) {
            fitted = origin;
            add_until(&r, when.end >= 0 ? when.end : origin);
            for (size_t i = 0; i < count; ++i) {
                c[i] = fit(&r, a[i].ridge, w + i * (size_t)r.lags);
            }
        }
        for (size_t i = 0; i < count; ++i) {
            iterate(&r, w + i * (size_t)r.lags, c[i], origin, path);
            restore(&r, origin, path + r.lags, to[i] + b * n->horizon);
        }
    }
    free(path);
    free(c);
    free(w);
    free_regression(&r);
}
