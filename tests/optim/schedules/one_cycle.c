/* The one-cycle schedule. */
#include "rates.h"
#include "kinds.h"
#include "../../temporary.h"
#include "tests.h"

static void one_cycle_of_lines(void **state)
{
    (void)state;
    adz_optimizer *o = sgd_of(7);
    adz_one_cycle_lr_options options = ADZ_ONE_CYCLE_LR_OPTIONS;
    options.anneal_strategy = ADZ_ANNEAL_STRATEGY_LINEAR;
    options.pct_start = 0.5;
    options.div_factor = 4;
    options.final_div_factor = 2;
    options.base_momentum = 0.6;
    options.max_momentum = 0.9;
    /* of 10 steps, the rate rises until step 4 and falls until step 9 */
    adz_scheduler *s = adz_one_cycle_lr_new(o, 0.8, 10, &options);
    assert_true(adz_optimizer_get(o, 0, "initial_lr") == 0.2);
    for (int t = 0; t < 10; ++t) {
        double up = t <= 4 ? t / 4.0 : 1, down = t <= 4 ? 0 : (t - 4) / 5.0;
        assert_true(near(adz_optimizer_get(o, 0, "lr"), 0.2 + 0.6 * up - 0.7 * down));
        assert_true(near(adz_optimizer_get(o, 0, "momentum"), 0.9 - 0.3 * up + 0.3 * down));
        assert_int_equal(adz_scheduler_step(s), ADZ_OK);
    }
    assert_true(adz_optimizer_get(o, 0, "lr") >= 0);
    assert_true(adz_optimizer_get(o, 0, "momentum") == 0.9);
    double lr = adz_optimizer_get(o, 0, "lr");
    assert_int_equal(adz_scheduler_step(s), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "OneCycleLR was made for 10 steps, which are over");
    assert_int_equal(adz_scheduler_last_epoch(s), 10);
    assert_true(adz_optimizer_get(o, 0, "lr") == lr);
    adz_scheduler_release(&s);
    adz_optimizer_release(&o);
}

/* The largest number of steps is 2^63 - 1, which a double rounds to 2^63. */
static void a_cycle_may_be_endless(void **state)
{
    (void)state;
    adz_optimizer *o = sgd_of(7);
    adz_scheduler *s = adz_one_cycle_lr_new(o, 0.5, INT64_MAX, NULL);
    assert_non_null(s);
    for (int t = 0; t < 3; ++t) {
        assert_int_equal(adz_scheduler_step(s), ADZ_OK);
        assert_true(near(adz_optimizer_get(o, 0, "lr"), 0.5 / 25));
    }
    adz_scheduler_release(&s);
    adz_optimizer_release(&o);
}

static void one_cycle_in_three_phases(void **state)
{
    (void)state;
    adz_tensor *w = parameter(), *v = parameter();
    adz_optimizer *o = adz_adam_new(adz_tensor_list_of(&w, 1), 7, NULL);
    adz_optimizer_add_param_group(o, adz_tensor_list_of(&v, 1));
    const double tops[] = { 0.8, 0.4 }, low[] = { 0.7, 0.75 }, high[] = { 0.9, 0.95 };
    adz_one_cycle_lr_options options = ADZ_ONE_CYCLE_LR_OPTIONS;
    options.three_phase = true;
    options.pct_start = 0.3;
    options.max_lrs = tops;
    options.base_momenta = low;
    options.max_momenta = high;
    options.n_max_lrs = options.n_base_momenta = options.n_max_momenta = 2;
    /* of 10 steps, the rate rises until step 2, falls until step 4, and falls further until step 9
     */
    adz_scheduler *s = adz_one_cycle_lr_new(o, 0, 10, &options);
    assert_non_null(s);
    for (int t = 0; t < 10; ++t) {
        double part = t <= 2 ? t / 2.0 : t <= 4 ? (t - 2) / 2.0 : (t - 4) / 5.0;
        double falling = (1 + cos(pi * part)) / 2; /* 1 to 0 */
        for (int g = 0; g < 2; ++g) {
            double first = tops[g] / 25, last = first / 1e4;
            double lr = t <= 2   ? tops[g] + (first - tops[g]) * falling
                        : t <= 4 ? first + (tops[g] - first) * falling
                                 : last + (first - last) * falling;
            double m = t <= 2   ? low[g] + (high[g] - low[g]) * falling
                       : t <= 4 ? high[g] + (low[g] - high[g]) * falling
                                : high[g];
            assert_true(near(adz_optimizer_get(o, g, "lr"), lr));
            assert_true(near(adz_optimizer_get(o, g, "beta1"), m));
        }
        assert_int_equal(adz_scheduler_step(s), ADZ_OK);
    }
    adz_scheduler_release(&s);
    adz_optimizer_release(&o);
}

/* A first phase without steps begins at the top; a last phase without steps ends with the first. */
static void one_cycle_with_phases_of_no_length(void **state)
{
    (void)state;
    adz_one_cycle_lr_options options = ADZ_ONE_CYCLE_LR_OPTIONS;
    options.anneal_strategy = ADZ_ANNEAL_STRATEGY_LINEAR;
    options.div_factor = 4;
    options.final_div_factor = 2;
    options.base_momentum = 0.6;
    options.max_momentum = 0.9;
    for (int three = 0; three < 2;
         ++three) { /* With three phases, the second has no step either. */
        adz_optimizer *o = sgd_of(7);
        options.three_phase = three != 0;
        options.pct_start = 0.1;
        adz_scheduler *s = adz_one_cycle_lr_new(o, 0.8, 10, &options);
        for (int t = 0; t < 10; ++t) {
            double lr = !three ? 0.8 - 0.7 * t / 9 : t == 0 ? 0.8 : 0.2 - 0.1 * t / 9;
            double momentum = !three ? 0.6 + 0.3 * t / 9 : t == 0 ? 0.6 : 0.9;
            assert_true(near(adz_optimizer_get(o, 0, "lr"), lr));
            assert_true(near(adz_optimizer_get(o, 0, "momentum"), momentum));
            assert_int_equal(adz_scheduler_step(s), ADZ_OK);
        }
        /* The call after the last step continues the line. */
        double beyond = three ? 0.2 - 0.1 * 10 / 9 : 0.8 - 0.7 * 10 / 9;
        assert_true(near(adz_optimizer_get(o, 0, "lr"), beyond));
        adz_scheduler_release(&s);
        adz_optimizer_release(&o);
    }
    adz_optimizer *o = sgd_of(7);
    options.three_phase = false;
    options.pct_start = 1;
    adz_scheduler *s = adz_one_cycle_lr_new(o, 0.8, 10, &options);
    for (int t = 0; t < 10; ++t) {
        assert_true(near(adz_optimizer_get(o, 0, "lr"), 0.2 + 0.6 * t / 9));
        assert_int_equal(adz_scheduler_step(s), ADZ_OK);
    }
    assert_true(isfinite(adz_optimizer_get(o, 0, "lr")));
    adz_scheduler_release(&s);
    adz_optimizer_release(&o);
}

/* The smallest numbers that are allowed: one step in all, and no step for going up. */
static void one_cycle_at_its_borders(void **state)
{
    (void)state;
    adz_one_cycle_lr_options options = ADZ_ONE_CYCLE_LR_OPTIONS;
    options.anneal_strategy = ADZ_ANNEAL_STRATEGY_LINEAR;
    options.div_factor = 4;
    options.final_div_factor = 2;
    adz_optimizer *o = sgd_of(7);
    adz_scheduler *s = adz_one_cycle_lr_new(o, 0.8, 1, &options);
    assert_true(near(adz_optimizer_get(o, 0, "lr"), 0.1));
    adz_scheduler_release(&s);
    options.pct_start = 0; /* the first phase ends before the first step */
    s = adz_one_cycle_lr_new(o, 0.8, 10, &options);
    for (int t = 0; t < 10; ++t) {
        assert_true(near(adz_optimizer_get(o, 0, "lr"), 0.8 - 0.7 * (t + 1) / 10));
        assert_int_equal(adz_scheduler_step(s), ADZ_OK);
    }
    adz_scheduler_release(&s);
    adz_optimizer_release(&o);
}

/* Each number of each group is checked before any is set. */
static void one_cycle_checks_every_group(void **state)
{
    (void)state;
    adz_optimizer *o = two_groups(1, 2);
    const double good[] = { 0.5, 0.5 }, low[] = { 0.5, -1 }, high[] = { 0.5, NAN };
    for (int which = 0; which < 5; ++which) {
        adz_one_cycle_lr_options options = ADZ_ONE_CYCLE_LR_OPTIONS;
        options.max_lrs = which == 0 ? low : good;
        options.base_momenta = which == 1 ? low : which == 2 ? high : good;
        options.max_momenta = which == 3 ? low : which == 4 ? high : good;
        options.n_max_lrs = options.n_base_momenta = options.n_max_momenta = 2;
        assert_null(adz_one_cycle_lr_new(o, 1, 10, &options));
        expect_error(ADZ_ERR_ARGUMENT, which == 0 ? "max_lr is -1" : "momentum is ");
        assert_true(adz_optimizer_get(o, 0, "lr") == 1 && adz_optimizer_get(o, 1, "lr") == 2);
    }
    adz_one_cycle_lr_options options = ADZ_ONE_CYCLE_LR_OPTIONS;
    options.final_div_factor = 0;
    assert_null(adz_one_cycle_lr_new(o, 1, 10, &options));
    expect_error(ADZ_ERR_ARGUMENT, "final_div_factor is 0, but must be above 0");
    adz_optimizer_release(&o);
}

static void one_cycle_leaves_the_momentum(void **state)
{
    (void)state;
    adz_tensor *w = parameter();
    adz_optimizer *o = adz_adagrad_new(adz_tensor_list_of(&w, 1), 0.1, NULL);
    assert_null(adz_one_cycle_lr_new(o, 1, 10, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "Adagrad has no momentum to cycle; set cycle_momentum to false");
    assert_true(adz_optimizer_get(o, 0, "lr") == 0.1);
    adz_one_cycle_lr_options options = ADZ_ONE_CYCLE_LR_OPTIONS;
    options.cycle_momentum = false;
    adz_scheduler *s = adz_one_cycle_lr_new(o, 1, 10, &options);
    assert_non_null(s);
    assert_true(near(adz_optimizer_get(o, 0, "lr"), 1.0 / 25));
    adz_scheduler_release(&s);
    adz_optimizer_release(&o);
    o = sgd_of(0.1);
    s = adz_one_cycle_lr_new(o, 1, 10, &options);
    adz_scheduler_step(s);
    assert_true(adz_optimizer_get(o, 0, "momentum") == 0.5);
    adz_scheduler_release(&s);
    adz_optimizer_release(&o);
}

int one_cycle_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_cycle_of_lines),
        TEST(one_cycle_in_three_phases),
        TEST(a_cycle_may_be_endless),
        TEST(one_cycle_with_phases_of_no_length),
        TEST(one_cycle_at_its_borders),
        TEST(one_cycle_checks_every_group),
        TEST(one_cycle_leaves_the_momentum),
    };
    return cmocka_run_group_tests_name(
        "schedules: one cycle", tests, temporary_begin, temporary_end);
}
