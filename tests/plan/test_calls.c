/* What adz_plan_new, adz_plan_run and adz_plan_get_info do with their arguments, and with errors
 * before and within a call of the function.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "adze/adze.h"
#include "base/alloc.h"
#include "errors.h"
#include "plan/plan.h"
#include "tensor/tensor.h"

enum { ROWS = 4 };

typedef struct caller {
    adz_tensor *x, *w; /* a parameter */
    adz_plan *inner;   /* which the function runs */
    int calls;
    bool fails, jumps;
} caller;

static jmp_buf position;

static adz_tensor *squares(void *user)
{
    caller *c = user;
    ++c->calls;
    if (c->inner != NULL && adz_plan_run(c->inner) != ADZ_OK) {
        return NULL;
    }
    if (c->fails) {
        return NULL;
    }
    if (c->jumps) {
        longjmp(position, 1);
    }
    return adz_square(c->x);
}

/* Reads a gradient, which the captured call compares from then on. */
static adz_tensor *descends(void *user)
{
    caller *c = user;
    ++c->calls;
    adz_tensor_set_grad(c->w, ADZ_NONE);
    adz_tensor *loss = adz_sum(adz_square(c->w), ADZ_ALL_DIMS, ADZ_DROPDIM);
    return adz_backward(loss) == ADZ_OK && !c->fails ? loss : NULL;
}

static adz_tensor *alternates(void *user)
{
    caller *c = user;
    descends(user);
    return c->calls % 2 == 0 ? adz_exp(c->x) : adz_neg(c->x);
}

static caller begin(void)
{
    return (caller){ .x = adz_ones(ADZ_SHAPE(ROWS), ADZ_F32),
        .w = adz_requires_grad_(adz_ones(ADZ_SHAPE(ROWS), ADZ_F32), true) };
}

static adz_plan_info info_of(const adz_plan *plan)
{
    adz_plan_info info;
    assert_int_equal(adz_plan_get_info(plan, &info, sizeof info), ADZ_OK);
    return info;
}

static adz_plan *captured(adz_plan_function function, caller *c)
{
    adz_plan *plan = adz_plan_new(function, c, NULL);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    assert_true(info_of(plan).captured);
    return plan;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static void inputs_are_kept_with_their_names(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    caller c = begin();
    adz_tensor *inputs[] = { c.x, c.w };
    const char *const given[] = { "pixels", "weights" };
    const char *const expected[][2] = { { "input", NULL }, { "input0", "input1" },
        { "pixels", "weights" } };
    const int refs = c.x->refs;
    for (int i = 0; i < 3; ++i) {
        adz_plan_options o = ADZ_PLAN_OPTIONS;
        o.inputs = (adz_tensor_list){ inputs, i == 0 ? 1 : 2 };
        o.input_names = i == 2 ? given : NULL;
        adz_plan *plan = adz_plan_new(squares, &c, &o);
        assert_int_equal(plan->n_inputs, o.inputs.count);
        for (size_t k = 0; k < o.inputs.count; ++k) {
            assert_true(plan->inputs[k] == inputs[k]);
            assert_string_equal(plan->input_names[k], expected[i][k]);
            assert_ptr_not_equal(plan->input_names[k], given[k]);
        }
        assert_int_equal(c.x->refs, refs + 1);
        adz_plan_free(&plan);
        assert_int_equal(c.x->refs, refs);
    }
    adz_scope_close(scope);
}

static void refuses_options(const adz_plan_options *o, adz_status code, const char *message)
{
    caller c = begin();
    const int64_t live = adzi_live_bytes();
    assert_null(adz_plan_new(squares, &c, o));
    expect_error(code, message);
    assert_int_equal(c.calls, 0);
    assert_int_equal(adzi_live_bytes(), live);
}

static void bad_inputs_are_errors(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_ones(ADZ_SHAPE(ROWS), ADZ_F32), *inputs[] = { x, NULL };
    const char *const names[] = { "x", NULL };
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    o.inputs.count = 2;
    refuses_options(&o, ADZ_ERR_NULL, "adz_plan_new: the list of inputs is NULL");
    o.inputs.items = inputs;
    refuses_options(&o, ADZ_ERR_NULL, "adz_plan_new: an input is NULL");
    inputs[1] = x;
    o.input_names = names;
    refuses_options(&o, ADZ_ERR_NULL, "adz_plan_new: the name of an input is NULL");
    o = (adz_plan_options)ADZ_PLAN_OPTIONS;
    o.pack_weights = true;
    refuses_options(&o, ADZ_ERR_ARGUMENT, "pack_weights needs the option module");
    o.size = 0;
    refuses_options(&o, ADZ_ERR_ARGUMENT, "ADZ_PLAN_OPTIONS");
    caller c = begin();
    assert_null(adz_plan_new(NULL, &c, NULL));
    expect_error(ADZ_ERR_NULL, "adz_plan_new: function is NULL");
    adz_scope_close(scope);
}

/* Every request is refused once, also those for the lists of inputs. */
static void refused_memory_leaves_nothing(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    caller c = begin();
    adz_tensor *inputs[20];
    for (int i = 0; i < 20; ++i) {
        inputs[i] = c.x;
    }
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    o.inputs = (adz_tensor_list){ inputs, 20 };
    const int64_t live = adzi_live_bytes();
    bool failed = true;
    for (int n = 1; failed; ++n) {
        c.calls = 0;
        adzi_alloc_fail_at(n);
        adz_plan *plan = adz_plan_new(descends, &c, &o);
        failed = adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        assert_true((plan == NULL) == failed);
        if (failed) {
            expect_error(ADZ_ERR_MEMORY, "");
        }
        assert_true(n >= 23 || c.calls == 0); /* the plan, two lists, and the names */
        adz_plan_free(&plan);
        assert_null(plan);
        adz_tensor_set_grad(c.w, ADZ_NONE);
        assert_true(adzi_live_bytes() == live || n < 25);
    }
    adz_scope_close(scope);
}

/* ---- errors before a call -------------------------------------------------------------------- */

static void a_pending_error_stops_a_run(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    caller c = begin();
    adz_plan *plan = captured(squares, &c);
    adz_tensor_data_f32(c.x)[0] = 3;
    adz_error_set("test", ADZ_ERR_INDEX, "before the run");
    assert_int_equal(adz_plan_run(plan), ADZ_ERR_INDEX);
    const int calls = c.calls;
    assert_null(adz_plan_new(squares, &c, NULL));
    assert_int_equal(c.calls, calls);
    expect_error(ADZ_ERR_INDEX, "before the run");
    assert_true(adz_tensor_data_f32(adz_plan_output(plan))[0] == 1);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    assert_true(adz_tensor_data_f32(adz_plan_output(plan))[0] == 9);
    adz_plan_free(&plan);
    adz_scope_close(scope);
}

static void a_plan_runs_no_other_plan(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    caller inner = begin(), outer = begin();
    outer.inner = captured(squares, &inner);
    assert_null(adz_plan_new(squares, &outer, NULL));
    expect_error(ADZ_ERR_STATE, "adz_plan_run: cannot be captured, because a plan runs no other");
    adz_plan_free(&outer.inner);
    adz_scope_close(scope);
}

/* The next run finds a thread that captures no more. */
static void a_run_may_follow_a_jump(void **state)
{
    (void)state;
    static caller jumping, quiet;
    static adz_plan *plan, *other;
    adz_scope *scope = adz_scope_open();
    jumping = begin();
    quiet = begin();
    plan = adz_plan_new(squares, &jumping, NULL);
    other = captured(squares, &quiet);
    jumping.jumps = true;
    if (setjmp(position) == 0) {
        adz_plan_run(plan);
    }
    assert_int_equal(adz_plan_run(other), ADZ_OK);
    if (setjmp(position) == 0) {
        adz_plan_run(plan);
    }
    adz_plan *third = adz_plan_new(squares, &quiet, NULL);
    assert_non_null(third);
    adz_plan_free(&plan);
    adz_plan_free(&other);
    adz_plan_free(&third);
    adz_scope_close(scope);
}

/* ---- errors within a call -------------------------------------------------------------------- */

/* What the captured call before would compare is no longer watched, and may end. */
static void a_call_that_fails_leaves_no_captured_call(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    caller c = begin();
    adz_plan *plan = adz_plan_new(descends, &c, NULL);
    assert_true(info_of(plan).launches > 0 && info_of(plan).memory_bytes > 0);
    assert_true(plan->n_watched > 0); /* the gradient */
    c.fails = true;
    assert_int_equal(adz_plan_run(plan), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "the function returned NULL without an error");
    assert_true(info_of(plan).launches == 0 && info_of(plan).memory_bytes == 0);
    assert_true(plan->n_watched == 0);
    c.fails = false;
    for (int run = 0; run < 3; ++run) {
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
    }
    assert_true(info_of(plan).captured);
    adz_plan_free(&plan);
    adz_scope_close(scope);
}

/* The second call differs from the first one, and each of its requests is refused once. */
static void refused_memory_leaves_no_captured_call(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    bool failed = true;
    for (int n = 1; failed; ++n) {
        caller c = begin();
        adz_plan *plan = adz_plan_new(alternates, &c, NULL);
        assert_non_null(plan);
        adzi_alloc_fail_at(n);
        const adz_status status = adz_plan_run(plan);
        failed = adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        assert_true((status == ADZ_ERR_MEMORY) == failed);
        assert_true((info_of(plan).launches > 0) == (status == ADZ_OK));
        if (failed) {
            expect_error(ADZ_ERR_MEMORY, "");
        }
        assert_true(failed || n > 10);
        adz_plan_free(&plan);
    }
    adz_scope_close(scope);
}

/* A run that is no replay for the sake of memory that has ended may be refused like others. */
static adz_tensor *changes_a_constant(void *user)
{
    caller *c = user;
    ++c->calls;
    const float values[ROWS] = { 1, 2, 3, 4 };
    adz_tensor *t = adz_tensor_from(values, ADZ_SHAPE(ROWS), ADZ_F32);
    return c->fails ? adz_add_(t, c->x) : adz_add(t, c->x);
}

static void a_stale_plan_may_be_refused(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    caller c = begin();
    c.x = adz_keep(adz_ones(ADZ_SHAPE(64, 64), ADZ_F32));
    c.x = adz_keep(adz_ones(ADZ_SHAPE(ROWS), ADZ_F32));
    adz_plan *plan = captured(changes_a_constant, &c);
    adz_release(&c.x);
    adz_scope_close(scope);
    scope = adz_scope_open();
    c.x = adz_ones(ADZ_SHAPE(ROWS), ADZ_F32);
    c.fails = true;
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    for (int run = 0; run < 3; ++run) {
        assert_int_equal(adz_plan_run(plan), ADZ_ERR_STATE);
        expect_error(ADZ_ERR_STATE, "it changes elements that the host has written");
    }
    assert_int_equal(c.calls, 3);
    adz_plan_free(&plan);
    adz_scope_close(scope);
}

/* ---- what a plan says ------------------------------------------------------------------------ */

static adz_tensor *looks_up(void *user)
{
    caller *c = user;
    const int64_t zero = 0;
    adz_tensor *first = adz_square(c->x); /* in use from launch 0 on */
    adz_tensor *row =
        adz_embedding(adz_tensor_from(&zero, ADZ_SHAPE(1), ADZ_I64), adz_unsqueeze(first, 1), NULL);
    return adz_square(row);
}

static void info_counts_launches_and_tensors(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    caller c = begin();
    adz_plan *plan = captured(squares, &c);
    const adz_plan_info one = info_of(plan);
    assert_true(one.launches == 1 && one.tensors == 0 && one.memory_bytes == 0);
    assert_true(one.captures == 1 && one.packed_bytes == 0);
    adz_plan_free(&plan);
    plan = captured(looks_up, &c);
    const adz_plan_info more = info_of(plan);
    size_t kernels = 0, blocks = 0;
    const adzi_plan_blocks *all = &plan->last->blocks;
    for (size_t i = 0; i < plan->last->n_launches; ++i) {
        kernels += plan->last->launches[i].kernel != NULL;
    }
    assert_true(more.launches == kernels && kernels < plan->last->n_launches);
    for (size_t i = 0; i < all->count; ++i) { /* the squares are used from launch 0 on */
        blocks += all->all[i].freed && all->all[i].first >= 0;
    }
    assert_true(more.tensors == blocks && blocks > 1 && blocks < all->count);
    assert_true(more.memory_bytes == plan->last->memory_bytes && more.memory_bytes > 0);
    adz_plan_info part = { .captures = 77 };
    assert_int_equal(adz_plan_get_info(plan, &part, offsetof(adz_plan_info, captures)), ADZ_OK);
    assert_true(part.captures == 77 && part.launches == more.launches);
    struct {
        adz_plan_info info;
        char behind[16];
    } longer;
    memset(&longer, 7, sizeof longer);
    assert_int_equal(adz_plan_get_info(plan, &longer.info, sizeof longer), ADZ_OK);
    assert_true(longer.behind[0] == 7 && longer.info.launches == more.launches);
    assert_int_equal(adz_plan_get_info(NULL, &longer.info, sizeof longer), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "adz_plan_get_info: plan is NULL");
    assert_int_equal(adz_plan_get_info(plan, NULL, 0), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "adz_plan_get_info: info is NULL");
    assert_true(isnan(adz_plan_grad_norm(plan)) && isnan(adz_plan_grad_norm(NULL)));
    expect_error(ADZ_ERR_NULL, "adz_plan_grad_norm: plan is NULL");
    adz_plan_free(&plan);
    adz_plan_free(&plan);
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_are_kept_with_their_names),
        cmocka_unit_test(bad_inputs_are_errors),
        cmocka_unit_test(refused_memory_leaves_nothing),
        cmocka_unit_test(a_pending_error_stops_a_run),
        cmocka_unit_test(a_plan_runs_no_other_plan),
        cmocka_unit_test(a_run_may_follow_a_jump),
        cmocka_unit_test(a_call_that_fails_leaves_no_captured_call),
        cmocka_unit_test(refused_memory_leaves_no_captured_call),
        cmocka_unit_test(a_stale_plan_may_be_refused),
        cmocka_unit_test(info_counts_launches_and_tensors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
