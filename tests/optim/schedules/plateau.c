/* Reducing the rate on a plateau. */
#include "rates.h"
#include "kinds.h"
#include "../../temporary.h"
#include "tests.h"

static void watch(
    adz_reduce_lr_on_plateau_options options, const double *metrics, const double *rates, int n)
{
    adz_optimizer *o = sgd_of(1);
    adz_scheduler *s = adz_reduce_lr_on_plateau_new(o, &options);
    assert_non_null(s);
    for (int i = 0; i < n; ++i) {
        assert_int_equal(adz_scheduler_step_metric(s, metrics[i]), ADZ_OK);
        if (!near(adz_optimizer_get(o, 0, "lr"), rates[i])) {
            fail_msg("metric %d", i);
        }
    }
    assert_true(isnan(adz_optimizer_get(o, 0, "initial_lr")));
    adz_error_clear();
    adz_scheduler_release(&s);
    adz_optimizer_release(&o);
}

static void plateaus(void **state)
{
    (void)state;
    adz_reduce_lr_on_plateau_options o = ADZ_REDUCE_LR_ON_PLATEAU_OPTIONS;
    o.factor = 0.5;
    o.patience = 1;
    o.threshold = 0.1;
    /* relative: less than 0.9 of the best is an improvement */
    watch(o, (const double[]){ 10, 9.5, 9.1, 8, 7.5, NAN, 1, 1, 1 },
        (const double[]){ 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125 }, 9);
    o.threshold_mode = ADZ_THRESHOLD_MODE_ABS;
    watch(o, (const double[]){ 10, 9.95, 9.91, 9.8, 9.75, 9.71 },
        (const double[]){ 1, 1, 0.5, 0.5, 0.5, 0.25 }, 6);
    o.mode = ADZ_PLATEAU_MODE_MAX;
    watch(o, (const double[]){ -5, -4.8, -4.75, -4.75, -4, -5, -5 },
        (const double[]){ 1, 1, 1, 0.5, 0.5, 0.5, 0.25 }, 7);
    o.threshold_mode = ADZ_THRESHOLD_MODE_REL;
    watch(o, (const double[]){ 5, 5.4, 5.6, 5.6, 6 }, (const double[]){ 1, 1, 1, 1, 0.5 }, 5);
    /* a cooldown of two epochs after each reduction, and a smallest rate */
    o = (adz_reduce_lr_on_plateau_options)ADZ_REDUCE_LR_ON_PLATEAU_OPTIONS;
    o.factor = 0.5;
    o.patience = 0;
    o.cooldown = 2;
    o.min_lr = 0.2;
    watch(o, (const double[]){ 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 },
        (const double[]){ 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2, 0.2 }, 11);
    o.cooldown = 0;
    o.eps = 0.2; /* The change from 0.5 to 0.25 is larger than that; the one to 0.2 is not. */
    watch(o, (const double[]){ 1, 1, 1, 1, 1 }, (const double[]){ 1, 0.5, 0.25, 0.25, 0.25 }, 5);
}

/* A metric exactly at the threshold is no improvement, in each of the four modes. A change of the
 * rate by exactly eps is not made. All numbers here are exact. */
static void plateaus_at_their_borders(void **state)
{
    (void)state;
    adz_reduce_lr_on_plateau_options o = ADZ_REDUCE_LR_ON_PLATEAU_OPTIONS;
    o.factor = 0.5;
    o.patience = 0;
    o.threshold = 0.5;
    watch(o, (const double[]){ 8, 4, 3.5 }, (const double[]){ 1, 0.5, 0.5 }, 3);
    o.threshold_mode = ADZ_THRESHOLD_MODE_ABS;
    watch(o, (const double[]){ 8, 7.5, 7.25 }, (const double[]){ 1, 0.5, 0.5 }, 3);
    o.mode = ADZ_PLATEAU_MODE_MAX;
    watch(o, (const double[]){ 8, 8.5, 8.75 }, (const double[]){ 1, 0.5, 0.5 }, 3);
    o.threshold_mode = ADZ_THRESHOLD_MODE_REL;
    watch(o, (const double[]){ 8, 12, 12.5 }, (const double[]){ 1, 0.5, 0.5 }, 3);
    o.eps = 0.25;
    watch(o, (const double[]){ 8, 8, 8 }, (const double[]){ 1, 0.5, 0.5 }, 3);
    o.eps = 0; /* After a reduction, the bad epochs are counted from 0 again. */
    o.patience = 1;
    watch(o, (const double[]){ 8, 8, 8, 8, 8 }, (const double[]){ 1, 1, 0.5, 0.5, 0.25 }, 5);
    o.eps = 0.25;
    o.patience = 1; /* The rate is reduced only after more bad epochs than `patience`. */
    watch(o, (const double[]){ 8, 8, 8, 8 }, (const double[]){ 1, 1, 0.5, 0.5 }, 4);
}

static void plateaus_of_groups(void **state)
{
    (void)state;
    adz_optimizer *o = two_groups(1, 0.5);
    const double least[] = { 0.6, 0.1 };
    adz_reduce_lr_on_plateau_options options = ADZ_REDUCE_LR_ON_PLATEAU_OPTIONS;
    options.patience = 0;
    options.factor = 0.5;
    options.min_lrs = least;
    options.n_min_lrs = 2;
    adz_scheduler *s = adz_reduce_lr_on_plateau_new(o, &options);
    adz_scheduler_step_metric(s, 1);
    adz_scheduler_step_metric(s, 1);
    assert_true(adz_optimizer_get(o, 0, "lr") == 0.6 && adz_optimizer_get(o, 1, "lr") == 0.25);
    assert_true(adz_scheduler_last_lr(s, 1) == 0.25);
    assert_int_equal(adz_scheduler_step(s), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "adz_scheduler_step_metric");
    adz_scheduler_release(&s);
    s = adz_exponential_lr_new(o, 0.5);
    assert_int_equal(adz_scheduler_step_metric(s, 1), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "ExponentialLR takes no metric");
    assert_int_equal(adz_scheduler_step_to(s, 1.5), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "ExponentialLR knows no fractions");
    adz_scheduler_release(&s);
    adz_optimizer_release(&o);
}

/* A rate may fall to 0 at once. A state is refused if one of its numbers cannot occur in a run. */
static void plateaus_to_nothing_and_their_states(void **state)
{
    (void)state;
    adz_optimizer *o = sgd_of(1);
    adz_reduce_lr_on_plateau_options options = ADZ_REDUCE_LR_ON_PLATEAU_OPTIONS;
    options.factor = 0;
    options.patience = 3;
    options.cooldown = 2;
    adz_scheduler *s = adz_reduce_lr_on_plateau_new(o, &options);
    for (int t = 0; t < 5; ++t) {
        assert_true(adz_optimizer_get(o, 0, "lr") == 1);
        assert_int_equal(adz_scheduler_step_metric(s, 1), ADZ_OK);
    }
    assert_true(adz_optimizer_get(o, 0, "lr") == 0);
    double values[8];
    const size_t n = adz_scheduler_get_state(s, values, 8), bad = n - 2, cooling = n - 1;
    assert_int_equal(n, 1 + 2 + 3);
    assert_true(values[bad] == 4 && values[cooling] == 2);
    assert_int_equal(adz_scheduler_set_state(s, values, n), ADZ_OK);
    const struct {
        size_t at;
        double value;
    } odd[] = { { bad, 5 }, { bad, -1 }, { cooling, 3 }, { cooling, -1 }, { n - 3, NAN } };
    for (size_t i = 0; i < sizeof odd / sizeof *odd; ++i) {
        double kept = values[odd[i].at];
        values[odd[i].at] = odd[i].value;
        assert_int_equal(adz_scheduler_set_state(s, values, n), ADZ_ERR_ARGUMENT);
        expect_error(ADZ_ERR_ARGUMENT, "no state of a ReduceLROnPlateau over 1 groups");
        values[odd[i].at] = kept;
    }
    values[bad] = values[cooling] = 0;
    assert_int_equal(adz_scheduler_set_state(s, values, n), ADZ_OK);
    adz_scheduler_release(&s);
    adz_optimizer_release(&o);
}

int plateau_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(plateaus),
        TEST(plateaus_at_their_borders),
        TEST(plateaus_of_groups),
        TEST(plateaus_to_nothing_and_their_states),
    };
    return cmocka_run_group_tests_name("schedules: plateau", tests, temporary_begin, temporary_end);
}
