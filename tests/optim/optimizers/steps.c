/* The steps of every optimizer are those of its formula. */
#include "base/cpu.h"
#include "cases.h"
#include "tests.h"

/* The parameter after some steps. In step `spoilt` the gradient of element 5 is NaN. */
static void expected_with(const optimizer_case *c, int steps, int spoilt, double w[N])
{
    double rows[ROWS][N] = { 0 }, g[N], *s[ROWS] = { rows[0], rows[1], rows[2] };
    for (int i = 0; i < N; ++i) {
        w[i] = start_at(i);
    }
    for (int t = 0; t < steps; ++t) {
        for (int i = 0; i < N; ++i) {
            g[i] = t == spoilt && i == 5 ? NAN : gradient_at(i, t);
        }
        c->loop(w, g, s, t + 1);
    }
}

static void expected_after(const optimizer_case *c, int steps, double w[N])
{
    expected_with(c, steps, -1, w);
}

static void each_follows_its_loop(void **state)
{
    (void)state;
    for (int k = 0; k < n_cases; ++k) {
        adz_tensor *w = start(ADZ_F64);
        adz_optimizer *optimizer = cases[k].make(one(&w));
        assert_non_null(optimizer);
        for (int t = 0; t < STEPS; ++t) {
            double expected[N];
            take_steps(optimizer, w, t, t + 1);
            expected_after(&cases[k], t + 1, expected);
            if (!holds(w, expected, 1e-13)) {
                fail_msg("%s, step %d", cases[k].name, t + 1);
            }
        }
        adz_optimizer_release(&optimizer);
    }
}

static void each_in_f32_on_each_processor(void **state)
{
    (void)state;
    int level = adzi_cpu_level;
    for (int k = 0; k < n_cases; ++k) {
        adz_tensor *first = NULL;
        double expected[N];
        expected_after(&cases[k], STEPS, expected);
        for (adzi_cpu_level = 0; adzi_cpu_level <= adzi_cpu_best(); ++adzi_cpu_level) {
            adz_tensor *w = start(ADZ_F32);
            adz_optimizer *optimizer = cases[k].make(one(&w));
            take_steps(optimizer, w, 0, STEPS);
            if (!holds(w, expected, cases[k].f32_tolerance)) {
                fail_msg("%s, level %d", cases[k].name, adzi_cpu_level);
            }
            first = first == NULL ? w : first;
            assert_true(adz_equal(first, w));
            adz_optimizer_release(&optimizer);
        }
    }
    adzi_cpu_level = level;
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    int before = adz_get_num_threads();
    adz_tensor *from = adz_randn(ADZ_SHAPE(70001), ADZ_F32), *g = adz_randn_like(from);
    for (int k = 0; k < n_cases; ++k) {
        adz_tensor *first = NULL;
        for (int threads = 1; threads <= 3; ++threads) {
            adz_set_num_threads(threads);
            adz_tensor *w = adz_requires_grad_(adz_clone(from), true);
            adz_optimizer *optimizer = cases[k].make(one(&w));
            for (int t = 0; t < 2; ++t) {
                adz_tensor_set_grad(w, g);
                assert_int_equal(adz_optimizer_step(optimizer), ADZ_OK);
            }
            first = first == NULL ? w : first;
            assert_true(adz_equal(first, w));
            adz_optimizer_release(&optimizer);
        }
    }
    adz_set_num_threads(before);
}

static void groups_go_their_own_ways(void **state)
{
    (void)state;
    for (int k = 0; k < n_cases; ++k) {
        adz_tensor *w = start(ADZ_F64), *v = start(ADZ_F64), *alone = start(ADZ_F64);
        adz_optimizer *both = cases[k].make(one(&w)), *single = cases[k].make(one(&alone));
        assert_int_equal(adz_optimizer_add_param_group(both, one(&v)), 1);
        assert_int_equal(adz_optimizer_set(both, 1, "lr", 0.001), ADZ_OK);
        assert_int_equal(adz_optimizer_set(single, 0, "lr", 0.001), ADZ_OK);
        for (int i = 0; i < 2; ++i) { /* Each group has powers of its own betas. */
            const char *beta = i == 0 ? "beta1" : "beta2";
            if (adz_optimizer_set(both, 1, beta, 0.75) == ADZ_OK) {
                assert_int_equal(adz_optimizer_set(single, 0, beta, 0.75), ADZ_OK);
            }
            adz_error_clear(); /* Some optimizers have no such setting. */
        }
        for (int t = 0; t < 7; ++t) {
            give_gradient(v, t);
            take_steps(both, w, t, t + 1);
            take_steps(single, alone, t, t + 1);
        }
        double expected[N];
        expected_after(&cases[k], 7, expected);
        assert_true(holds(w, expected, 1e-13));
        assert_true(adz_equal(v, alone));
        assert_false(adz_equal(v, w));
        adz_optimizer_release(&single);
        adz_optimizer_release(&both);
    }
}

/* Each parameter counts its own steps, from its first gradient on. */
static void steps_are_counted_for_each_parameter(void **state)
{
    (void)state;
    for (int k = 0; k < n_cases; ++k) {
        adz_tensor *both[] = { start(ADZ_F64), start(ADZ_F64) };
        adz_optimizer *optimizer = cases[k].make(adz_tensor_list_of(both, 2));
        take_steps(optimizer, both[0], 0, 2);
        give_gradient(both[1], 0);
        take_steps(optimizer, both[0], 2, 3);
        double expected[N];
        expected_after(&cases[k], 1, expected);
        assert_true(holds(both[1], expected, 1e-13));
        expected_after(&cases[k], 3, expected);
        assert_true(holds(both[0], expected, 1e-13));
        adz_optimizer_release(&optimizer);
    }
}

/* Rprop alone ignores a gradient of NaN. */
static void a_nan_stays_where_it_is(void **state)
{
    (void)state;
    for (int k = 0; k < n_cases; ++k) {
        adz_tensor *w = start(ADZ_F64);
        adz_optimizer *optimizer = cases[k].make(one(&w));
        const bool ignores = strcmp(adz_optimizer_name(optimizer), "Rprop") == 0;
        if (adz_optimizer_type_of(optimizer)->whole) {
            adz_optimizer_release(&optimizer);
            continue;
        }
        take_steps(optimizer, w, 0, 6); /* more steps than a rectified optimizer waits */
        give_gradient(w, 6);
        adz_tensor *spoilt = adz_clone(adz_tensor_grad(w));
        adz_copy_(adz_narrow(spoilt, 0, 5, 1), adz_scalar(NAN, ADZ_F64));
        adz_tensor_set_grad(w, spoilt);
        assert_int_equal(adz_optimizer_step(optimizer), ADZ_OK);
        take_steps(optimizer, w, 7, 9);
        double expected[N];
        expected_with(&cases[k], 9, 6, expected);
        for (int64_t i = 0; i < N; ++i) {
            double value = adz_tensor_at(w, (int64_t[]){ i });
            assert_int_equal(isnan(value), i == 5 && !ignores);
            assert_true(isnan(value) || fabs(value - expected[i]) < 1e-13);
        }
        adz_optimizer_release(&optimizer);
    }
}

int steps_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_follows_its_loop),
        TEST(each_in_f32_on_each_processor),
        TEST(threads_change_no_bit),
        TEST(groups_go_their_own_ways),
        TEST(steps_are_counted_for_each_parameter),
        TEST(a_nan_stays_where_it_is),
    };
    return cmocka_run_group_tests_name("optimizers: steps", tests, temporary_begin, temporary_end);
}
