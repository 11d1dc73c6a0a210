/* A plan replays the step of an optimizer of a program's own, with the bits of ordinary steps. */
#include "optim/optimizer.h"
#include "tests.h"

typedef struct {
    adz_module *model;
    adz_optimizer *optimizer;
    adz_scheduler *scheduler;
    adz_tensor *x;
} training;

static training begin(const adz_optimizer_type *type, adz_dtype dtype)
{
    training t = { .model = NULL };
    adz_manual_seed(5);
    t.model =
        ADZ_SEQUENTIAL(adz_linear_new(4, 6, NULL), adz_tanh_new(), adz_linear_new(6, 1, NULL));
    adz_module_to(t.model, dtype);
    const adz_tensor_list all = adz_module_parameters(t.model);
    t.optimizer = adz_optimizer_new(type, adz_tensor_list_of(all.items, 3), NULL, 0);
    assert_int_equal(
        adz_optimizer_add_param_group(t.optimizer, adz_tensor_list_of(all.items + 3, 1)), 1);
    assert_int_equal(adz_optimizer_set(t.optimizer, 1, "lr", 0.03), ADZ_OK);
    t.scheduler = adz_exponential_lr_new(t.optimizer, 0.9);
    t.x = adz_keep(adz_zeros(ADZ_SHAPE(5, 4), dtype));
    return t;
}

static void end(training *t)
{
    adz_release(&t->x);
    adz_scheduler_release(&t->scheduler);
    adz_optimizer_release(&t->optimizer);
    adz_module_release(&t->model);
}

static adz_tensor *train(void *user)
{
    training *t = user;
    adz_optimizer_zero_grad(t->optimizer);
    adz_tensor *y = adz_module_forward(t->model, t->x);
    adz_tensor *loss = adz_mean(adz_square(y), ADZ_ALL_DIMS, ADZ_DROPDIM);
    if (adz_backward(loss) != ADZ_OK || adz_optimizer_step(t->optimizer) != ADZ_OK ||
        adz_scheduler_step(t->scheduler) != ADZ_OK) {
        return NULL;
    }
    return loss;
}

static void write_x(training *t, int step)
{
    ADZ_NO_GRAD
    {
        adz_tensor *values = adz_sin(adz_arange(step, step + 20, 1, ADZ_F64));
        adz_copy_(t->x, adz_reshape(values, ADZ_SHAPE(5, 4)));
    }
}

static void expect_equal_parameters(const training *a, const training *b, const char *name)
{
    const adz_tensor_list p = adz_module_parameters(a->model), q = adz_module_parameters(b->model);
    for (size_t i = 0; i < p.count; ++i) {
        if (!adz_equal(p.items[i], q.items[i])) {
            fail_msg("%s: parameter %zu of the plan differs", name, i);
        }
    }
}

static void replays(const adz_optimizer_type *type, adz_dtype dtype)
{
    training replayed = begin(type, dtype), ordinary = begin(type, dtype);
    adz_plan *plan = NULL;
    for (int step = 0; step < 9; ++step) {
        adz_scope *scope = adz_scope_open();
        write_x(&replayed, step);
        write_x(&ordinary, step);
        if (step == 5) { /* a rate needs no new plan, another setting does */
            adz_optimizer_set(replayed.optimizer, 0, "lr", 0.01);
            adz_optimizer_set(ordinary.optimizer, 0, "lr", 0.01);
        }
        if (step == 7) {
            const char *name = type->settings[type == &lion_type ? LION_DECAY : MEAN_ASCEND].name;
            adz_optimizer_set(replayed.optimizer, -1, name, 1);
            adz_optimizer_set(ordinary.optimizer, -1, name, 1);
        }
        if (plan == NULL) {
            plan = adz_plan_new(train, &replayed, NULL);
            if (plan == NULL) {
                fail_msg("%s", adz_error_message());
            }
        } else if (adz_plan_run(plan) != ADZ_OK) {
            fail_msg("%s", adz_error_message());
        }
        train(&ordinary);
        expect_equal_parameters(&replayed, &ordinary, type->name);
        adz_scope_close(scope);
    }
    adz_plan_info info;
    adz_plan_get_info(plan, &info, sizeof info);
    assert_true(info.captured && info.captures == 2);
    adz_plan_free(&plan);
    end(&replayed);
    end(&ordinary);
}

static void a_plan_replays_the_update(void **state)
{
    (void)state;
    for (int dtype = ADZ_F32; dtype <= ADZ_F64; ++dtype) {
        replays(&lion_type, (adz_dtype)dtype);
        replays(&mean_type, (adz_dtype)dtype);
    }
}

static adz_tensor *make(void *user)
{
    training *t = user;
    t->optimizer = adz_optimizer_new(&lion_type, adz_module_parameters(t->model), NULL, 0);
    return adz_ones(ADZ_SHAPE(1), ADZ_F32);
}

static void a_plan_makes_no_optimizer(void **state)
{
    (void)state;
    training t = { .model = adz_linear_new(2, 2, NULL) };
    assert_null(adz_plan_new(make, &t, NULL));
    assert_null(t.optimizer);
    expect_error(ADZ_ERR_STATE, "adz_optimizer_new");
    adz_module_release(&t.model);
}

static adz_status along(adz_tensor **results, const adz_update *u)
{
    adz_tensor *way = adz_mul(u->numbers[0], u->gradient);
    results[0] =
        adz_update_setting(u, 1) != 0 ? adz_add(u->parameter, way) : adz_sub(u->parameter, way);
    return ADZ_OK;
}

/* Without states. The expression depends on a setting. */
static const adz_optimizer_type plain_type = {
    .size = sizeof(adz_optimizer_type),
    .name = "Plain",
    .settings = { ADZ_SETTING("lr", 0.5, ADZ_FINITE_FROM(0)), ADZ_SETTING_FLAG("ascend", 0) },
    .update = along,
    .uncounted = true,
};

static adz_optimizer *plain(adz_tensor *w, double ascend)
{
    return adz_optimizer_new(
        &plain_type, adz_tensor_list_of(&w, 1), (const double[]){ 0.5, ascend }, 2);
}

typedef struct {
    adz_tensor *w;
    adz_optimizer *optimizer;
} simple;

static adz_tensor *simple_step(void *user)
{
    const simple *s = user;
    adz_optimizer_zero_grad(s->optimizer);
    adz_tensor *loss = adz_sum(s->w, ADZ_ALL_DIMS, ADZ_DROPDIM);
    return adz_backward(loss) == ADZ_OK && adz_optimizer_step(s->optimizer) == ADZ_OK ? loss : NULL;
}

/* A flag that a checkpoint brings needs a new plan, also where no state is replaced. */
static void a_loaded_setting_is_noticed(void **state)
{
    (void)state;
    simple s = { .w = adz_requires_grad_(adz_full(ADZ_SHAPE(3), 4, ADZ_F64), true) };
    s.optimizer = plain(s.w, 0);
    adz_optimizer *ascends = plain(s.w, 1);
    adz_plan *plan = adz_plan_new(simple_step, &s, NULL);
    assert_non_null(plan);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    assert_true(adz_tensor_at(s.w, (int64_t[]){ 0 }) == 3);
    adz_state_dict *empty = adz_state_dict_new();
    json_t *groups = adzi_optimizer_groups(ascends);
    assert_int_equal(adzi_optimizer_restore(s.optimizer, empty, groups), ADZ_OK);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    assert_true(adz_tensor_at(s.w, (int64_t[]){ 0 }) == 3.5);
    json_decref(groups);
    adz_state_dict_free(&empty);
    adz_plan_free(&plan);
    adz_optimizer_release(&ascends);
    adz_optimizer_release(&s.optimizer);
}

int planned_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_plan_replays_the_update),
        TEST(a_plan_makes_no_optimizer),
        TEST(a_loaded_setting_is_noticed),
    };
    return cmocka_run_group_tests_name("optimizer types: plans", tests, NULL, NULL);
}
