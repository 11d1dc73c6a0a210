/* adze-bench loops ROW: loops of many small steps.
 *
 *   gru1-forward   1,000 steps of a GRU-like cell of 32 units, batch 1, f32. The products with the
 *                  inputs are made before the loop, as bench/loops.py does for all sides
 *   gru1           the same with the gradients by weight and bias
 *   gru16-forward, gru16   batch 16
 *   pendulum       1,000 steps of a damped pendulum by the classical Runge-Kutta method, with the
 *                  gradient by two parameters, f64
 *   kepler8        Kepler's equation for 8 bodies by Newton steps up to 1e-14, with the derivative
 *                  in one direction, f64
 *   kepler10000    the same for 10,000 bodies
 *   kalman         the likelihood of 500 measurements by a Kalman filter of 4 states, with the
 *                  gradient by two parameters, f64
 *
 * The floor of the GRU's forwards and of the pendulum is C that bench/loops_by_hand.c has. With
 * --written the row is written as C and compiled. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loops_by_hand.h"
#include "start.h"
#include "steps.h"
#include "written_row.h"

enum { UNITS = 32, STEPS = 1000, MEASUREMENTS = 500 };

typedef struct {
    int64_t batch;
    adz_tensor *p[2];          /* what the gradient is by: weight and bias, or the parameters */
    adz_tensor *x, *constants; /* what the steps read; NULL where they read nothing */
    adz_tensor *(*compute)(void *user);
    void (*floor)(void *user);
    gru_by_hand hand;
    pendulum_by_hand pendulum;
} loops;

/* The gradient of `loss` by the first `n` parameters, of which the first one is returned. */
static adz_tensor *gradient(const loops *l, adz_tensor *loss, size_t n)
{
    adz_tensor *found[2];
    adz_tensor *p[2] = { l->p[0], l->p[1] };
    return adz_autograd_grad(&loss, NULL, 1, p, n, NULL, found) == ADZ_OK ? found[0] : NULL;
}

/* ---- a GRU-like cell ------------------------------------------------------------------------- */

/* h[B, 32] and the products of the inputs x[B, 96] give the next h. */
static adz_status cell(adz_tensor **results, adz_tensor *const *in, void *user)
{
    const loops *l = user;
    adz_tensor *h = in[0], *x = in[1];
    adz_tensor *g = adz_linear(h, l->p[0], l->p[1]);
    adz_tensor *both = adz_sigmoid(
        adz_add(adz_narrow(x, 1, 0, (int64_t)2 * UNITS), adz_narrow(g, 1, 0, (int64_t)2 * UNITS)));
    adz_tensor *r = adz_narrow(both, 1, 0, UNITS), *z = adz_narrow(both, 1, UNITS, UNITS);
    adz_tensor *n = adz_tanh(adz_add(adz_narrow(x, 1, (int64_t)2 * UNITS, UNITS),
        adz_mul(r, adz_narrow(g, 1, (int64_t)2 * UNITS, UNITS))));
    results[0] = results[1] = adz_add(n, adz_mul(z, adz_sub(h, n)));
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static adz_tensor *gru_loss(loops *l)
{
    adz_tensor *h = adz_zeros(ADZ_SHAPE(l->batch, UNITS), ADZ_F32), *found[2];
    if (adz_scan(cell, l, &h, 1, &l->x, 1, 1, NULL, found) != ADZ_OK) {
        return NULL;
    }
    return adz_mean(adz_square(found[1]), ADZ_ALL_DIMS, ADZ_DROPDIM);
}

static adz_tensor *gru_forward(void *user)
{
    const bool before = adz_set_grad_enabled(false);
    adz_tensor *loss = gru_loss(user);
    adz_set_grad_enabled(before);
    return loss;
}

static adz_tensor *gru_gradient(void *user)
{
    return gradient(user, gru_loss(user), 2);
}

static void gru_floor(void *user)
{
    loops *l = user;
    run_gru_by_hand(&l->hand);
}

static void make_gru(loops *l, const char *row)
{
    l->batch = row[3] == '1' && row[4] == '6' ? 16 : 1;
    const bool forward = strstr(row, "forward") != NULL;
    l->p[0] =
        adz_keep(adz_mul_number(adz_randn(ADZ_SHAPE((int64_t)3 * UNITS, UNITS), ADZ_F32), 0.17));
    l->p[1] = adz_keep(adz_mul_number(adz_randn(ADZ_SHAPE((int64_t)3 * UNITS), ADZ_F32), 0.1));
    l->x = adz_keep(adz_randn(ADZ_SHAPE(STEPS, l->batch, (int64_t)3 * UNITS), ADZ_F32));
    l->compute = forward ? gru_forward : gru_gradient;
    l->floor = forward ? gru_floor : NULL;
    l->hand = (gru_by_hand){ .steps = STEPS,
        .batch = (int)l->batch,
        .weight = adz_tensor_data_f32(l->p[0]),
        .bias = adz_tensor_data_f32(l->p[1]),
        .x = adz_tensor_data_f32(l->x) };
}

/* ---- a pendulum ------------------------------------------------------------------------------ */

/* The angle and its rate. The parameters are the pull and the damping, each a scalar. */
typedef struct {
    adz_tensor *angle, *rate;
} motion;

static motion slope(const loops *l, motion y)
{
    adz_tensor *pull = adz_mul(l->p[0], adz_sin(y.angle)), *drag = adz_mul(l->p[1], y.rate);
    return (motion){ y.rate, adz_neg(adz_add(pull, drag)) };
}

static motion ahead(motion y, motion k, double step)
{
    return (motion){ adz_add_scaled(y.angle, k.angle, step), adz_add_scaled(y.rate, k.rate, step) };
}

/* y + step / 6 (a + 2 b + 2 c + d) */
static adz_tensor *sixths(
    adz_tensor *y, adz_tensor *a, adz_tensor *b, adz_tensor *c, adz_tensor *d, double step)
{
    adz_tensor *outer = adz_add(a, d), *inner = adz_add(b, c);
    return adz_add_scaled(y, adz_add_scaled(outer, inner, 2), step / 6);
}

static adz_status advance(adz_tensor **results, adz_tensor *const *in, void *user)
{
    const loops *l = user;
    const double h = PENDULUM_STEP;
    const motion y = { in[0], in[1] };
    const motion a = slope(l, y), b = slope(l, ahead(y, a, h / 2)),
                 c = slope(l, ahead(y, b, h / 2)), d = slope(l, ahead(y, c, h));
    results[0] = results[2] = sixths(y.angle, a.angle, b.angle, c.angle, d.angle, h);
    results[1] = sixths(y.rate, a.rate, b.rate, c.rate, d.rate, h);
    return results[1] != NULL ? ADZ_OK : adz_error_code();
}

static adz_tensor *pendulum_gradient(void *user)
{
    loops *l = user;
    adz_tensor *start[] = { adz_scalar(1, ADZ_F64), adz_scalar(0, ADZ_F64) }, *found[3];
    adz_scan_options o = ADZ_SCAN_OPTIONS;
    o.length = STEPS;
    return adz_scan(advance, l, start, 2, NULL, 0, 1, &o, found) == ADZ_OK
               ? gradient(l, adz_mean(adz_square(found[2]), ADZ_ALL_DIMS, ADZ_DROPDIM), 2)
               : NULL;
}

static void pendulum_floor(void *user)
{
    loops *l = user;
    run_pendulum_by_hand(&l->pendulum);
}

static void make_pendulum(loops *l)
{
    l->p[0] = adz_keep(adz_scalar(9.81, ADZ_F64));
    l->p[1] = adz_keep(adz_scalar(0.1, ADZ_F64));
    l->compute = pendulum_gradient;
    l->floor = pendulum_floor;
    l->pendulum = (pendulum_by_hand){ .steps = STEPS, .pull = 9.81, .damping = 0.1 };
}

/* ---- Kepler's equation ----------------------------------------------------------------------- */

/* E - e sin(E) - M, where the eccentricities e are p[0] and the mean anomalies M are x. */
static adz_tensor *kepler_error(adz_tensor *anomaly, adz_tensor *eccentricity, adz_tensor *mean)
{
    return adz_sub(adz_sub(anomaly, adz_mul(eccentricity, adz_sin(anomaly))), mean);
}

static adz_tensor *newton_step(adz_tensor *anomaly, adz_tensor *eccentricity, adz_tensor *mean)
{
    adz_tensor *rise = adz_number_sub(1, adz_mul(eccentricity, adz_cos(anomaly)));
    return adz_sub(anomaly, adz_div(kepler_error(anomaly, eccentricity, mean), rise));
}

/* The carries are the anomalies and their derivatives. */
static adz_tensor *is_far(adz_tensor *const *in, void *user)
{
    const loops *l = user;
    return adz_gt_number(adz_max(adz_abs(kepler_error(in[0], l->p[0], l->x))), 1e-14);
}

static int step_of_newton(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    const loops *l = user;
    (void)n;
    out[0] = newton_step(in[0], in[1], l->x);
    return out[0] != NULL;
}

static adz_status newton(adz_tensor **results, adz_tensor *const *in, void *user)
{
    loops *l = user;
    const adz_tensor_function f = { step_of_newton, l };
    adz_tensor *at[] = { in[0], l->p[0] }, *along[] = { in[1], l->constants };
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    o.results = &results[0];
    return adz_jvp_many(&f, at, 2, along, 1, &o, &results[1]);
}

static adz_tensor *kepler_tangent(void *user)
{
    loops *l = user;
    adz_tensor *start[] = { l->x, adz_zeros_like(l->x) }, *found[2];
    return adz_while(is_far, newton, l, start, 2, 20, found, NULL, NULL) == ADZ_OK ? found[1]
                                                                                   : NULL;
}

static void make_kepler(loops *l, int64_t bodies)
{
    l->p[0] = adz_keep(adz_mul_number(adz_rand(ADZ_SHAPE(bodies), ADZ_F64), 0.5));
    l->x = adz_keep(adz_mul_number(adz_rand(ADZ_SHAPE(bodies), ADZ_F64), 3));
    l->constants = adz_keep(adz_ones(ADZ_SHAPE(bodies), ADZ_F64)); /* the direction */
    l->compute = kepler_tangent;
}

/* ---- a Kalman filter ------------------------------------------------------------------------- */

/* A body in a plane, whose position is measured: the states are two positions and two rates. The
 * parameters are the logarithms of two variances, of the accelerations and of the measurements. */
typedef struct {
    adz_tensor *f, *q, *noise; /* F[4, 4], Q[4, 4] and the variance of what is measured, [2, 2] */
    adz_tensor *signs;         /* of the cofactors, [2, 2] */
} system_of_filter;

/* The inverse of s[2, 2] by its cofactors, as bench/loops.py does for all sides, and its
 * determinant. */
static adz_tensor *invert(const system_of_filter *system, adz_tensor *s, adz_tensor **det)
{
    adz_tensor *cofactors = adz_mul(adz_flip(s, ADZ_ALL_DIMS), system->signs); /* s is symmetric */
    *det = adz_sum(
        adz_mul(adz_narrow(s, 0, 0, 1), adz_narrow(cofactors, 0, 0, 1)), ADZ_ALL_DIMS, ADZ_DROPDIM);
    return adz_div(cofactors, *det);
}

/* The carries are the mean [4, 1] and the covariance [4, 4] of the states. The first two of them
 * are measured. The result is the cost of the measurement z. */
static adz_status filter_step(adz_tensor **results, adz_tensor *const *in, void *user)
{
    const system_of_filter *system = user;
    adz_tensor *f = system->f, *z = in[2], *m = adz_matmul(f, in[0]), *det;
    adz_tensor *p = adz_add(adz_matmul(adz_matmul(f, in[1]), adz_transpose(f, 0, 1)), system->q);
    adz_tensor *hp = adz_narrow(p, 0, 0, 2); /* [2, 4] */
    adz_tensor *v = adz_sub(z, adz_narrow(m, 0, 0, 2));
    adz_tensor *inverse = invert(system, adz_add(adz_narrow(hp, 1, 0, 2), system->noise), &det);
    adz_tensor *gain = adz_matmul(adz_transpose(hp, 0, 1), inverse);
    results[0] = adz_add(m, adz_matmul(gain, v));
    results[1] = adz_sub(p, adz_matmul(gain, hp));
    results[2] = adz_add(
        adz_sum(adz_mul(v, adz_matmul(inverse, v)), ADZ_ALL_DIMS, ADZ_DROPDIM), adz_log(det));
    return results[2] != NULL ? ADZ_OK : adz_error_code();
}

static adz_tensor *kalman_gradient(void *user)
{
    loops *l = user;
    system_of_filter s = { .f = adz_narrow(l->constants, 0, 0, 4),
        .q = adz_mul(adz_exp(l->p[0]), adz_narrow(l->constants, 0, 4, 4)),
        .noise = adz_mul(adz_exp(l->p[1]), adz_eye(2, 2, ADZ_F64)),
        .signs = adz_sub(
            adz_mul_number(adz_eye(2, 2, ADZ_F64), 2), adz_ones(ADZ_SHAPE(2, 2), ADZ_F64)) };
    adz_tensor *start[] = { adz_zeros(ADZ_SHAPE(4, 1), ADZ_F64), adz_eye(4, 4, ADZ_F64) };
    adz_tensor *found[3];
    return adz_scan(filter_step, &s, start, 2, &l->x, 1, 1, NULL, found) == ADZ_OK
               ? gradient(l, adz_sum(found[2], ADZ_ALL_DIMS, ADZ_DROPDIM), 2)
               : NULL;
}

static void make_kalman(loops *l)
{
    const double d = 0.1, position = d * d * d / 3, mixed = d * d / 2;
    const double constants[] = { 1, 0, d, 0, 0, 1, 0, d, 0, 0, 1, 0, 0, 0, 0, 1, /* F */
        position, 0, mixed, 0, 0, position, 0, mixed, mixed, 0, d, 0, 0, mixed, 0, d };
    l->constants = adz_keep(adz_tensor_from(constants, ADZ_SHAPE(8, 4), ADZ_F64));
    l->x = adz_keep(adz_randn(ADZ_SHAPE(MEASUREMENTS, 2, 1), ADZ_F64));
    l->p[0] = adz_keep(adz_scalar(-0.5, ADZ_F64));
    l->p[1] = adz_keep(adz_scalar(-1, ADZ_F64));
    l->compute = kalman_gradient;
}

/* ---- the rows -------------------------------------------------------------------------------- */

static bool make(loops *l, const char *row)
{
    if (strncmp(row, "gru", 3) == 0) {
        make_gru(l, row);
    } else if (strcmp(row, "pendulum") == 0) {
        make_pendulum(l);
    } else if (strcmp(row, "kepler8") == 0 || strcmp(row, "kepler10000") == 0) {
        make_kepler(l, strtol(row + 6, NULL, 10));
        return true; /* its derivative goes forward */
    } else if (strcmp(row, "kalman") == 0) {
        make_kalman(l);
    } else {
        fprintf(stderr,
            "loops: no row \"%s\"; gru1-forward, gru1, gru16-forward, gru16, pendulum, kepler8, kepler10000 and kalman are there\n",
            row);
        return false;
    }
    for (int i = 0; i < 2; ++i) {
        adz_requires_grad_(l->p[i], true);
    }
    return true;
}

static void run_step(void *user)
{
    loops *l = user;
    adz_scope *scope = adz_scope_open();
    l->compute(l);
    adz_scope_close(scope);
}

static double first_value(loops *l)
{
    adz_scope *scope = adz_scope_open();
    const double value = adz_item(adz_mean(adz_square(l->compute(l)), ADZ_ALL_DIMS, ADZ_DROPDIM));
    adz_scope_close(scope);
    return value;
}

/* Ends the program if the C by hand computes something else. */
static void check_floor(loops *l)
{
    if (l->floor == NULL) {
        return;
    }
    l->floor(l);
    const double hand = l->floor == gru_floor ? (double)l->hand.loss : l->pendulum.gradient[0];
    adz_scope *scope = adz_scope_open();
    const double ours = adz_item(l->compute(l));
    adz_scope_close(scope);
    if (!(fabs(hand - ours) <= 1e-4 * fabs(ours))) {
        fprintf(stderr, "loops: C by hand gives %.9g instead of %.9g\n", hand, ours);
        exit(EXIT_FAILURE);
    }
}

/* Removes the option --written. Returns whether it was there. */
static bool take_written(int *argc, char **argv)
{
    int left = 0;
    for (int i = 0; i < *argc; ++i) {
        if (strcmp(argv[i], "--written") != 0) {
            argv[left++] = argv[i];
        }
    }
    const bool found = left < *argc;
    *argc = left;
    return found;
}

/* Runs the rounds of a row: as C that was written, as a plan, or by ordinary calls. */
static int run_rounds(const char *name, const step_options *o, loops *l, bool written)
{
    adz_tensor *inputs[] = { l->p[0], l->p[1], l->x, l->constants };
    size_t n = 0;
    for (int i = 0; i < 4; ++i) {
        if (inputs[i] != NULL) {
            inputs[n++] = inputs[i];
        }
    }
    if (written) {
        written_row row;
        step_options own = *o;
        make_written_row(&row, l->compute, l, inputs, n);
        run_written_row(&row);
        own.first_loss = written_value(&row);
        const int status = run_step_rounds(name, &own, run_written_row, &row, l->floor, l);
        free(row.result);
        return status;
    }
    adz_plan *plan = o->captured ? adz_plan_new(l->compute, l, NULL) : NULL;
    const int status = run_step_rounds(
        name, o, plan != NULL ? run_plan : run_step, plan != NULL ? (void *)plan : l, l->floor, l);
    adz_plan_free(&plan);
    return status;
}

int bench_loops(int argc, char **argv)
{
    step_options o;
    loops l = { 0 };
    const bool written = take_written(&argc, argv);
    if (argc < 1 || !read_step_options(argc - 1, argv + 1, &o) || !make(&l, argv[0])) {
        return EXIT_FAILURE;
    }
    start_tensor start[4];
    size_t n = 0;
    adz_tensor *const saved[] = { l.p[0], l.p[1], l.x, l.constants };
    static const char *const names[] = { "p0", "p1", "x", "constants" };
    for (int i = 0; i < 4; ++i) {
        if (saved[i] != NULL) {
            start[n++] = (start_tensor){ names[i], saved[i] };
        }
    }
    save_start(o.start, NULL, start, n);
    o.first_loss = first_value(&l);
    check_floor(&l);
    adz_set_num_threads((int)o.threads);
    const int status = run_rounds(argv[0], &o, &l, written);
    adz_tensor **kept[] = { &l.p[0], &l.p[1], &l.x, &l.constants };
    for (int i = 0; i < 4; ++i) {
        adz_release(kept[i]);
    }
    return status;
}
