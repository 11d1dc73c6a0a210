/* The first run of differentiation formulas: Note [States of differences] in ode_bdf.h. The host
 * computes on plain arrays of f64, because most stiff equations are small. */
#include <math.h>
#include <string.h>

#include "solvers/ode_bdf.h"
#include "tensor/kernel/real.h"

enum { ROWS = ADZI_BDF_ROWS + 1, ITERATIONS = 4 };

/* The error of a step is to be this part of the tolerance, because the errors of many steps of
 * these methods add up. */
#define PART 0.1
/* An iteration has converged if what it leaves is this part of the tolerance. */
#define LEFT 0.005

typedef struct bdf {
    adzi_ode_run *run;
    int64_t n;
    double *history, *trial;    /* [ROWS, n] before the step, and at its distance */
    double *p, *s, *d, *weight; /* [n] of the running step; 1 / tolerance */
    double h, c, rate;          /* of the history; of the factors; of the last convergence */
    double left;                /* of the tolerance */
    bool keeps;                 /* the states after the steps are kept: run->path */
    int order, equal;           /* steps of this order and length */
    bool current;               /* the Jacobian belongs to this step */
    adz_tensor *x, *j;          /* a right-hand side [N, D, 1]; the Jacobian */
    adzi_lu factors;
} bdf;

static double *doubles(const adz_tensor *t)
{
    return t != NULL ? (double *)(void *)t->data : NULL;
}

/* ---- the begin ------------------------------------------------------------------------------- */

static bool begin(bdf *b)
{
    adzi_ode_run *run = b->run;
    const adzi_ode *ode = run->ode;
    const adz_tensor *y = run->y, *f = run->first;
    const int64_t n = y->numel, sizes[] = { ROWS, n }, work[] = { ROWS + 4, n };
    const int64_t rows = ode->o.rows ? y->sizes[0] : 1;
    const int64_t sides[] = { rows, rows > 0 ? n / rows : 0, 1 };
    adz_tensor *history = adz_zeros(adz_shape_of(2, sizes), ADZ_F64);
    adz_tensor *memory = adzi_scratch(ode->e.op, ADZ_F64, 2, work);
    b->x = adzi_scratch(ode->e.op, ADZ_F64, 3, sides);
    run->state = history != NULL ? adz_narrow(history, 0, 0, ADZI_BDF_ROWS) : NULL;
    if (memory == NULL || b->x == NULL || run->state == NULL) {
        return false;
    }
    b->n = n;
    b->history = doubles(history);
    b->trial = doubles(memory);
    b->p = b->trial + ROWS * n;
    b->s = b->p + n;
    b->d = b->s + n;
    b->weight = b->d + n;
    b->order = 1;
    b->h = run->h;
    b->left = fmax(LEFT, fmin(2 * adzi_ode_eps(y) / ode->o.rtol, PART));
    for (int64_t i = 0; i < n; ++i) {
        b->history[i] = adzi_ode_element(y, i);
        b->history[n + i] = run->h * adzi_ode_element(f, i);
    }
    run->mark = adzi_self()->n_temporaries;
    return true;
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* Sets the weights for the state y, or y + d. An element that the dtype cannot hold gets NaN, so
 * that the step is rejected. */
static void weigh(bdf *b, const double *y, const double *d)
{
    const adz_ode_options *o = &b->run->ode->o;
    const double most = b->run->y->dtype == ADZ_F64 ? DBL_MAX : (double)FLT_MAX;
    for (int64_t i = 0; i < b->n; ++i) {
        const double atol = o->atols != NULL ? o->atols[(size_t)i % o->n_atols] : o->atol;
        const double state = fabs(d != NULL ? y[i] + d[i] : y[i]);
        b->weight[i] = state <= most ? 1 / (atol + o->rtol * state) : NAN;
    }
}

/* The root mean square of x as parts of the tolerance. */
static double size_of(const bdf *b, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < b->n; ++i) {
        const double part = x[i] * b->weight[i];
        sum += part * part;
    }
    return b->n > 0 ? sqrt(sum / (double)b->n) : 0;
}

/* Sets trial, p and s. */
static void predict(bdf *b, double h)
{
    const int q = b->order;
    const int64_t n = b->n;
    const adzi_bdf f = adzi_bdf_of(q);
    double a[ADZI_BDF_ORDER + 1][ADZI_BDF_ORDER + 1];
    memcpy(b->trial, b->history, (size_t)(ROWS * n) * sizeof(double));
    if (h != b->h) {
        adzi_bdf_rescale(q, h / b->h, a);
        for (int i = 0; i <= q; ++i) {
            for (int64_t m = 0; m < n; ++m) {
                double sum = 0;
                for (int j = 0; j <= q; ++j) {
                    sum += a[i][j] * b->history[j * n + m];
                }
                b->trial[i * n + m] = sum;
            }
        }
    }
    for (int64_t m = 0; m < n; ++m) {
        double p = b->trial[m], s = 0;
        for (int i = 1; i <= q; ++i) {
            p += b->trial[i * n + m];
            s += f.gamma[i] * b->trial[i * n + m];
        }
        b->p[m] = p;
        b->s[m] = s / f.alpha;
    }
    weigh(b, b->p, NULL);
}

/* y = p + d as a tensor. */
static adz_tensor *state_of(const bdf *b)
{
    const adz_tensor *like = b->run->y;
    adz_tensor *y =
        adzi_scratch(b->run->ode->e.op, (adz_dtype)like->dtype, like->rank, like->sizes);
    for (int64_t i = 0; y != NULL && i < b->n; ++i) {
        const double value = b->p[i] + b->d[i];
        if (y->dtype == ADZ_F64) {
            ((double *)(void *)y->data)[i] = value;
        } else {
            ((float *)(void *)y->data)[i] = (float)value;
        }
    }
    return y;
}

/* Computes the Jacobian at the prediction if there is none, or if a new one is wanted, and the
 * factors. */
static bool factor(bdf *b, adz_tensor *t, double c, bool renew)
{
    adz_tensor *m;
    if (renew) {
        memset(b->d, 0, (size_t)b->n * sizeof(double));
        adz_tensor *y = state_of(b);
        b->j = y != NULL ? adzi_ode_jacobian(b->run->ode, t, y, false) : NULL;
        b->j = b->j != NULL ? adz_to(adz_detach(b->j), ADZ_F64) : NULL;
        b->current = true;
    }
    if (renew || c != b->c) {
        b->c = c;
        b->rate = 1;
        return b->j != NULL && adzi_bdf_factor(b->run->ode, b->j, c, &m, &b->factors);
    }
    return true;
}

/* Newton's iteration with the factors. True in *converged if it has ended well. */
static bool iterate(bdf *b, adz_tensor *t, double c, bool *converged)
{
    double before = 0;
    memset(b->d, 0, (size_t)b->n * sizeof(double));
    *converged = false;
    for (int i = 0; i < ITERATIONS; ++i) {
        adz_tensor *y = state_of(b), *f = y != NULL ? adzi_ode_slope(b->run->ode, t, y) : NULL;
        const adz_tensor *values = f != NULL ? adzi_compact(b->run->ode->e.op, f) : NULL;
        double *x = doubles(b->x);
        if (values == NULL) {
            return false;
        }
        for (int64_t m = 0; m < b->n; ++m) {
            x[m] = c * adzi_ode_element(values, m) - b->s[m] - b->d[m];
        }
        adzi_lu_solve(&b->factors, b->x, false, false);
        const double size = size_of(b, x);
        for (int64_t m = 0; m < b->n; ++m) {
            b->d[m] += x[m];
        }
        b->rate = i > 0 ? fmax(0.3 * b->rate, size / before) : b->rate;
        if (!isfinite(size) || (i > 0 && size > 2 * before)) {
            return true;
        }
        if (size * fmin(1, b->rate) <= b->left) {
            *converged = true;
            return true;
        }
        before = size;
    }
    return true;
}

/* Solves the equation of the step, if need be with a new Jacobian. */
static bool solve(bdf *b, adz_tensor *t, double h, bool *converged)
{
    const double c = h / adzi_bdf_of(b->order).alpha;
    b->current = false;
    *converged = false;
    for (bool renew = b->j == NULL; !*converged; renew = true) {
        if (!factor(b, t, c, renew) || !iterate(b, t, c, converged)) {
            return false;
        }
        if (renew) {
            return true;
        }
    }
    return true;
}

/* ---- the next step --------------------------------------------------------------------------- */

/* Chooses order and length after steps of equal length. */
static void choose_next(bdf *b)
{
    const int q = b->order;
    double best = 0;
    int next = q;
    for (int k = q - 1; k <= q + 1; ++k) {
        if (k < 1 || k > ADZI_BDF_ORDER) {
            continue;
        }
        const double error =
            fabs(adzi_bdf_of(k).error) / PART * size_of(b, b->history + (k + 1) * b->n);
        const double factor = adzi_real_pow(fmax(error, 1e-20), -1.0 / (k + 1));
        if (factor > best) {
            best = factor;
            next = k;
        }
    }
    b->order = next;
    b->equal = 0;
    b->run->h = b->h * fmin(10, 0.9 * best);
}

/* Takes the step up in the history. */
static void advance(bdf *b, double h)
{
    const int q = b->order;
    const int64_t n = b->n;
    double *rows = b->trial;
    for (int64_t m = 0; m < n; ++m) {
        rows[(q + 2) * n + m] = b->d[m] - rows[(q + 1) * n + m];
        rows[(q + 1) * n + m] = b->d[m];
        for (int i = q; i >= 0; --i) {
            rows[i * n + m] += rows[(i + 1) * n + m];
        }
    }
    memcpy(b->history, rows, (size_t)(ROWS * n) * sizeof(double));
    b->equal = h == b->h ? b->equal + 1 : 1;
    b->h = h;
}

/* The differences as tensors, if a time or an event needs them. */
static bool show(const bdf *b, adzi_ode_move *move)
{
    const adzi_ode *ode = b->run->ode;
    move->order = b->order;
    if (ode->n_events == 0 && ode->at[b->run->next] >= ode->ends[ode->n_steps]) {
        return true;
    }
    for (int i = 0; i <= b->order; ++i) {
        move->k[i] = adzi_scratch(ode->e.op, ADZ_F64, move->y1->rank, move->y1->sizes);
        if (move->k[i] == NULL) {
            return false;
        }
        memcpy(move->k[i]->data, b->history + i * b->n, (size_t)b->n * sizeof(double));
    }
    return true;
}

/* Keeps the state after step k for forward derivatives, as long as all of them take little memory.
 */
static bool keep_path(bdf *b, int64_t k)
{
    adzi_ode_run *run = b->run;
    const int64_t has = run->path != NULL ? run->path->sizes[0] : 0;
    const int64_t sizes[] = { has > 0 ? 2 * has : 64, b->n };
    b->keeps = b->keeps && (k + 1) * b->n <= run->ode->o.graph_bytes / (int64_t)sizeof(double);
    if (!b->keeps) {
        run->path = NULL;
        return true;
    }
    if (k >= has) {
        adz_tensor *path = adzi_scratch(run->ode->e.op, ADZ_F64, 2, sizes);
        if (path == NULL) {
            return false;
        }
        if (has > 0) {
            memcpy(path->data, run->path->data, (size_t)(has * b->n) * sizeof(double));
        }
        run->path = path;
    }
    memcpy(doubles(run->path) + k * b->n, b->history, (size_t)b->n * sizeof(double));
    return true;
}

static bool go_on(bdf *b, adzi_ode_move *move)
{
    adzi_ode_run *run = b->run;
    run->stiff[0] = b->j;
    run->stiff[1] = b->factors.lu;
    run->stiff[2] = b->factors.pivots;
    move->state = run->state;
    return adzi_ode_go_on(run, move);
}

static bool reject(bdf *b, adzi_ode_move *move, double factor, bool *over)
{
    adzi_ode *ode = b->run->ode;
    b->run->h = (ode->ends[ode->n_steps] - b->run->t) * factor;
    b->equal = 0;
    ++ode->report.rejected;
    --ode->n_steps;
    *over = false;
    move->y1 = b->run->y;
    return go_on(b, move);
}

/* Tries a step. True with *over if it was the last one. */
static bool try_step(bdf *b, double end, bool *over)
{
    adzi_ode_run *run = b->run;
    adzi_ode *ode = run->ode;
    const int64_t k = ode->n_steps;
    adzi_ode_span span;
    adzi_ode_move move = { .y0 = run->y };
    bool converged;
    if (!adzi_ode_may_step(run, end) || !adzi_ode_span_of(ode, k, &span)) {
        return false;
    }
    ode->orders[k] = b->order;
    *over = ode->ends[k + 1] == end;
    adz_tensor *t = adzi_ode_end_of(ode, &span);
    predict(b, span.length);
    if (t == NULL || !solve(b, t, span.length, &converged)) {
        return false;
    }
    if (!converged) {
        return reject(b, &move, 0.5, over);
    }
    weigh(b, b->p, b->d);
    const double error = fabs(adzi_bdf_of(b->order).error) / PART * size_of(b, b->d);
    if (!(error <= 1)) {
        const double factor = 0.9 * adzi_real_pow(error, -1.0 / (b->order + 1));
        return reject(b, &move, isnan(factor) ? 0.2 : fmax(0.2, factor), over);
    }
    move.y1 = state_of(b);
    if (move.y1 == NULL || !adzi_ode_keep_state(run, k)) {
        return false;
    }
    advance(b, span.length);
    if (!keep_path(b, k) || !show(b, &move) || !adzi_ode_accept(run, k, &span, &move, over)) {
        return false;
    }
    if (b->equal > b->order) {
        choose_next(b);
    }
    return go_on(b, &move);
}

bool adzi_ode_adapt_bdf(adzi_ode_run *run, double end)
{
    bdf b = { .run = run, .keeps = run->kept != NULL && run->ode->n_events == 0 };
    bool over = false;
    if (!begin(&b)) {
        return false;
    }
    while (!over) {
        if (!try_step(&b, end, &over)) {
            return false;
        }
    }
    return true;
}
