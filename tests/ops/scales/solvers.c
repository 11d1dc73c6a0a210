/* test_solver_scales: roots, differential equations, least squares, minima and the clipping of
 * gradients at both ends of f32 and f64.
 *
 * Each problem is solved at the scale 1 and then with its unknowns times 2^k, its function times
 * 2^l and its upstream gradient times 2^m. The solution must be 2^k times the first one, and a
 * gradient 2^(m + k) times. Tolerances that are absolute are scaled like what they measure. A run
 * that ends otherwise than the first one counts as a failure, whatever it returns. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "adze/adze.h"

enum { UNKNOWNS = 5 };

/* A run: the exponents of the three scales. `way` selects a method of the solver. */
typedef struct scales {
    adz_dtype dtype;
    int way, unknowns, function, upstream;
} scales;

/* What a run gives: the solution and the gradient by the problem's numbers, in f64. */
typedef struct solution {
    bool solved;
    double x[UNKNOWNS], gradient[UNKNOWNS], level;
    char why[400];
} solution;

typedef void (*solver)(const scales *s, solution *found);

static size_t runs;

static adz_tensor *numbers(const scales *s, const double *values, int exponent)
{
    double scaled[UNKNOWNS];
    for (int i = 0; i < UNKNOWNS; ++i) {
        scaled[i] = ldexp(values[i], exponent);
    }
    return adz_to(adz_tensor_from(scaled, ADZ_SHAPE(UNKNOWNS), ADZ_F64), s->dtype);
}

static adz_tensor *times_power(adz_tensor *x, int exponent)
{
    /* In two factors, because one alone might be outside the range of the dtype. */
    const int half = exponent / 2;
    return adz_mul_number(adz_mul_number(x, ldexp(1, half)), ldexp(1, exponent - half));
}

static void read(adz_tensor *t, double *values)
{
    adz_tensor *wide = adz_contiguous(adz_to(adz_detach(t), ADZ_F64));
    memcpy(values, adz_tensor_data_f64(wide), UNKNOWNS * sizeof *values);
}

/* Fills `found` from the solution y and the leaf a. */
static void finish(const scales *s, adz_tensor *y, adz_tensor *a, solution *found)
{
    static const double upstream[UNKNOWNS] = { 1, -0.7, 0.3, 2, -1.1 };
    adz_tensor *g = numbers(s, upstream, s->upstream), *da = NULL;
    adz_backward_options options = ADZ_BACKWARD_OPTIONS;
    found->solved = y != NULL && adz_autograd_grad(&y, &g, 1, &a, 1, &options, &da) == ADZ_OK;
    if (found->solved) {
        read(y, found->x);
        read(da, found->gradient);
    } else {
        snprintf(found->why, sizeof found->why, "%s", adz_error_message());
        adz_error_clear();
    }
}

/* ---- roots ----------------------------------------------------------------------------------- */

static const double start[UNKNOWNS] = { 1, 1.2, 0.8, 1.5, 0.6 };
static const double linear[UNKNOWNS] = { 2, 1.5, 3, 2.5, 1.8 };

/* 2^l ((x / 2^k)^3 + a (x / 2^k) - 4 + coupling), whose arguments are a. */
static int cubic(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    const scales *s = user;
    (void)n;
    adz_tensor *x = times_power(in[0], -s->unknowns);
    adz_tensor *sum = adz_add(adz_mul(x, adz_square(x)), adz_mul(in[1], x));
    adz_tensor *coupled = adz_add(sum, adz_mul_number(adz_roll(x, 1, 0), 0.3));
    out[0] = times_power(adz_add_number(coupled, -4), s->function);
    return out[0] != NULL ? 1 : 0;
}

/* A contraction: g(x) = 2^k (1 + a / 10 cos(x / 2^k)). */
static int contraction(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    const scales *s = user;
    (void)n;
    adz_tensor *x = times_power(in[0], -s->unknowns);
    adz_tensor *y = adz_mul(adz_mul_number(in[1], 0.1), adz_cos(x));
    out[0] = times_power(adz_add_number(y, 1), s->unknowns);
    return out[0] != NULL ? 1 : 0;
}

static void root(const scales *s, solution *found)
{
    adz_root_options options = ADZ_ROOT_OPTIONS;
    options.method = (adz_root_method)s->way;
    const int residual = s->way == ADZ_ROOT_ANDERSON ? s->unknowns : s->function;
    options.tolerance = ldexp(s->dtype == ADZ_F32 ? 1e-5 : 1e-12, residual);
    adz_tensor_function f = { s->way == ADZ_ROOT_ANDERSON ? contraction : cubic,
        (void *)(uintptr_t)s };
    adz_tensor *a = adz_requires_grad_(numbers(s, linear, 0), true);
    finish(s, adz_root_many(&f, numbers(s, start, s->unknowns), &a, 1, &options, NULL), a, found);
}

/* ---- differential equations ------------------------------------------------------------------ */

/* y' = 2^l (a y - y^2 / 2^k + coupling): the time is of the scale 2^-l. */
static int logistic(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    const scales *s = user;
    (void)n;
    adz_tensor *y = times_power(in[1], -s->unknowns);
    adz_tensor *f = adz_sub(adz_mul(in[2], y), adz_square(y));
    f = adz_add(f, adz_mul_number(adz_roll(y, 1, 0), 0.2));
    out[0] = times_power(f, s->unknowns + s->function);
    return out[0] != NULL ? 1 : 0;
}

static void equation(const scales *s, solution *found)
{
    adz_ode_options options = ADZ_ODE_OPTIONS;
    options.method = (adz_ode_method)s->way;
    options.rtol = s->dtype == ADZ_F32 ? 1e-4 : 1e-7;
    options.atol = ldexp(options.rtol, s->unknowns);
    options.steps = s->way == ADZ_ODE_RK4 ? 20 : 0;
    adz_tensor_function f = { logistic, (void *)(uintptr_t)s };
    adz_tensor *a = adz_requires_grad_(numbers(s, linear, 0), true);
    adz_tensor *times =
        adz_tensor_from(((double[]){ 0, ldexp(1, -s->function) }), ADZ_SHAPE(2), ADZ_F64);
    adz_tensor *y = adz_odeint_many(
        &f, numbers(s, start, s->unknowns), adz_to(times, s->dtype), &a, 1, &options, NULL);
    finish(s, y != NULL ? adz_select(y, 0, 1) : NULL, a, found);
}

/* ---- least squares and minima ---------------------------------------------------------------- */

typedef struct fit {
    const scales *s;
    adz_tensor *p;
    int calls;
} fit;

/* 2^l (x^2 + a x - 4): Levenberg-Marquardt finds where all are 0. */
static adz_tensor *residuals(void *user)
{
    fit *f = user;
    ++f->calls;
    adz_tensor *x = times_power(f->p, -f->s->unknowns), *out = NULL;
    adz_tensor *y = adz_add(adz_square(x), adz_mul(numbers(f->s, linear, 0), x));
    out = adz_add_number(adz_add(y, adz_mul_number(adz_roll(x, 1, 0), 0.3)), -4);
    return times_power(out, f->s->function);
}

/* 2^l (1 + the sum of squared residuals), for L-BFGS, with the gradient. */
static adz_tensor *loss_of(void *user)
{
    fit *f = user, plain = *f;
    scales same = *f->s;
    same.function = 0;
    plain.s = &same;
    ++f->calls;
    adz_tensor *sum = adz_sum(adz_square(residuals(&plain)), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_tensor *loss = times_power(adz_add_number(sum, 1), f->s->function);
    adz_tensor_set_grad(f->p, ADZ_NONE);
    return adz_backward(loss) == ADZ_OK ? loss : NULL;
}

/* Steps until the optimizer says that it has converged, and keeps the number of calls as a level:
 * scales must not change the way that the search takes. */
static void search(const scales *s, solution *found, adz_optimizer_closure closure,
    adz_optimizer *(*make)(adz_tensor_list, double))
{
    fit f = { .s = s };
    f.p = adz_requires_grad_(adz_clone(numbers(s, start, s->unknowns)), true);
    adz_optimizer *o = make(adz_tensor_list_of(&f.p, 1), 1);
    if (closure == loss_of) {
        /* Without a scale the first move is that of torch.optim.LBFGS, which has a unit. */
        static const double ones[UNKNOWNS] = { 1, 1, 1, 1, 1 };
        adz_tensor *scale = numbers(s, ones, s->unknowns);
        assert_int_equal(adz_lbfgs_set_scale(o, adz_tensor_list_of(&scale, 1)), ADZ_OK);
    }
    adz_closure_report report = { .reason = ADZ_CLOSURE_LIMIT };
    adz_status status = ADZ_OK;
    for (int i = 0; i < 10 && status == ADZ_OK && report.reason == ADZ_CLOSURE_LIMIT; ++i) {
        status = adz_optimizer_step_closure(o, closure, &f, NULL);
        status = status == ADZ_OK ? adz_optimizer_get_report(o, &report) : status;
    }
    found->solved = status == ADZ_OK && report.reason != ADZ_CLOSURE_LIMIT;
    found->level = status == ADZ_OK ? (double)report.reason : -1;
    snprintf(found->why, sizeof found->why, "reason %d, %d calls: %s", (int)report.reason, f.calls,
        adz_error_message());
    adz_error_clear();
    if (found->solved) {
        read(f.p, found->x);
    }
    adz_optimizer_release(&o);
}

static adz_optimizer *least_squares_new(adz_tensor_list parameters, double lr)
{
    return adz_levenberg_marquardt_new(parameters, lr, NULL);
}

static void least_squares(const scales *s, solution *found)
{
    search(s, found, residuals, least_squares_new);
}

static adz_optimizer *minimum_new(adz_tensor_list parameters, double lr)
{
    adz_lbfgs_options options = ADZ_LBFGS_OPTIONS;
    options.strong_wolfe = true;
    options.max_iter = 200;
    return adz_lbfgs_new(parameters, lr, &options);
}

static void minimum(const scales *s, solution *found)
{
    search(s, found, loss_of, minimum_new);
}

/* ---- clipping -------------------------------------------------------------------------------- */

/* Gradients of the size 2^k are clipped to a norm of 2^k; `way` is the type of the norm. */
static void clip(const scales *s, solution *found)
{
    adz_tensor *p = adz_requires_grad_(numbers(s, start, 0), true);
    adz_tensor *loss =
        adz_sum(adz_mul(p, numbers(s, linear, s->unknowns)), ADZ_ALL_DIMS, ADZ_DROPDIM);
    found->solved = adz_backward(loss) == ADZ_OK;
    const double type = s->way == 0 ? (double)INFINITY : s->way;
    found->level = ldexp(
        adz_clip_grad_norm(adz_tensor_list_of(&p, 1), ldexp(1, s->unknowns), type), -s->unknowns);
    read(adz_tensor_grad(p), found->x);
}

/* ---- the sweep ------------------------------------------------------------------------------- */

/* The largest relative difference, after the scales are taken out of `found`. */
static double apart(const scales *s, const solution *found, const solution *base)
{
    double worst = found->solved ? fabs(found->level - base->level) : (double)INFINITY;
    for (int i = 0; i < UNKNOWNS; ++i) {
        const double x = ldexp(found->x[i], -s->unknowns);
        const double g = ldexp(found->gradient[i], -s->unknowns - s->upstream);
        const double dx = fabs(x - base->x[i]), dg = fabs(g - base->gradient[i]);
        worst = isfinite(dx) && isfinite(dg) ? fmax(worst, fmax(dx, dg)) : (double)INFINITY;
    }
    return worst;
}

/* Clipping adds 1e-6 to the norm, as PyTorch does. A differential equation in other units of time
 * may take other steps, and then differs by its tolerance. Minima are found to their tolerance. */
static double tolerance_of(solver solve, const scales *s)
{
    const bool f32 = s->dtype == ADZ_F32;
    return solve == clip                                                      ? 1e-6
           : solve == equation && (s->function != 0 || s->way == ADZ_ODE_BDF) ? (f32 ? 2e-3 : 2e-6)
           : solve == minimum                                                 ? (f32 ? 2e-3 : 1e-6)
                                                                              : (f32 ? 1e-4 : 1e-9);
}

/* Solves at one combination of scales. Returns 1 and says what is wrong if it is. */
static int at_scales(const char *name, solver solve, const scales *s, const solution *base)
{
    solution found = { .solved = false };
    adz_scope *scope = adz_scope_open();
    solve(s, &found);
    adz_scope_close(scope);
    ++runs;
    const double far = apart(s, &found, base), most = tolerance_of(solve, s);
    if (far <= most) {
        return 0;
    }
    printf(
        "%s, way %d, %s, unknowns times 2^%d, function times 2^%d, upstream times 2^%d: %g apart %s\n",
        name, s->way, adz_dtype_name(s->dtype), s->unknowns, s->function, s->upstream, far,
        found.why);
    return 1;
}

/* Solves with each of the three scales, and with pairs of them, at both ends of a dtype. */
static int sweep(const char *name, solver solve, int way, adz_dtype dtype, const bool scaled[3])
{
    const int end = dtype == ADZ_F32 ? 120 : 1000;
    int wrong = 0;
    scales one = { .dtype = dtype, .way = way };
    solution base = { .solved = false };
    adz_scope *scope = adz_scope_open();
    solve(&one, &base);
    adz_scope_close(scope);
    if (!base.solved) {
        fail_msg("%s, way %d: %s", name, way, base.why);
    }
    for (int code = 1; code < 27; ++code) {
        const int signs[] = { code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1 };
        int n = 0;
        bool fits = true;
        for (int i = 0; i < 3; ++i) {
            n += signs[i] != 0;
            fits = fits && (signs[i] == 0 || scaled[i]);
        }
        if (n == 0 || !fits) {
            continue;
        }
        for (int part = n; part <= 3 * n; part += 2 * n) { /* the end, and a third of the way */
            scales s = one;
            s.unknowns = signs[0] * end / part;
            s.function = signs[1] * end / part;
            s.upstream = signs[2] * end / part;
            if (solve == clip && s.unknowns < 0) {
                continue; /* the 1e-6 that is added to a norm is larger than the norm */
            }
            wrong += at_scales(name, solve, &s, &base);
        }
    }
    return wrong;
}

static void sweep_both(const char *name, solver solve, int way, const bool scaled[3])
{
    const int wrong =
        sweep(name, solve, way, ADZ_F32, scaled) + sweep(name, solve, way, ADZ_F64, scaled);
    if (wrong > 0) {
        fail_msg("%s, way %d: %d of the scales", name, way, wrong);
    }
}

static const bool all[] = { true, true, true }, no_upstream[] = { true, true, false },
                  unknowns_only[] = { true, false, false }, no_function[] = { true, false, true };

#define SWEEP(test, solve, way, scaled)        \
    static void test(void **state)             \
    {                                          \
        (void)state;                           \
        sweep_both(#test, solve, way, scaled); \
    }

SWEEP(newton, root, ADZ_ROOT_NEWTON, all)
SWEEP(krylov, root, ADZ_ROOT_KRYLOV, all)
SWEEP(anderson, root, ADZ_ROOT_ANDERSON, no_function)
SWEEP(dormand_prince, equation, ADZ_ODE_DORMAND_PRINCE, all)
SWEEP(runge_kutta, equation, ADZ_ODE_RK4, all)
SWEEP(rodas, equation, ADZ_ODE_RODAS4, all)
SWEEP(bdf, equation, ADZ_ODE_BDF, all)
SWEEP(levenberg_marquardt, least_squares, 0, no_upstream)
SWEEP(lbfgs, minimum, 0, no_upstream)
SWEEP(clip_by_norm, clip, 2, unknowns_only)
SWEEP(clip_by_norm_1, clip, 1, unknowns_only)
SWEEP(clip_by_norm_8, clip, 8, unknowns_only)
SWEEP(clip_by_largest, clip, 0, unknowns_only)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(newton),
        cmocka_unit_test(krylov),
        cmocka_unit_test(anderson),
        cmocka_unit_test(dormand_prince),
        cmocka_unit_test(runge_kutta),
        cmocka_unit_test(rodas),
        cmocka_unit_test(bdf),
        cmocka_unit_test(levenberg_marquardt),
        cmocka_unit_test(lbfgs),
        cmocka_unit_test(clip_by_norm),
        cmocka_unit_test(clip_by_norm_1),
        cmocka_unit_test(clip_by_norm_8),
        cmocka_unit_test(clip_by_largest),
    };
    const int failed = cmocka_run_group_tests_name("solvers at scales", tests, NULL, NULL);
    printf("%zu solvers in f32 and f64: %zu runs\n", sizeof tests / sizeof *tests, runs);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
