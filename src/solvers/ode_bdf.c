/* A step of differentiation formulas as an expression, for the backward: Note [States of
 * differences] in ode_bdf.h. */
#include "solvers/ode_bdf.h"

#include <math.h>

enum { COLUMNS = ADZI_BDF_ORDER + 1, MOST_ITERATIONS = 12 };

/* ---- coefficients ---------------------------------------------------------------------------- */

adzi_bdf adzi_bdf_of(int order)
{
    static const double kappa[COLUMNS] = { 0, -0.1850, -1.0 / 9, -0.0823, -0.0415, 0 };
    adzi_bdf b = { .gamma = { 0 } };
    for (int i = 1; i < COLUMNS; ++i) {
        b.gamma[i] = b.gamma[i - 1] + 1.0 / i;
    }
    b.alpha = (1 - kappa[order]) * b.gamma[order];
    b.error = kappa[order] * b.gamma[order] + 1.0 / (order + 1);
    return b;
}

/* The j-th column has the values of the basis polynomials at -factor j steps. */
static void values_at(int order, double factor, double r[COLUMNS][COLUMNS])
{
    for (int j = 0; j <= order; ++j) {
        r[0][j] = 1;
        for (int i = 1; i <= order; ++i) {
            r[i][j] = r[i - 1][j] * (i - 1 - factor * j) / i;
        }
    }
}

void adzi_bdf_rescale(int order, double factor, double a[COLUMNS][COLUMNS])
{
    double r[COLUMNS][COLUMNS], u[COLUMNS][COLUMNS];
    values_at(order, factor, r);
    values_at(order, 1, u);
    for (int i = 0; i <= order; ++i) {
        for (int j = 0; j <= order; ++j) {
            a[i][j] = 0;
            for (int m = 0; m <= order; ++m) {
                a[i][j] += r[j][m] * u[m][i];
            }
        }
    }
}

/* ---- states ---------------------------------------------------------------------------------- */

adz_tensor *adzi_bdf_begin(adz_tensor *y)
{
    adz_tensor *row = adz_to(adz_reshape(y, ADZ_SHAPE(1, y->numel)), ADZ_F64);
    adz_tensor *parts[] = { row, adz_zeros(ADZ_SHAPE(ADZI_BDF_ROWS - 1, y->numel), ADZ_F64) };
    return row != NULL && parts[1] != NULL ? adz_cat(parts, 2, 0) : NULL;
}

adz_tensor *adzi_bdf_value(const adz_tensor *y, adz_tensor *elements)
{
    return adz_to(adz_reshape(elements, adz_shape_of(y->rank, y->sizes)), (adz_dtype)y->dtype);
}

/* f at elements in f64, as elements in f64. */
static adz_tensor *slope(const adzi_ode *ode, adz_tensor *t, adz_tensor *elements)
{
    adz_tensor *y = adzi_bdf_value(ode->like, elements);
    adz_tensor *f = y != NULL ? adzi_ode_slope(ode, t, y) : NULL;
    return f != NULL ? adz_to(adz_reshape(f, ADZ_SHAPE(f->numel)), ADZ_F64) : NULL;
}

/* ---- the equation of a step ------------------------------------------------------------------ */

bool adzi_bdf_factor(const adzi_ode *ode, adz_tensor *j, double c, adz_tensor **m, adzi_lu *factors)
{
    const int64_t n = j->sizes[1];
    const adz_tensor *from = adzi_compact(ode->e.op, j);
    *m = adzi_scratch(ode->e.op, ADZ_F64, 3, j->sizes);
    if (*m == NULL || from == NULL) {
        return false;
    }
    const double *source = (const double *)(const void *)from->data;
    double *to = (double *)(void *)(*m)->data;
    for (int64_t i = 0; i < from->numel; ++i) {
        to[i] = (i / n % n == i % n) - c * source[i];
    }
    return adzi_lu_factor(ode->e.op, *m, false, factors);
}

/* The equation of one step: numbers, and vectors of n elements. */
typedef struct equation {
    const adzi_ode *ode;
    double c;
    adz_tensor *t, *p, *s;
} equation;

/* c f(y) - s - (y - p) */
static adz_tensor *residual(const equation *e, adz_tensor *y)
{
    adz_tensor *f = slope(e->ode, e->t, y);
    return f != NULL ? adz_sub(adz_mul_number(f, e->c), adz_add(adz_sub(y, e->p), e->s)) : NULL;
}

/* The Jacobian of the equation, and its factors. */
typedef struct newton_system {
    adz_tensor *m;
    adzi_lu factors;
} newton_system;

static bool factor_at(const equation *e, adz_tensor *y, newton_system *at)
{
    adz_tensor *state = adzi_bdf_value(e->ode->like, adz_detach(y)), *t = adz_detach(e->t);
    adz_tensor *j = state != NULL && t != NULL ? adzi_ode_jacobian(e->ode, t, state, false) : NULL;
    j = j != NULL ? adz_to(adz_detach(j), ADZ_F64) : NULL;
    return j != NULL && adzi_bdf_factor(e->ode, j, e->c, &at->m, &at->factors);
}

/* y + m^-1 residual(y). The size of the change, if it is asked for. */
static adz_tensor *improve(const equation *e, const newton_system *at, adz_tensor *y, double *size)
{
    adz_tensor *r = residual(e, y);
    r = r != NULL ? adz_reshape(r, ADZ_SHAPE(at->m->sizes[0], at->m->sizes[2], 1)) : NULL;
    adz_tensor *x = r != NULL ? adzi_solve_with(&at->factors, at->m, r, false) : NULL;
    x = x != NULL ? adz_reshape(x, ADZ_SHAPE(y->numel)) : NULL;
    if (size != NULL) {
        adz_tensor *largest = x != NULL && x->numel > 0 ? adz_max(adz_abs(x)) : NULL;
        *size = largest != NULL ? adz_item(largest) : 0;
    }
    return x != NULL ? adz_add(y, x) : NULL;
}

/* The root, without a graph: as exact as rounding lets it be. */
static adz_tensor *root_of(const equation *given)
{
    equation e = *given;
    newton_system at;
    double size = INFINITY, before = INFINITY;
    const bool mode = adz_set_grad_enabled(false);
    e.t = adz_detach(e.t);
    e.p = adz_detach(e.p);
    e.s = adz_detach(e.s);
    adz_tensor *y = factor_at(&e, e.p, &at) ? e.p : NULL;
    for (int i = 0; i < MOST_ITERATIONS && y != NULL && size > 0; ++i) {
        y = improve(&e, &at, y, &size);
        if (i > 1 && !(size < before / 2)) {
            break;
        }
        before = size;
    }
    adz_set_grad_enabled(mode);
    return y;
}

/* The root. With a graph, a chord step changes it by rounding errors only, but its derivative is
 * that of the root, and each further one makes one more order of derivatives right. */
static adz_tensor *solve(const equation *e)
{
    adz_tensor *y = root_of(e);
    newton_system at;
    if (!e->ode->graph || y == NULL) {
        return y;
    }
    if (!factor_at(e, y, &at)) {
        return NULL;
    }
    for (int i = 0; i < e->ode->chords && y != NULL; ++i) {
        y = improve(e, &at, y, NULL);
    }
    return y;
}

/* ---- the step -------------------------------------------------------------------------------- */

/* The rows from which the step predicts: those of the state, or y and h f(t, y) at the begin. */
static adz_tensor *rows_of(
    const adzi_ode *ode, const adzi_ode_span *span, adz_tensor *state, int order)
{
    if (span->k > 0) {
        return adz_narrow(state, 0, 0, order + 1);
    }
    adz_tensor *y = adz_select(state, 0, 0), *f = slope(ode, span->t, y);
    adz_tensor *rows[] = { adz_unsqueeze(y, 0),
        f != NULL ? adz_unsqueeze(adz_mul_number(f, span->length), 0) : NULL };
    return rows[0] != NULL && rows[1] != NULL ? adz_cat(rows, 2, 0) : NULL;
}

/* A matrix times the rows: the differences at the distance of the step, p, and s. */
static adz_tensor *prepare(const adzi_ode *ode, const adzi_ode_span *span, adz_tensor *rows, int q)
{
    double a[COLUMNS][COLUMNS], w[(COLUMNS + 2) * COLUMNS];
    const double before = span->k > 0 ? ode->ends[span->k] - ode->ends[span->k - 1] : span->length;
    const adzi_bdf b = adzi_bdf_of(q);
    adzi_bdf_rescale(q, span->length / before, a);
    for (int j = 0; j <= q; ++j) {
        double sum = 0, weighted = 0;
        for (int i = 0; i <= q; ++i) {
            w[i * (q + 1) + j] = a[i][j];
            sum += a[i][j];
            weighted += b.gamma[i] / b.alpha * a[i][j];
        }
        w[(q + 1) * (q + 1) + j] = sum;
        w[(q + 2) * (q + 1) + j] = weighted;
    }
    adz_tensor *matrix = adz_tensor_from(w, ADZ_SHAPE(q + 3, q + 1), ADZ_F64);
    return matrix != NULL && rows != NULL ? adz_matmul(matrix, rows) : NULL;
}

/* The state after the step: each difference becomes the sum of those from it on, d included. */
static adz_tensor *state_after(adz_tensor *differences, adz_tensor *d, int q)
{
    double w[ADZI_BDF_ROWS * ADZI_BDF_ROWS];
    for (int i = 0; i < ADZI_BDF_ROWS; ++i) {
        for (int j = 0; j < q + 2; ++j) {
            w[i * (q + 2) + j] = j >= i;
        }
    }
    adz_tensor *parts[] = { differences, adz_unsqueeze(d, 0) };
    adz_tensor *matrix = adz_tensor_from(w, ADZ_SHAPE(ADZI_BDF_ROWS, q + 2), ADZ_F64);
    return matrix != NULL && parts[1] != NULL ? adz_matmul(matrix, adz_cat(parts, 2, 0)) : NULL;
}

bool adzi_ode_bdf(
    const adzi_ode *ode, const adzi_ode_span *span, adz_tensor *state, adzi_ode_move *move)
{
    const int q = (int)ode->orders[span->k];
    adz_tensor *all = prepare(ode, span, rows_of(ode, span, state, q), q);
    const adz_tensor *like = ode->like;
    equation e = { ode, span->length / adzi_bdf_of(q).alpha, NULL, NULL, NULL };
    e.t = all != NULL ? adzi_ode_end_of(ode, span) : NULL;
    if (e.t == NULL) {
        return false;
    }
    e.p = adz_select(all, 0, q + 1);
    e.s = adz_select(all, 0, q + 2);
    adz_tensor *y = e.p != NULL && e.s != NULL ? solve(&e) : NULL;
    adz_tensor *d = y != NULL ? adz_sub(y, e.p) : NULL;
    move->state = d != NULL ? state_after(adz_narrow(all, 0, 0, q + 1), d, q) : NULL;
    if (move->state == NULL) {
        return false;
    }
    move->y0 = adzi_bdf_value(like, adz_select(state, 0, 0));
    move->y1 = adzi_bdf_value(like, adz_select(move->state, 0, 0));
    move->order = q;
    for (int i = 0; i <= q; ++i) {
        move->k[i] =
            adz_reshape(adz_select(move->state, 0, i), adz_shape_of(like->rank, like->sizes));
        if (move->k[i] == NULL) {
            return false;
        }
    }
    return move->y0 != NULL && move->y1 != NULL;
}

/* ---- the dense output ------------------------------------------------------------------------ */

double adzi_bdf_weight(int i, double part)
{
    double w = 1;
    for (int m = 0; m < i; ++m) {
        w *= (part - 1 + m) / (m + 1);
    }
    return w;
}

adz_tensor *adzi_bdf_dense(const adzi_ode_move *move, adz_tensor *theta, double part)
{
    adz_tensor *y = move->k[move->order];
    if (theta == NULL) {
        double w[COLUMNS];
        for (int i = 0; i <= move->order; ++i) {
            w[i] = adzi_bdf_weight(i, part);
        }
        y = adzi_linear_combination(NULL, 1, move->k, w, move->order + 1);
    } else {
        adz_tensor *wide = adz_to(theta, ADZ_F64);
        for (int i = move->order; i > 0 && y != NULL; --i) {
            adz_tensor *factor = adz_mul_number(adz_add_number(wide, i - 2), 1.0 / i);
            y = factor != NULL ? adz_add(move->k[i - 1], adz_mul(factor, y)) : NULL;
        }
    }
    return y != NULL ? adz_to(y, (adz_dtype)move->y1->dtype) : NULL;
}
