/* Steps of differentiation formulas with tangents (Note [States of differences] in ode_bdf.h). The
 * tangent d' of a step solves the linear equation
 *
 *     (1 - c J) d' = c (J p' + df/dp w) - s',   c = h / alpha_q
 *
 * with J at the end of the step. If J is formed there, this takes one solution of a linear system.
 * Else J of an earlier point stands in the matrix, the equation is solved by iteration, and a new J
 * is formed if that is slow. */
#include <math.h>
#include <string.h>

#include "solvers/ode_forward.h"
#include "solvers/ode_bdf.h"

enum { ROWS = ADZI_BDF_ROWS, MOST_ITERATIONS = 12 };

/* An iteration is slow if a round leaves more than this part of the error. */
#define SLOW 0.3

typedef struct bdf {
    adzi_ode_tangents *s;
    const double *path; /* [n_steps, n], the states at the ends of the steps */
    int64_t size;       /* m n */
    double *rows;       /* [ROWS, m, n], the differences */
    double *trial;      /* the same at the distance of the step */
    double *p, *sum;    /* [m, n]: p' and s' of the step */
    double *d, *y, *slopes;
    double c;      /* of the factors */
    adz_tensor *x; /* right-hand sides, [R, D, m] */
    adz_tensor *j; /* df/dy, [R, D, D] */
    adzi_lu factors;
} bdf;

static double *doubles(const adz_tensor *t)
{
    return (double *)(void *)t->data;
}

/* ---- linear systems -------------------------------------------------------------------------- */

/* The Jacobian as a tensor. */
static adz_tensor *jacobian_of(bdf *b, adz_tensor *t, adz_tensor *y)
{
    const adzi_ode_tangents *s = b->s;
    if (!s->dense) {
        adzi_ode at = s->ode;
        if (!adzi_equation_detach(&at.e)) {
            return NULL;
        }
        adz_tensor *j = adzi_ode_jacobian(&at, t, y, false);
        return j != NULL ? adz_to(adz_detach(j), ADZ_F64) : NULL;
    }
    adz_tensor *j = adzi_scratch(s->ode.e.op, ADZ_F64, 3, (int64_t[]){ 1, s->n, s->n });
    for (int64_t i = 0; j != NULL && i < s->n; ++i) {
        memcpy(
            doubles(j) + i * s->n, s->jacobian + i * (s->n + s->p), (size_t)s->n * sizeof(double));
    }
    return j;
}

/* Solves (1 - c J) x = b for all tangents, of which b[m, n] becomes x. */
static void solve(const bdf *b, double *values)
{
    const int64_t m = b->s->m, n = b->s->n;
    double *x = doubles(b->x);
    for (int64_t j = 0; j < m; ++j) {
        for (int64_t i = 0; i < n; ++i) {
            x[i * m + j] = values[j * n + i];
        }
    }
    adzi_lu_solve(&b->factors, b->x, false, false);
    for (int64_t j = 0; j < m; ++j) {
        for (int64_t i = 0; i < n; ++i) {
            values[j * n + i] = x[i * m + j];
        }
    }
}

static bool factor(bdf *b, adz_tensor *t, adz_tensor *y, double c, bool renew)
{
    adz_tensor *matrix;
    if (renew) {
        b->j = jacobian_of(b, t, y);
        if (b->j == NULL) {
            return false;
        }
    }
    b->c = c;
    return adzi_bdf_factor(&b->s->ode, b->j, c, &matrix, &b->factors);
}

/* b->d from what it is: d + (1 - c J)^-1 (c f'(p + d) - s - d). The largest change as a part of the
 * tangent in *part. */
static bool improve(bdf *b, double c, double *part)
{
    const int64_t n = b->s->n;
    for (int64_t i = 0; i < b->size; ++i) {
        b->y[i] = b->p[i] + b->d[i];
    }
    if (!adzi_tangents_slopes(b->s, b->y, b->slopes)) {
        return false;
    }
    for (int64_t i = 0; i < b->size; ++i) {
        b->slopes[i] = c * b->slopes[i] - b->sum[i] - b->d[i];
    }
    solve(b, b->slopes);
    *part = 0;
    for (int64_t j = 0; j < b->s->m; ++j) {
        double change = 0, length = 0;
        for (int64_t i = j * n; i < (j + 1) * n; ++i) {
            b->d[i] += b->slopes[i];
            change = fmax(change, fabs(b->slopes[i]));
            length = fmax(length, fabs(b->y[i]));
        }
        *part = change > 0 ? fmax(*part, change / fmax(length, change)) : *part;
    }
    return true;
}

/* Iterates until rounding stops it. *slow: a newer Jacobian is needed. */
static bool iterate(bdf *b, double c, bool *slow)
{
    double part = 0, before = INFINITY;
    const double rounding = 4 * adzi_ode_eps(b->s->ode.like);
    memset(b->d, 0, (size_t)b->size * sizeof(double));
    *slow = false;
    for (int i = 0; i < MOST_ITERATIONS; ++i) {
        if (!improve(b, c, &part)) {
            return false;
        }
        if (part <= rounding) {
            return true;
        }
        if (i > 0 && !(part < SLOW * before)) {
            break;
        }
        before = part;
    }
    *slow = !(part < 64 * rounding);
    return true;
}

/* b->d, for the state y at the end of the step. */
static bool solve_step(bdf *b, adz_tensor *t, adz_tensor *y, double c)
{
    bool slow = true;
    double part;
    if (adzi_tangents_at(b->s, t, y) == NULL) {
        return false;
    }
    if (b->s->dense) {
        memset(b->d, 0, (size_t)b->size * sizeof(double));
        return factor(b, t, y, c, true) && improve(b, c, &part);
    }
    if (b->j != NULL && ((c != b->c && !factor(b, t, y, c, false)) || !iterate(b, c, &slow))) {
        return false;
    }
    return !slow || (factor(b, t, y, c, true) && iterate(b, c, &slow));
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Sets trial, p and s for a step of this order and ratio of lengths. */
static void predict(bdf *b, int q, double ratio)
{
    const adzi_bdf f = adzi_bdf_of(q);
    double a[ADZI_BDF_ORDER + 1][ADZI_BDF_ORDER + 1];
    adzi_bdf_rescale(q, ratio, a);
    memset(b->p, 0, (size_t)b->size * sizeof(double));
    memset(b->sum, 0, (size_t)b->size * sizeof(double));
    for (int i = 0; i <= q; ++i) {
        double *to = b->trial + i * b->size;
        memset(to, 0, (size_t)b->size * sizeof(double));
        for (int j = 0; j <= q; ++j) {
            for (int64_t k = 0; k < b->size && a[i][j] != 0; ++k) {
                to[k] += a[i][j] * b->rows[j * b->size + k];
            }
        }
        for (int64_t k = 0; k < b->size; ++k) {
            b->p[k] += to[k];
            b->sum[k] += f.gamma[i] / f.alpha * to[k];
        }
    }
}

/* Each difference becomes the sum of those from it on, d included. */
static void advance(bdf *b, int q)
{
    memcpy(b->rows + (q + 1) * b->size, b->d, (size_t)b->size * sizeof(double));
    for (int i = q; i >= 0; --i) {
        for (int64_t k = 0; k < b->size; ++k) {
            b->rows[i * b->size + k] = b->trial[i * b->size + k] + b->rows[(i + 1) * b->size + k];
        }
    }
}

/* Writes the tangents at the times in step k, from *next on. */
static void write_tangents(bdf *b, int64_t k, int q, int64_t *next)
{
    const adzi_ode *ode = &b->s->ode;
    const int64_t n = b->s->n;
    const double from = ode->ends[k], length = ode->ends[k + 1] - from;
    for (; *next < ode->n_times && ode->at[*next] <= ode->ends[k + 1]; ++*next) {
        const double part = (ode->at[*next] - from) / length;
        double w[ADZI_BDF_ORDER + 1];
        for (int i = 0; i <= q; ++i) {
            w[i] = adzi_bdf_weight(i, part);
        }
        for (int64_t e = 0; e < b->size; ++e) {
            double sum = 0;
            for (int i = 0; i <= q; ++i) {
                sum += w[i] * b->rows[i * b->size + e];
            }
            b->s->out[(e / n * ode->n_times + *next) * n + e % n] = sum;
        }
    }
}

/* The first two differences: y', and h times its slope. */
static bool begin(bdf *b)
{
    const adzi_ode *ode = &b->s->ode;
    const double h = ode->ends[1] - ode->ends[0];
    adzi_ode_span span;
    memset(b->rows, 0, (size_t)(ROWS * b->size) * sizeof(double));
    memcpy(b->rows, b->s->y, (size_t)b->size * sizeof(double));
    if (!adzi_ode_span_of(ode, 0, &span) ||
        adzi_tangents_at(b->s, span.t, (adz_tensor *)ode->like) == NULL ||
        !adzi_tangents_slopes(b->s, b->rows, b->slopes)) {
        return false;
    }
    for (int64_t i = 0; i < b->size; ++i) {
        b->rows[b->size + i] = h * b->slopes[i];
    }
    return true;
}

static bool take_step(bdf *b, int64_t k, int64_t *next)
{
    const adzi_ode *ode = &b->s->ode;
    const int q = (int)ode->orders[k];
    const double h = ode->ends[k + 1] - ode->ends[k];
    adzi_ode_span span;
    if (!adzi_ode_span_of(ode, k, &span)) {
        return false;
    }
    adz_tensor *t = adzi_ode_end_of(ode, &span),
               *y = adzi_tangents_tensor(ode->e.op, ode->like, b->path + k * b->s->n);
    predict(b, q, k > 0 ? h / (ode->ends[k] - ode->ends[k - 1]) : 1);
    if (t == NULL || y == NULL || !solve_step(b, t, y, h / adzi_bdf_of(q).alpha)) {
        return false;
    }
    advance(b, q);
    write_tangents(b, k, q, next);
    return true;
}

static bool prepare(bdf *b)
{
    const adzi_ode_tangents *s = b->s;
    const int64_t n = s->n, rows = s->ode.o.rows ? s->ode.like->sizes[0] : 1;
    const int64_t sizes[] = { 2 * ROWS + 5, b->size };
    const int64_t sides[] = { rows, rows > 0 ? n / rows : 0, s->m };
    adz_tensor *memory = adzi_scratch(s->ode.e.op, ADZ_F64, 2, sizes);
    b->x = adzi_scratch(s->ode.e.op, ADZ_F64, 3, sides);
    if (memory == NULL || b->x == NULL) {
        return false;
    }
    b->rows = doubles(memory);
    b->trial = b->rows + ROWS * b->size;
    b->p = b->trial + ROWS * b->size;
    b->sum = b->p + b->size;
    b->d = b->sum + b->size;
    b->y = b->d + b->size;
    b->slopes = b->y + b->size;
    return true;
}

bool adzi_tangents_bdf(adzi_ode_tangents *s, adz_tensor *path)
{
    bdf b = { .s = s, .path = doubles(path), .size = s->m * s->n };
    int64_t next = 1;
    if (!prepare(&b)) {
        return false;
    }
    const size_t mark = adzi_self()->n_temporaries;
    bool good = begin(&b);
    for (int64_t k = 0; k < s->ode.n_steps && good; ++k) {
        good = take_step(&b, k, &next) &&
               adzi_survive(
                   s->ode.e.op, mark, (adz_tensor *[]){ b.j, b.factors.lu, b.factors.pivots }, 3);
    }
    return good;
}
