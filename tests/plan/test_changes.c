/* What a plan does when something that the function depends on is not what it was.
 *
 * A run that could differ from an ordinary call is an ordinary call or an error. tests/sweep/plans
 * asks this of every single public function. Here are the cases that take more than one call.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "adze/adze.h"
#include "adze/custom.h"
#include "base/threads/thread.h"
#include "errors.h"

enum { ROWS = 4, STEPS = 8 };

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
    adz_optimizer_release(&t->optimizer);
    adz_module_release(&t->model);
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
    adz_tensor *w = adz_module_get_parameter(t->model, "0.weight");
    adz_tensor_set_grad(w, adz_ones_like(w));
}

static void freeze(twin *t)
{
    adz_module_requires_grad_(adz_module_child_at(t->model, 0), false);
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
        adz_plan_get_info(planned.plan, &info, sizeof info);
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
    adz_plan_get_info(t.plan, &info, sizeof info);
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
    adz_plan_get_info(t.plan, &info, sizeof info);
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
    adz_plan_get_info(t.plan, &info, sizeof info);
    assert_true(info.captured);
    end(&t);
}

static adz_status fails(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)node;
    (void)dx;
    (void)dy;
    return adz_error_set("fails", ADZ_ERR_CANCELLED, "always");
}

static const adz_operator failing = {
    .size = sizeof failing, .name = "failing", .backward = fails
};

static adz_tensor *steps_alone(void *user)
{
    twin *t = user;
    return adz_optimizer_step(t->optimizer) == ADZ_OK ? adz_relu(t->x) : NULL;
}

/* A backward outside fails after it has written gradients, which no step may use. */
static void spoiled_gradients_stop_a_plan(void **state)
{
    (void)state;
    twin t = begin();
    adz_scope *scope = adz_scope_open();
    adz_flat_parameters *flat = adz_flat_parameters_new(adz_module_parameters(t.model));
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(ROWS, 3), ADZ_F32), true);
    backward_outside(&t);
    t.plan = adz_plan_new(steps_alone, &t, NULL);
    for (int k = 0; k < 3; ++k) {
        assert_int_equal(adz_plan_run(t.plan), ADZ_OK);
    }
    adz_plan_info info;
    adz_plan_get_info(t.plan, &info, sizeof info);
    assert_true(info.captured);
    adz_tensor *y = adz_ones(ADZ_SHAPE(ROWS, 3), ADZ_F32);
    assert_int_equal(adz_record(&failing, &x, 1, &y, 1, NULL), ADZ_OK);
    assert_int_equal(
        adz_backward(adz_sum(adz_module_forward(t.model, y), ADZ_ALL_DIMS, ADZ_DROPDIM)),
        ADZ_ERR_CANCELLED);
    expect_error(ADZ_ERR_CANCELLED, "always");
    assert_int_equal(adz_plan_run(t.plan), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "a backward failed after it had written the gradient");
    adz_plan_free(&t.plan);
    adz_flat_parameters_free(&flat);
    adz_scope_close(scope);
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
    adz_tensor *w = adz_module_get_parameter(t.model, "0.weight");
    adz_tensor *y = adz_sum(adz_square(w), ADZ_ALL_DIMS, ADZ_DROPDIM);
    step_once(&t, true);
    adz_plan_info info;
    adz_plan_get_info(t.plan, &info, sizeof info);
    assert_true(info.captures == 1 && info.captured);
    assert_int_equal(adz_backward(y), ADZ_ERR_VERSION);
    expect_error(ADZ_ERR_VERSION, "");
    adz_scope_close(scope);
    end(&t);
}

static adz_tensor *logarithm(void *user)
{
    return adz_log(user);
}

static void anomaly_mode_looks_at_every_run(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_ones(ADZ_SHAPE(ROWS), ADZ_F32);
    adz_plan *plan = adz_plan_new(logarithm, x, NULL);
    adz_plan_info info;
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    adz_fill_(x, -1);
    assert_int_equal(adz_plan_run(plan), ADZ_OK); /* a replay computes NaN */
    adz_set_anomaly_enabled(true);
    assert_int_equal(adz_plan_run(plan), ADZ_ERR_NUMERIC);
    expect_error(ADZ_ERR_NUMERIC, "log");
    adz_fill_(x, 1);
    for (int k = 0; k < 3; ++k) {
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        adz_plan_get_info(plan, &info, sizeof info);
        assert_true(!info.captured && info.launches == 0); /* nothing is kept */
    }
    adz_fill_(x, -1);
    assert_int_equal(adz_plan_run(plan), ADZ_ERR_NUMERIC);
    expect_error(ADZ_ERR_NUMERIC, "log");
    adz_set_anomaly_enabled(false);
    for (int k = 0; k < 2; ++k) {
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
    }
    adz_plan_get_info(plan, &info, sizeof info);
    assert_true(info.captured);
    adz_plan_free(&plan);
    adz_scope_close(scope);
}

/* ---- a state that is there only sometimes ---------------------------------------------------- */

/* y = x + what the last call left behind, which is x of that call. */
static adz_tensor *carrying(adz_module *self, adz_tensor *x)
{
    adz_tensor *last = adz_module_get_buffer(self, "last");
    adz_tensor *y = last == ADZ_NONE ? adz_mul_number(x, 1) : adz_add(x, last);
    return adz_module_set_buffer(self, "last", adz_detach(adz_mul_number(x, 1))) != NULL ? y : NULL;
}

static const adz_module_type carrier_type = {
    .size = sizeof(adz_module_type), .name = "Carrier", .forward = carrying
};

static adz_module *carrier_new(void)
{
    adz_module *m = adz_module_new(&carrier_type, 0);
    adz_module_add_buffer(m, "last", ADZ_NONE, false);
    return m;
}

typedef struct carried {
    adz_module *model;
    adz_tensor *x;
} carried;

/* A sequence of one step: no state before it and none after it. */
static adz_tensor *sequence(void *user)
{
    carried *c = user;
    adz_tensor *y = adz_module_forward(c->model, c->x);
    return adz_module_set_buffer(c->model, "last", ADZ_NONE) != NULL ? y : NULL;
}

/* A forward outside leaves a state that the plan has not seen. The forward of another module
 * changes nothing. */
static void a_state_that_was_not_there_is_noticed(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *other = carrier_new();
    carried c = { carrier_new(), adz_full(ADZ_SHAPE(3), 2, ADZ_F32) };
    adz_plan *plan = adz_plan_new(sequence, &c, NULL);
    adz_plan_info info;
    for (int run = 0; run < 6; ++run) {
        if (run == 4) {
            adz_module_forward(c.model, adz_full(ADZ_SHAPE(3), 5, ADZ_F32));
        }
        adz_module_set_buffer(other, "last", ADZ_NONE);
        adz_module_forward(other, c.x);
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        const double expected = run == 4 ? 7 : 2;
        assert_true(adz_tensor_at(adz_plan_output(plan), (int64_t[]){ 1 }) == expected);
        adz_plan_get_info(plan, &info, sizeof info);
        assert_true(info.captured == (run < 4));
    }
    adz_plan_free(&plan);
    adz_module_release(&c.model);
    adz_module_release(&other);
    adz_scope_close(scope);
}

/* ---- the thread of a call -------------------------------------------------------------------- */

typedef struct counted {
    adz_tensor *x;
    int calls;
} counted;

static adz_tensor *alternates(void *user)
{
    counted *c = user;
    return ++c->calls % 2 == 0 ? adz_exp(c->x) : adz_neg(c->x);
}

static void a_refused_function_is_tried_again_after_a_change(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    counted c = { .x = adz_ones(ADZ_SHAPE(ROWS), ADZ_F32) };
    adz_plan *plan = adz_plan_new(alternates, &c, NULL);
    for (int change = 1; change < 4; ++change) {
        while (adz_plan_run(plan) == ADZ_OK && c.calls < 20) {
        }
        assert_int_equal(c.calls, 4 * change);
        expect_error(ADZ_ERR_STATE, "cannot be captured");
        adz_plan_info info;
        adz_plan_get_info(plan, &info, sizeof info);
        assert_true(info.launches == 0); /* the captured call is gone */
        adz_set_num_threads(change);
    }
    adz_set_num_threads(0);
    adz_plan_free(&plan);
    adz_scope_close(scope);
}

static adz_tensor *captures_no_more(void *user)
{
    counted *c = user;
    ++c->calls;
    adz_set_grad_enabled(false);
    return adz_relu(c->x);
}

static void a_mode_that_the_function_sets_stays(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    counted c = { .x = adz_ones(ADZ_SHAPE(ROWS), ADZ_F32) };
    adz_plan *plan = adz_plan_new(captures_no_more, &c, NULL);
    assert_false(adz_is_grad_enabled());
    for (int k = 0; k < 3; ++k) {
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        assert_false(adz_is_grad_enabled());
    }
    assert_int_equal(c.calls, 3); /* the first one began with another mode */
    adz_set_grad_enabled(true);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    assert_int_equal(c.calls, 4);
    assert_false(adz_is_grad_enabled());
    adz_set_grad_enabled(true);
    adz_plan_free(&plan);
    adz_scope_close(scope);
}

static void no_room_for_the_call_is_an_error(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    counted c = { .x = adz_ones(ADZ_SHAPE(ROWS), ADZ_F32) };
    adzi_thread *thread = adzi_self();
    const size_t room = thread->frames_capacity;
    thread->frames_capacity = 0;
    adz_plan *plan = adz_plan_new(alternates, &c, NULL);
    thread->frames_capacity = room;
    assert_null(plan);
    expect_error(ADZ_ERR_MEMORY, "adz_plan_new");
    assert_int_equal(c.calls, 0);
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_between_runs_is_noticed),
        cmocka_unit_test(other_gradients_leave_a_plan_alone),
        cmocka_unit_test(spoiled_gradients_stop_a_plan),
        cmocka_unit_test(a_leaf_may_end_with_the_call),
        cmocka_unit_test(a_state_that_was_not_there_is_noticed),
        cmocka_unit_test(dropped_gradients_do_not_use_up_attempts),
        cmocka_unit_test(a_replay_raises_versions),
        cmocka_unit_test(anomaly_mode_looks_at_every_run),
        cmocka_unit_test(a_refused_function_is_tried_again_after_a_change),
        cmocka_unit_test(a_mode_that_the_function_sets_stays),
        cmocka_unit_test(no_room_for_the_call_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
