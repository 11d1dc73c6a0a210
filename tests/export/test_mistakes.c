/* Mistakes before an export that would make a wrong file without an error: weights that are not
 * finite, batch norm that still trains, and a function that reads another tensor than its plan. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "adze/adze.h"
#include "errors.h"
#include "temporary.h"

typedef struct user {
    adz_module *net;
    adz_optimizer *optimizer;
    adz_tensor *x, *target;
    bool steps; /* the function makes a step */
    bool adds;  /* it makes a backward, and no step */
    bool evaluates;
} user;

static adz_tensor *function(void *data)
{
    user *u = data;
    if (u->evaluates) {
        adz_module_eval(u->net);
    }
    if (u->steps) {
        adz_optimizer_zero_grad(u->optimizer);
    }
    if (u->adds) {
        adz_module_fill_grad_zero(u->net);
    }
    adz_tensor *y = adz_module_forward(u->net, u->x);
    adz_tensor *loss = adz_mse_loss(y, u->target, ADZ_REDUCE_MEAN);
    if (u->steps || u->adds) {
        adz_backward(loss);
    }
    return u->steps && adz_optimizer_step(u->optimizer) != ADZ_OK ? NULL : loss;
}

static user begin(void)
{
    user u = { .x = adz_randn(ADZ_SHAPE(4, 3), ADZ_F32),
        .target = adz_ones(ADZ_SHAPE(4, 1), ADZ_F32) };
    u.net = ADZ_SEQUENTIAL(
        adz_linear_new(3, 5, NULL), adz_batch_norm1d_new(5, NULL), adz_linear_new(5, 1, NULL));
    u.optimizer = adz_sgd_new(adz_module_parameters(u.net), 0.1, NULL);
    return u;
}

static void end(user *u)
{
    adz_optimizer_release(&u->optimizer);
    adz_module_release(&u->net);
}

static adz_plan *plan_of(user *u, bool with_module)
{
    static const char *const names[] = { "x", "target" };
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    o.inputs = adz_tensor_list_of((adz_tensor *[]){ u->x, u->target }, 2);
    o.input_names = names;
    o.module = with_module ? u->net : NULL;
    o.restore = true;
    adz_plan *plan = adz_plan_new(function, u, &o);
    assert_non_null(plan);
    return plan;
}

/* Writes C and, for a forward, ONNX. `says` is the error, or NULL if there must be none. */
static void expect_written(adz_plan *plan, bool onnx, adz_status code, const char *says)
{
    for (int format = 0; format < (onnx ? 2 : 1); ++format) {
        const adz_status status = format == 0
                                      ? adz_plan_write_c(plan, temporary_path("net.c"), NULL)
                                      : adz_plan_write_onnx(plan, temporary_path("net.onnx"), NULL);
        if (says == NULL && status != ADZ_OK) {
            fail_msg("%s", adz_error_message());
        }
        assert_int_equal(status, code);
        if (says != NULL) {
            expect_error(code, says);
            assert_int_equal(temporary_files(false), 0);
        }
    }
    temporary_files(true);
}

/* ---- batch norm in training ------------------------------------------------------------------ */

static void a_forward_in_training_is_refused(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    user u = begin();
    adz_plan *plan = plan_of(&u, true);
    expect_written(plan, false, ADZ_ERR_UNSUPPORTED,
        "1: batch_norm is in training, although the function makes neither a backward nor a step");
    adz_module_eval(u.net);
    expect_written(plan, true, ADZ_OK, NULL);
    adz_module_train(u.net, true);
    u.evaluates = true; /* the function says so itself */
    expect_written(plan, true, ADZ_OK, NULL);
    adz_plan_free(&plan);
    end(&u);
    adz_scope_close(scope);
}

static void steps_keep_it(void **state)
{
    (void)state;
    for (int i = 0; i < 2; ++i) {
        adz_scope *scope = adz_scope_open();
        user u = begin();
        u.steps = i == 0;
        u.adds = i == 1;
        function(&u); /* the function goes on from gradients that exist */
        adz_plan *plan = plan_of(&u, true);
        expect_written(plan, false, ADZ_OK, NULL);
        adz_plan_free(&plan);
        end(&u);
        adz_scope_close(scope);
    }
}

/* Without running statistics a module always uses those of its batch. */
static void a_module_without_statistics_may_be_written(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    user u = begin();
    adz_batch_norm1d_options o = ADZ_BATCH_NORM1D_OPTIONS;
    o.track_running_stats = false;
    adz_module_release(&u.net);
    u.net = ADZ_SEQUENTIAL(adz_linear_new(3, 1, NULL), adz_batch_norm1d_new(1, &o));
    adz_module_eval(u.net);
    adz_plan *plan = plan_of(&u, true);
    expect_written(plan, false, ADZ_OK, NULL);
    adz_plan_free(&plan);
    end(&u);
    adz_scope_close(scope);
}

/* ---- weights that are not finite ------------------------------------------------------------- */

static void set(adz_tensor *t, double value)
{
    ADZ_NO_GRAD
    {
        adz_fill_(t, value);
    }
}

static void weights_are_finite(void **state)
{
    (void)state;
    for (int with_module = 0; with_module < 2; ++with_module) {
        adz_scope *scope = adz_scope_open();
        user u = begin();
        adz_module_eval(u.net);
        adz_plan *plan = plan_of(&u, with_module != 0);
        expect_written(plan, true, ADZ_OK, NULL);
        set(adz_module_get_parameter(u.net, "2.bias"), INFINITY);
        expect_written(plan, true, ADZ_ERR_NUMERIC,
            with_module ? "2.bias[1] is infinity at [0]" : "a weight [1] is infinity at [0]");
        adz_c_options c = ADZ_C_OPTIONS;
        adz_onnx_options onnx = ADZ_ONNX_OPTIONS;
        c.allow_nonfinite = onnx.allow_nonfinite = true;
        assert_int_equal(adz_plan_write_c(plan, temporary_path("net.c"), &c), ADZ_OK);
        assert_int_equal(adz_plan_write_onnx(plan, temporary_path("net.onnx"), &onnx), ADZ_OK);
        temporary_files(true);
        adz_plan_free(&plan);
        end(&u);
        adz_scope_close(scope);
    }
}

static void statistics_are_no_nan(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    user u = begin();
    adz_module_eval(u.net);
    adz_plan *plan = plan_of(&u, true);
    adz_fill_(adz_module_get_buffer(u.net, "1.running_var"), NAN);
    expect_written(plan, true, ADZ_ERR_NUMERIC, "1.running_var[5] is NaN at [0]");
    adz_fill_(adz_module_get_buffer(u.net, "1.running_var"), INFINITY);
    expect_written(plan, true, ADZ_OK, NULL);
    adz_plan_free(&plan);
    end(&u);
    adz_scope_close(scope);
}

/* ---- another tensor -------------------------------------------------------------------------- */

/* The file would hold the other tensor as a constant, although it still depends on an input. */
static void another_tensor_is_refused(void **state)
{
    (void)state;
    for (int i = 0; i < 3; ++i) {
        adz_scope *scope = adz_scope_open();
        user u = begin();
        u.steps = i == 2;
        adz_module_train(u.net, u.steps);
        adz_plan *plan = plan_of(&u, true);
        adz_tensor **changed = i == 0 ? &u.x : &u.target, *before = *changed;
        *changed = adz_clone(before);
        expect_written(plan, i < 2, ADZ_ERR_STATE,
            i == 0
                ? "reads another tensor now instead of the input \"x\" [4, 3], which it has read when the plan was made"
                : "reads another tensor now instead of the input \"target\" [4, 1]");
        *changed = before;
        expect_written(plan, i < 2, ADZ_OK, NULL);
        adz_plan_free(&plan);
        end(&u);
        adz_scope_close(scope);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_forward_in_training_is_refused),
        cmocka_unit_test(steps_keep_it),
        cmocka_unit_test(a_module_without_statistics_may_be_written),
        cmocka_unit_test(weights_are_finite),
        cmocka_unit_test(statistics_are_no_nan),
        cmocka_unit_test(another_tensor_is_refused),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
