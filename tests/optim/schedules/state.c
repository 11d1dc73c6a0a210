/* Checks of all schedulers: owners, failing steps, states and refused memory. */
#include "rates.h"
#include "kinds.h"
#include "../../temporary.h"
#include "tests.h"

/* A scheduler that is kept lives until its last owner frees it. */
static void schedulers_are_kept(void **state)
{
    (void)state;
    adz_optimizer *o = sgd_of(1);
    int64_t before = adzi_live_bytes();
    adz_scheduler *s = adz_exponential_lr_new(o, 0.5);
    int64_t with_one = adzi_live_bytes();
    assert_true(with_one > before);
    adz_scheduler *kept = adz_scheduler_keep(s), *again = adz_scheduler_keep(s);
    assert_ptr_equal(kept, s);
    adz_scheduler_release(&s);
    assert_null(s);
    adz_scheduler_release(&again);
    assert_true(adzi_live_bytes() == with_one);
    assert_int_equal(adz_scheduler_step(kept), ADZ_OK);
    adz_scheduler_release(&kept);
    assert_true(adzi_live_bytes() == before);
    adz_scheduler_release(&kept);
    adz_scheduler_release(NULL);
    adz_optimizer_release(&o);
}

/* If the new rate is not allowed, the scheduler stays at its epoch. */
static void a_step_that_fails_moves_nothing(void **state)
{
    (void)state;
    adz_optimizer *o = sgd_of(1);
    adz_scheduler *s =
        adz_cosine_annealing_warm_restarts_new(o, 8, 2, -1); /* negative from epoch 5 on */
    double before[8], after[8];
    for (int t = 0; t < 4; ++t) {
        assert_int_equal(adz_scheduler_step(s), ADZ_OK);
    }
    const size_t n = adz_scheduler_get_state(s, before, 8);
    for (int way = 0; way < 2; ++way) {
        adz_status status = way == 0 ? adz_scheduler_step(s) : adz_scheduler_step_to(s, 6.5);
        assert_int_equal(status, ADZ_ERR_ARGUMENT);
        expect_error(ADZ_ERR_ARGUMENT, "CosineAnnealingWarmRestarts gives group 0 the rate -");
        assert_int_equal(adz_scheduler_get_state(s, after, 8), n);
        assert_memory_equal(before, after, n * sizeof *before);
    }
    assert_int_equal(adz_scheduler_step_to(s, 0x1p53), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    assert_int_equal(adz_scheduler_step_to(s, 0), ADZ_OK);
    assert_int_equal(adz_scheduler_last_epoch(s), 0);
    adz_scheduler_release(&s);
    int64_t live = adzi_live_bytes();
    adz_one_cycle_lr_options options = ADZ_ONE_CYCLE_LR_OPTIONS;
    options.div_factor = 1e-300;
    assert_null(adz_one_cycle_lr_new(o, 1e300, 10, &options)); /* begins at infinity */
    expect_error(ADZ_ERR_ARGUMENT, "gives group 0 the rate inf");
    assert_true(adzi_live_bytes() == live);
    adz_optimizer_release(&o);
}

/* The last epoch that a state may have is 2^53 - 1, or the end of the cycle. */
static void states_have_a_last_epoch(void **state)
{
    (void)state;
    adz_optimizer *o = sgd_of(1);
    for (int cycle = 0; cycle < 2; ++cycle) {
        adz_scheduler *s =
            cycle ? adz_one_cycle_lr_new(o, 1, 10, NULL) : adz_exponential_lr_new(o, 0.5);
        double values[8], last = cycle ? 10 : 0x1p53 - 1;
        const size_t n = adz_scheduler_get_state(s, values, 8);
        values[0] = last;
        assert_int_equal(adz_scheduler_set_state(s, values, n), ADZ_OK);
        values[0] = last + 1;
        assert_int_equal(adz_scheduler_set_state(s, values, n), ADZ_ERR_ARGUMENT);
        adz_error_clear();
        adz_scheduler_release(&s);
    }
    adz_optimizer_release(&o);
}

static void what_is_null_is_named(void **state)
{
    (void)state;
    adz_optimizer *o = two_groups(1, 2);
    adz_scheduler *s = adz_exponential_lr_new(o, 0.5);
    double values[8];
    assert_null(adz_scheduler_keep(NULL));
    expect_error(ADZ_ERR_NULL, "adz_scheduler_keep: scheduler is NULL");
    assert_int_equal(adz_scheduler_step(NULL), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "adz_scheduler_step: scheduler is NULL");
    assert_int_equal(adz_scheduler_step_metric(NULL, 1), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "adz_scheduler_step_metric: scheduler is NULL");
    assert_int_equal(adz_scheduler_step_to(NULL, 1), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "adz_scheduler_step_to: scheduler is NULL");
    assert_int_equal(adz_scheduler_last_epoch(NULL), -1);
    expect_error(ADZ_ERR_NULL, "adz_scheduler_last_epoch: scheduler is NULL");
    assert_true(isnan(adz_scheduler_last_lr(NULL, 0)));
    expect_error(ADZ_ERR_NULL, "adz_scheduler_last_lr: scheduler is NULL");
    assert_int_equal(adz_scheduler_get_state(NULL, values, 8), 0);
    expect_error(ADZ_ERR_NULL, "adz_scheduler_get_state: scheduler is NULL");
    assert_int_equal(adz_scheduler_set_state(NULL, values, 8), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "adz_scheduler_set_state: scheduler is NULL");
    assert_int_equal(adz_scheduler_set_state(s, NULL, 5), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "adz_scheduler_set_state: values is NULL");
    for (int group = -1; group < 4; ++group) {
        bool there = group == 0 || group == 1;
        assert_true(isnan(adz_scheduler_last_lr(s, group)) != there);
        if (!there) {
            expect_error(ADZ_ERR_INDEX, "there is no group");
        }
    }
    adz_scheduler_release(&s);
    adz_optimizer_release(&o);
}

static adz_status both_ways(adz_optimizer *o, adz_scheduler *s, bool load)
{
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.optimizer = o;
    c.schedulers = &s;
    c.n_schedulers = 1;
    return load ? adz_checkpoint_load(&c, temporary_path("run"))
                : adz_checkpoint_save(&c, temporary_path("run"));
}

/* A run that stops after any number of steps continues with the same bits. */
static void state_goes_out_and_in(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; ++kind) {
        for (int cut = 0; cut < 10; ++cut) {
            adz_optimizer *o = two_groups(0.3, 0.7), *p = two_groups(0.3, 0.7);
            adz_scheduler *s = make(kind, o), *r = make(kind, p);
            for (int t = 0; t < cut; ++t) {
                assert_int_equal(go_on(s, kind, t), ADZ_OK);
            }
            assert_int_equal(both_ways(o, s, false), ADZ_OK);
            assert_int_equal(go_on(r, kind, 0), ADZ_OK);
            assert_int_equal(both_ways(p, r, true), ADZ_OK);
            assert_int_equal(adz_scheduler_last_epoch(r), cut);
            for (int t = cut; t < 14; ++t) {
                for (int g = 0; g < 2; ++g) {
                    assert_true(adz_optimizer_get(o, g, "lr") == adz_optimizer_get(p, g, "lr"));
                    assert_true(adz_scheduler_last_lr(s, g) == adz_scheduler_last_lr(r, g));
                    assert_true(
                        adz_optimizer_get(o, g, "momentum") == adz_optimizer_get(p, g, "momentum"));
                }
                assert_int_equal(go_on(s, kind, t), ADZ_OK);
                assert_int_equal(go_on(r, kind, t), ADZ_OK);
            }
            adz_scheduler_release(&s);
            adz_scheduler_release(&r);
            adz_optimizer_release(&o);
            adz_optimizer_release(&p);
        }
    }
}

/* Each number of a state is replaced by one that it cannot have. */
static void bad_states_are_refused(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; ++kind) {
        adz_optimizer *o = two_groups(0.3, 0.7);
        adz_scheduler *s = make(kind, o);
        double good[32], bad[32];
        size_t n = adz_scheduler_get_state(s, good, 32);
        assert_true(n >= 5 && n <= (kind >= CHAINED ? 20 : 8));
        for (size_t i = 0; i < n; ++i) {
            const double wrong[] = { NAN, -1, INFINITY };
            for (int k = 0; k < 3; ++k) {
                bool best = kind == PLATEAU && i == 5; /* may be anything but NaN */
                memcpy(bad, good, sizeof bad);
                bad[i] = wrong[k];
                adz_status expected = best && k > 0 ? ADZ_OK : ADZ_ERR_ARGUMENT;
                assert_int_equal(adz_scheduler_set_state(s, bad, n), expected);
                if (expected != ADZ_OK) {
                    expect_error(ADZ_ERR_ARGUMENT, "this is no state of a");
                }
            }
        }
        assert_int_equal(adz_scheduler_set_state(s, good, n), ADZ_OK);
        assert_int_equal(adz_scheduler_set_state(s, good, n - 1), ADZ_ERR_ARGUMENT);
        expect_error(ADZ_ERR_ARGUMENT, adz_scheduler_name(s));
        adz_scheduler_release(&s);
        adz_optimizer_release(&o);
    }
}

static int current_kind;

static bool exercise(void)
{
    adz_scope *scope = adz_scope_open();
    if (scope == NULL) {
        return false;
    }
    adz_tensor *w = parameter();
    adz_sgd_options options = ADZ_SGD_OPTIONS;
    options.momentum = 0.5;
    adz_optimizer *o = w != NULL ? adz_sgd_new(adz_tensor_list_of(&w, 1), 0.3, &options) : NULL;
    adz_scheduler *s = o != NULL ? make(current_kind, o) : NULL;
    bool good = s != NULL && go_on(s, current_kind, 0) == ADZ_OK;
    const bool composed = current_kind >= CHAINED; /* its parts may be made */
    if (o != NULL && s == NULL && !composed) {
        assert_true(o->groups[0]->settings[0] == 0.3 && isnan(o->groups[0]->initial_lr));
        assert_true(o->groups[0]->settings[1] == 0.5);
    }
    adz_scheduler_release(&s);
    adz_optimizer_release(&o);
    adz_scope_close(scope);
    return good;
}

static void refused_memory_leaks_nothing(void **state)
{
    (void)state;
    int points = 0;
    for (current_kind = 0; current_kind < KINDS; ++current_kind) {
        points += refuse_each_request(exercise);
    }
    assert_true(points > 5 * KINDS);
}

int state_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(schedulers_are_kept),
        TEST(a_step_that_fails_moves_nothing),
        TEST(states_have_a_last_epoch),
        TEST(what_is_null_is_named),
        TEST(state_goes_out_and_in),
        TEST(bad_states_are_refused),
        TEST(refused_memory_leaks_nothing),
    };
    return cmocka_run_group_tests_name("schedules: state", tests, temporary_begin, temporary_end);
}
