/* Schedules that are refused. */
#include "rates.h"
#include "kinds.h"
#include "../../temporary.h"
#include "tests.h"

/* A constructor that failed has changed no rate. */
static void expect_untouched(adz_optimizer *o)
{
    assert_true(adz_optimizer_get(o, 0, "lr") == 0.3 && adz_optimizer_get(o, 1, "lr") == 0.7);
    assert_true(isnan(adz_optimizer_get(o, 0, "initial_lr")));
    adz_error_clear();
    adz_optimizer_release(&o);
}

static void constructors_refuse(void **state)
{
    (void)state;
    adz_optimizer *o = two_groups(0.3, 0.7);
    assert_null(adz_multi_step_lr_new(o, NULL, 2, 0.5));
    expect_error(ADZ_ERR_NULL, "milestones is NULL");
    assert_null(adz_linear_lr_new(o, 0, 1, 5));
    expect_error(ADZ_ERR_ARGUMENT, "start_factor is 0");
    assert_null(adz_linear_lr_new(o, 0.5, 1.5, 5));
    expect_error(ADZ_ERR_ARGUMENT, "end_factor is 1.5, but must be in [0, 1]");
    assert_null(adz_linear_lr_new(o, 0.5, 1, -1));
    expect_error(ADZ_ERR_ARGUMENT, "total_iters is -1");
    assert_null(adz_cosine_annealing_warm_restarts_new(o, 0, 1, 0));
    expect_error(ADZ_ERR_ARGUMENT, "t_0 is 0");
    assert_null(adz_cosine_annealing_warm_restarts_new(o, 1, 0, 0));
    expect_error(ADZ_ERR_ARGUMENT, "t_mult is 0");
    assert_null(adz_one_cycle_lr_new(o, 1, 0, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "total_steps is 0");
    assert_null(adz_one_cycle_lr_new(o, -1, 10, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "max_lr is -1");
    assert_null(adz_one_cycle_lr_new(NULL, 1, 10, NULL));
    expect_error(ADZ_ERR_NULL, "optimizer is NULL");
    assert_null(adz_reduce_lr_on_plateau_new(NULL, NULL));
    expect_error(ADZ_ERR_NULL, "optimizer is NULL");
    assert_null(adz_exponential_lr_new(NULL, 1));
    expect_error(ADZ_ERR_NULL, "optimizer is NULL");
    expect_untouched(o);
}

#define REFUSES(type, defaults, field, value, call, says) \
    do {                                                  \
        type bad = defaults;                              \
        bad.field = value;                                \
        assert_null(call);                                \
        expect_error(ADZ_ERR_ARGUMENT, says);             \
    } while (0)
#define CYCLE(field, value, says)                                             \
    REFUSES(adz_one_cycle_lr_options, ADZ_ONE_CYCLE_LR_OPTIONS, field, value, \
        adz_one_cycle_lr_new(o, 1, 10, &bad), says)
#define PLATEAU(field, value, says)                                                           \
    REFUSES(adz_reduce_lr_on_plateau_options, ADZ_REDUCE_LR_ON_PLATEAU_OPTIONS, field, value, \
        adz_reduce_lr_on_plateau_new(o, &bad), says)

static void one_cycle_options_are_refused(void **state)
{
    (void)state;
    adz_optimizer *o = two_groups(0.3, 0.7);
    const double numbers[] = { 1, 1, 1 };
    CYCLE(pct_start, 1.5, "pct_start is 1.5");
    CYCLE(pct_start, NAN, "pct_start is nan");
    CYCLE(div_factor, 0, "div_factor is 0");
    CYCLE(final_div_factor, -1, "final_div_factor is -1");
    CYCLE(anneal_strategy, (adz_anneal_strategy)7, "anneal_strategy is 7");
    CYCLE(max_momentum, -1, "momentum is -1");
    CYCLE(max_lrs, numbers; bad.n_max_lrs = 3, "3 numbers in max_lrs for 2 groups");
    CYCLE(base_momenta, numbers; bad.n_base_momenta = 1, "1 numbers in base_momenta");
    CYCLE(max_momenta, numbers; bad.n_max_momenta = 3, "3 numbers in max_momenta");
    expect_untouched(o);
}

static void plateau_options_are_refused(void **state)
{
    (void)state;
    adz_optimizer *o = two_groups(0.3, 0.7);
    const double numbers[] = { 1, 1, 1 };
    PLATEAU(factor, 1, "factor is 1");
    PLATEAU(factor, NAN, "factor is nan");
    PLATEAU(patience, -1, "patience is -1");
    PLATEAU(cooldown, -2, "cooldown is -2");
    PLATEAU(cooldown, -2; bad.patience = 0, "cooldown is -2");
    PLATEAU(mode, (adz_plateau_mode)7, "mode is 7");
    PLATEAU(threshold_mode, (adz_threshold_mode)7, "threshold_mode is 7");
    PLATEAU(threshold, INFINITY, "threshold is inf");
    PLATEAU(min_lr, -1, "min_lr is -1");
    PLATEAU(eps, -1, "eps is -1");
    PLATEAU(min_lrs, numbers; bad.n_min_lrs = 3, "3 numbers in min_lrs for 2 groups");
    expect_untouched(o);
}

/* Warm-ups without their lengths give NaN, and say what is missing. */
static void warmups_need_their_lengths(void **state)
{
    (void)state;
    expect_null(isnan(adz_lr_warmup_constant(0, 0, NULL)), "adz_lr_warmup_constant", "user");
    expect_null(
        isnan(adz_lr_warmup_inverse_sqrt(0, 0, NULL)), "adz_lr_warmup_inverse_sqrt", "user");
    expect_null(isnan(adz_lr_warmup_linear(0, 0, NULL)), "adz_lr_warmup_linear", "user");
}

static double below_0(int64_t epoch, int group, void *user)
{
    (void)group;
    (void)user;
    return epoch < 2 ? 1 : -1;
}

/* A negative rate is an error of the scheduler's step, which leaves the optimizer unchanged. */
static void a_negative_rate_is_refused(void **state)
{
    (void)state;
    adz_optimizer *o = two_groups(0.3, 0.7);
    adz_scheduler *s = adz_lambda_lr_new(o, below_0, NULL);
    assert_int_equal(adz_scheduler_step(s), ADZ_OK);
    assert_int_equal(adz_scheduler_step(s), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "LambdaLR gives group 0 the rate -0.3 at epoch 2");
    assert_int_equal(adz_scheduler_last_epoch(s), 1);
    assert_true(adz_optimizer_get(o, 0, "lr") == 0.3);
    adz_scheduler_release(&s);
    adz_optimizer_release(&o);
}

int refused_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(warmups_need_their_lengths),
        TEST(constructors_refuse),
        TEST(one_cycle_options_are_refused),
        TEST(plateau_options_are_refused),
        TEST(a_negative_rate_is_refused),
    };
    return cmocka_run_group_tests_name("schedules: refused", tests, temporary_begin, temporary_end);
}
