/* A step of RODAS, the Rosenbrock method of Hairer and Wanner (Solving Ordinary Differential
 * Equations II, section IV.7): order 4, six stages, L-stable, with an error estimate of order 3 and
 * dense output. The coefficients are those of Steinebach, 1995 (METH = 3 of Hairer and Wanner's
 * program), which keep the order for parabolic equations. With J = df/dy and f_t = df/dt, stage i
 * solves
 *
 *     (1 / (h gamma) - J) k_i = f(t + alpha_i h, y + sum_j a_ij k_j) + sum_j c_ij k_j / h + d_i h
 * f_t
 *
 * so that all stages share one factorisation. */
#include "ops/linalg/decomposition/lu.h"
#include "solvers/ode.h"

enum { STAGES = 6 };

#define GAMMA 0.25

static const double alpha[STAGES] = { 0, 0.75, 0.21, 0.63, 1, 1 };
static const double slope_in_time[STAGES] = { 0.25, -0.5, -0.023504, -0.0362, 0, 0 };
static const double a[STAGES][STAGES] = { { 0 }, { 3 }, { 1.831036793486759, 0.4955183967433795 },
    { 2.304376582692669, -0.05249275245743001, -1.176798761832782 },
    { -7.170454962423024, -4.741636671481785, -16.31002631330971, -1.062004044111401 },
    { -7.170454962423024, -4.741636671481785, -16.31002631330971, -1.062004044111401, 1 } };
static const double c[STAGES][STAGES] = { { 0 }, { -12 },
    { -8.791795173947035, -2.207865586973518 },
    { 10.81793056857153, 6.780270611428266, 19.53485944642410 },
    { 34.19095006749676, 15.49671153725963, 54.74760875964130, 14.16005392148534 },
    { 34.62605830930532, 15.30084976114473, 56.99955578662667, 18.40807009793095,
        -5.714285714285717 } };
static const double dense_a[STAGES] = { 25.09876703708589, 11.62013104361867, 28.49148307714626,
    -5.664021568594133 };
static const double dense_b[STAGES] = { 1.638054557396973, -0.7373619806678748, 8.477918219238990,
    15.99253148779520, -1.882352941176471 };

/* f as a function of one of its inputs, for its derivative. */
typedef struct part {
    const adzi_ode *ode;
    adz_tensor *t, *y; /* the other input; NULL: the one that is differentiated by */
} part;

static int call_part(adz_tensor *const *inputs, size_t n, adz_tensor **results, void *user)
{
    const part *p = user;
    (void)n;
    results[0] =
        adzi_ode_slope(p->ode, p->t != NULL ? p->t : inputs[0], p->y != NULL ? p->y : inputs[0]);
    return results[0] != NULL;
}

adz_tensor *adzi_ode_jacobian(const adzi_ode *ode, adz_tensor *t, adz_tensor *y, bool graph)
{
    part p = { ode, t, NULL };
    const adz_tensor_function f = { call_part, &p };
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    adz_tensor *j;
    o.create_graph = graph;
    if (ode->counts != NULL) {
        ++ode->counts->jacobians;
    }
    if ((ode->o.rows ? adz_jacobian_rows_many : adz_jacobian_many)(&f, &y, 1, 1, &o, &j) !=
        ADZ_OK) {
        return NULL;
    }
    return ode->o.rows ? j : adz_reshape(j, ADZ_SHAPE(1, y->numel, y->numel));
}

/* h df/dt. */
static adz_tensor *slope_by_time(const adzi_ode *ode, const adzi_ode_span *span, adz_tensor *y)
{
    part p = { ode, NULL, y };
    const adz_tensor_function f = { call_part, &p };
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    adz_tensor *one = adz_ones_like(span->t), *t = span->t, *slope;
    o.create_graph = ode->graph;
    return one != NULL && adz_jvp_many(&f, &t, 1, &one, 1, &o, &slope) == ADZ_OK
               ? adzi_ode_scaled(span, slope)
               : NULL;
}

/* s / (factor h) in a while loop. */
static adz_tensor *by_measure(const adzi_ode_span *span, adz_tensor *s, double factor)
{
    adz_tensor *inverse = adz_number_div(1, adz_mul_number(span->measure, factor));
    return s != NULL ? adz_mul(s, adz_to(inverse, (adz_dtype)s->dtype)) : NULL;
}

/* The matrix of the stages, 1 / (h gamma) - J. */
static adz_tensor *system_of(const adzi_ode_span *span, adz_tensor *j)
{
    adz_tensor *one = j != NULL ? adz_eye(j->sizes[2], j->sizes[2], (adz_dtype)j->dtype) : NULL;
    adz_tensor *diagonal = span->measure != NULL ? by_measure(span, one, GAMMA)
                           : span->h != NULL     ? adz_mul(one, adz_number_div(1 / GAMMA, span->h))
                                                 : adz_mul_number(one, 1 / (GAMMA * span->length));
    return diagonal != NULL ? adz_sub(diagonal, j) : NULL;
}

/* sum_j c_ij k_j / h + d_i h f_t + f */
static adz_tensor *right_side(
    const adzi_ode_span *span, adz_tensor *const *k, int i, adz_tensor *f, adz_tensor *f_t)
{
    adz_tensor *b = f;
    if (i > 0) {
        adz_tensor *s = adzi_ode_advance(NULL, NULL, k, c[i], i);
        s = span->measure != NULL ? by_measure(span, s, 1)
            : span->h != NULL     ? adz_div(s, span->h)
                                  : adz_mul_number(s, 1 / span->length);
        b = adz_add(b, s);
    }
    return slope_in_time[i] != 0 ? adz_add_scaled(b, f_t, slope_in_time[i]) : b;
}

static double dense_weight(int function, int i)
{
    const double weights[ADZI_ODE_DENSE] = { i == STAGES - 1 ? 1 : a[STAGES - 1][i], dense_a[i],
        dense_b[i], 0 };
    return weights[function];
}

bool adzi_ode_rodas(
    const adzi_ode *ode, const adzi_ode_span *span, adz_tensor *y, adzi_ode_move *move)
{
    adz_tensor **k = move->k, *f = move->first, *at = y;
    adz_tensor *f_t = slope_by_time(ode, span, y),
               *w = system_of(span, adzi_ode_jacobian(ode, span->t, y, ode->graph));
    adz_tensor *values = w != NULL ? adz_detach(w) : NULL;
    adzi_lu factors;
    if (f_t == NULL || values == NULL || !adzi_lu_factor(ode->e.op, values, ode->fixed, &factors)) {
        return false;
    }
    for (int i = 0; i < STAGES; ++i) {
        if (i > 0) {
            at = adzi_ode_advance(NULL, y, k, a[i], i);
            f = adzi_ode_slope(ode, adzi_ode_moment(span, alpha[i]), at);
        }
        adz_tensor *b = f != NULL ? right_side(span, k, i, f, f_t) : NULL;
        b = b != NULL ? adz_reshape(b, ADZ_SHAPE(w->sizes[0], w->sizes[2], 1)) : NULL;
        adz_tensor *x = b != NULL ? adzi_solve_with(&factors, w, b, false) : NULL;
        k[i] = x != NULL ? adz_reshape(x, adz_shape_of(y->rank, y->sizes)) : NULL;
        if (k[i] == NULL) {
            return false;
        }
    }
    move->y1 = adz_add(at, k[STAGES - 1]);
    move->error = k[STAGES - 1];
    move->n_stages = STAGES;
    move->weight = dense_weight;
    return move->y1 != NULL;
}
