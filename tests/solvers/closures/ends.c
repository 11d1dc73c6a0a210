/* Why steps end, and that neither the way nor the end depends on units. */
#include <float.h>

#include "tests.h"

static adz_closure_report report_of(adz_optimizer *o)
{
    adz_closure_report report = { .iterations = -1 };
    assert_int_equal(adz_optimizer_get_report(o, &report), ADZ_OK);
    return report;
}

static adz_optimizer *searching(problem *p, int64_t max_iter)
{
    adz_lbfgs_options options = ADZ_LBFGS_OPTIONS;
    options.strong_wolfe = true;
    options.max_iter = max_iter;
    return lbfgs_of(p, &options);
}

/* ---- reports --------------------------------------------------------------------------------- */

static void expect_counts(problem *p, adz_closure_report r, int calls, double factor)
{
    double largest = 0;
    adz_tensor *residual = residuals(p);
    adz_tensor *loss =
        adz_mul_number(adz_sum(adz_mul(residual, residual), ADZ_ALL_DIMS, ADZ_DROPDIM), factor);
    adz_tensor *g = NULL;
    assert_int_equal(adz_autograd_grad(&loss, NULL, 1, &p->x, 1, NULL, &g), ADZ_OK);
    for (int64_t k = 0; k < 5; ++k) {
        largest = fmax(largest, fabs(adz_tensor_at(g, &k)));
    }
    assert_int_equal(r.evaluations, calls);
    assert_true(fabs(r.loss - adz_item(loss)) <= 1e-12 * adz_item(loss) + 1e-25);
    assert_true(fabs(r.gradient - largest) <= 1e-9 * largest + 1e-12);
}

static void limits_are_no_success(void **state)
{
    (void)state;
    for (int lm = 0; lm < 2; ++lm) {
        problem p = begin(ADZ_F64);
        adz_closure_report r;
        adz_optimizer *o = lm ? lm_of(&p, NULL) : searching(&p, 4);
        adz_optimizer_set(o, 0, "max_iter", 4);
        assert_int_equal(adz_optimizer_get_report(o, &r), ADZ_ERR_STATE);
        expect_error(ADZ_ERR_STATE, "no step has succeeded yet");
        int64_t iterations = 0, evaluations = 0;
        do {
            const int before = p.calls;
            assert_int_equal(
                adz_optimizer_step_closure(o, lm ? residuals : loss_of, &p, NULL), ADZ_OK);
            r = report_of(o);
            expect_counts(&p, r, p.calls - before, lm ? 0.5 : 1);
            assert_true(r.reason == ADZ_CLOSURE_LIMIT || r.reason == ADZ_CLOSURE_CONVERGED);
            assert_true(
                r.iterations == 4 || r.reason == ADZ_CLOSURE_CONVERGED || r.evaluations >= 5);
            iterations += r.iterations;
            evaluations += r.evaluations;
        } while (r.reason == ADZ_CLOSURE_LIMIT && iterations < 200);
        assert_true(iterations > 8 && iterations < 200);
        assert_true(adz_optimizer_get(o, 0, "n_iter") == (double)iterations);
        assert_true(adz_optimizer_get(o, 0, "func_evals") == (double)evaluations);
        assert_true(HOLDS(p.x, 1e-6, 1, 1, 1, 1, 1));
        adz_optimizer_release(&o);
    }
}

static adz_tensor *lying(void *user)
{
    problem *p = user;
    adz_optimizer_zero_grad(p->optimizer);
    adz_tensor *shifted = adz_add_number(p->x, -3);
    adz_tensor *loss = adz_sum(adz_square(shifted), ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_int_equal(adz_backward(adz_neg(loss)), ADZ_OK); /* the wrong sign */
    return adz_add_number(loss, 1);
}

static adz_tensor *lying_residuals(void *user)
{
    problem *p = user;
    /* the values grow where the derivatives say that they shrink */
    adz_tensor *shifted = adz_add_number(p->x, 3), *twice = adz_mul_number(adz_detach(p->x), 2);
    return adz_sub(adz_add_number(twice, 3), adz_sub(shifted, adz_full(ADZ_SHAPE(5), 3, ADZ_F64)));
}

/* With wrong derivatives no move lowers the loss. */
static void wrong_derivatives_stall(void **state)
{
    (void)state;
    for (int lm = 0; lm < 2; ++lm) {
        problem p = begin(ADZ_F64);
        adz_tensor *before = adz_clone(p.x);
        adz_optimizer *o = lm ? lm_of(&p, NULL) : searching(&p, 200);
        adz_optimizer_set(o, 0, "max_iter", 200);
        assert_int_equal(
            adz_optimizer_step_closure(o, lm ? lying_residuals : lying, &p, NULL), ADZ_OK);
        assert_int_equal(report_of(o).reason, ADZ_CLOSURE_STALLED);
        assert_true(adz_equal(p.x, before));
        adz_optimizer_release(&o);
    }
}

static adz_tensor *parabola(void *user)
{
    problem *p = user;
    adz_optimizer_zero_grad(p->optimizer);
    adz_tensor *loss = adz_sum(adz_square(adz_add_number(p->x, -3)), ADZ_ALL_DIMS, ADZ_DROPDIM);
    loss = adz_add_number(loss, p->sign);
    return adz_backward(loss) == ADZ_OK ? loss : NULL;
}

/* At the minimum a step evaluates once, and has converged. */
static void a_minimum_is_recognised(void **state)
{
    (void)state;
    for (int f32 = 0; f32 < 2; ++f32) {
        for (double offset = 0; offset < 2; ++offset) {
            const double three[] = { 3, 3, 3, 3, 3 };
            problem p = { .x = leaf(three, 5, f32 ? ADZ_F32 : ADZ_F64), .sign = offset };
            adz_optimizer *o = searching(&p, 20);
            assert_int_equal(adz_optimizer_step_closure(o, parabola, &p, NULL), ADZ_OK);
            adz_closure_report r = report_of(o);
            assert_int_equal(r.reason, ADZ_CLOSURE_CONVERGED);
            assert_true(r.iterations == 0 && r.evaluations == 1 && r.gradient == 0);
            assert_true(r.loss == offset);
            adz_optimizer_release(&o);
        }
    }
}

/* Fits of data with noise converge in both dtypes, where the last digits cannot be reached. */
static void noise_does_not_stall_a_fit(void **state)
{
    (void)state;
    for (int k = 0; k < 4; ++k) {
        problem p = { .x = leaf((const double[]){ 1, 0, 1, 0, 1 }, 5, k % 2 ? ADZ_F32 : ADZ_F64),
            .sign = 3 };
        adz_optimizer *o = k < 2 ? lm_of(&p, NULL) : searching(&p, 100);
        adz_optimizer_set(o, 0, "max_iter", 100);
        assert_int_equal(
            adz_optimizer_step_closure(o, k < 2 ? residuals : parabola, &p, NULL), ADZ_OK);
        if (report_of(o).reason != ADZ_CLOSURE_CONVERGED) {
            adz_closure_report r = report_of(o);
            fail_msg("case %d: reason %d, %d evaluations, loss %g, gradient %g", k, (int)r.reason,
                (int)r.evaluations, r.loss, r.gradient);
        }
        adz_optimizer_release(&o);
    }
}

/* Without a line search nobody has computed the loss at the end. */
static void an_unknown_loss_is_no_number(void **state)
{
    (void)state;
    problem p = begin(ADZ_F64);
    adz_lbfgs_options options = ADZ_LBFGS_OPTIONS;
    options.max_iter = 4;
    p.optimizer = adz_lbfgs_new(adz_tensor_list_of(&p.x, 1), 1e-3, &options);
    assert_int_equal(adz_optimizer_step_closure(p.optimizer, loss_of, &p, NULL), ADZ_OK);
    adz_closure_report r = report_of(p.optimizer);
    assert_int_equal(r.reason, ADZ_CLOSURE_LIMIT);
    assert_true(isnan(r.loss) && r.iterations == 4 && r.evaluations == 4 && p.calls == 4);
    adz_optimizer_release(&p.optimizer);
}

/* The report has the loss of an ascent as the closure gives it. */
static void ascents_are_reported(void **state)
{
    (void)state;
    problem p = begin(ADZ_F64);
    p.sign = -1;
    adz_lbfgs_options options = ADZ_LBFGS_OPTIONS;
    options.strong_wolfe = options.maximize = true;
    options.max_iter = 6;
    lbfgs_of(&p, &options);
    assert_int_equal(adz_optimizer_step_closure(p.optimizer, loss_of, &p, NULL), ADZ_OK);
    adz_closure_report r = report_of(p.optimizer);
    assert_true(r.reason == ADZ_CLOSURE_LIMIT && r.loss < 0);
    assert_true(fabs(r.loss - adz_item(loss_of(&p))) <= 1e-12);
    adz_optimizer_release(&p.optimizer);
}

static double damping_of(adz_optimizer *o)
{
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.optimizer = o;
    assert_int_equal(adz_checkpoint_save(&c, temporary_path("damping")), ADZ_OK);
    adz_safetensors *file = adz_safetensors_load(temporary_path("damping"), NULL);
    const double value = adz_item(adz_safetensors_get(file, "state.0.damping"));
    adz_safetensors_free(&file);
    return value;
}

/* A damping below the least one rises to it, and the largest one ends a search that moves nothing.
 */
static void the_damping_has_limits(void **state)
{
    (void)state;
    problem p = begin(ADZ_F64);
    adz_optimizer *o = lm_of(&p, NULL);
    adz_optimizer_set(o, 0, "damping", 1e-30);
    adz_optimizer_set(o, 0, "max_iter", 1);
    assert_int_equal(adz_optimizer_step_closure(o, residuals, &p, NULL), ADZ_OK);
    assert_true(damping_of(o) == 1e-20);
    adz_optimizer_release(&o);
    p = begin(ADZ_F64);
    o = lm_of(&p, NULL);
    adz_optimizer_set(o, 0, "damping", 1e19);
    adz_optimizer_set(o, 0, "max_iter", 9);
    assert_int_equal(adz_optimizer_step_closure(o, lying_residuals, &p, NULL), ADZ_OK);
    assert_int_equal(report_of(o).reason, ADZ_CLOSURE_STALLED);
    assert_true(damping_of(o) <= 1e20);
    adz_optimizer_release(&o);
}

static void reports_are_checked(void **state)
{
    (void)state;
    problem p = begin(ADZ_F64);
    adz_closure_report r;
    adz_optimizer *adam = adz_adam_new(adz_tensor_list_of(&p.x, 1), 0.1, NULL);
    assert_int_equal(adz_optimizer_get_report(adam, &r), ADZ_ERR_UNSUPPORTED);
    expect_error(ADZ_ERR_UNSUPPORTED, "Adam makes one move in a step and has no report");
    expect_null(adz_optimizer_get_report(NULL, &r) == ADZ_ERR_NULL, "adz_optimizer_get_report",
        "optimizer");
    expect_null(
        adz_optimizer_get_report(adam, NULL) == ADZ_ERR_NULL, "adz_optimizer_get_report", "report");
    adz_optimizer_release(&adam);
}

static void names_are_listed(void **state)
{
    (void)state;
    problem p = begin(ADZ_F64);
    adz_optimizer *o = lm_of(&p, NULL);
    assert_true(isnan(adz_optimizer_get(o, 0, "n_iters")));
    expect_error(ADZ_ERR_ARGUMENT,
        "LevenbergMarquardt has no setting called n_iters; it has lr, max_iter, damping, tolerance_grad, tolerance_change; adz_optimizer_get also knows func_evals, n_iter, damping, growth");
    assert_true(adz_optimizer_get(o, 0, "n_iter") == 0);
    assert_int_equal(adz_optimizer_set(o, 0, "n_iter", 3), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "has no setting called n_iter; it has lr");
    assert_true(adz_optimizer_get(o, 0, "damping") == 1e-3);
    adz_optimizer_release(&o);
    adz_optimizer *sgd = adz_sgd_new(adz_tensor_list_of(&p.x, 1), 0.1, NULL);
    adz_scheduler *s = adz_step_lr_new(sgd, 2, 0.5);
    assert_true(isnan(adz_optimizer_get(sgd, 0, "rate")));
    expect_error(ADZ_ERR_ARGUMENT, "SGD has no setting called rate; it has lr, ");
    assert_true(isnan(adz_optimizer_get(sgd, 0, "rate")));
    expect_error(ADZ_ERR_ARGUMENT, ", initial_lr");
    adz_scheduler_release(&s);
    adz_optimizer_release(&sgd);
}

/* ---- units ----------------------------------------------------------------------------------- */

/* Rosenbrock's residuals of x / units times a unit. */
typedef struct {
    problem p;
    adz_tensor *units;
    double unit;
} in_units;

static adz_tensor *residuals_in_units(void *user)
{
    in_units *u = user;
    problem inner = { .x = adz_div(u->p.x, u->units) };
    ++u->p.calls;
    return adz_mul_number(residuals(&inner), u->unit);
}

static adz_tensor *loss_in_units(void *user)
{
    in_units *u = user;
    adz_optimizer_zero_grad(u->p.optimizer);
    problem inner = { .x = adz_div(u->p.x, u->units) };
    adz_tensor *r = residuals(&inner);
    ++u->p.calls;
    adz_tensor *loss = adz_sum(adz_square(r), ADZ_ALL_DIMS, ADZ_DROPDIM);
    loss = adz_mul_number(adz_add_number(loss, 0.5), u->unit);
    return adz_backward(loss) == ADZ_OK ? loss : NULL;
}

static in_units begin_in_units(adz_dtype dtype, int exponent, int even, int odd)
{
    const double start[] = { START };
    double units[5], x[5];
    for (int k = 0; k < 5; ++k) {
        units[k] = ldexp(1, k % 2 == 0 ? even : odd);
        x[k] = start[k] * units[k];
    }
    return (in_units){ .p = { .x = leaf(x, 5, dtype), .sign = 1 },
        .units = adz_to(adz_tensor_from(units, ADZ_SHAPE(5), ADZ_F64), dtype),
        .unit = ldexp(1, exponent) };
}

/* Steps until the end. Returns how many evaluations there were. In f32 rounding errors hide the
 * last digits of the minimum. */
static int run(in_units *u, adz_optimizer_closure closure)
{
    do {
        assert_int_equal(adz_optimizer_step_closure(u->p.optimizer, closure, u, NULL), ADZ_OK);
    } while (report_of(u->p.optimizer).reason == ADZ_CLOSURE_LIMIT && u->p.calls < 2000);
    adz_closure_report r = report_of(u->p.optimizer);
    if (r.reason != ADZ_CLOSURE_CONVERGED && adz_tensor_dtype(u->p.x) == ADZ_F64) {
        adz_tensor_print(adz_div(u->p.x, u->units), stdout);
        fail_msg("reason %d in units of %g after %d calls, loss %g, gradient %g", (int)r.reason,
            u->unit, u->p.calls, r.loss, r.gradient);
    }
    return u->p.calls;
}

/* Powers of two as units of residuals and parameters change no bit of the way. */
static void least_squares_know_no_units(void **state)
{
    (void)state;
    static const int exponents[][4] = { { 500, 0, 0 }, { -500, 0, 0 }, { 0, 300, -300 },
        { -600, -200, 350 }, { 900, 10, 20 }, { -980, 0, 0 }, { 60, -60, 0, 1 }, { -60, 30, 60, 1 },
        { 0, 80, -20, 1 } };
    for (size_t i = 0; i < sizeof exponents / sizeof *exponents; ++i) {
        const int *e = exponents[i];
        const adz_dtype dtype = e[3] ? ADZ_F32 : ADZ_F64;
        in_units plain = begin_in_units(dtype, 0, 0, 0);
        in_units other = begin_in_units(dtype, e[0], e[1], e[2]);
        lm_of(&plain.p, NULL);
        lm_of(&other.p, NULL);
        const int calls = run(&plain, residuals_in_units);
        assert_int_equal(calls, run(&other, residuals_in_units));
        assert_true(adz_equal(adz_div(other.p.x, other.units), plain.p.x));
        adz_optimizer_release(&plain.p.optimizer);
        adz_optimizer_release(&other.p.optimizer);
    }
}

/* Powers of two as units of the loss and of the parameters change no bit of the way, if the scale
 * is in the units. */
static void lbfgs_knows_no_units(void **state)
{
    (void)state;
    static const int exponents[][4] = { { 600, 0, 0 }, { -600, 0, 0 }, { 0, 90, -90 },
        { -900, 0, 0 }, { 900, 0, 0 }, { 300, 200, 250 }, { -300, -200, 100 }, { 80, 0, 0, 1 },
        { -80, 0, 0, 1 }, { 0, 20, -20, 1 }, { -40, 30, -10, 1 }, { 55, 0, 0, 1 },
        { -55, 0, 0, 1 } };
    for (size_t i = 0; i < sizeof exponents / sizeof *exponents; ++i) {
        const int *e = exponents[i];
        const adz_dtype dtype = e[3] ? ADZ_F32 : ADZ_F64;
        in_units both[] = { begin_in_units(dtype, 0, 0, 0),
            begin_in_units(dtype, e[0], e[1], e[2]) };
        for (int k = 0; k < 2; ++k) {
            searching(&both[k].p, 20);
            assert_int_equal(
                adz_lbfgs_set_scale(both[k].p.optimizer, adz_tensor_list_of(&both[k].units, 1)),
                ADZ_OK);
        }
        const int calls = run(&both[0], loss_in_units);
        assert_int_equal(calls, run(&both[1], loss_in_units));
        const adz_closure_report r = report_of(both[0].p.optimizer);
        const adz_closure_report q = report_of(both[1].p.optimizer);
        assert_int_equal(r.reason, q.reason);
        assert_true(q.loss == ldexp(r.loss, e[0]));
        if (e[1] == 0 && e[2] == 0) {
            assert_true(q.gradient == ldexp(r.gradient, e[0]) && q.gradient > 0);
        }
        assert_true(adz_equal(adz_div(both[1].p.x, both[1].units), both[0].p.x));
        adz_optimizer_release(&both[0].p.optimizer);
        adz_optimizer_release(&both[1].p.optimizer);
    }
}

/* Without a scale the first move has another length, as in PyTorch, but nothing flips. */
static void a_unit_of_the_loss_flips_nothing(void **state)
{
    (void)state;
    for (int k = -900; k <= 900; k += 300) {
        in_units u = begin_in_units(ADZ_F64, k, 0, 0);
        searching(&u.p, 20);
        assert_true(run(&u, loss_in_units) < 400);
        assert_true(HOLDS(u.p.x, 1e-5, 1, 1, 1, 1, 1));
        adz_optimizer_release(&u.p.optimizer);
    }
}

/* A wide tolerance ends a step before the limit, without a claim. */
static void small_changes_end_a_step(void **state)
{
    (void)state;
    in_units u = begin_in_units(ADZ_F64, 0, 0, 0);
    adz_optimizer *o = searching(&u.p, 200);
    adz_optimizer_set(o, 0, "tolerance_change", 0.05);
    assert_int_equal(adz_optimizer_step_closure(o, loss_in_units, &u, NULL), ADZ_OK);
    adz_closure_report r = report_of(o);
    assert_int_equal(r.reason, ADZ_CLOSURE_STALLED);
    assert_true(r.iterations > 1 && r.iterations < 40 && r.gradient > 1e-3);
    adz_optimizer_set(o, 0, "tolerance_grad", 1e9);
    assert_int_equal(adz_optimizer_step_closure(o, loss_in_units, &u, NULL), ADZ_OK);
    r = report_of(o);
    assert_true(r.reason == ADZ_CLOSURE_CONVERGED && r.evaluations == 1 && r.iterations == 0);
    adz_optimizer_release(&o);
}

/* Without a scale the first trial is 100 times as far as the largest parameter at most. */
static adz_tensor *recording(void *user)
{
    in_units *u = user;
    adz_tensor *largest = adz_amax(adz_abs(u->p.x), ADZ_ALL_DIMS, ADZ_DROPDIM);
    u->p.sign = u->p.calls == 1 ? adz_item(largest) : u->p.sign;
    return loss_in_units(user);
}

static void the_first_move_is_no_leap(void **state)
{
    (void)state;
    for (int exponent = -60; exponent <= 0; exponent += 60) {
        in_units u = begin_in_units(ADZ_F64, 0, exponent, exponent);
        searching(&u.p, 20);
        assert_int_equal(adz_optimizer_step_closure(u.p.optimizer, recording, &u, NULL), ADZ_OK);
        const double moved = ldexp(u.p.sign, -exponent); /* in units of the parameters */
        assert_true(exponent == 0 ? moved < 2 : moved > 50 && moved < 132);
        adz_optimizer_release(&u.p.optimizer);
    }
}

/* The scale of parameters may be any number, and stands for the unit of an element. */
static void the_scale_is_checked(void **state)
{
    (void)state;
    problem p = begin(ADZ_F64);
    adz_tensor *one = adz_full(ADZ_SHAPE(1), 2, ADZ_F32), *zero = adz_zeros(ADZ_SHAPE(5), ADZ_F64);
    adz_tensor *wrong = adz_ones(ADZ_SHAPE(4), ADZ_F64), *whole = adz_ones(ADZ_SHAPE(5), ADZ_I64);
    adz_tensor *two[] = { one, one };
    adz_optimizer *lm = lm_of(&p, NULL), *o = searching(&p, 200);
    assert_int_equal(adz_lbfgs_set_scale(lm, adz_tensor_list_of(&one, 1)), ADZ_ERR_UNSUPPORTED);
    expect_error(ADZ_ERR_UNSUPPORTED, "LevenbergMarquardt is no L-BFGS");
    expect_null(adz_lbfgs_set_scale(NULL, adz_tensor_list_of(&one, 1)) == ADZ_ERR_NULL,
        "adz_lbfgs_set_scale", "optimizer");
    assert_int_equal(adz_lbfgs_set_scale(o, adz_tensor_list_of(&zero, 1)), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "the scale of element 0 of all parameters is 0");
    assert_int_equal(adz_lbfgs_set_scale(o, adz_tensor_list_of(&wrong, 1)), ADZ_ERR_SHAPE);
    expect_error(ADZ_ERR_SHAPE, "the scale of parameter 0[5] is float64[4]");
    assert_int_equal(adz_lbfgs_set_scale(o, adz_tensor_list_of(&whole, 1)), ADZ_ERR_DTYPE);
    expect_error(ADZ_ERR_DTYPE, "the scale of parameter 0[5] is int64[5], but must be f32 or f64");
    assert_int_equal(adz_lbfgs_set_scale(o, adz_tensor_list_of(two, 2)), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "there are 2 tensors of scales for 1 parameters");
    assert_int_equal(adz_lbfgs_set_scale(o, adz_tensor_list_of(&one, 1)), ADZ_OK);
    assert_int_equal(adz_optimizer_step_closure(o, loss_of, &p, NULL), ADZ_OK);
    assert_int_equal(report_of(o).reason, ADZ_CLOSURE_CONVERGED);
    assert_true(HOLDS(p.x, 1e-6, 1, 1, 1, 1, 1));
    assert_int_equal(adz_lbfgs_set_scale(o, (adz_tensor_list){ NULL, 0 }), ADZ_OK);
    adz_optimizer_release(&o);
    adz_optimizer_release(&lm);
}

int ends_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(limits_are_no_success),
        TEST(wrong_derivatives_stall),
        TEST(a_minimum_is_recognised),
        TEST(noise_does_not_stall_a_fit),
        TEST(an_unknown_loss_is_no_number),
        TEST(small_changes_end_a_step),
        TEST(ascents_are_reported),
        TEST(the_damping_has_limits),
        TEST(reports_are_checked),
        TEST(names_are_listed),
        TEST(least_squares_know_no_units),
        TEST(lbfgs_knows_no_units),
        TEST(a_unit_of_the_loss_flips_nothing),
        TEST(the_first_move_is_no_leap),
        TEST(the_scale_is_checked),
    };
    return cmocka_run_group_tests_name("closures: ends", tests, temporary_begin, temporary_end);
}
