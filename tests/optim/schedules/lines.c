/* Schedules with a closed form: milestones, lines, cosines, restarts and warm-ups. */
#include "rates.h"
#include "kinds.h"
#include "../../temporary.h"
#include "tests.h"

static void milestones(void **state)
{
    (void)state;
    adz_optimizer *o = sgd_of(0.8);
    const int64_t at[] = { 5, 2, 5, 0 }; /* not sorted; 5 occurs twice; 0 acts at the start */
    expect_rates(adz_multi_step_lr_new(o, at, 4, 0.5), o,
        (const double[]){ 0.4, 0.4, 0.2, 0.2, 0.2, 0.05, 0.05 }, 7);
    adz_optimizer_release(&o);
    o = sgd_of(0.8);
    expect_rates(adz_multi_step_lr_new(o, NULL, 0, 0.5), o, (const double[]){ 0.8, 0.8, 0.8 }, 3);
    adz_optimizer_release(&o);
}

static void a_line(void **state)
{
    (void)state;
    adz_optimizer *o = sgd_of(0.6);
    expect_rates(
        adz_linear_lr_new(o, 0.5, 1, 3), o, (const double[]){ 0.3, 0.4, 0.5, 0.6, 0.6, 0.6 }, 6);
    adz_optimizer_release(&o);
    o = sgd_of(0.6);
    adz_scheduler *s = adz_linear_lr_new(o, 1, 0, 7); /* the rate ends at 0 and never below it */
    for (int i = 0; i < 12; ++i) {
        double lr = adz_optimizer_get(o, 0, "lr");
        assert_true(lr >= 0 && near(lr, 0.6 * fmax(0, 1 - i / 7.0)));
        assert_int_equal(adz_scheduler_step(s), ADZ_OK);
    }
    adz_scheduler_release(&s);
    adz_optimizer_release(&o);
}

/* From 0 up to eta_min and back: rounding must not make the rate negative. */
static void a_cosine_from_zero(void **state)
{
    (void)state;
    adz_optimizer *o = sgd_of(0);
    adz_scheduler *s = adz_cosine_annealing_lr_new(o, 4, 0.001);
    for (int i = 0; i < 24; ++i) {
        assert_true(near(adz_optimizer_get(o, 0, "lr"), 0.001 * (1 - cos(pi * i / 4)) / 2));
        assert_int_equal(adz_scheduler_step(s), ADZ_OK);
    }
    adz_scheduler_release(&s);
    adz_optimizer_release(&o);
}

static void warm_restarts(void **state)
{
    (void)state;
    adz_optimizer *o = sgd_of(0.8);
    double rates[20];
    int at = 0;
    for (int length = 2; at < 14; length *= 2) { /* periods of 2, 4 and 8 epochs */
        for (int i = 0; i < length; ++i) {
            rates[at++] = 0.1 + 0.7 * (1 + cos(pi * i / length)) / 2;
        }
    }
    expect_rates(adz_cosine_annealing_warm_restarts_new(o, 2, 2, 0.1), o, rates, at);
    adz_optimizer_release(&o);

    /* Fractions of an epoch, forwards and backwards, with and without growth. */
    for (int mult = 1; mult <= 3; ++mult) {
        o = sgd_of(0.8);
        adz_scheduler *s = adz_cosine_annealing_warm_restarts_new(o, 2, mult, 0.1);
        const double epochs[] = { 0.5, 1.75, 2, 2.25, 7.5, 8, 26.125, 1 };
        for (size_t k = 0; k < sizeof epochs / sizeof *epochs; ++k) {
            double since = epochs[k], length = 2;
            while (since >= length) {
                since -= length;
                length *= mult;
            }
            assert_int_equal(adz_scheduler_step_to(s, epochs[k]), ADZ_OK);
            assert_true(near(
                adz_optimizer_get(o, 0, "lr"), 0.1 + 0.7 * (1 + cos(pi * since / length)) / 2));
            assert_int_equal(adz_scheduler_last_epoch(s), (int64_t)epochs[k]);
        }
        assert_int_equal(adz_scheduler_step_to(s, -1), ADZ_ERR_ARGUMENT);
        expect_error(ADZ_ERR_ARGUMENT, "epoch is -1");
        adz_scheduler_release(&s);
        adz_optimizer_release(&o);
    }
}

static void warm_ups(void **state)
{
    (void)state;
    adz_lr_warmup w = { 4, 10 };
    for (int t = 0; t < 14; ++t) {
        assert_true(near(adz_lr_warmup_constant(t, 0, &w), fmin(1, (t + 1) / 4.0)));
        assert_true(
            near(adz_lr_warmup_inverse_sqrt(t, 0, &w), fmin((t + 1) / 4.0, sqrt(4.0 / (t + 1)))));
        assert_true(
            near(adz_lr_warmup_linear(t, 0, &w), t < 4 ? t / 4.0 : fmax(0, (10 - t) / 6.0)));
    }
    adz_lr_warmup all = { 4, 4 };
    assert_true(adz_lr_warmup_linear(4, 0, &all) == 0);
    adz_optimizer *o = sgd_of(0.8);
    expect_rates(adz_lambda_lr_new(o, adz_lr_warmup_constant, &w), o,
        (const double[]){ 0.2, 0.4, 0.6, 0.8, 0.8 }, 5);
    adz_optimizer_release(&o);
}

/* Restarts at equal distances are computed, not counted, so a far epoch takes no time. The state
 * holds the epochs before the next restart. */
static void restarts_far_away(void **state)
{
    (void)state;
    adz_optimizer *o = sgd_of(1);
    adz_scheduler *s = adz_cosine_annealing_warm_restarts_new(o, 4, 1, 0);
    assert_int_equal(adz_scheduler_step_to(s, 0x1p51 + 1.5), ADZ_OK);
    assert_true(near(adz_optimizer_get(o, 0, "lr"), (1 + cos(pi * 1.5 / 4)) / 2));
    double values[8];
    const size_t n = adz_scheduler_get_state(s, values, 8);
    assert_true(values[n - 2] == 1.5 && values[n - 1] == 4);
    values[n - 2] = 3.5;
    assert_int_equal(adz_scheduler_set_state(s, values, n), ADZ_OK);
    values[n - 2] = 4;
    assert_int_equal(adz_scheduler_set_state(s, values, n), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    adz_scheduler_release(&s);
    adz_optimizer_release(&o);
}

/* A line of 0 epochs keeps the rate at its start. */
static void a_line_of_no_length(void **state)
{
    (void)state;
    adz_optimizer *o = sgd_of(0.6);
    expect_rates(adz_linear_lr_new(o, 0.5, 1, 0), o, (const double[]){ 0.3, 0.3, 0.3 }, 3);
    adz_optimizer_release(&o);
}

int lines_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(milestones),
        TEST(a_line),
        TEST(a_cosine_from_zero),
        TEST(warm_restarts),
        TEST(warm_ups),
        TEST(restarts_far_away),
        TEST(a_line_of_no_length),
    };
    return cmocka_run_group_tests_name("schedules: lines", tests, temporary_begin, temporary_end);
}
