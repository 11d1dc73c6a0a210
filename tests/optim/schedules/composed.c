/* Schedules that are made of others, and cycles. The rates are those of PyTorch 2.15. */
#include "kinds.h"
#include "rates.h"
#include "tests.h"

static void factors_of_a_chain_multiply(void **state)
{
    (void)state;
    adz_optimizer *o = sgd_of(1);
    adz_scheduler *parts[] = { adz_constant_lr_new(o, 0.5, 3), adz_exponential_lr_new(o, 0.5) };
    adz_scheduler *s = adz_chained_scheduler_new(parts, 2);
    static const double rates[] = { 0.5, 0.25, 0.125, 0.125, 0.0625 };
    assert_string_equal(adz_scheduler_name(s), "ChainedScheduler");
    expect_rates(s, o, rates, 5);
    assert_int_equal(adz_scheduler_last_epoch(parts[0]), 5);
    adz_scheduler_release(&parts[0]);
    adz_scheduler_release(&parts[1]);
    adz_optimizer_release(&o);
}

/* ExponentialLR begins from the initial rate at epoch 3, and MultiplicativeLR, at epoch 6, from the
 * rate that is set. */
static void a_sequence_changes_at_milestones(void **state)
{
    (void)state;
    adz_optimizer *o = sgd_of(1);
    static const int64_t at[] = { 3, 6 };
    adz_scheduler *parts[] = { adz_constant_lr_new(o, 0.25, 2), adz_exponential_lr_new(o, 0.5),
        adz_multiplicative_lr_new(o, falling, NULL) };
    adz_scheduler *s = adz_sequential_lr_new(o, parts, 3, at, 2);
    static const double rates[] = { 0.25, 0.25, 1, 1, 0.5, 0.25, 0.25, 0.2375, 0.21375 };
    assert_string_equal(adz_scheduler_name(s), "SequentialLR");
    expect_rates(s, o, rates, 9);
    for (int i = 0; i < 3; ++i) {
        adz_scheduler_release(&parts[i]);
    }
    adz_optimizer_release(&o);
}

/* SWALR begins from the rate that is set. */
static void averaged_weights_begin_at_a_milestone(void **state)
{
    (void)state;
    static const int64_t at = 3;
    static const double rates[][9] = { { 0.5, 0.5, 0.5, 0.5, 0.425, 0.35, 0.275, 0.2, 0.2 },
        { 0.5, 0.5, 0.5, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2 } };
    for (int k = 0; k < 2; ++k) {
        adz_optimizer *o = sgd_of(1);
        adz_swa_lr_options options = ADZ_SWA_LR_OPTIONS;
        options.anneal_strategy = ADZ_ANNEAL_STRATEGY_LINEAR;
        options.anneal_epochs = k == 0 ? 4 : 0;
        adz_scheduler *parts[] = { adz_constant_lr_new(o, 0.5, 9),
            adz_swa_lr_new(o, 0.2, &options) };
        expect_rates(adz_sequential_lr_new(o, parts, 2, &at, 1), o, rates[k], 9);
        adz_scheduler_release(&parts[0]);
        adz_scheduler_release(&parts[1]);
        adz_optimizer_release(&o);
    }
}

/* OneCycleLR replaces the initial rate, from which schedule 0 begins again. */
static void a_sequence_begins_from_the_last_initial_rate(void **state)
{
    (void)state;
    static const int64_t at = 6;
    static const double rates[] = { 0.04 / 3, 0.056 / 3, 0.024, 0.088 / 3, 0.104 / 3, 0.04, 0.04,
        0.52, 1 };
    adz_optimizer *o = sgd_of(0.1);
    adz_one_cycle_lr_options options = ADZ_ONE_CYCLE_LR_OPTIONS;
    options.cycle_momentum = false;
    adz_scheduler *parts[] = { adz_linear_lr_new(o, 1 / 3., 1, 5),
        adz_one_cycle_lr_new(o, 1, 10, &options) };
    expect_rates(adz_sequential_lr_new(o, parts, 2, &at, 1), o, rates, 9);
    adz_scheduler_release(&parts[0]);
    adz_scheduler_release(&parts[1]);
    adz_optimizer_release(&o);
}

static double refused_at_two(int64_t epoch, int group, void *user)
{
    (void)user;
    return epoch == 2 && group == 1 ? -1 : 0.5;
}

/* The first part has moved when the second one refuses. */
static void a_chain_that_fails_moves_nothing(void **state)
{
    (void)state;
    adz_optimizer *o = two_groups(1, 2);
    adz_scheduler *parts[] = { adz_exponential_lr_new(o, 0.5),
        adz_lambda_lr_new(o, refused_at_two, NULL) };
    adz_scheduler *s = adz_chained_scheduler_new(parts, 2);
    double before[32], after[32];
    assert_int_equal(adz_scheduler_step(s), ADZ_OK);
    const size_t n = adz_scheduler_get_state(s, before, 32);
    const double rate = adz_optimizer_get(o, 0, "lr");
    assert_int_equal(adz_scheduler_step(s), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "LambdaLR gives group 1 the rate -");
    assert_int_equal(adz_scheduler_get_state(s, after, 32), n);
    assert_memory_equal(before, after, n * sizeof *before);
    assert_true(adz_optimizer_get(o, 0, "lr") == rate);
    adz_scheduler_release(&s);
    adz_scheduler_release(&parts[0]);
    adz_scheduler_release(&parts[1]);
    adz_optimizer_release(&o);
}

static void parts_are_checked(void **state)
{
    (void)state;
    adz_optimizer *o = sgd_of(1), *other = sgd_of(1);
    adz_scheduler *a = adz_exponential_lr_new(o, 0.5), *b = adz_exponential_lr_new(other, 0.5);
    adz_scheduler *plateau = adz_reduce_lr_on_plateau_new(o, NULL);
    adz_scheduler *chain = adz_chained_scheduler_new(&a, 1);
    static const int64_t at[] = { 2, 1 };
    const struct {
        adz_scheduler *parts[3];
        size_t n, milestones;
        adz_status code;
        const char *says;
    } bad[] = {
        { { NULL }, 0, 0, ADZ_ERR_ARGUMENT, "there is no scheduler" },
        { { a, NULL }, 2, 1, ADZ_ERR_NULL, "a scheduler is NULL" },
        { { a, b }, 2, 1, ADZ_ERR_ARGUMENT, "scheduler 1, a ExponentialLR, changes the rates of" },
        { { a, plateau }, 2, 1, ADZ_ERR_ARGUMENT, "scheduler 1 is a ReduceLROnPlateau" },
        { { a, chain }, 2, 1, ADZ_ERR_ARGUMENT, "is a ChainedScheduler, which cannot begin" },
        { { a, a }, 2, 2, ADZ_ERR_ARGUMENT, "there are 2 milestones for 2 schedulers" },
        { { a, a, a }, 3, 2, ADZ_ERR_ARGUMENT, "milestone 1 is 1; milestones are epochs from 1" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        assert_null(adz_sequential_lr_new(o, bad[i].parts, bad[i].n, at, bad[i].milestones));
        expect_error(bad[i].code, bad[i].says);
        if (i < 4) {
            assert_null(adz_chained_scheduler_new(bad[i].parts, bad[i].n));
            expect_error(bad[i].code, bad[i].says);
        }
    }
    assert_null(adz_sequential_lr_new(NULL, &a, 1, NULL, 0));
    expect_error(ADZ_ERR_NULL, "optimizer is NULL");
    assert_true(adz_optimizer_get(o, 0, "lr") == 1);
    adz_tensor *late = parameter(); /* a group that no schedule changes */
    assert_int_equal(adz_optimizer_add_param_group(o, adz_tensor_list_of(&late, 1)), 1);
    assert_null(adz_chained_scheduler_new(&a, 1));
    expect_error(ADZ_ERR_ARGUMENT, "scheduler 0, a ExponentialLR, was made over 1 groups");
    adz_scheduler_release(&chain);
    adz_scheduler_release(&plateau);
    adz_scheduler_release(&a);
    adz_scheduler_release(&b);
    adz_optimizer_release(&o);
    adz_optimizer_release(&other);
}

/* ---- cycles --------------------------------------------------------------------------------- */

static double third(double x, void *user)
{
    return x / *(const double *)user;
}

static void cycles_have_modes(void **state)
{
    (void)state;
    double three = 3;
    adz_cyclic_lr_options o = ADZ_CYCLIC_LR_OPTIONS;
    o.step_size_up = 2;
    o.step_size_down = 3;
    o.cycle_momentum = false;
    static const double rates[][9] = {
        { 1, 3, 5, 1 + 8. / 3, 1 + 4. / 3, 1, 3, 5, 1 + 8. / 3 },
        { 1, 3, 5, 1 + 8. / 3, 1 + 4. / 3, 1, 2, 3, 1 + 4. / 3 },
        { 1, 2, 2, 1 + 1. / 3, 1 + 1. / 12, 1, 1 + 2. / 64, 1 + 4. / 128, 1 + 8. / 3 / 256 },
        { 1, 1 + 2. / 3, 1 + 4. / 3, 1 + 8. / 9, 1 + 4. / 9, 1, 1 + 4. / 3, 1 + 8. / 3,
            1 + 16. / 9 },
        { 1, 1 + 2. / 3, 1 + 8. / 3, 1 + 8. / 3, 1 + 16. / 9, 1, 5, 1 + 28. / 3, 1 + 64. / 9 },
    };
    for (int k = 0; k < 5; ++k) {
        adz_optimizer *sgd = sgd_of(7);
        o.mode = (adz_cyclic_mode)(k % 3);
        o.gamma = 0.5;
        o.scale_fn = k > 2 ? third : NULL;
        o.user = &three;
        o.scale_mode = k == 4 ? ADZ_SCALE_MODE_ITERATIONS : ADZ_SCALE_MODE_CYCLE;
        expect_rates(adz_cyclic_lr_new(sgd, 1, 5, &o), sgd, rates[k], 9);
        adz_optimizer_release(&sgd);
    }
}

static void cycles_move_the_momentum(void **state)
{
    (void)state;
    adz_cyclic_lr_options o = ADZ_CYCLIC_LR_OPTIONS;
    const double low[] = { 0.1, 0.2 }, high[] = { 0.5, 0.6 };
    o.step_size_up = 2;
    o.base_momenta = low;
    o.n_base_momenta = 2;
    o.max_momenta = high;
    o.n_max_momenta = 2;
    adz_optimizer *sgd = two_groups(1, 1);
    adz_scheduler *s = adz_cyclic_lr_new(sgd, 1, 5, &o);
    static const double part[] = { 0, 0.5, 1, 0.5, 0, 0.5 };
    for (int t = 0; t < 6; ++t) {
        for (int g = 0; g < 2; ++g) {
            assert_true(near(adz_optimizer_get(sgd, g, "momentum"), high[g] - 0.4 * part[t]));
        }
        assert_int_equal(adz_scheduler_step(s), ADZ_OK);
    }
    adz_scheduler_release(&s);
    o.n_max_momenta = 1;
    assert_null(adz_cyclic_lr_new(sgd, 1, 5, &o));
    expect_error(ADZ_ERR_ARGUMENT, "1 numbers in max_momenta for 2 groups of parameters");
    o = (adz_cyclic_lr_options)ADZ_CYCLIC_LR_OPTIONS;
    o.max_momentum = -1;
    assert_null(adz_cyclic_lr_new(sgd, 1, 5, &o));
    expect_error(ADZ_ERR_ARGUMENT, "momentum is -1");
    assert_null(adz_cyclic_lr_new(sgd, -1, 5, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "base_lr is -1");
    adz_optimizer_release(&sgd);
    adz_tensor *w = parameter();
    adz_optimizer *adagrad = adz_adagrad_new(adz_tensor_list_of(&w, 1), 1, NULL);
    assert_null(adz_cyclic_lr_new(adagrad, 1, 5, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "Adagrad has no momentum to cycle");
    adz_optimizer_release(&adagrad);
}

static double large_at_two(double epoch, void *user)
{
    ++*(int *)user;
    return epoch == 2 ? 100 : 1;
}

/* A scale can lead to a momentum below 0, and is called once for the rate and for the momentum. */
static void cycled_momenta_are_checked(void **state)
{
    (void)state;
    int calls = 0;
    adz_cyclic_lr_options o = ADZ_CYCLIC_LR_OPTIONS;
    o.step_size_up = 4;
    o.scale_fn = large_at_two;
    o.scale_mode = ADZ_SCALE_MODE_ITERATIONS;
    o.user = &calls;
    adz_optimizer *sgd = sgd_of(1);
    adz_scheduler *s = adz_cyclic_lr_new(sgd, 1, 5, &o);
    assert_int_equal(adz_scheduler_step(s), ADZ_OK);
    assert_int_equal(calls, 4);
    const double rate = adz_optimizer_get(sgd, 0, "lr");
    const double momentum = adz_optimizer_get(sgd, 0, "momentum");
    assert_int_equal(adz_scheduler_step(s), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "momentum is -4.1");
    assert_int_equal(adz_scheduler_last_epoch(s), 1);
    assert_true(adz_optimizer_get(sgd, 0, "lr") == rate);
    assert_true(adz_optimizer_get(sgd, 0, "momentum") == momentum);
    adz_scheduler_release(&s);
    adz_optimizer_release(&sgd);
}

/* ---- lines ---------------------------------------------------------------------------------- */

static void rates_of_averaged_weights_go_to_a_constant(void **state)
{
    (void)state;
    static const double rates[][5] = { { 1, 0.75, 0.5, 0.25, 0 }, { 2, 0.5, 0.5, 0.5, 0.5 } };
    adz_swa_lr_options o = ADZ_SWA_LR_OPTIONS;
    o.anneal_strategy = ADZ_ANNEAL_STRATEGY_LINEAR;
    o.anneal_epochs = 4;
    adz_optimizer *sgd = sgd_of(1);
    expect_rates(adz_swa_lr_new(sgd, 0, &o), sgd, rates[0], 5);
    adz_optimizer_release(&sgd);
    sgd = sgd_of(2);
    o.anneal_epochs = 0;
    const double last = 0.5;
    o.swa_lrs = &last;
    o.n_swa_lrs = 1;
    double first[5];
    memcpy(first, rates[1], sizeof first);
    first[0] = 0.5; /* without a way the last rate is set at once */
    expect_rates(adz_swa_lr_new(sgd, 9, &o), sgd, first, 5);
    adz_optimizer_release(&sgd);
    sgd = sgd_of(1);
    double cosine[12];
    for (int t = 0; t < 12; ++t) {
        cosine[t] = 0.05 + 0.95 * (1 + cos(pi * fmin(1, t / 10.0))) / 2;
    }
    expect_rates(adz_swa_lr_new(sgd, 0.05, NULL), sgd, cosine, 12);
    adz_optimizer_release(&sgd);
}

static void rates_fall_along_a_power(void **state)
{
    (void)state;
    double rates[8];
    for (int t = 0; t < 8; ++t) {
        rates[t] = 3 * pow(1 - fmin(1, t / 6.0), 1.5);
    }
    adz_optimizer *o = sgd_of(3);
    expect_rates(adz_polynomial_lr_new(o, 6, 1.5), o, rates, 8);
    assert_null(adz_polynomial_lr_new(o, 0, 1));
    expect_error(ADZ_ERR_ARGUMENT, "total_iters is 0");
    assert_null(adz_constant_lr_new(o, 0, 1));
    expect_error(ADZ_ERR_ARGUMENT, "factor is 0");
    assert_null(adz_multiplicative_lr_new(o, NULL, NULL));
    expect_error(ADZ_ERR_NULL, "lambda is NULL");
    adz_optimizer_release(&o);
}

int composed_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(factors_of_a_chain_multiply),
        TEST(a_sequence_changes_at_milestones),
        TEST(averaged_weights_begin_at_a_milestone),
        TEST(a_sequence_begins_from_the_last_initial_rate),
        TEST(a_chain_that_fails_moves_nothing),
        TEST(parts_are_checked),
        TEST(cycles_have_modes),
        TEST(cycles_move_the_momentum),
        TEST(cycled_momenta_are_checked),
        TEST(rates_of_averaged_weights_go_to_a_constant),
        TEST(rates_fall_along_a_power),
    };
    return cmocka_run_group_tests_name("schedules: composed", tests, NULL, NULL);
}
