/* Levenberg-Marquardt within bounds, and the covariance of what it has fitted. */
#include "tests.h"

static const double infinite = INFINITY;

/* At the end each parameter is within its bounds, and no gradient but those that point outwards at
 * a bound is left. */
static void expect_minimum(problem *p, const double *lower, const double *upper)
{
    adz_tensor *g = NULL, *r = residuals(p);
    adz_tensor *loss = adz_sum(adz_square(r), ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_int_equal(adz_autograd_grad(&loss, NULL, 1, &p->x, 1, NULL, &g), ADZ_OK);
    for (int64_t k = 0; k < 5; ++k) {
        const double x = adz_tensor_at(p->x, &k), slope = adz_tensor_at(g, &k);
        assert_true(x >= lower[k] && x <= upper[k]);
        const bool outwards = (x == lower[k] && slope > 0) || (x == upper[k] && slope < 0);
        if (!outwards && fabs(slope) > 1e-4) {
            fail_msg("element %d is %.17g, and has the gradient %g", (int)k, x, slope);
        }
    }
}

/* Rosenbrock's residuals in boxes with bounds that hold, that do not, and that leave no room. */
static void minima_are_within_bounds(void **state)
{
    (void)state;
    static const double boxes[][2][5] = {
        { { -9, -9, -9, -9, -9 }, { 0.5, 9, 9, 9, 9 } },
        { { -INFINITY, -INFINITY, -INFINITY, -INFINITY, 1.2 },
            { INFINITY, INFINITY, INFINITY, INFINITY, 2 } },
        { { -2, -1, -1, 0.7, 0.1 }, { -0.5, 1, 0.3, 0.9, 1.3 } },
        { { -1.5, 1, -1.5, -1.5, -1.5 }, { -0.2, 1, 1.5, 1.5, 1.5 } },
        { { -1.2, 1, -0.5, 0.8, 1.3 }, { -1.2, 1, -0.5, 0.8, 1.3 } },
        { { -1.2, 1, -0.5, 0.8, 1.3 }, { 9, 9, 9, 9, 9 } },
        { { -9, -9, -9, -9, -9 }, { -1.2, 1, -0.5, 0.8, 1.3 } },
    };
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; ++i) {
        problem p = begin(ADZ_F64);
        adz_tensor *lower = adz_tensor_from(boxes[i][0], ADZ_SHAPE(5), ADZ_F64);
        adz_tensor *upper = adz_tensor_from(boxes[i][1], ADZ_SHAPE(5), ADZ_F64);
        adz_optimizer *o = lm_of(&p, NULL);
        adz_optimizer_set(o, 0, "max_iter", 500);
        assert_int_equal(adz_levenberg_marquardt_set_bounds(
                             o, adz_tensor_list_of(&lower, 1), adz_tensor_list_of(&upper, 1)),
            ADZ_OK);
        assert_int_equal(adz_optimizer_step_closure(o, residuals, &p, NULL), ADZ_OK);
        adz_closure_report report;
        adz_optimizer_get_report(o, &report);
        if (report.reason != ADZ_CLOSURE_CONVERGED || report.gradient > 1e-4) {
            fail_msg("box %d: reason %d after %d evaluations, gradient %g", (int)i,
                (int)report.reason, (int)report.evaluations, report.gradient);
        }
        expect_minimum(&p, boxes[i][0], boxes[i][1]);
        adz_optimizer_release(&o);
    }
}

/* ---- a curve --------------------------------------------------------------------------------- */

enum { POINTS = 6 };
static const double xs[POINTS] = { 0, 0.3, 0.9, 1.4, 2.1, 2.5 };
static const double ys[POINTS] = { 2.4, 1.8, 0.7, 0.45, 0.2, 0.05 };

typedef struct {
    adz_tensor *a, *b, *frozen, *x, *y;
} curve;

static curve curve_of(adz_dtype dtype)
{
    curve c = { .a = leaf((const double[]){ 1 }, 1, dtype),
        .b = leaf((const double[]){ -2 }, 1, dtype),
        .frozen = leaf((const double[]){ 7, 8 }, 2, dtype),
        .x = adz_to(adz_tensor_from(xs, ADZ_SHAPE(POINTS), ADZ_F64), dtype),
        .y = adz_to(adz_tensor_from(ys, ADZ_SHAPE(POINTS), ADZ_F64), dtype) };
    adz_requires_grad_(c.frozen, false);
    return c;
}

static adz_tensor *decay(void *user)
{
    curve *c = user;
    return adz_sub(adz_mul(c->a, adz_exp(adz_mul(c->b, c->x))), c->y);
}

static adz_optimizer *fit_of(curve *c)
{
    adz_tensor *all[] = { c->frozen, c->a, c->b };
    adz_optimizer *o = adz_levenberg_marquardt_new(adz_tensor_list_of(all, 3), 1, NULL);
    assert_non_null(o);
    return o;
}

/* With b at its bound the best a has a closed form. Bounds of f32 hold for f32 parameters. */
static void a_bound_decides_the_fit(void **state)
{
    (void)state;
    double top = 0, bottom = 0;
    for (int i = 0; i < POINTS; ++i) {
        top += ys[i] * exp(-1.5 * xs[i]);
        bottom += exp(-3 * xs[i]);
    }
    for (int f32 = 0; f32 < 2; ++f32) {
        curve c = curve_of(f32 ? ADZ_F32 : ADZ_F64);
        adz_optimizer *o = fit_of(&c);
        adz_tensor *none = adz_full(ADZ_SHAPE(1), infinite, ADZ_F64);
        adz_tensor *upper[] = { none, none, adz_full(ADZ_SHAPE(1), -1.5, ADZ_F64) };
        assert_int_equal(adz_levenberg_marquardt_set_bounds(
                             o, (adz_tensor_list){ NULL, 0 }, adz_tensor_list_of(upper, 3)),
            ADZ_OK);
        assert_int_equal(adz_optimizer_step_closure(o, decay, &c, NULL), ADZ_OK);
        assert_true(HOLDS(c.b, 0, -1.5));
        assert_true(HOLDS(c.a, f32 ? 1e-5 : 1e-9, top / bottom));
        assert_true(HOLDS(c.frozen, 0, 7, 8));
        assert_int_equal(adz_levenberg_marquardt_set_bounds(
                             o, (adz_tensor_list){ NULL, 0 }, (adz_tensor_list){ NULL, 0 }),
            ADZ_OK);
        assert_int_equal(adz_optimizer_step_closure(o, decay, &c, NULL), ADZ_OK);
        assert_true(HOLDS(c.b, 1e-4, -1.25309132));
        adz_optimizer_release(&o);
    }
}

/* The bounds of one side may be left out. */
static void one_side_suffices(void **state)
{
    (void)state;
    curve c = curve_of(ADZ_F64);
    adz_optimizer *o = fit_of(&c);
    adz_tensor *none = adz_full(ADZ_SHAPE(1), -infinite, ADZ_F64);
    adz_tensor *lower[] = { none, adz_full(ADZ_SHAPE(1), 0.5, ADZ_F64),
        adz_full(ADZ_SHAPE(1), -1.2, ADZ_F64) };
    ADZ_NO_GRAD
    {
        adz_fill_(c.b, -1);
    }
    assert_int_equal(adz_levenberg_marquardt_set_bounds(
                         o, adz_tensor_list_of(lower, 3), (adz_tensor_list){ NULL, 0 }),
        ADZ_OK);
    assert_int_equal(adz_optimizer_step_closure(o, decay, &c, NULL), ADZ_OK);
    assert_true(HOLDS(c.b, 0, -1.2));
    adz_optimizer_release(&o);
}

static adz_status bounds(adz_optimizer *o, adz_tensor **lower, adz_tensor **upper)
{
    return adz_levenberg_marquardt_set_bounds(
        o, adz_tensor_list_of(lower, 1), adz_tensor_list_of(upper, 1));
}

static void bounds_are_checked(void **state)
{
    (void)state;
    static const char op[] = "adz_levenberg_marquardt_set_bounds";
    problem p = begin(ADZ_F64);
    adz_tensor *low = adz_full(ADZ_SHAPE(5), -1, ADZ_F64),
               *high = adz_full(ADZ_SHAPE(1), 2, ADZ_F32);
    adz_tensor *nan = adz_full(ADZ_SHAPE(1), NAN, ADZ_F64), *none = NULL;
    adz_tensor *ends = adz_full(ADZ_SHAPE(1), infinite, ADZ_F64);
    adz_tensor *wrong = adz_ones(ADZ_SHAPE(1, 5), ADZ_F64),
               *whole = adz_ones(ADZ_SHAPE(5), ADZ_I64);
    adz_tensor *two[] = { low, low };
    adz_optimizer *o = lm_of(&p, NULL), *lbfgs = lbfgs_of(&p, NULL);
    assert_int_equal(bounds(lbfgs, &low, &high), ADZ_ERR_UNSUPPORTED);
    expect_error(ADZ_ERR_UNSUPPORTED, "LBFGS is no Levenberg-Marquardt");
    expect_null(bounds(NULL, &low, &high) == ADZ_ERR_NULL, op, "optimizer");
    assert_int_equal(bounds(o, &high, &low), ADZ_ERR_ARGUMENT);
    expect_error(
        ADZ_ERR_ARGUMENT, "the lower bound of element 0 of all parameters is 2, the upper one -1");
    assert_int_equal(bounds(o, &nan, &high), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "is nan");
    assert_int_equal(bounds(o, &ends, &ends), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "is inf, the upper one inf");
    assert_int_equal(bounds(o, &wrong, &high), ADZ_ERR_SHAPE);
    expect_error(ADZ_ERR_SHAPE, "the lower bound of parameter 0[5] is float64[1, 5]");
    assert_int_equal(bounds(o, &low, &whole), ADZ_ERR_DTYPE);
    expect_error(ADZ_ERR_DTYPE, "the upper bound of parameter 0[5] is int64[5]");
    assert_int_equal(bounds(o, &low, &none), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "upper bound");
    assert_int_equal(adz_levenberg_marquardt_set_bounds(
                         o, adz_tensor_list_of(two, 2), adz_tensor_list_of(&high, 1)),
        ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "there are 2 tensors of lower bounds for 1 parameters");
    /* none of these is kept */
    assert_int_equal(adz_optimizer_step_closure(o, residuals, &p, NULL), ADZ_OK);
    assert_int_equal(bounds(o, &low, &high), ADZ_OK);
    p.x = adz_detach(p.x);
    ADZ_NO_GRAD
    {
        adz_fill_(p.x, -1.5);
    }
    assert_int_equal(adz_optimizer_step_closure(o, residuals, &p, NULL), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT,
        "element 0 of all parameters is -1.5 where the step begins, outside of its bounds -1 and 2");
    adz_optimizer_release(&o);
    adz_optimizer_release(&lbfgs);
}

/* ---- the covariance -------------------------------------------------------------------------- */

/* The parameters and their covariance are those of scipy.optimize.curve_fit. The rows of elements
 * that are not fitted are 0. Bounds play no part. */
static void the_covariance_is_that_of_scipy(void **state)
{
    (void)state;
    for (int k = 0; k < 4; ++k) {
        const double tolerance = k < 2 ? 1e-8 : 1e-5;
        curve c = curve_of(k < 2 ? ADZ_F64 : ADZ_F32);
        adz_optimizer *o = fit_of(&c);
        double variance = NAN;
        assert_int_equal(adz_optimizer_step_closure(o, decay, &c, NULL), ADZ_OK);
        assert_true(HOLDS(c.a, tolerance, 2.45272211));
        if (k % 2 == 1) {
            adz_tensor *all[] = { c.frozen, c.a, c.b };
            assert_int_equal(adz_levenberg_marquardt_set_bounds(
                                 o, adz_tensor_list_of(all, 3), adz_tensor_list_of(all, 3)),
                ADZ_OK);
        }
        adz_tensor *found = adz_levenberg_marquardt_covariance(o, decay, &c, &variance);
        assert_non_null(found);
        assert_int_equal(adz_tensor_dtype(found), ADZ_F64);
        assert_true(HOLDS(found, tolerance, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.00602661, -0.00326513,
            0, 0, -0.00326513, 0.00732198));
        assert_true(fabs(variance - 0.007373811662029232) <= tolerance);
        assert_non_null(adz_levenberg_marquardt_covariance(o, decay, &c, NULL));
        adz_optimizer_release(&o);
    }
}

static adz_tensor *both_alike(void *user)
{
    curve *c = user;
    return adz_sub(adz_mul(adz_add(c->a, c->b), c->x), c->y);
}

static adz_tensor *without_b(void *user)
{
    curve *c = user;
    return adz_sub(adz_mul(c->a, c->x), c->y);
}

static adz_tensor *two_points(void *user)
{
    return adz_narrow(decay(user), 0, 0, 2);
}

static adz_tensor *undefined(void *user)
{
    return adz_mul_number(decay(user), NAN);
}

static adz_tensor *failing(void *user)
{
    return adz_matmul(decay(user), adz_ones(ADZ_SHAPE(99), ADZ_F64));
}

static void expect_refused(
    adz_optimizer *o, adz_optimizer_closure closure, curve *c, adz_status code, const char *says)
{
    double variance = 17;
    assert_null(adz_levenberg_marquardt_covariance(o, closure, c, &variance));
    expect_error(code, says);
    assert_true(variance == 17);
}

static void what_is_not_determined_has_no_covariance(void **state)
{
    (void)state;
    static const char op[] = "adz_levenberg_marquardt_covariance";
    curve c = curve_of(ADZ_F64);
    adz_optimizer *o = fit_of(&c), *sgd = adz_sgd_new(adz_tensor_list_of(&c.a, 1), 1, NULL);
    expect_refused(o, both_alike, &c, ADZ_ERR_NUMERIC,
        "the residuals do not determine element 3 of all parameters");
    expect_refused(o, without_b, &c, ADZ_ERR_NUMERIC, "do not determine element 3");
    expect_refused(
        o, two_points, &c, ADZ_ERR_SHAPE, "2 residuals do not tell how far they scatter");
    expect_refused(o, undefined, &c, ADZ_ERR_NUMERIC, "a residual is not finite");
    expect_refused(o, failing, &c, ADZ_ERR_SHAPE, "matmul");
    expect_refused(sgd, decay, &c, ADZ_ERR_UNSUPPORTED, "SGD is no Levenberg-Marquardt");
    expect_null(adz_levenberg_marquardt_covariance(NULL, decay, &c, NULL) == NULL, op, "optimizer");
    expect_null(adz_levenberg_marquardt_covariance(o, NULL, &c, NULL) == NULL, op, "closure");
    adz_optimizer_release(&o);
    adz_optimizer_release(&sgd);
}

/* ---- refused memory -------------------------------------------------------------------------- */

typedef struct {
    problem p;
    adz_tensor *lower, *upper;
} attempt;

static adz_status try_all(void *user)
{
    attempt *a = user;
    adz_status status = bounds(a->p.optimizer, &a->lower, &a->upper);
    if (status == ADZ_OK &&
        adz_levenberg_marquardt_covariance(a->p.optimizer, residuals, &a->p, NULL) == NULL) {
        status = adz_error_code();
    }
    return status;
}

static void refused_memory_is_an_error(void **state)
{
    (void)state;
    attempt a = { .p = begin(ADZ_F64), .lower = adz_full(ADZ_SHAPE(1), -3, ADZ_F64) };
    a.upper = adz_full(ADZ_SHAPE(5), 3, ADZ_F64);
    lm_of(&a.p, NULL);
    assert_int_equal(try_all(&a), ADZ_OK);
    assert_true(refuse_each(try_all, NULL, &a) > 10);
    adz_optimizer_release(&a.p.optimizer);
}

int bounds_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(minima_are_within_bounds),
        TEST(a_bound_decides_the_fit),
        TEST(one_side_suffices),
        TEST(bounds_are_checked),
        TEST(the_covariance_is_that_of_scipy),
        TEST(what_is_not_determined_has_no_covariance),
        TEST(refused_memory_is_an_error),
    };
    return cmocka_run_group_tests_name("closures: bounds", tests, NULL, NULL);
}
