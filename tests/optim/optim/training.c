/* Schedulers, states and training as a whole. */
#include "optim/optimizer.h"
#include "parameter.h"
#include "tests.h"

static double halves_then_grows(int64_t epoch, int group, void *user)
{
    return group == 0 ? 1.0 / (1 << epoch) : 1 + (double)epoch * *(double *)user;
}

static void expect_rates(adz_scheduler *s, const double *expected, size_t count, double tolerance)
{
    for (size_t i = 0; i < count; ++i) {
        if (!(fabs(adz_scheduler_last_lr(s, 0) - expected[i]) <= tolerance)) {
            fail_msg("%s: rate %d is %.17g, not %.17g", adz_scheduler_name(s), (int)i,
                adz_scheduler_last_lr(s, 0), expected[i]);
        }
        assert_int_equal(adz_scheduler_last_epoch(s), (int64_t)i);
        assert_int_equal(adz_scheduler_step(s), ADZ_OK);
    }
    adz_scheduler_release(&s);
}

static void schedules(void **state)
{
    (void)state;
    adz_tensor *w = parameter(1, 2, ADZ_F32), *v = parameter(1, 2, ADZ_F32);
    adz_optimizer *sgd = adz_sgd_new(one(&w), 0.8, NULL);
    expect_rates(adz_step_lr_new(sgd, 3, 0.5),
        (const double[]){ 0.8, 0.8, 0.8, 0.4, 0.4, 0.4, 0.2, 0.2 }, 8, 1e-15);
    adz_optimizer_set(sgd, 0, "lr", 0.8);
    expect_rates(
        adz_exponential_lr_new(sgd, 0.5), (const double[]){ 0.8, 0.4, 0.2, 0.1 }, 4, 1e-15);
    adz_optimizer_set(sgd, 0, "lr", 0.8);
    double cosine[11];
    for (int i = 0; i < 11; ++i) { /* the rate falls for 4 epochs, rises for 4, and falls again */
        cosine[i] = 0.1 + 0.7 * (1 + cos(3.14159265358979323846 * i / 4)) / 2;
    }
    expect_rates(adz_cosine_annealing_lr_new(sgd, 4, 0.1), cosine, 11, 1e-14);
    adz_optimizer_release(&sgd);

    sgd = adz_sgd_new(one(&w), 0.8, NULL);
    adz_optimizer_add_param_group(sgd, one(&v));
    adz_optimizer_set(sgd, 1, "lr", 0.2);
    double growth = 0.5;
    adz_scheduler *s = adz_lambda_lr_new(sgd, halves_then_grows, &growth);
    adz_scheduler_step(s);
    adz_scheduler_step(s);
    assert_true(fabs(adz_optimizer_get(sgd, 0, "lr") - 0.2) < 1e-15);
    assert_true(fabs(adz_optimizer_get(sgd, 1, "lr") - 0.4) < 1e-15);
    assert_true(adz_optimizer_get(sgd, 1, "initial_lr") == 0.2);
    adz_optimizer_release(&sgd); /* The scheduler keeps the optimizer alive. */
    assert_int_equal(adz_scheduler_step(s), ADZ_OK);
    assert_true(fabs(adz_scheduler_last_lr(s, 0) - 0.1) < 1e-15);

    double saved[8] = { 0 };
    assert_int_equal(adz_scheduler_get_state(s, saved, 8), 5);
    adz_scheduler_step(s);
    assert_int_equal(adz_scheduler_set_state(s, saved, 5), ADZ_OK);
    assert_int_equal(adz_scheduler_last_epoch(s), 3);
    assert_true(fabs(adz_scheduler_last_lr(s, 1) - 0.5) < 1e-15);
    assert_int_equal(adz_scheduler_set_state(s, saved, 4), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "no state of a LambdaLR over 2 groups, which has 5 numbers");
    assert_true(isnan(adz_scheduler_last_lr(s, 2)));
    expect_error(ADZ_ERR_INDEX, "no group 2");
    adz_scheduler_release(&s);
}

static void schedules_refuse(void **state)
{
    (void)state;
    adz_tensor *w = parameter(1, 2, ADZ_F32);
    adz_optimizer *sgd = adz_sgd_new(one(&w), 0.8, NULL);
    assert_null(adz_step_lr_new(sgd, 0, 0.5));
    expect_error(ADZ_ERR_ARGUMENT, "step_size is 0");
    assert_null(adz_cosine_annealing_lr_new(sgd, 0, 0.5));
    expect_error(ADZ_ERR_ARGUMENT, "t_max is 0");
    assert_null(adz_lambda_lr_new(sgd, NULL, NULL));
    expect_error(ADZ_ERR_NULL, "lambda is NULL");
    assert_null(adz_exponential_lr_new(NULL, 0.5));
    expect_error(ADZ_ERR_NULL, "optimizer is NULL");
    adz_optimizer_release(&sgd);
}

static void take_steps(adz_optimizer *sgd, adz_tensor *a, adz_tensor *b, int from, int to)
{
    for (int i = from; i < to; ++i) {
        set_grad(a, i, 1.0 / (i + 1));
        set_grad(b, -i, 0.3);
        assert_int_equal(adz_optimizer_step(sgd), ADZ_OK);
    }
}

static adz_optimizer *two_groups(adz_tensor *a, adz_tensor *b)
{
    adz_sgd_options o = ADZ_SGD_OPTIONS;
    o.momentum = 0.9;
    o.nesterov = true;
    adz_optimizer *sgd = adz_sgd_new(one(&a), 0.1, &o);
    adz_optimizer_add_param_group(sgd, one(&b));
    return sgd;
}

static void state_goes_out_and_in(void **state)
{
    (void)state;
    adz_tensor *a = parameter(1, 2, ADZ_F64), *b = parameter(1, 2, ADZ_F64);
    adz_optimizer *sgd = two_groups(a, b);
    adz_optimizer_set(sgd, 1, "lr", 1.0 / 3);
    adz_scheduler *s = adz_exponential_lr_new(sgd, 0.9);
    take_steps(sgd, a, b, 0, 3);
    adz_scheduler_step(s);
    adz_state_dict *saved = adz_state_dict_new();
    assert_int_equal(adzi_optimizer_collect(sgd, saved), ADZ_OK);
    assert_int_equal(adz_state_dict_count(saved), 2);
    assert_string_equal(adz_state_dict_name_at(saved, 1), "state.1.momentum_buffer");
    json_t *groups = adzi_optimizer_groups(sgd);
    char *text = json_dumps(groups, JSON_REAL_PRECISION(17));
    assert_non_null(strstr(text, "\"nesterov\": true"));
    assert_non_null(strstr(text, "\"params\": [1]"));
    json_t *read = json_loads(text, 0, NULL);

    adz_tensor *a2 = parameter(0, 0, ADZ_F64), *b2 = parameter(0, 0, ADZ_F64);
    adz_optimizer *other = two_groups(a2, b2);
    assert_int_equal(adzi_optimizer_restore(other, saved, read), ADZ_OK);
    ADZ_NO_GRAD
    {
        adz_copy_(a2, a);
        adz_copy_(b2, b);
    }
    assert_true(adz_optimizer_get(other, 1, "lr") == adz_optimizer_get(sgd, 1, "lr"));
    assert_true(adz_optimizer_get(other, 1, "initial_lr") == 1.0 / 3);
    take_steps(sgd, a, b, 3, 6);
    take_steps(other, a2, b2, 3, 6);
    assert_true(adz_equal(a, a2));
    assert_true(adz_equal(b, b2));
    free(text);
    json_decref(read);
    json_decref(groups);
    adz_state_dict_free(&saved);
    adz_scheduler_release(&s);
    adz_optimizer_release(&other);
    adz_optimizer_release(&sgd);
}

/* A state that does not fit is refused and changes nothing: both runs stay equal. */
static void states_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    adz_tensor *a = parameter(1, 2, ADZ_F64), *b = parameter(1, 2, ADZ_F64);
    adz_tensor *a2 = parameter(1, 2, ADZ_F64), *b2 = parameter(1, 2, ADZ_F64);
    adz_optimizer *sgd = two_groups(a, b), *other = two_groups(a2, b2);
    take_steps(sgd, a, b, 0, 3);
    take_steps(other, a2, b2, 0, 3);
    adz_state_dict *saved = adz_state_dict_new();
    assert_int_equal(adzi_optimizer_collect(sgd, saved), ADZ_OK);
    json_t *groups = adzi_optimizer_groups(sgd);
    adz_state_dict_add(saved, "model.weight", a); /* ignored: no name of an optimizer */
    json_t *one_group = json_pack("[O]", json_array_get(groups, 0));
    assert_int_equal(adzi_optimizer_restore(other, saved, one_group), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "the state has 1 groups of parameters, SGD 2");
    json_object_set_new(json_array_get(groups, 0), "lr", json_real(7));
    adz_state_dict_add(saved, "state.5.momentum_buffer", a);
    assert_int_equal(adzi_optimizer_restore(other, saved, groups), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "SGD has no state.5.momentum_buffer");
    assert_true(adz_optimizer_get(other, 0, "lr") != 7);
    take_steps(sgd, a, b, 3, 5);
    take_steps(other, a2, b2, 3, 5);
    assert_true(adz_equal(a, a2));
    assert_true(adz_equal(b, b2));
    json_decref(one_group);
    json_decref(groups);
    adz_state_dict_free(&saved);
    adz_optimizer_release(&other);
    adz_optimizer_release(&sgd);
}

/* ---- training ------------------------------------------------------------------------------- */

static adz_module *small_model(void)
{
    return ADZ_SEQUENTIAL(adz_linear_new(1, 16, NULL), adz_relu_new(), adz_linear_new(16, 1, NULL));
}

/* Takes one step of training. Returns the loss, or NaN on failure. */
static double train(adz_module *model, adz_optimizer *sgd)
{
    adz_scope *scope = adz_scope_open();
    if (scope == NULL) {
        return NAN;
    }
    adz_tensor *x = adz_rand(ADZ_SHAPE(32, 1), ADZ_F32);
    adz_tensor *loss = adz_mse_loss(adz_module_forward(model, x), adz_mul(x, x), ADZ_REDUCE_MEAN);
    bool good = adz_optimizer_zero_grad(sgd) == ADZ_OK && adz_backward(loss) == ADZ_OK &&
                !isnan(adz_clip_grad_norm(adz_module_parameters(model), 1, 2)) &&
                adz_optimizer_step(sgd) == ADZ_OK;
    double value = good ? adz_item(loss) : NAN;
    adz_scope_close(scope);
    return value;
}

static void a_model_learns(void **state)
{
    (void)state;
    adz_manual_seed(1);
    adz_module *model = small_model();
    adz_sgd_options o = ADZ_SGD_OPTIONS;
    o.momentum = 0.9;
    adz_optimizer *sgd = adz_sgd_new(adz_module_parameters(model), 0.05, &o);
    double first = train(model, sgd), last = 0;
    for (int i = 0; i < 1000; ++i) {
        last = train(model, sgd);
    }
    assert_true(last < 0.002 && last < 0.05 * first);
    adz_optimizer_release(&sgd);
    adz_module_release(&model);
}

static bool all_or_nothing = true;

/* Trains a model for two steps and takes its state. A step that fails must change no parameter. */
static bool exercise(void)
{
    adz_module *model = small_model();
    adz_sgd_options o = ADZ_SGD_OPTIONS;
    o.momentum = 0.9;
    adz_optimizer *sgd = model != NULL ? adz_sgd_new(adz_module_parameters(model), 0.05, &o) : NULL;
    adz_scheduler *s = sgd != NULL ? adz_step_lr_new(sgd, 2, 0.5) : NULL;
    bool good = s != NULL;
    for (int i = 0; i < 2 && good; ++i) {
        adz_tensor *w = adz_module_get_parameter(model, "0.weight");
        adz_tensor *v = adz_module_get_parameter(model, "2.bias");
        float before[17];
        adz_tensor_read(w, before, 16 * sizeof(float));
        adz_tensor_read(v, before + 16, sizeof(float));
        good = !isnan(train(model, sgd)) && adz_scheduler_step(s) == ADZ_OK;
        bool same = memcmp(adz_tensor_data(w), before, 16 * sizeof(float)) == 0 &&
                    memcmp(adz_tensor_data(v), before + 16, sizeof(float)) == 0;
        all_or_nothing = all_or_nothing && (good || same);
    }
    adz_state_dict *state = good ? adz_state_dict_new() : NULL;
    good = state != NULL && adzi_optimizer_collect(sgd, state) == ADZ_OK;
    json_t *groups = good ? adzi_optimizer_groups(sgd) : NULL;
    good = groups != NULL && adzi_optimizer_restore(sgd, state, groups) == ADZ_OK;
    json_decref(groups);
    adz_state_dict_free(&state);
    adz_scheduler_release(&s);
    adz_optimizer_release(&sgd);
    adz_module_release(&model);
    return good;
}

static void refused_memory_changes_nothing(void **state)
{
    (void)state;
    int points = refuse_each_request(exercise);
    printf("%d failure points\n", points);
    assert_true(points > 60);
    assert_true(all_or_nothing);
}

int training_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(schedules),
        TEST(schedules_refuse),
        TEST(state_goes_out_and_in),
        TEST(states_that_do_not_fit_are_refused),
        TEST(a_model_learns),
        TEST(refused_memory_changes_nothing),
    };
    return cmocka_run_group_tests_name("optim: training", tests, NULL, NULL);
}
