/* What a plan does when the function, or something that it depends on, is not what it was.
 *
 * A run that could differ from an ordinary call is an ordinary call or an error. tests/sweep/plans
 * asks this of every single public function. Here are the cases that take more than one call.
 */
#define ADZ_SITES
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "adze/adze.h"
#include "errors.h"

enum { ROWS = 4, STEPS = 8 };

/* ---- numbers and elements of the host -------------------------------------------------------- */

typedef struct caller {
    adz_tensor *x, *w;
    int calls;
} caller;

static adz_tensor *multiplies(void *user)
{
    caller *c = user;
    return adz_mul_number(c->x, ++c->calls);
}

static adz_tensor *fills(void *user)
{
    caller *c = user;
    return adz_mul(c->x, adz_full(ADZ_SHAPE(1), ++c->calls, ADZ_F32));
}

static adz_tensor *copies(void *user)
{
    caller *c = user;
    const float value = (float)++c->calls;
    return adz_mul(c->x, adz_tensor_from(&value, ADZ_SHAPE(1), ADZ_F32));
}

static adz_tensor *slopes(void *user)
{
    caller *c = user;
    return adz_leaky_relu(c->x, 1.0 / ++c->calls);
}

static adz_tensor *moves(void *user)
{
    caller *c = user;
    const int at = ++c->calls % 3;
    return adz_slice(adz_square(c->x), 0, at, at + 2, 1);
}

static adz_tensor *seeds(void *user)
{
    caller *c = user;
    adz_manual_seed((uint64_t)++c->calls);
    return adz_add(c->x, adz_rand(ADZ_SHAPE(ROWS), ADZ_F32));
}

static adz_tensor *draws_between(void *user)
{
    caller *c = user;
    return adz_add(c->x, adz_randint(0, 10 + ++c->calls, ADZ_SHAPE(ROWS), ADZ_F32));
}

static adz_tensor *changes_a_constant(void *user)
{
    caller *c = user;
    ++c->calls;
    const float values[ROWS] = { 1, 2, 3, 4 };
    return adz_add_(adz_tensor_from(values, ADZ_SHAPE(ROWS), ADZ_F32), c->x);
}

static void values_that_change_are_refused(void **state)
{
    (void)state;
    const struct {
        adz_plan_function function;
        const char *message;
        int calls; /* that are made before the refusal */
    } cases[] = {
        { multiplies, "a number of mul at ", 4 },
        { multiplies, "was 3 and is 4 now; put a value that changes into a tensor", 4 },
        { multiplies, "test_changes.c:", 4 },
        { fills, "a number of full", 4 },
        { copies, "the elements of a tensor[1] that the function makes", 4 },
        { slopes, "a number of leaky_relu", 4 },
        { seeds, "a number", 4 },
        { draws_between, "a number of randint", 4 },
        { changes_a_constant, "it changes elements that the host has written", 1 },
    };
    adz_scope *scope = adz_scope_open();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        caller c = { .x = adz_ones(ADZ_SHAPE(ROWS), ADZ_F32) };
        adz_plan *plan = adz_plan_new(cases[i].function, &c, NULL);
        assert_non_null(plan);
        while (adz_plan_run(plan) == ADZ_OK && c.calls < 10) {
        }
        assert_int_equal(c.calls, cases[i].calls); /* the run that fails calls nothing */
        expect_error(ADZ_ERR_STATE, cases[i].message);
        adz_plan_free(&plan);
    }
    adz_scope_close(scope);
}

static void another_slice_is_another_argument(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    caller c = { .x = adz_arange(0, ROWS, 1, ADZ_F32) };
    adz_plan *plan = adz_plan_new(moves, &c, NULL);
    for (int k = 2; adz_plan_run(plan) == ADZ_OK; ++k) {
        assert_true(k < 10);
        adz_tensor *expected = adz_slice(adz_square(c.x), 0, k % 3, k % 3 + 2, 1);
        assert_true(adz_equal(adz_plan_output(plan), expected));
    }
    expect_error(ADZ_ERR_STATE, "cannot be captured");
    adz_plan_free(&plan);
    adz_scope_close(scope);
}

static adz_tensor *reads_what_it_computes(void *user)
{
    caller *c = user;
    const float *y = adz_tensor_data_constant(adz_relu(c->x));
    return adz_mul_number(c->x, y[0]);
}

static adz_tensor *reads_what_it_writes(void *user)
{
    caller *c = user;
    adz_add_number_(c->w, 1);
    const float *w = adz_tensor_data_constant(c->w);
    return adz_mul_number(c->x, w[0]);
}

static adz_tensor *writes(void *user)
{
    caller *c = user;
    const float values[ROWS] = { 0 };
    return adz_tensor_write(c->w, values, sizeof values) == ADZ_OK ? adz_add(c->x, c->w) : NULL;
}

static adz_tensor *touches(void *user)
{
    caller *c = user;
    adz_tensor_touch(c->w);
    return adz_relu(c->x);
}

static adz_tensor *uses_the_norm(void *user)
{
    caller *c = user;
    return adz_mul_number(c->x, adz_clip_grad_norm(adz_tensor_list_of(&c->w, 1), 1, 2));
}

static adz_tensor *makes_an_optimizer(void *user)
{
    caller *c = user;
    adz_optimizer *sgd = adz_sgd_new(adz_tensor_list_of(&c->w, 1), 0.1, NULL);
    adz_optimizer_free(&sgd);
    return adz_relu(c->x);
}

static void what_the_host_does_is_refused(void **state)
{
    (void)state;
    const struct {
        adz_plan_function function;
        const char *message;
    } cases[] = {
        { reads_what_it_computes, "adz_tensor_data_constant: cannot be captured, because the" },
        { reads_what_it_writes, "adz_tensor_data_constant: cannot be captured, because the" },
        { writes, "tensor_write: cannot be captured" },
        { touches, "adz_tensor_touch: cannot be captured" },
        { uses_the_norm, "call adz_clip_grads" },
        { makes_an_optimizer, "adz_sgd_new: cannot be captured" },
    };
    adz_scope *scope = adz_scope_open();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        caller c = { .x = adz_ones(ADZ_SHAPE(ROWS), ADZ_F32),
            .w = adz_ones(ADZ_SHAPE(ROWS), ADZ_F32) };
        assert_null(adz_plan_new(cases[i].function, &c, NULL));
        expect_error(ADZ_ERR_STATE, cases[i].message);
    }
    adz_scope_close(scope);
}

/* ---- what changes between runs --------------------------------------------------------------- */

typedef struct twin {
    adz_module *model;
    adz_optimizer *optimizer;
    adz_tensor *x, *y;
    adz_plan *plan;
} twin;

static adz_tensor *loss_of(twin *t)
{
    return adz_mse_loss(adz_module_forward(t->model, t->x), t->y, ADZ_REDUCE_MEAN);
}

static adz_tensor *train(void *user)
{
    twin *t = user;
    adz_tensor *loss = loss_of(t);
    return adz_backward(loss) == ADZ_OK && adz_optimizer_step(t->optimizer) == ADZ_OK &&
                   adz_optimizer_zero_grad(t->optimizer) == ADZ_OK
               ? loss
               : NULL;
}

static twin begin(void)
{
    twin t = { .plan = NULL };
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(1);
    t.model = ADZ_SEQUENTIAL(
        adz_linear_new(3, 4, NULL), adz_dropout_new(0.5, NULL), adz_linear_new(4, 2, NULL));
    t.optimizer = adz_sgd_new(adz_module_parameters(t.model), 0.1, NULL);
    t.x = adz_keep(adz_randn(ADZ_SHAPE(ROWS, 3), ADZ_F32));
    t.y = adz_keep(adz_randn(ADZ_SHAPE(ROWS, 2), ADZ_F32));
    adz_scope_close(scope);
    return t;
}

static void end(twin *t)
{
    adz_plan_free(&t->plan);
    adz_release(&t->x);
    adz_release(&t->y);
    adz_optimizer_free(&t->optimizer);
    adz_module_free(&t->model);
}

static void backward_outside(twin *t)
{
    adz_backward(loss_of(t));
}

static void backward_and_step_outside(twin *t)
{
    adz_backward(loss_of(t));
    adz_optimizer_step(t->optimizer);
}

static void set_gradient(twin *t)
{
    adz_tensor *w = adz_module_parameter(t->model, "0.weight");
    adz_tensor_set_grad(w, adz_ones_like(w));
}

static void freeze(twin *t)
{
    adz_module_requires_grad(adz_module_child_at(t->model, 0), false);
}

/* The context has the settings of the one before, but another generator. */
static adz_context *context;

static void use_another_context(twin *t)
{
    (void)t;
    adz_context_use(context);
    adz_manual_seed(77);
}

static void step_once(twin *t, bool planned)
{
    adz_scope *scope = adz_scope_open();
    if (!planned) {
        assert_non_null(train(t));
    } else if (t->plan == NULL) {
        t->plan = adz_plan_new(train, t, NULL);
        assert_non_null(t->plan);
    } else {
        assert_int_equal(adz_plan_run(t->plan), ADZ_OK);
    }
    adz_scope_close(scope);
}

static void steps(twin *t, void (*change)(twin *), bool planned)
{
    *t = begin();
    for (int k = 0; k < STEPS; ++k) {
        adz_scope *scope = adz_scope_open();
        if (k == 4) {
            change(t);
        }
        adz_scope_close(scope);
        step_once(t, planned);
    }
    adz_context_use(NULL);
}

static void a_change_between_runs_is_noticed(void **state)
{
    (void)state;
    void (*const changes[])(twin *) = { backward_outside, backward_and_step_outside, set_gradient,
        freeze, use_another_context };
    context = adz_context_new();
    for (size_t i = 0; i < sizeof changes / sizeof *changes; ++i) {
        twin planned, ordinary;
        steps(&ordinary, changes[i], false);
        steps(&planned, changes[i], true);
        adz_plan_info info;
        adz_plan_info_get(planned.plan, &info, sizeof info);
        assert_true(info.captures == 2 && info.captured);
        for (size_t k = 0; k < adz_module_parameters(ordinary.model).count; ++k) {
            if (!adz_equal(adz_module_parameters(planned.model).items[k],
                    adz_module_parameters(ordinary.model).items[k])) {
                fail_msg("change %zu: parameter %zu differs", i, k);
            }
        }
        end(&planned);
        end(&ordinary);
    }
    adz_context_free(&context);
}

/* Gradients that other parts of the program change do not concern the plan. */
static void other_gradients_leave_a_plan_alone(void **state)
{
    (void)state;
    twin t = begin(), other = begin();
    for (int k = 0; k < STEPS; ++k) {
        step_once(&t, true);
        step_once(&other, false);
    }
    adz_plan_info info;
    adz_plan_info_get(t.plan, &info, sizeof info);
    assert_true(info.captures == 1 && info.captured);
    end(&t);
    end(&other);
}

/* The leaf and its gradient end with the call. */
static adz_tensor *makes_a_leaf(void *user)
{
    twin *t = user;
    adz_tensor *w = adz_requires_grad_(adz_zeros_like(t->x), true);
    adz_tensor *loss =
        adz_mse_loss(adz_module_forward(t->model, adz_add(t->x, w)), t->y, ADZ_REDUCE_MEAN);
    return adz_backward(loss) == ADZ_OK ? adz_mul_number(adz_tensor_grad(w), 2) : NULL;
}

static void a_leaf_may_end_with_the_call(void **state)
{
    (void)state;
    twin t = begin();
    t.plan = adz_plan_new(makes_a_leaf, &t, NULL);
    for (int k = 0; k < STEPS; ++k) {
        assert_int_equal(adz_plan_run(t.plan), ADZ_OK);
    }
    adz_plan_info info;
    adz_plan_info_get(t.plan, &info, sizeof info);
    assert_true(info.captured);
    end(&t);
}

static adz_tensor *fills_gradients(void *user)
{
    twin *t = user;
    adz_module_fill_grad_zero(t->model);
    adz_tensor *loss = loss_of(t);
    return adz_backward(loss) == ADZ_OK && adz_optimizer_step(t->optimizer) == ADZ_OK ? loss : NULL;
}

/* Gradients that are dropped outside begin the search for two equal calls again. */
static void dropped_gradients_do_not_use_up_attempts(void **state)
{
    (void)state;
    twin t = begin();
    t.plan = adz_plan_new(fills_gradients, &t, NULL);
    for (int k = 0; k < STEPS; ++k) {
        if (k == 1) {
            adz_module_zero_grad(t.model);
        }
        assert_int_equal(adz_plan_run(t.plan), ADZ_OK);
    }
    adz_plan_info info;
    adz_plan_info_get(t.plan, &info, sizeof info);
    assert_true(info.captured);
    end(&t);
}

/* ---- versions and anomalies ------------------------------------------------------------------ */

/* A replay writes the weights, which the backward of an earlier graph still needs. */
static void a_replay_raises_versions(void **state)
{
    (void)state;
    twin t = begin();
    adz_scope *scope = adz_scope_open();
    step_once(&t, true);
    step_once(&t, true);
    adz_tensor *w = adz_module_parameter(t.model, "0.weight");
    adz_tensor *y = adz_sum(adz_square(w), ADZ_ALL_DIMS, ADZ_DROPDIM);
    step_once(&t, true);
    adz_plan_info info;
    adz_plan_info_get(t.plan, &info, sizeof info);
    assert_true(info.captures == 1 && info.captured);
    assert_int_equal(adz_backward(y), ADZ_ERR_VERSION);
    expect_error(ADZ_ERR_VERSION, "");
    adz_scope_close(scope);
    end(&t);
}

static adz_tensor *logarithm(void *user)
{
    return adz_log(((caller *)user)->x);
}

static void anomaly_mode_looks_at_every_run(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    caller c = { .x = adz_ones(ADZ_SHAPE(ROWS), ADZ_F32) };
    adz_plan *plan = adz_plan_new(logarithm, &c, NULL);
    adz_plan_info info;
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    adz_fill_(c.x, -1);
    assert_int_equal(adz_plan_run(plan), ADZ_OK); /* a replay computes NaN */
    adz_set_anomaly_enabled(true);
    assert_int_equal(adz_plan_run(plan), ADZ_ERR_NUMERIC);
    expect_error(ADZ_ERR_NUMERIC, "log");
    adz_fill_(c.x, 1);
    for (int k = 0; k < 3; ++k) {
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        adz_plan_info_get(plan, &info, sizeof info);
        assert_false(info.captured);
    }
    adz_fill_(c.x, -1);
    assert_int_equal(adz_plan_run(plan), ADZ_ERR_NUMERIC);
    expect_error(ADZ_ERR_NUMERIC, "log");
    adz_set_anomaly_enabled(false);
    for (int k = 0; k < 2; ++k) {
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
    }
    adz_plan_info_get(plan, &info, sizeof info);
    assert_true(info.captured);
    adz_plan_free(&plan);
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_that_change_are_refused),
        cmocka_unit_test(another_slice_is_another_argument),
        cmocka_unit_test(what_the_host_does_is_refused),
        cmocka_unit_test(a_change_between_runs_is_noticed),
        cmocka_unit_test(other_gradients_leave_a_plan_alone),
        cmocka_unit_test(a_leaf_may_end_with_the_call),
        cmocka_unit_test(dropped_gradients_do_not_use_up_attempts),
        cmocka_unit_test(a_replay_raises_versions),
        cmocka_unit_test(anomaly_mode_looks_at_every_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
