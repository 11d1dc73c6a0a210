/* States of optimizers that were changed, and what is collected. */
#include "cases.h"
#include "tests.h"

/* A copy of the state in which the entry `name` is `t`. If `t` is ADZ_NONE there is no such
 * entry. */
static adz_state_dict *state_with(const adz_state_dict *from, const char *name, adz_tensor *t)
{
    adz_state_dict *changed = adz_state_dict_new();
    for (size_t i = 0; i < adz_state_dict_count(from); ++i) {
        if (strcmp(adz_state_dict_name_at(from, i), name) != 0) {
            adz_state_dict_add(
                changed, adz_state_dict_name_at(from, i), adz_state_dict_at(from, i));
        }
    }
    if (t != ADZ_NONE) {
        adz_state_dict_add(changed, name, t);
    }
    return changed;
}

/* Restores the state after one of its entries was changed, and restores the state itself again. */
static adz_status restore_with(adz_optimizer *o, const char *name, adz_tensor *t)
{
    adz_state_dict *all = adz_state_dict_new();
    assert_int_equal(adzi_optimizer_collect(o, all), ADZ_OK);
    json_t *groups = adzi_optimizer_groups(o);
    adz_state_dict *changed = state_with(all, name, t);
    adz_status status = adzi_optimizer_restore(o, changed, groups);
    adz_state_dict *after = adz_state_dict_new();
    assert_int_equal(adzi_optimizer_collect(o, after), ADZ_OK);
    assert_true(status == ADZ_OK || adz_state_dict_count(after) == adz_state_dict_count(all));
    adz_status again = ADZ_OK;
    if (status == ADZ_OK) {
        again = adzi_optimizer_restore(o, all, groups);
    }
    assert_int_equal(again, ADZ_OK);
    adz_state_dict_free(&after);
    adz_state_dict_free(&changed);
    json_decref(groups);
    adz_state_dict_free(&all);
    return status;
}

static void entries_of_no_parameter_are_refused(void **state)
{
    (void)state;
    adz_tensor *w = start(ADZ_F64), *v = start(ADZ_F64);
    adz_sgd_options momentum = ADZ_SGD_OPTIONS;
    momentum.momentum = 0.9;
    adz_optimizer *adam = adz_adam_new(one(&w), 0.1, NULL);
    adz_optimizer *sgd = adz_sgd_new(one(&v), 0.1, &momentum);
    take_steps(adam, w, 0, 2);
    take_steps(sgd, v, 0, 2);
    adz_tensor *like_parameter = start(ADZ_F64), *number = adz_scalar(1, ADZ_I64);
    static const char *const names[] = { "state.step", "state.exp_avg", "state.0_step",
        "state.0_exp_avg", "state.0step", "state./.step", "state.:.step", "state.0",
        "state.0.momentum", "state.0.", "state.1.step", "state.1.exp_avg", "state.-0.step" };
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        for (int scalar = 0; scalar < 2; ++scalar) {
            adz_tensor *t = scalar ? number : like_parameter;
            assert_int_equal(restore_with(adam, names[i], t), ADZ_ERR_STATE);
            expect_error(ADZ_ERR_STATE, names[i]);
        }
    }
    assert_int_equal(restore_with(sgd, "state.0.step", number), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "SGD has no state.0.step; it has 1 parameters");
    adz_tensor *shorter = adz_zeros(ADZ_SHAPE(N - 1), ADZ_F64);
    assert_int_equal(restore_with(adam, "state.0.exp_avg", shorter), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "state.0.exp_avg[");
    adz_optimizer_release(&sgd);
    adz_optimizer_release(&adam);
}

static void numbers_of_steps_are_checked(void **state)
{
    (void)state;
    adz_tensor *w = start(ADZ_F64);
    adz_optimizer *adam = adz_adam_new(one(&w), 0.1, NULL);
    take_steps(adam, w, 0, 2);
    const double bad[] = { -1, NAN, INFINITY, 0x1p53 }, good[] = { 0, 1, 0x1p53 - 1 };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        assert_int_equal(
            restore_with(adam, "state.0.step", adz_scalar(bad[i], ADZ_F64)), ADZ_ERR_STATE);
        expect_error(ADZ_ERR_STATE, "state.0.step is no number of steps");
    }
    adz_tensor *two = adz_ones(ADZ_SHAPE(2), ADZ_I64);
    assert_int_equal(restore_with(adam, "state.0.step", two), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "state.0.step is no number of steps");
    for (size_t i = 0; i < sizeof good / sizeof *good; ++i) {
        adz_tensor *steps = adz_scalar(good[i], ADZ_F64);
        assert_int_equal(restore_with(adam, "state.0.step", steps), ADZ_OK);
    }
    adz_optimizer_release(&adam);
}

/* Before its first step a parameter has no state, and a step of 0 asks for none. */
static void no_step_is_no_state(void **state)
{
    (void)state;
    adz_tensor *w = start(ADZ_F64);
    adz_optimizer *adam = adz_adam_new(one(&w), 0.1, NULL);
    adz_state_dict *all = adz_state_dict_new();
    assert_int_equal(adzi_optimizer_collect(adam, all), ADZ_OK);
    assert_int_equal(adz_state_dict_count(all), 0);
    assert_int_equal(restore_with(adam, "state.0.step", adz_scalar(0, ADZ_I64)), ADZ_OK);
    adz_state_dict_free(&all);
    adz_optimizer_release(&adam);
}

static void groups_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    adz_tensor *w = start(ADZ_F64);
    adz_optimizer *adam = adz_adam_new(one(&w), 0.1, NULL);
    take_steps(adam, w, 0, 1);
    static const struct {
        const char *key, *value, *says;
    } bad[] = {
        { "beta1", NULL, "a group of parameters has no beta1" },
        { "lr", "\"0.1\"", "a group of parameters has no lr" },
        { "initial_lr", "[]", "a group of parameters has no initial_lr" },
        { "params", "[0, 1]", "a group has 2 parameters in the state, 1 here" },
        { "params", NULL, "a group has 0 parameters in the state, 1 here" },
    };
    adz_state_dict *all = adz_state_dict_new();
    assert_int_equal(adzi_optimizer_collect(adam, all), ADZ_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        json_t *groups = adzi_optimizer_groups(adam), *group = json_array_get(groups, 0);
        if (bad[i].value != NULL) {
            json_t *value = json_loads(bad[i].value, JSON_DECODE_ANY, NULL);
            assert_int_equal(json_object_set_new(group, bad[i].key, value), 0);
        } else {
            assert_int_equal(json_object_del(group, bad[i].key), 0);
        }
        assert_int_equal(adzi_optimizer_restore(adam, all, groups), ADZ_ERR_STATE);
        expect_error(ADZ_ERR_STATE, bad[i].says);
        json_decref(groups);
    }
    adz_state_dict_free(&all);
    adz_optimizer_release(&adam);
}

/* Only a group that has had a scheduler has an initial rate. The state says which groups have. */
static void an_initial_rate_is_taken_away(void **state)
{
    (void)state;
    adz_tensor *w = start(ADZ_F64), *v = start(ADZ_F64);
    adz_optimizer *plain = adz_adam_new(one(&w), 0.1, NULL);
    adz_optimizer *scheduled = adz_adam_new(one(&v), 0.1, NULL);
    adz_scheduler *scheduler = adz_exponential_lr_new(scheduled, 0.5);
    assert_true(adz_optimizer_get(scheduled, 0, "initial_lr") == 0.1);
    assert_int_equal(save(plain, "plain"), ADZ_OK);
    assert_int_equal(load(scheduled, "plain"), ADZ_OK);
    assert_true(isnan(adz_optimizer_get(scheduled, 0, "initial_lr")));
    expect_error(ADZ_ERR_ARGUMENT, "Adam has no setting called initial_lr");
    adz_scheduler_release(&scheduler);
    adz_optimizer_release(&scheduled);
    adz_optimizer_release(&plain);
}

enum { MANY = 12 };

/* The parameters of all groups are numbered on, with as many digits as it takes. */
static void parameters_are_numbered_over_all_groups(void **state)
{
    (void)state;
    adz_tensor *w[2][MANY];
    adz_optimizer *o[2];
    for (int k = 0; k < 2; ++k) {
        for (int i = 0; i < MANY; ++i) {
            w[k][i] = start(ADZ_F64);
        }
        o[k] = adz_adam_new(adz_tensor_list_of(w[k], 2), 0.1, NULL);
        adz_optimizer_add_param_group(o[k], adz_tensor_list_of(w[k] + 2, MANY - 2));
    }
    for (int i = 0; i < MANY; ++i) {
        give_gradient(w[0][i], i);
    }
    assert_int_equal(adz_optimizer_step(o[0]), ADZ_OK);
    json_t *groups = adzi_optimizer_groups(o[0]);
    json_t *params = json_object_get(json_array_get(groups, 1), "params");
    assert_int_equal(json_array_size(params), MANY - 2);
    for (size_t i = 0; i < MANY - 2; ++i) {
        assert_int_equal(json_integer_value(json_array_get(params, i)), i + 2);
    }
    json_decref(groups);
    assert_int_equal(save(o[0], "many"), ADZ_OK);
    assert_int_equal(load(o[1], "many"), ADZ_OK);
    assert_int_equal(save(o[1], "again"), ADZ_OK);
    assert_true(files_equal(temporary_path("many"), temporary_path("again")));
    adz_optimizer_release(&o[1]);
    adz_optimizer_release(&o[0]);
}

static adz_status try_collect(void *user)
{
    adz_state_dict *state = adz_state_dict_new();
    adz_status status = adz_error_code();
    if (state != NULL) {
        status = adzi_optimizer_collect(user, state);
    }
    adz_state_dict_free(&state);
    return status;
}

/* AMSGrad is switched on after the step, so that the collected state has zeros besides. */
static void refused_memory_collects_nothing(void **state)
{
    (void)state;
    adz_tensor *w = start(ADZ_F64);
    adz_optimizer *adam = adz_adam_new(one(&w), 0.1, NULL);
    take_steps(adam, w, 0, 1);
    assert_int_equal(adz_optimizer_set(adam, 0, "amsgrad", 1), ADZ_OK);
    assert_true(refuse_each(try_collect, NULL, adam) >= 4);
    adz_optimizer_release(&adam);
}

int restored_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(entries_of_no_parameter_are_refused),
        TEST(numbers_of_steps_are_checked),
        TEST(no_step_is_no_state),
        TEST(groups_that_do_not_fit_are_refused),
        TEST(an_initial_rate_is_taken_away),
        TEST(parameters_are_numbered_over_all_groups),
        TEST(refused_memory_collects_nothing),
    };
    return cmocka_run_group_tests_name(
        "optimizers: restored", tests, temporary_begin, temporary_end);
}
