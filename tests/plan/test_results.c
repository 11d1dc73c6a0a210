/* Plans with several results, each of which has the bits of an ordinary call in a replay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "adze/adze.h"
#include "base/alloc.h"
#include "errors.h"

enum { ROWS = 4, FEATURES = 3, MOST = 6 };

typedef struct network {
    adz_module *model;
    adz_optimizer *optimizer;
    adz_tensor *x, *y;
    int calls; /* of the function */
    adz_status (*several)(adz_tensor **results, struct network *n);
} network;

static network begin(adz_status (*several)(adz_tensor **results, network *n))
{
    network n = { .several = several };
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(3);
    n.model = ADZ_SEQUENTIAL(
        adz_linear_new(FEATURES, 8, NULL), adz_relu_new(), adz_linear_new(8, 2, NULL));
    n.optimizer = adz_adam_new(adz_module_parameters(n.model), 0.1, NULL);
    n.x = adz_keep(adz_randn(ADZ_SHAPE(ROWS, FEATURES), ADZ_F32));
    n.y = adz_keep(adz_zeros(ADZ_SHAPE(ROWS, 2), ADZ_F32));
    assert_non_null(n.y);
    adz_scope_close(scope);
    return n;
}

static void end(network *n)
{
    adz_release(&n->x);
    adz_release(&n->y);
    adz_optimizer_release(&n->optimizer);
    adz_module_release(&n->model);
}

static adz_status function(adz_tensor **results, void *user)
{
    network *n = user;
    ++n->calls;
    return n->several(results, n);
}

static void run(adz_plan *plan, int times)
{
    for (int i = 0; i < times; ++i) {
        if (adz_plan_run(plan) != ADZ_OK) {
            fail_msg("%s", adz_error_message());
        }
    }
}

/* Gives x other contents, the same ones for each `k`. */
static void write_input(network *n, int k)
{
    float *x = adz_tensor_data_f32(n->x);
    for (int i = 0; i < ROWS * FEATURES; ++i) {
        x[i] = (float)(i * (k + 1) % 7 - 3) / 4;
    }
}

/* Runs a plan of the function on one network, and the function itself on an equal one. All results
 * have equal bits, and the later runs are replays. */
static void check_runs(adz_status (*several)(adz_tensor **results, network *n), size_t count)
{
    network planned = begin(several), ordinary = begin(several);
    adz_plan *plan = NULL;
    write_input(&planned, 0);
    for (int k = 0; k < 6; ++k) {
        write_input(&planned, k);
        write_input(&ordinary, k);
        if (k == 0) {
            plan = adz_plan_new_many(function, &planned, count, NULL);
            assert_non_null(plan);
            assert_int_equal(adz_plan_result_count(plan), count);
        } else {
            run(plan, 1);
        }
        adz_scope *scope = adz_scope_open();
        adz_tensor *expected[MOST] = { NULL };
        assert_int_equal(function(expected, &ordinary), ADZ_OK);
        for (size_t i = 0; i < count; ++i) {
            adz_tensor *y = adz_plan_result_at(plan, i);
            if (!adz_equal(y, adz_detach(expected[i])) || adz_tensor_requires_grad(y)) {
                fail_msg("run %d: result %zu differs", k, i);
            }
        }
        adz_scope_close(scope);
    }
    assert_int_equal(planned.calls, 2);
    assert_ptr_equal(adz_plan_output(plan), adz_plan_result_at(plan, 0));
    adz_plan_free(&plan);
    end(&planned);
    end(&ordinary);
}

/* ---- which tensors may be results ------------------------------------------------------------ */

static adz_status boxes_and_scores(adz_tensor **results, network *n)
{
    adz_tensor *h = adz_module_forward(n->model, n->x);
    results[0] = adz_exp(h);
    results[1] = adz_softmax(h, -1);
    results[2] = adz_argmax(h, ADZ_DIMS(-1), ADZ_DROPDIM);
    results[3] = adz_gt_number(h, 0);
    return adz_error_code();
}

static void several_results_are_replayed(void **state)
{
    (void)state;
    check_runs(boxes_and_scores, 4);
}

/* An input, a parameter, a constant, a tensor twice, and a view of a result. */
static adz_status any_tensors(adz_tensor **results, network *n)
{
    results[0] = adz_module_forward(n->model, n->x);
    results[1] = n->x;
    results[2] = adz_module_get_parameter(n->model, "0.weight");
    results[3] = adz_full(ADZ_SHAPE(2, 2), 7, ADZ_F32);
    results[4] = results[0];
    results[5] = adz_transpose(results[0], 0, 1);
    return adz_error_code();
}

static void any_tensor_may_be_a_result(void **state)
{
    (void)state;
    check_runs(any_tensors, 6);
}

static adz_status step(adz_tensor **results, network *n)
{
    adz_tensor *prediction = adz_module_forward(n->model, n->x);
    adz_tensor *loss = adz_mse_loss(prediction, n->y, ADZ_REDUCE_MEAN);
    if (adz_backward(loss) != ADZ_OK || adz_optimizer_step(n->optimizer) != ADZ_OK) {
        return adz_error_code();
    }
    adz_optimizer_zero_grad(n->optimizer);
    results[0] = loss;
    results[1] = prediction;
    results[2] = adz_module_get_parameter(n->model, "2.bias"); /* as the step leaves it */
    return ADZ_OK;
}

static void a_step_has_several_results(void **state)
{
    (void)state;
    check_runs(step, 3);
}

/* ---- buffers that are replaced --------------------------------------------------------------- */

/* y = x + sum, and the new sum is y / 2. The network's y is not used. */
static adz_tensor *memory_forward(adz_module *self, adz_tensor *x)
{
    adz_tensor *y = adz_add(x, adz_module_buffer_at(self, 0));
    adz_tensor *sum = adz_mul_number(adz_detach(y), 0.5);
    return adz_module_set_buffer(self, "sum", sum) != NULL ? y : NULL;
}

static const adz_module_type memory_type = {
    .size = sizeof(adz_module_type), .name = "Memory", .forward = memory_forward
};

/* The state before the call, a view of it, and the state after the call. */
static adz_status states(adz_tensor **results, network *n)
{
    if (adz_module_child_count(n->model) < 4) {
        adz_module *memory = adz_module_new(&memory_type, 0);
        adz_module_add_buffer(memory, "sum", adz_ones(ADZ_SHAPE(ROWS, 2), ADZ_F32), true);
        adz_sequential_append(n->model, memory);
    }
    results[1] = adz_detach(adz_module_get_buffer(n->model, "3.sum"));
    results[2] = adz_select(results[1], 0, 1);
    results[0] = adz_module_forward(n->model, n->x);
    results[3] = adz_module_get_buffer(n->model, "3.sum");
    return adz_error_code();
}

static void the_state_before_a_call_is_a_result(void **state)
{
    (void)state;
    network planned = begin(states), ordinary = begin(states);
    adz_scope *scope = adz_scope_open(); /* the module is appended outside the plan */
    adz_tensor *unused[MOST];
    assert_int_equal(states(unused, &planned), ADZ_OK);
    assert_int_equal(states(unused, &ordinary), ADZ_OK);
    adz_scope_close(scope);
    adz_plan *plan = adz_plan_new_many(function, &planned, 4, NULL);
    for (int k = 0; k < 6; ++k) {
        scope = adz_scope_open();
        adz_tensor *expected[MOST] = { NULL };
        assert_int_equal(states(expected, &ordinary), ADZ_OK);
        for (size_t i = 0; i < 4; ++i) {
            if (!adz_equal(adz_plan_result_at(plan, i), adz_detach(expected[i]))) {
                fail_msg("run %d: result %zu differs", k, i);
            }
        }
        adz_scope_close(scope);
        run(plan, 1);
    }
    assert_int_equal(planned.calls, 2);
    adz_plan_free(&plan);
    end(&planned);
    end(&ordinary);
}

/* ---- results that differ from call to call --------------------------------------------------- */

static adz_status counter(adz_tensor **results, network *n)
{
    results[0] = adz_exp(n->x);
    results[1] = adz_tensor_from((const float[]){ (float)n->calls }, ADZ_SHAPE(1), ADZ_F32);
    return adz_error_code();
}

static adz_status constant(adz_tensor **results, network *n)
{
    results[0] = adz_exp(n->x);
    results[1] = adz_tensor_from((const float[]){ 5 }, ADZ_SHAPE(1), ADZ_F32);
    return adz_error_code();
}

static adz_status alternating(adz_tensor **results, network *n)
{
    results[0] = adz_exp(n->x);
    results[1] = n->calls % 2 == 0 ? n->x : n->y;
    return adz_error_code();
}

static adz_status turning(adz_tensor **results, network *n)
{
    results[0] = adz_exp(n->x);
    results[1] = n->calls % 2 == 0 ? results[0] : adz_transpose(results[0], 0, 1);
    return adz_error_code();
}

/* The runs before the refusal are ordinary calls. */
static void expect_never_captured(
    adz_status (*several)(adz_tensor **results, network *n), const char *part)
{
    network n = begin(several);
    adz_plan *plan = adz_plan_new_many(function, &n, 2, NULL);
    assert_non_null(plan);
    adz_status status = ADZ_OK;
    for (int k = 1; k < 8 && status == ADZ_OK; ++k) {
        assert_int_equal(n.calls, k);
        status = adz_plan_run(plan);
    }
    assert_int_equal(status, ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, part);
    adz_plan_free(&plan);
    end(&n);
}

static void results_that_differ_are_no_constants(void **state)
{
    (void)state;
    expect_never_captured(counter, "the elements of a tensor[1] that the function makes");
    expect_never_captured(alternating, "result 1 of the function is another tensor each time");
    expect_never_captured(
        turning, "result 1 of the function has another shape or layout each time");
    check_runs(constant, 2);
}

/* ---- names ----------------------------------------------------------------------------------- */

static adz_tensor *single(void *user)
{
    const network *n = user;
    return adz_module_forward(n->model, n->x);
}

static void results_have_names(void **state)
{
    (void)state;
    network n = begin(boxes_and_scores);
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    adz_plan *plan = adz_plan_new(single, &n, &o);
    assert_int_equal(adz_plan_result_count(plan), 1);
    assert_string_equal(adz_plan_result_name_at(plan, 0), "output");
    adz_plan_free(&plan);
    plan = adz_plan_new_many(function, &n, 4, &o);
    assert_string_equal(adz_plan_result_name_at(plan, 3), "output3");
    adz_plan_free(&plan);
    char boxes[] = "boxes";
    const char *const names[] = { boxes, "scores", "best", "output0" };
    o.result_names = names;
    plan = adz_plan_new_many(function, &n, 4, &o);
    boxes[0] = '\0'; /* the plan has a copy */
    assert_string_equal(adz_plan_result_name_at(plan, 0), "boxes");
    assert_string_equal(adz_plan_result_name_at(plan, 3), "output0");
    assert_null(adz_plan_result_name_at(plan, 4));
    expect_error(
        ADZ_ERR_INDEX, "adz_plan_result_name_at: result 4 was asked for, but the plan has 4");
    assert_null(adz_plan_result_at(plan, SIZE_MAX));
    expect_error(ADZ_ERR_INDEX, "adz_plan_result_at: result");
    adz_plan_free(&plan);
    plan = adz_plan_new(single, &n, NULL);
    assert_null(adz_plan_result_at(plan, 1));
    expect_error(ADZ_ERR_INDEX, "the plan has 1, which is result 0");
    adz_plan_free(&plan);
    expect_null(adz_plan_result_at(NULL, 0) == NULL, "adz_plan_result_at", "plan");
    expect_null(adz_plan_result_count(NULL) == 0, "adz_plan_result_count", "plan");
    end(&n);
}

static void expect_refused(network *n, size_t count, const char *const *names, const char *part)
{
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    static const char *const inputs[] = { "x", "target" };
    adz_tensor *const given[] = { n->x, n->y };
    o.inputs = adz_tensor_list_of(given, 2);
    o.input_names = inputs;
    o.result_names = names;
    n->calls = 0;
    assert_null(adz_plan_new_many(function, n, count, &o));
    assert_int_equal(n->calls, 0);
    expect_error(strstr(part, "NULL") != NULL ? ADZ_ERR_NULL : ADZ_ERR_ARGUMENT, part);
}

static void names_are_checked(void **state)
{
    (void)state;
    network n = begin(counter);
    expect_refused(&n, 0, NULL, "adz_plan_new_many: n_results is 0; a plan has 1 to 1024");
    expect_refused(&n, SIZE_MAX, NULL, "n_results is 18446744073709551615");
    expect_refused(&n, 2, (const char *const[]){ "a", NULL }, "the name of a result is NULL");
    expect_refused(&n, 2, (const char *const[]){ "a", "" }, "result_names[1] is empty");
    expect_refused(&n, 3, (const char *const[]){ "a", "b", "a" },
        "result_names[0] and result_names[2] are both \"a\"");
    expect_refused(&n, 2, (const char *const[]){ "a", "target" },
        "result_names[1] is \"target\", which is the name of input 1");
    expect_null(adz_plan_new_many(NULL, &n, 2, NULL) == NULL, "adz_plan_new_many", "function");
    end(&n);
}

/* ---- functions that give no results ---------------------------------------------------------- */

static adz_status forgetful(adz_tensor **results, network *n)
{
    assert_null(results[0]);
    assert_null(results[1]);
    results[0] = adz_exp(n->x);
    return ADZ_OK;
}

static adz_status none(adz_tensor **results, network *n)
{
    results[0] = adz_exp(n->x);
    results[1] = ADZ_NONE;
    return ADZ_OK;
}

static adz_status stale(adz_tensor **results, network *n)
{
    adz_scope *scope = adz_scope_open();
    results[0] = results[1] = adz_exp(n->x);
    adz_scope_close(scope);
    return ADZ_OK;
}

static adz_status silent(adz_tensor **results, network *n)
{
    results[0] = results[1] = n->x;
    return ADZ_ERR_CANCELLED;
}

static adz_status unnoticed(adz_tensor **results, network *n)
{
    results[0] = n->x;
    results[1] = adz_matmul(n->x, n->x);
    return ADZ_OK;
}

static adz_status late(adz_tensor **results, network *n)
{
    return n->calls > 1 ? forgetful(results, n) : constant(results, n);
}

static void functions_without_results(void **state)
{
    (void)state;
    static const struct {
        adz_status (*several)(adz_tensor **results, network *n);
        adz_status code;
        const char *part;
    } wrong[] = {
        { forgetful, ADZ_ERR_STATE, "adz_plan_new_many: the function gave no result 1" },
        { none, ADZ_ERR_ARGUMENT, "result 1 of the function" },
        { stale, ADZ_ERR_OWNERSHIP, "result 0 of the function" },
        { silent, ADZ_ERR_STATE, "the function returned" },
        { unnoticed, ADZ_ERR_SHAPE, "matmul" },
    };
    adz_set_debug(true); /* so that the header of a tensor that ended is not used again */
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        network n = begin(wrong[i].several);
        assert_null(adz_plan_new_many(function, &n, 2, NULL));
        expect_error(wrong[i].code, wrong[i].part);
        end(&n);
    }
    adz_set_debug(false);
    network n = begin(late); /* the results of the run before stay */
    adz_plan *plan = adz_plan_new_many(function, &n, 2, NULL);
    assert_non_null(plan);
    assert_int_equal(adz_plan_run(plan), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "adz_plan_run: the function gave no result 1");
    assert_true(adz_tensor_data_f32(adz_plan_result_at(plan, 1))[0] == 5);
    adz_plan_free(&plan);
    end(&n);
}

static jmp_buf back;

static adz_status jumps(adz_tensor **results, network *n)
{
    if (n->calls > 1) {
        results[1] = adz_exp(n->x); /* its scope ends with the jump */
        longjmp(back, 1);
    }
    return constant(results, n);
}

static void a_function_with_results_may_be_left_by_a_jump(void **state)
{
    (void)state;
    static network n;
    static adz_plan *plan;
    n = begin(jumps);
    plan = adz_plan_new_many(function, &n, 2, NULL);
    if (setjmp(back) == 0) {
        adz_plan_run(plan);
    }
    adz_scope *scope = adz_scope_open(); /* this thread captures no more */
    adz_scope_close(scope);
    assert_true(adz_tensor_data_f32(adz_plan_result_at(plan, 1))[0] == 5);
    n.calls = 0;
    run(plan, 1);
    adz_plan_free(&plan);
    end(&n);
}

/* ---- refused memory -------------------------------------------------------------------------- */

static void refused_memory(void **state)
{
    (void)state;
    network n = begin(any_tensors);
    static const char *const names[] = { "a", "b", "c", "d", "e", "f" };
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    o.result_names = names;
    bool reached = true;
    int refusals = 0;
    for (int64_t k = 1; reached; ++k) {
        const int64_t before = adzi_live_tensors();
        adzi_alloc_fail_at(k);
        adz_plan *plan = adz_plan_new_many(function, &n, 6, &o);
        const adz_status status = plan != NULL ? adz_plan_run(plan) : adz_error_code();
        reached = adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        if (status != ADZ_OK) {
            expect_error(ADZ_ERR_MEMORY, "");
            ++refusals;
        }
        adz_plan_free(&plan);
        assert_int_equal(adzi_live_tensors(), before);
    }
    assert_true(refusals > 20);
    end(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(several_results_are_replayed),
        cmocka_unit_test(any_tensor_may_be_a_result),
        cmocka_unit_test(a_step_has_several_results),
        cmocka_unit_test(the_state_before_a_call_is_a_result),
        cmocka_unit_test(results_that_differ_are_no_constants),
        cmocka_unit_test(results_have_names),
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(functions_without_results),
        cmocka_unit_test(a_function_with_results_may_be_left_by_a_jump),
        cmocka_unit_test(refused_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
