/* Every kind of callback that computes: each is left by a jump, fails without an error, and records
 * an error itself. The library calls all of them through base/door.h. */
#include "jump.h"

#include <stdio.h>

#include "tests.h"

/* What the callbacks do. */
static enum { JUMPS, FAILS, RECORDS } does;

/* Called by each callback. Returns if the callback is to fail. */
static void misbehave(void)
{
    if (does == JUMPS) {
        adz_set_grad_enabled(!adz_is_grad_enabled());
        adz_ones(ADZ_SHAPE(2), ADZ_F32);
        longjmp(out, 1);
    }
    if (does == RECORDS) {
        call_that_fails();
    }
}

/* ---- modules --------------------------------------------------------------------------------- */

static adz_tensor *forward(adz_module *self, adz_tensor *x)
{
    (void)self;
    (void)x;
    misbehave();
    return NULL;
}

static adz_status call(adz_module *self, const adz_values *in, adz_values *results)
{
    (void)self;
    (void)in;
    (void)results;
    misbehave();
    return ADZ_ERR_STATE;
}

static adz_status reset(adz_module *self)
{
    (void)self;
    misbehave();
    return ADZ_ERR_STATE;
}

static adz_status select_rows(adz_module *self, adz_tensor *rows)
{
    (void)rows;
    return reset(self);
}

static adz_status visit(adz_module *module, void *user)
{
    (void)user;
    return reset(module);
}

static const adz_module_type by_forward = {
    .size = sizeof(adz_module_type), .name = "ByForward", .forward = forward
};
static const adz_module_type by_call = { .size = sizeof(adz_module_type),
    .name = "ByCall",
    .call = call,
    .reset = reset,
    .select_hidden = select_rows };

static adz_module *caller, *sequence, *linear;

static void run_forward(void)
{
    adz_module_forward(sequence, leaf(1));
}

static void run_call(void)
{
    adz_named_tensor x = { "x", leaf(1) };
    adz_module_call_named(caller, &x, 1, NULL);
}

static void run_reset(void)
{
    adz_module_reset(caller);
}

static void run_select(void)
{
    adz_module_select_hidden(caller, adz_zeros(ADZ_SHAPE(1), ADZ_I64));
}

static void run_visit(void)
{
    adz_module_apply(caller, visit, NULL);
}

static void run_export(void)
{
    adz_module_write_onnx(sequence, leaf(1), "callbacks.onnx", NULL);
}

static bool rename_names(const char *name, char *renamed, size_t size, void *user)
{
    (void)name;
    (void)renamed;
    (void)size;
    (void)user;
    misbehave();
    return false;
}

/* The path of the file must not stay in messages. */
static void run_load(void)
{
    adz_load_options o = ADZ_LOAD_OPTIONS;
    o.rename = rename_names;
    assert_int_equal(adz_module_save(linear, "callbacks.safetensors"), ADZ_OK);
    adz_module_load_with(linear, "callbacks.safetensors", &o);
}

/* ---- operators and graphs -------------------------------------------------------------------- */

static bool only_later; /* the expression succeeds once */

static adz_status express(adz_tensor **results, adz_tensor *const *inputs, const void *attributes)
{
    (void)attributes;
    if (only_later) {
        only_later = false;
        results[0] = adz_mul(inputs[0], inputs[0]);
        return results[0] != NULL ? ADZ_OK : ADZ_ERR_STATE;
    }
    misbehave();
    return ADZ_ERR_STATE;
}

static adz_status go_back(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)node;
    (void)dx;
    (void)dy;
    misbehave();
    return ADZ_ERR_STATE;
}

static adz_status answer_shape(adz_result *results, adz_tensor *const *inputs, void *attributes)
{
    (void)results;
    (void)inputs;
    (void)attributes;
    misbehave();
    return ADZ_ERR_STATE;
}

static const adz_operator expressed = {
    .size = sizeof(adz_operator), .name = "expressed", .expression = express
};
static const adz_operator backed = {
    .size = sizeof(adz_operator), .name = "backed", .expression = express, .backward = go_back
};
static const adz_operator shaped = { .size = sizeof(adz_operator),
    .name = "shaped",
    .expression = express,
    .shape_rule = answer_shape };

static void run_expression(void)
{
    adz_tensor *x = leaf(1);
    adz_operator_call(&expressed, &x, 1, NULL, NULL);
}

static void run_derived(void)
{
    adz_tensor *x = leaf(1);
    only_later = true;
    adz_backward(total(adz_operator_call(&expressed, &x, 1, NULL, NULL)));
}

static void run_backward(void)
{
    adz_tensor *x = leaf(1);
    only_later = true;
    adz_backward(total(adz_operator_call(&backed, &x, 1, NULL, NULL)));
}

static void run_shape_rule(void)
{
    adz_tensor *x = leaf(1);
    adz_operator_call(&shaped, &x, 1, NULL, NULL);
}

static adz_tensor *hook(adz_tensor *grad, void *user)
{
    (void)grad;
    (void)user;
    misbehave();
    return NULL;
}

static void run_hook(void)
{
    adz_tensor *x = leaf(1);
    adz_register_hook(x, hook, NULL);
    adz_backward(total(x));
}

static adz_status after_hook(adz_tensor *t, void *user)
{
    (void)t;
    (void)user;
    misbehave();
    return ADZ_ERR_STATE;
}

static void run_after_hook(void)
{
    adz_tensor *x = leaf(1);
    adz_register_post_accumulate_grad_hook(x, after_hook, NULL);
    adz_backward(total(x));
}

/* ---- functions ------------------------------------------------------------------------------- */

static int several(adz_tensor *const *inputs, size_t n, adz_tensor **outputs, void *user)
{
    (void)inputs;
    (void)n;
    (void)outputs;
    (void)user;
    misbehave();
    return 0;
}

static adz_tensor *map(adz_tensor *x, void *user)
{
    return hook(x, user);
}

static adz_tensor *slope(adz_tensor *t, adz_tensor *y, void *user)
{
    (void)t;
    return hook(y, user);
}

static adz_tensor *no_inputs(void *user)
{
    return hook(NULL, user);
}

static void run_gradcheck(void)
{
    const adz_gradcheck_function f = { several, NULL };
    adz_tensor *x = leaf(1);
    adz_gradcheck(&f, &x, 1, NULL, NULL);
}

static void run_vjp(void)
{
    adz_vjp(map, NULL, leaf(1), leaf(1), NULL);
}

static void run_root(void)
{
    adz_root(map, NULL, leaf(1), NULL, NULL);
}

static void run_ode(void)
{
    adz_odeint(slope, NULL, leaf(1), adz_arange(0, 2, 1, ADZ_F64), NULL, NULL);
}

static void run_plan(void)
{
    adz_plan *plan = adz_plan_new(no_inputs, NULL, NULL);
    adz_plan_free(&plan);
}

/* ---- training -------------------------------------------------------------------------------- */

static adz_optimizer *sgd, *lbfgs, *own;

static void run_closure(void)
{
    adz_optimizer_step_closure(sgd, no_inputs, NULL, NULL);
}

static void run_search(void)
{
    adz_optimizer_step_closure(lbfgs, no_inputs, NULL, NULL);
}

static adz_status update(adz_tensor **results, const adz_update *u)
{
    (void)results;
    (void)u;
    misbehave();
    return ADZ_ERR_STATE;
}

static const adz_optimizer_type own_type = { .size = sizeof(adz_optimizer_type),
    .name = "Own",
    .settings = { ADZ_SETTING("lr", 0.1, ADZ_FINITE_FROM(0)) },
    .update = update };

static void run_update(void)
{
    adz_backward(total(adz_module_forward(linear, adz_ones(ADZ_SHAPE(1, 2), ADZ_F32))));
    adz_optimizer_step(own);
    adz_optimizer_zero_grad(own);
}

static bool fine; /* the schedule's function does not misbehave while the schedule is made */

static double factor(int64_t epoch, int group, void *user)
{
    (void)epoch;
    (void)group;
    (void)user;
    if (!fine) {
        misbehave();
        return -1;
    }
    return 1;
}

static void run_schedule(void)
{
    fine = true;
    adz_scheduler *s = adz_lambda_lr_new(sgd, factor, NULL);
    fine = false;
    adz_scheduler_step(s);
    adz_scheduler_release(&s);
}

static bool progress(int64_t batch, int64_t batches, void *user)
{
    (void)batch;
    (void)batches;
    (void)user;
    misbehave();
    return false;
}

static adz_loader *loader;

static void run_loader(void)
{
    adz_tensor *batch[1];
    adz_loader_next(loader, batch);
}

/* ---- what is demanded of all ----------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*run)(void);
    const char *says; /* what the error of a callback says that fails without one; NULL: nothing */
} rows[] = {
    { "forward", run_forward, "the result is NULL" },
    { "call", run_call, "ByCall: the call failed without saying why" },
    { "reset", run_reset, "ByCall: the call failed without saying why" },
    { "select_hidden", run_select, "ByCall: the call failed without saying why" },
    { "a visitor of modules", run_visit, NULL },
    { "a function that is exported", run_export, "" },
    { "rename", run_load, "" },
    { "an expression", run_expression, "expressed: the expression failed" },
    { "an expression in a backward", run_derived, "expressed: the expression failed" },
    { "a backward", run_backward, "backed: the backward failed" },
    { "a shape rule", run_shape_rule, "shaped: the shape rule refused the inputs" },
    { "a hook", run_hook, "a tensor hook returned NULL" },
    { "a post-accumulate hook", run_after_hook, "failed without saying why" },
    { "a function of adz_gradcheck", run_gradcheck, "" },
    { "a function of adz_vjp", run_vjp, "" },
    { "a function of adz_root", run_root, "the function gave nothing" },
    { "a function of adz_odeint", run_ode, "the function gave nothing" },
    { "a function of a plan", run_plan, "" },
    { "a closure", run_closure, "the closure returned NULL, but recorded no error" },
    { "a closure of L-BFGS", run_search, "the closure returned NULL, but recorded no error" },
    { "an optimizer's update", run_update, "the update of Own failed for parameter 0" },
    { "a schedule's function", run_schedule, "" },
    { "a loader's progress", run_loader, "cancelled at batch 1 of 2" },
};

enum { ROWS = sizeof rows / sizeof *rows };

/* Runs a row in a scope of its own, which a jump leaves open until the scope of the test ends. */
static void run_row(size_t i)
{
    ADZ_SCOPE
    {
        rows[i].run();
    }
}

/* Nothing that could restore the thread comes between the jump and the first check. */
static void a_jump_restores_the_thread(void **state)
{
    (void)state;
    does = JUMPS;
    for (volatile size_t i = 0; i < 4 * ROWS; ++i) {
        if (setjmp(out) == 0) {
            run_row(i % ROWS);
            fail_msg("%s has not jumped", rows[i % ROWS].name);
        }
        scribble();
        if (i / ROWS % 2 == 0) {
            call_that_fails();
            if (strncmp(adz_error_message(), "matmul: ", 8) != 0) {
                fail_msg("%s: \"%s\"", rows[i % ROWS].name, adz_error_message());
            }
            adz_error_clear();
        }
        if (!adz_is_grad_enabled()) {
            fail_msg("%s has left its modes behind", rows[i % ROWS].name);
        }
        adz_optimizer_zero_grad(sgd);
    }
}

static void a_failure_is_an_error(void **state)
{
    (void)state;
    does = FAILS;
    for (size_t i = 0; i < ROWS; ++i) {
        run_row(i);
        const bool failed = adz_error_code() != ADZ_OK;
        if (failed != (rows[i].says != NULL) ||
            (failed && strstr(adz_error_message(), rows[i].says) == NULL)) {
            fail_msg("%s: \"%s\"", rows[i].name, adz_error_message());
        }
        adz_error_clear();
        assert_true(adz_is_grad_enabled());
    }
}

/* The callback's own error is the one that is recorded. */
static void an_error_is_kept(void **state)
{
    (void)state;
    does = RECORDS;
    for (size_t i = 0; i < ROWS; ++i) {
        run_row(i);
        if (adz_error_code() != ADZ_ERR_SHAPE || strstr(adz_error_message(), "matmul: ") == NULL) {
            fail_msg("%s: \"%s\"", rows[i].name, adz_error_message());
        }
        adz_error_clear();
        assert_true(adz_is_grad_enabled());
    }
}

static int make_objects(void **state)
{
    (void)state;
    caller = adz_module_new(&by_call, 0);
    sequence = ADZ_SEQUENTIAL(adz_module_new(&by_forward, 0));
    linear = adz_linear_new(2, 2, NULL);
    const adz_tensor_list all = adz_module_parameters(linear);
    sgd = adz_sgd_new(all, 0.1, NULL);
    lbfgs = adz_lbfgs_new(all, 1, NULL);
    own = adz_optimizer_new(&own_type, all, NULL, 0);
    adz_tensor *x = adz_ones(ADZ_SHAPE(4, 2), ADZ_F32);
    adz_dataset *data = adz_dataset_new(&x, 1);
    adz_loader_options o = ADZ_LOADER_OPTIONS;
    o.batch_size = 2;
    o.progress = progress;
    loader = adz_loader_new(data, &o);
    adz_dataset_release(&data);
    return loader == NULL || own == NULL || sequence == NULL;
}

static int end_objects(void **unused)
{
    (void)unused;
    adz_loader_free(&loader);
    adz_optimizer_release(&own);
    adz_optimizer_release(&lbfgs);
    adz_optimizer_release(&sgd);
    adz_module_release(&linear);
    adz_module_release(&sequence);
    adz_module_release(&caller);
    remove("callbacks.safetensors");
    return 0;
}

int callbacks_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_jump_restores_the_thread),
        TEST(a_failure_is_an_error),
        TEST(an_error_is_kept),
    };
    return cmocka_run_group_tests_name("jumps: callbacks", tests, make_objects, end_objects);
}
