/* Roots and fixed points in plans: the bits, numbers of steps and errors of ordinary calls, for
 * searches that differ from run to run. */
#include "adze/loops.h"
#include "solvers/equations/solvers.h"

typedef struct searched {
    adz_tensor_map map;
    adz_tensor *w, *b, *x0;
    adz_root_options o;
    adz_root_report report;
} searched;

/* x^3 + x + x W = b. */
static adz_tensor *cubic(adz_tensor *x, void *user)
{
    const searched *s = user;
    adz_tensor *own = adz_add(adz_mul(adz_square(x), x), x);
    return adz_sub(adz_add(own, adz_matmul(x, s->w)), s->b);
}

/* tanh(x W + b). */
static adz_tensor *layer(adz_tensor *x, void *user)
{
    const searched *s = user;
    return adz_tanh(adz_add(adz_matmul(x, s->w), s->b));
}

/* atan(4 x) + x / 50 = b: far from its root, Newton's steps are too long. */
static adz_tensor *flat(adz_tensor *x, void *user)
{
    const searched *s = user;
    adz_tensor *y = adz_add(adz_atan(adz_mul_number(x, 4)), adz_mul_number(x, 0.02));
    return adz_sub(y, s->b);
}

/* x^2 = b, which has no root for b < 0, and for b = 0 one with a singular Jacobian. */
static adz_tensor *square(adz_tensor *x, void *user)
{
    const searched *s = user;
    return adz_sub(adz_square(x), s->b);
}

static adz_tensor *search(void *user)
{
    searched *s = user;
    return adz_root(s->map, s, s->x0, &s->o, &s->report);
}

static searched searched_new(
    adz_tensor_map map, adz_root_method method, adz_dtype dtype, int64_t rows, int64_t columns)
{
    searched s = { .map = map, .o = ADZ_ROOT_OPTIONS };
    s.o.method = method;
    s.o.tolerance = dtype == ADZ_F64 ? 1e-11 : 1e-5;
    s.w = adz_mul_number(adz_rand(ADZ_SHAPE(columns, columns), dtype), 0.25);
    s.b = adz_randn(ADZ_SHAPE(rows, columns), dtype);
    s.x0 = adz_zeros(ADZ_SHAPE(rows, columns), dtype);
    return s;
}

static void refill(searched *s, double size)
{
    ADZ_NO_GRAD
    {
        adz_copy_(s->b, adz_mul_number(adz_randn_like(s->b), size));
        adz_copy_(s->x0, adz_mul_number(adz_randn_like(s->x0), size));
    }
}

static adz_plan *plan_of(adz_tensor *(*function)(void *), searched *s)
{
    adz_plan *plan = adz_plan_new(function, s, NULL);
    if (plan == NULL || adz_plan_run(plan) != ADZ_OK || adz_plan_run(plan) != ADZ_OK) {
        fail_msg("%s", adz_error_message());
    }
    return plan;
}

static void expect_captured(adz_plan **plan)
{
    adz_plan_info info;
    adz_plan_get_info(*plan, &info, sizeof info);
    assert_true(info.captured && info.captures == 1);
    adz_plan_free(plan);
}

/* A replay is what an ordinary call is: it has its bits, or fails with its error. Returns whether
 * it has succeeded. */
static bool check_replay(adz_plan *plan, adz_tensor *(*function)(void *), searched *s)
{
    char message[512];
    const adz_status status = adz_plan_run(plan);
    snprintf(message, sizeof message, "%s", status != ADZ_OK ? adz_error_message() : "");
    adz_error_clear();
    adz_tensor *x = function(s);
    assert_true((x != NULL) == (status == ADZ_OK));
    assert_string_equal(x != NULL ? "" : adz_error_message(), message);
    adz_error_clear();
    assert_true(x == NULL || adz_equal(adz_plan_output(plan), x));
    return x != NULL;
}

/* Searches of different sizes. The report is that of the call that made the plan. */
static void check_plan(searched *s, int expected)
{
    int most = 0, good = 0;
    adz_plan *plan = plan_of(search, s);
    const adz_root_report made = s->report;
    assert_true(check_replay(plan, search, s));
    assert_memory_equal(&made.residual, &s->report.residual, sizeof made.residual);
    assert_true(made.iterations == s->report.iterations && made.reason == s->report.reason);
    assert_int_equal(made.rows_left, s->report.rows_left);
    for (int i = 0; i < 5; ++i) {
        refill(s, i + 0.5);
        good += check_replay(plan, search, s);
        most = s->report.iterations > most ? s->report.iterations : most;
    }
    assert_true(good >= expected && most > made.iterations);
    expect_captured(&plan);
}

static void plans_have_the_bits_of_ordinary_calls(void **state)
{
    (void)state;
    adz_manual_seed(21);
    for (int mode = 0; mode < 16; ++mode) {
        const bool fixed_point = mode & 1;
        searched s = searched_new(fixed_point ? layer : cubic,
            fixed_point ? ADZ_ROOT_ANDERSON : ADZ_ROOT_AUTO, mode & 2 ? ADZ_F64 : ADZ_F32,
            mode & 4 ? 5 : 1, 3);
        s.o.rows = mode & 8;
        s.o.history = fixed_point && mode & 2 ? 2 : 0;
        ADZ_NO_GRAD
        {
            adz_zero_(s.b); /* the plan is made by a search that begins at its root */
        }
        check_plan(&s, 4);
    }
}

/* Rows that Newton's search gives up go on within a trust region, beside others that do not. */
static void searches_within_a_trust_region(void **state)
{
    (void)state;
    adz_manual_seed(22);
    for (int mode = 0; mode < 4; ++mode) {
        searched s =
            searched_new(flat, ADZ_ROOT_NEWTON, mode & 1 ? ADZ_F64 : ADZ_F32, mode & 2 ? 7 : 1, 1);
        s.o.rows = true;
        s.b = adz_tanh(s.b);
        check_plan(&s, 3);
    }
}

static void set(adz_tensor *t, double value)
{
    ADZ_NO_GRAD
    {
        adz_fill_(t, value);
    }
}

/* After each replay that fails, the next one is as it should be. */
static void replays_fail_as_calls_do(void **state)
{
    (void)state;
    const double wrong[] = { -1, NAN, 1e300, INFINITY, 0 };
    for (int mode = 0; mode < 6; ++mode) {
        searched s = searched_new(square, ADZ_ROOT_NEWTON, ADZ_F64, 3, 2);
        s.o.rows = mode & 1;
        s.o.max_iterations = mode & 2 ? 8 : 200;
        s.o.tolerance = mode & 4 ? 1e-300 : s.o.tolerance; /* rounding ends the search */
        set(s.b, 2);
        set(s.x0, 1);
        adz_plan *plan = plan_of(search, &s);
        int failed = 0;
        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
            set(i == 4 ? s.x0 : adz_select(s.b, 0, 1), wrong[i]);
            failed += !check_replay(plan, search, &s);
            set(s.b, 2.5);
            set(s.x0, 1);
            assert_true(check_replay(plan, search, &s));
        }
        assert_true(failed >= 4);
        expect_captured(&plan);
    }
}

/* The best point is returned, and a search that makes the plan may fail, too. */
static void unconverged_points_have_the_same_bits(void **state)
{
    (void)state;
    adz_manual_seed(23);
    for (int mode = 0; mode < 4; ++mode) {
        searched s = searched_new(mode & 1 ? layer : square,
            mode & 1 ? ADZ_ROOT_ANDERSON : ADZ_ROOT_NEWTON, ADZ_F64, 4, 2);
        s.o.rows = mode & 2;
        s.o.accept_unconverged = true;
        s.o.max_iterations = 6;
        adz_plan *plan = plan_of(search, &s);
        for (int i = 0; i < 4; ++i) {
            refill(&s, 2);
            assert_true(check_replay(plan, search, &s));
        }
        expect_captured(&plan);
    }
}

/* x^3 + x = b, by the argument b. */
static int of_argument(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    out[0] = adz_sub(adz_add(adz_mul(adz_square(in[0]), in[0]), in[0]), in[1]);
    return out[0] != NULL;
}

static int root_of(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    const searched *s = user;
    const adz_tensor_function f = { of_argument, NULL };
    out[0] = adz_root_many(&f, s->x0, in, n, &s->o, NULL);
    return out[0] != NULL;
}

static adz_tensor *forward_derivative(void *user)
{
    const searched *s = user;
    const adz_tensor_function f = { root_of, user };
    adz_tensor *v = adz_ones_like(s->b), *b = adz_detach(s->b), *d;
    return adz_jvp_many(&f, &b, 1, &v, 1, NULL, &d) == ADZ_OK ? d : NULL;
}

/* By a leaf that the function captures. */
static adz_tensor *gradient(void *user)
{
    searched *s = user;
    adz_tensor *x = search(s), *leaves[] = { s->w }, *d;
    adz_tensor *y = x != NULL ? adz_sum(adz_exp(x), ADZ_ALL_DIMS, ADZ_DROPDIM) : NULL;
    return y != NULL && adz_autograd_grad(&y, NULL, 1, leaves, 1, NULL, &d) == ADZ_OK ? d : NULL;
}

static void derivatives_have_the_same_bits(void **state)
{
    (void)state;
    adz_manual_seed(24);
    for (int mode = 0; mode < 4; ++mode) {
        adz_tensor *(*const function)(void *) = mode & 1 ? forward_derivative : gradient;
        searched s = searched_new(cubic, ADZ_ROOT_NEWTON, ADZ_F64, 3, 2);
        s.o.rows = mode & 2;
        adz_requires_grad_(s.w, true);
        adz_plan *plan = plan_of(function, &s);
        for (int i = 0; i < 3; ++i) {
            refill(&s, i + 1);
            assert_true(check_replay(plan, function, &s));
        }
        expect_captured(&plan);
    }
}

static adz_tensor *is_large(adz_tensor *const *in, void *user)
{
    (void)user;
    return adz_gt_number(adz_amax(adz_abs(in[0]), ADZ_ALL_DIMS, ADZ_DROPDIM), 0.05);
}

static adz_status search_from(adz_tensor **results, adz_tensor *const *in, void *user)
{
    searched s = *(const searched *)user;
    s.b = in[0];
    results[0] = search(&s);
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static adz_tensor *search_often(void *user)
{
    searched *s = user;
    adz_tensor *last;
    const bool good =
        adz_while(is_large, search_from, s, &s->b, 1, 20, &last, NULL, NULL) == ADZ_OK;
    return good ? last : NULL;
}

/* A step of the scan, which has a result of its own. */
static adz_status search_step(adz_tensor **results, adz_tensor *const *in, void *user)
{
    adz_tensor *b = adz_add(in[0], in[1]);
    const adz_status status = search_from(results, &b, user);
    results[1] = results[0];
    return status;
}

static adz_tensor *search_in_scan(void *user)
{
    searched *s = user;
    adz_tensor *x = adz_stack((adz_tensor *[]){ s->x0, s->b, s->x0, s->b }, 4, 0), *results[2];
    const bool good = adz_scan(search_step, s, &s->b, 1, &x, 1, 1, NULL, results) == ADZ_OK;
    return good ? results[1] : NULL;
}

static void bodies_of_loops_search_for_roots(void **state)
{
    (void)state;
    adz_manual_seed(25);
    for (int mode = 0; mode < 4; ++mode) {
        adz_tensor *(*const function)(void *) = mode & 1 ? search_in_scan : search_often;
        searched s = searched_new(mode & 2 ? layer : cubic,
            mode & 2 ? ADZ_ROOT_ANDERSON : ADZ_ROOT_NEWTON, ADZ_F64, 3, 2);
        s.o.rows = true;
        adz_plan *plan = plan_of(function, &s);
        for (int i = 0; i < 3; ++i) {
            refill(&s, i + 1);
            check_replay(plan, function, &s);
        }
        expect_captured(&plan);
    }
}

static void what_a_plan_refuses(void **state)
{
    (void)state;
    for (int automatic = 0; automatic < 2; ++automatic) {
        const adz_root_method method = automatic ? ADZ_ROOT_AUTO : ADZ_ROOT_KRYLOV;
        searched s = searched_new(square, method, ADZ_F64, automatic ? 2049 : 3, 1);
        set(s.b, 2);
        set(s.x0, 1);
        assert_non_null(search(&s));
        adz_plan *plan = adz_plan_new(search, &s, NULL);
        assert_true(plan == NULL || adz_plan_run(plan) == ADZ_ERR_STATE);
        expect_error(ADZ_ERR_STATE, "GMRES of ADZ_ROOT_KRYLOV, which ADZ_ROOT_AUTO takes");
        adz_plan_free(&plan);
    }
}

static size_t launches_of(int history, int rows)
{
    adz_plan_info info;
    adz_manual_seed(26);
    searched s = searched_new(history > 0 ? layer : cubic,
        history > 0 ? ADZ_ROOT_ANDERSON : ADZ_ROOT_NEWTON, ADZ_F64, rows, 2);
    s.o.rows = true;
    s.o.history = history;
    s.o.max_iterations = 100 * rows;
    adz_plan *plan = plan_of(search, &s);
    adz_plan_get_info(plan, &info, sizeof info);
    adz_plan_free(&plan);
    return info.launches;
}

/* Nor on the bound, nor on the number of rows. */
static void launches_do_not_depend_on_the_steps(void **state)
{
    (void)state;
    assert_int_equal(launches_of(0, 2), launches_of(0, 9));
    assert_int_equal(launches_of(3, 2), launches_of(3, 9));
}

/* Wherever memory is refused while a plan is made, that is the error. */
static void refused_memory_makes_no_plan(void **state)
{
    (void)state;
    for (int i = 0; i < 60; ++i) {
        searched s = searched_new(
            i % 2 ? layer : cubic, i % 2 ? ADZ_ROOT_ANDERSON : ADZ_ROOT_NEWTON, ADZ_F64, 3, 2);
        adz_memory_info memory;
        adz_get_memory_info(&memory, sizeof memory);
        adz_set_memory_limit(memory.live_bytes + 4001 * (size_t)i);
        adz_plan *plan = adz_plan_new(search, &s, NULL);
        const bool made = plan != NULL && adz_plan_run(plan) == ADZ_OK;
        assert_true(made || adz_error_code() == ADZ_ERR_MEMORY);
        adz_error_clear();
        adz_set_memory_limit(0);
        adz_plan_free(&plan);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, solvers_open, solvers_close)

const struct CMUnitTest root_plans[N_ROOT_PLANS] = {
    TEST(plans_have_the_bits_of_ordinary_calls),
    TEST(searches_within_a_trust_region),
    TEST(replays_fail_as_calls_do),
    TEST(unconverged_points_have_the_same_bits),
    TEST(derivatives_have_the_same_bits),
    TEST(bodies_of_loops_search_for_roots),
    TEST(launches_do_not_depend_on_the_steps),
    TEST(what_a_plan_refuses),
    TEST(refused_memory_makes_no_plan),
};
