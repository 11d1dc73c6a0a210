/* The linear model of Levenberg-Marquardt. Nothing in it depends on the units of residuals and
 * parameters: the columns of the Jacobian are divided by the largest length that they have had,
 * and the residuals by a power of two near the largest one. The Jacobian is replaced by its QR
 * factors, because J^T J would square its condition. */
#include <float.h>
#include <math.h>

#include "adze/ops.h"
#include "adze/scope.h"
#include "base/error.h"
#include "solvers/closures/levenberg_marquardt.h"
#include "solvers/closures/residual_jacobian.h"
#include "tensor/kernel/real.h"

/* The least power of two by which anything is divided: its reciprocal is finite. */
enum { LEAST_EXPONENT = -1000 };

static double *data_of(const adz_tensor *t)
{
    return (double *)(void *)t->data;
}

static double item(adz_tensor *t)
{
    return t != NULL ? adz_item(t) : NAN;
}

static double largest(adz_tensor *x)
{
    return item(adz_amax(adz_abs(x), ADZ_ALL_DIMS, ADZ_DROPDIM));
}

/* The sum of squares of a vector. */
static double square_of(adz_tensor *x)
{
    return item(adz_sum(adz_mul(x, x), ADZ_ALL_DIMS, ADZ_DROPDIM));
}

/* The power of two just above |x|, within the range in which a reciprocal is finite. 1 for 0. */
static double power_above(double x)
{
    int exponent = 0;
    if (x == 0 || !isfinite(x)) {
        return 1;
    }
    frexp(x, &exponent);
    return ldexp(1, exponent < LEAST_EXPONENT ? LEAST_EXPONENT : exponent < 1023 ? exponent : 1023);
}

/* a b / unit, which overflows only if the result does. The unit is a power of two. */
static double product_in(double a, double b, double unit)
{
    int ea = 0, eb = 0, eu = 0;
    const double product = frexp(a, &ea) * frexp(b, &eb);
    frexp(unit, &eu);
    return ldexp(product, ea + eb - (eu - 1));
}

/* a unit / b, which overflows only if the result does. The unit is a power of two. */
static double quotient_in(double a, double b, double unit)
{
    int ea = 0, eb = 0, eu = 0;
    const double quotient = frexp(a, &ea) / frexp(b, &eb);
    frexp(unit, &eu);
    return ldexp(quotient, ea - eb + (eu - 1));
}

static adz_tensor *vector(const adzi_search_run *run)
{
    return adzi_tensor_borrowed(adzi_self(), run->op, ADZ_F64, 1, &run->numel);
}

/* ---- residuals ------------------------------------------------------------------------------- */

double adzi_squares_loss(adzi_squares s)
{
    return 0.5 * s.square * s.unit * s.unit;
}

bool adzi_lm_evaluate(adzi_search_run *run, adz_tensor **r, adzi_squares *squares)
{
    adz_tensor *t = adzi_search_call(run);
    if (t == NULL) {
        return false;
    }
    if (!adzi_is_float((adz_dtype)t->dtype) || t->numel == 0) {
        adzi_error(run->op, t->numel == 0 ? ADZ_ERR_SHAPE : ADZ_ERR_DTYPE,
            "the closure returned %s%s; Levenberg-Marquardt needs one or more residuals, f32 or f64",
            adz_dtype_name((adz_dtype)t->dtype), adzi_text_shape(t));
        return false;
    }
    *r = adz_reshape(t, ADZ_SHAPE(t->numel));
    adz_tensor *values = *r != NULL ? adz_to(adz_detach(*r), ADZ_F64) : NULL;
    squares->unit = power_above(largest(values));
    squares->square = square_of(adz_mul_number(values, 1 / squares->unit));
    squares->square = isfinite(squares->square) ? squares->square : INFINITY;
    return adzi_pending() == ADZ_OK;
}

/* ---- the model ------------------------------------------------------------------------------- */

void adzi_lm_model_drop(adzi_lm_model *m)
{
    adz_tensor **all[] = { &m->r, &m->right, &m->g, &m->scale, &m->lengths };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        adzi_drop(*all[i]);
        *all[i] = NULL;
    }
}

/* The lengths of the columns of J, and the scale that follows from them. J becomes J divided by the
 * scale. */
static bool scale_columns(const adzi_search_run *run, adz_tensor **j, adzi_lm_model *m)
{
    const int64_t row[] = { 1, run->numel };
    const adz_tensor *before = ((const adzi_lm_memory *)run->memory)->scale;
    adz_tensor *tops = adz_amax(adz_abs(*j), ADZ_DIMS(0), ADZ_DROPDIM);
    adz_tensor *lengths = vector(run), *scale = vector(run);
    adz_tensor *factors = adzi_tensor_borrowed(adzi_self(), run->op, ADZ_F64, 2, row);
    if (tops == NULL || lengths == NULL || scale == NULL || factors == NULL) {
        return false;
    }
    for (int64_t k = 0; k < run->numel; ++k) {
        data_of(factors)[k] = 1 / power_above(data_of(tops)[k]);
    }
    adz_tensor *near_one = adz_mul(*j, factors);
    adz_tensor *squares = adz_sum(adz_mul(near_one, near_one), ADZ_DIMS(0), ADZ_DROPDIM);
    if (squares == NULL) {
        return false;
    }
    for (int64_t k = 0; k < run->numel; ++k) {
        const double unit = power_above(data_of(tops)[k]);
        const double length = fmin(sqrt(data_of(squares)[k]) * unit, DBL_MAX);
        const double old = before != NULL ? data_of(before)[k] : 0;
        data_of(lengths)[k] = length;
        data_of(scale)[k] = fmax(length, old);
        data_of(factors)[k] = length > 0 ? unit / data_of(scale)[k] : 0;
    }
    *j = adz_mul(near_one, factors);
    m->lengths = adzi_retain(lengths);
    m->scale = adzi_retain(scale);
    return *j != NULL;
}

/* Sets the columns of parameters at a bound to 0 if a decrease of the loss would cross it. */
static adz_tensor *hold_at_bounds(
    const adzi_search_run *run, adz_tensor *j, adz_tensor *column, adzi_lm_model *m)
{
    adz_tensor *g = adz_matmul(adz_transpose(j, 0, 1), column);
    adz_tensor *lower = adzi_lm_bound(run, false), *upper = adzi_lm_bound(run, true);
    adz_tensor *x = adzi_search_values(run->op, run->optimizer);
    adz_tensor *free =
        adzi_tensor_borrowed(adzi_self(), run->op, ADZ_F64, 2, (const int64_t[]){ 1, run->numel });
    if (g == NULL || x == NULL || free == NULL || adzi_pending() != ADZ_OK) {
        return NULL;
    }
    for (int64_t k = 0; k < run->numel; ++k) {
        const double slope = data_of(g)[k];
        const double at = adz_tensor_at(x, &k);
        const bool held = (at <= adz_tensor_at(lower, &k) && slope >= 0) ||
                          (at >= adz_tensor_at(upper, &k) && slope <= 0);
        data_of(free)[k] = held ? 0 : 1;
        data_of(m->lengths)[k] = held ? 0 : data_of(m->lengths)[k];
    }
    return adz_mul(j, free);
}

/* Fills the factors of the scaled Jacobian. */
static bool factorise(
    const adzi_search_run *run, adz_tensor *j, adz_tensor *r, adzi_lm_model *m, bool bounded)
{
    adz_tensor *factor = NULL;
    adz_tensor *values = adz_to(adz_detach(r), ADZ_F64);
    adz_tensor *column =
        adz_mul_number(adz_reshape(values, ADZ_SHAPE(r->numel, 1)), 1 / m->squares.unit);
    if (bounded) {
        j = hold_at_bounds(run, j, column, m);
    }
    adz_tensor *q = adzi_pending() == ADZ_OK ? adz_qr(j, &factor) : NULL;
    adz_tensor *right = adz_neg(adz_matmul(adz_transpose(q, 0, 1), column));
    adz_tensor *g = adz_matmul(adz_transpose(j, 0, 1), column);
    if (adzi_pending() != ADZ_OK) {
        return false;
    }
    m->r = adzi_retain(factor);
    m->right = adzi_retain(right);
    m->g = adzi_retain(g);
    return true;
}

bool adzi_lm_model_make(adzi_search_run *run, adz_tensor *r, adzi_squares squares, bool bounded)
{
    adzi_lm_memory *memory = run->memory;
    adzi_lm_model m = { .squares = squares };
    adz_tensor *j = adzi_residual_jacobian(run, r);
    const double size = j != NULL ? largest(j) : NAN;
    if (adzi_pending() == ADZ_OK && !isfinite(size)) {
        adzi_error(run->op, ADZ_ERR_NUMERIC,
            "the loss is %s, but a derivative of a residual is not finite",
            adzi_text_number(adzi_squares_loss(squares)));
    }
    bool good = adzi_pending() == ADZ_OK && scale_columns(run, &j, &m);
    good = good && factorise(run, j, r, &m, bounded && run->optimizer->constants[0] != NULL);
    adzi_lm_model_drop(good ? &memory->model : &m);
    if (good) {
        memory->model = m;
        adzi_drop(memory->scale);
        memory->scale = adzi_retain(m.scale);
    }
    return good;
}

double adzi_lm_cosine(const adzi_lm_model *m)
{
    double most = 0;
    for (int64_t k = 0; k < m->g->numel; ++k) {
        const double length = data_of(m->lengths)[k];
        const double g = fabs(data_of(m->g)[k]);
        if (length > 0 && g > 0) {
            const double slope = g * (data_of(m->scale)[k] / length);
            most = fmax(most, slope / sqrt(m->squares.square));
        }
    }
    return most;
}

double adzi_lm_gradient(const adzi_lm_model *m)
{
    double most = 0;
    for (int64_t k = 0; k < m->g->numel; ++k) {
        const double g = fabs(data_of(m->g)[k]);
        most = fmax(most, g * m->squares.unit * data_of(m->scale)[k]);
    }
    return most;
}

/* ---- moves ----------------------------------------------------------------------------------- */

/* The scaled move z[P, 1]: the least squares of R z = right and sqrt(damping) z = 0. */
static adz_tensor *scaled_move(const adzi_lm_model *m, double damping)
{
    const int64_t n = m->scale->numel;
    adz_tensor *rows[] = { m->r, adz_mul_number(adz_eye(n, n, ADZ_F64), sqrt(damping)) };
    adz_tensor *right[] = { m->right, adz_zeros(ADZ_SHAPE(n, 1), ADZ_F64) };
    if (rows[1] == NULL || right[1] == NULL) {
        return NULL;
    }
    adz_tensor *r = NULL, *q = adz_qr(adz_cat(rows, 2, 0), &r);
    adz_tensor *b = adz_matmul(adz_transpose(q, 0, 1), adz_cat(right, 2, 0));
    adz_tensor *z = adz_solve_triangular(r, b, true, NULL);
    for (int64_t k = 0; k < n && z != NULL; ++k) {
        if (data_of(m->lengths)[k] == 0) {
            data_of(z)[k] = 0; /* rounding must not move what no residual depends on */
        }
    }
    return z;
}

/* Cuts a move at the bounds, and writes the scaled move that is left of it to z. */
static adz_tensor *cut(const adzi_search_run *run, const adzi_lm_model *m, adz_tensor *x,
    adz_tensor *next, adz_tensor *z)
{
    adz_tensor *lower = adzi_lm_bound(run, false), *upper = adzi_lm_bound(run, true);
    next = adz_minimum(adz_maximum(next, lower), upper);
    if (adzi_pending() != ADZ_OK) {
        return NULL;
    }
    for (int64_t k = 0; k < run->numel; ++k) {
        const double h = adz_tensor_at(next, &k) - adz_tensor_at(x, &k);
        data_of(z)[k] = product_in(data_of(m->scale)[k], h, m->squares.unit);
    }
    return next;
}

/* The decrease of half the sum of squares, in units of the residuals, by the move z. The damped
 * equations give it as a sum of squares unless a bound has cut the move. */
static double promise(const adzi_lm_model *m, adz_tensor *z, double damping, double lr, bool is_cut)
{
    const double curve = square_of(adz_matmul(m->r, z)), square = square_of(z);
    if (is_cut) {
        return -item(adz_sum(adz_mul(m->g, z), ADZ_ALL_DIMS, ADZ_DROPDIM)) - 0.5 * curve;
    }
    return (curve + damping * square) / lr - 0.5 * curve;
}

adzi_lm_move adzi_lm_move_from(
    const adzi_search_run *run, const adzi_lm_model *m, adz_tensor *x, double damping, double lr)
{
    adzi_lm_move move = { .next = NULL };
    adz_tensor *z = scaled_move(m, damping);
    z = z != NULL ? adz_mul_number(z, lr) : NULL;
    adz_tensor *h = vector(run);
    if (z == NULL || h == NULL) {
        return move;
    }
    for (int64_t k = 0; k < run->numel; ++k) {
        const double d = data_of(m->scale)[k];
        data_of(h)[k] = d > 0 ? quotient_in(data_of(z)[k], d, m->squares.unit) : 0;
        move.size =
            adzi_real_hypot(move.size, product_in(d, adz_tensor_at(x, &k), m->squares.unit));
    }
    adz_tensor *next = adz_add(x, adz_to(h, run->dtype));
    const bool bounded = run->optimizer->constants[0] != NULL;
    if (bounded && next != NULL) {
        next = cut(run, m, x, next, z);
    }
    move.length = sqrt(square_of(z));
    move.promised = 2 * promise(m, z, damping, lr, bounded) / m->squares.square;
    move.next = adzi_pending() == ADZ_OK ? next : NULL;
    return move;
}
