/* Several plans in one file, and steps of every kind. */
#include "../../optim/optimizers/cases.h"
#include "side_by_side.h"
#include "tests.h"

/* ---- a loss of one's own --------------------------------------------------------------------- */

/* Huber's loss of a scaled residual, and a penalty on the last layer. */
static adz_tensor *huber_and_penalty(adz_module *module, adz_tensor *y, adz_tensor *target)
{
    adz_tensor *scaled = adz_mul_number(adz_sub(y, target), 3);
    adz_tensor *loss = adz_huber_loss(scaled, adz_zeros_like(scaled), ADZ_REDUCE_MEAN, 0.7);
    adz_tensor *w = adz_module_get_parameter(module, "2.weight");
    return adz_add(loss, adz_mul_number(adz_sum(adz_abs(w), ADZ_ALL_DIMS, ADZ_DROPDIM), 0.01));
}

static const char *text_of_file(const char *name)
{
    static char text[1 << 18];
    FILE *file = fopen(temporary_path(name), "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

/* What is not trained stays constant, and has neither a gradient nor a state. */
static void a_loss_of_its_own_and_a_frozen_body(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(15);
    adz_module *net =
        ADZ_SEQUENTIAL(adz_linear_new(6, 8, NULL), adz_tanh_new(), adz_linear_new(8, 2, NULL));
    adz_requires_grad_(adz_module_get_parameter(net, "0.weight"), false);
    adz_requires_grad_(adz_module_get_parameter(net, "0.bias"), false);
    c_network n = of(net, adz_randn(ADZ_SHAPE(5, 6), ADZ_F32));
    training t = { .optimizer = adz_rmsprop_new(adz_module_parameters(net), 0.002, NULL),
        .loss = OWN_LOSS,
        .steps = 500,
        .batches = 4,
        .clip = 0.5,
        .own = huber_and_penalty };
    check_training(&n, &t);
    const char *text = text_of_file("learner.c");
    assert_non_null(strstr(text, "static const float w_0_weight[48]"));
    assert_non_null(strstr(text, "static float w_2_weight[16]"));
    assert_non_null(strstr(text, "static float s_2_weight_square_avg[16]"));
    assert_null(strstr(text, "s_0_"));
    adz_optimizer_release(&t.optimizer);
    adz_module_release(&net);
    adz_scope_close(scope);
}

/* A step goes backward through the parts of an LSTM, and computes them in the forward alone. */
static void an_lstm_is_computed_once(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(19);
    adz_module *net = adz_lstm_new(3, 4, NULL);
    c_network n = of(net, adz_randn(ADZ_SHAPE(5, 2, 3), ADZ_F32));
    training t = { .optimizer = adz_sgd_new(adz_module_parameters(net), 0.5, NULL),
        .loss = MSE,
        .steps = 20,
        .batches = 3 };
    check_training(&n, &t);
    const char *run = strstr(text_of_file("learner.c"), "void learner_run");
    const char *step = strstr(run, "void learner_step");
    const char *layer = strstr(run, "lstm_layer:");
    assert_true(layer != NULL && layer < step);
    assert_null(strstr(step, "lstm_layer:"));
    int tanhs = 0;
    for (const char *at = step; (at = strstr(at, "/* tanh:")) != NULL; ++at) {
        ++tanhs;
    }
    assert_int_equal(tanhs, 2 * 5);
    adz_optimizer_release(&t.optimizer);
    adz_module_release(&net);
    adz_scope_close(scope);
}

/* ---- every optimizer ------------------------------------------------------------------------- */

static void every_optimizer(void **state)
{
    (void)state;
    for (int i = 0; i < n_cases; ++i) {
        adz_scope *scope = adz_scope_open();
        adz_manual_seed(16);
        adz_module *net = adz_linear_new(4, 2, NULL);
        c_network n = of(net, adz_randn(ADZ_SHAPE(3, 4), ADZ_F32));
        training t = { .optimizer = cases[i].make(adz_module_parameters(net)),
            .loss = MSE,
            .steps = 12,
            .batches = 1,
            .libm = i % 2 == 0 };
        adz_c_options o = ADZ_C_OPTIONS;
        o.libm = t.libm;
        if (write_training(&n, &t, "learner.c", &o) != ADZ_OK) { /* cos is libm's alone */
            expect_error(ADZ_ERR_UNSUPPORTED, "needs cos of the mathematical library");
            t.libm = true;
        }
        check_training(&n, &t);
        adz_optimizer_release(&t.optimizer);
        adz_module_release(&net);
        adz_scope_close(scope);
    }
}

/* ---- several plans --------------------------------------------------------------------------- */

/* Micro-batches: `first` zeroes the gradients in place, `more` adds to them, `update` steps. */
typedef struct {
    adz_module *net;
    adz_tensor *x, *target;
    adz_optimizer *optimizer;
} accumulation;

static adz_tensor *accumulate(accumulation *a)
{
    adz_tensor *y = adz_module_forward(a->net, a->x);
    adz_tensor *loss = adz_mse_loss(y, a->target, ADZ_REDUCE_SUM);
    return adz_backward(loss) == ADZ_OK ? loss : NULL;
}

static adz_tensor *first(void *user)
{
    accumulation *a = user;
    adz_module_fill_grad_zero(a->net);
    return accumulate(a);
}

static adz_tensor *more(void *user)
{
    return accumulate(user);
}

static adz_tensor *update(void *user)
{
    accumulation *a = user;
    adz_tensor *loss = accumulate(a);
    return adz_optimizer_step(a->optimizer) == ADZ_OK ? loss : NULL;
}

static adz_tensor *drop(void *user)
{
    accumulation *a = user;
    adz_module_zero_grad(a->net);
    return accumulate(a);
}

static adz_plan *plan_of(accumulation *a, adz_plan_function function)
{
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    o.inputs = adz_tensor_list_of((adz_tensor *[]){ a->x, a->target }, 2);
    o.module = a->net;
    adz_plan *plan = adz_plan_new(function, a, &o);
    assert_non_null(plan);
    return plan;
}

static accumulation accumulation_begin(void)
{
    adz_manual_seed(17);
    accumulation a = { .net = adz_linear_new(3, 2, NULL),
        .x = adz_randn(ADZ_SHAPE(4, 3), ADZ_F32),
        .target = adz_randn(ADZ_SHAPE(4, 2), ADZ_F32) };
    adz_sgd_options o = ADZ_SGD_OPTIONS;
    o.momentum = 0.9;
    o.dampening = 0.5; /* the first step of the file is that of a new state */
    a.optimizer = adz_sgd_new(adz_module_parameters(a.net), 0.01, &o);
    assert_non_null(accumulate(&a)); /* there are gradients to add to */
    return a;
}

static void accumulation_end(accumulation *a)
{
    adz_optimizer_release(&a->optimizer);
    adz_module_release(&a->net);
}

typedef void (*compiled_step)(const float *, const float *, float *);

/* Weights, gradients and states are the same arrays in all functions of a file. */
static void plans_share_variables(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    accumulation a = accumulation_begin();
    static const adz_plan_function functions[] = { first, more, update };
    static const char *const names[] = { "first", "more", "run" };
    adz_plan *plans[3];
    for (int i = 0; i < 3; ++i) {
        plans[i] = plan_of(&a, functions[i]);
    }
    if (adz_plan_write_c_many(plans, names, 3, temporary_path("shared.c"), NULL) != ADZ_OK) {
        fail_msg("%s", adz_error_message());
    }
    const compiled c = compile("shared", false);
    for (int i = 0; i < 12; ++i) {
        char symbol[40];
        compiled_step step;
        float ours;
        snprintf(symbol, sizeof symbol, "shared_%s", names[i % 3]);
        *(void **)(void *)&step = dlsym(c.library, symbol);
        step(adz_tensor_data_f32(a.x), adz_tensor_data_f32(a.target), &ours);
        const double theirs = adz_item(functions[i % 3](&a));
        if (!(fabs((double)ours - theirs) <= 1e-5 * theirs)) {
            fail_msg("%s: %.9g in C and %.9g in the library", names[i % 3], (double)ours, theirs);
        }
    }
    dlclose(c.library);
    for (int i = 0; i < 3; ++i) {
        adz_plan_free(&plans[i]);
    }
    accumulation_end(&a);
    adz_scope_close(scope);
}

/* A module with a buffer that each call replaces: h = x + h / 2, y = 3 h - 1. All of it is one loop
 * in C, which must store h, although nothing reads it but the next call. */
static adz_tensor *keep_half(adz_module *self, adz_tensor *x)
{
    adz_tensor *h = adz_add(x, adz_mul_number(adz_module_buffer_at(self, 0), 0.5));
    adz_tensor *y = adz_sub_number(adz_mul_number(h, 3), 1);
    return adz_module_set_buffer(self, "h", adz_detach(h)) != NULL ? y : NULL;
}

static void a_replaced_buffer_goes_on(void **state)
{
    (void)state;
    static const adz_module_type type = {
        .size = sizeof(adz_module_type), .name = "Half", .forward = keep_half
    };
    adz_scope *scope = adz_scope_open();
    adz_module *net = adz_module_new(&type, 0);
    assert_non_null(adz_module_add_buffer(net, "h", adz_zeros(ADZ_SHAPE(2, 3), ADZ_F32), false));
    c_network n = of(net, adz_randn(ADZ_SHAPE(2, 3), ADZ_F32));
    adz_module_eval(net);
    const adzi_export what = {
        .function = call_network, .user = &n, .inputs = { n.in, n.n_in }, .module = net
    };
    assert_int_equal(
        adzi_write_c("adz_plan_write_c_many", temporary_path("half.c"), &what, 1, NULL), ADZ_OK);
    const compiled c = compile("half", false);
    for (int i = 0; i < 4; ++i) {
        refill(&n);
        const double d = difference(&c, &n, 1);
        if (!(d <= 1e-6)) {
            fail_msg("call %d: the result differs by %g", i, d);
        }
    }
    dlclose(c.library);
    adz_module_release(&net);
    adz_scope_close(scope);
}

static void expect_plans_refused(
    adz_plan *const *plans, const char *const *names, size_t n, adz_status code, const char *part)
{
    temporary_files(true);
    assert_int_equal(adz_plan_write_c_many(plans, names, n, temporary_path("no.c"), NULL), code);
    expect_error(code, part);
    assert_int_equal(temporary_files(false), 0);
}

static void refused_plans(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    accumulation a = accumulation_begin(), b = accumulation_begin();
    adz_plan *const plans[] = { plan_of(&a, drop), plan_of(&a, more), plan_of(&b, more) };
    static const char *const names[] = { "first", "more", "first", "2nd", "dot", "load", "",
        "weights_get" };
    expect_plans_refused(plans, names, 0, ADZ_ERR_ARGUMENT, "there are no plans");
    expect_plans_refused(plans, names, 3, ADZ_ERR_ARGUMENT, "plans 0 and 2 have different modules");
    expect_plans_refused(
        plans, names + 3, 1, ADZ_ERR_ARGUMENT, "\"2nd\" of plan 0 is no identifier");
    expect_plans_refused(plans, names + 6, 1, ADZ_ERR_ARGUMENT, "\"\" of plan 0 is no identifier");
    expect_plans_refused(
        plans, names + 4, 1, ADZ_ERR_ARGUMENT, "dot of plan 0 is that of something");
    expect_plans_refused(
        plans, names + 5, 1, ADZ_ERR_ARGUMENT, "load of plan 0 is that of something");
    expect_plans_refused(
        plans, names + 7, 1, ADZ_ERR_ARGUMENT, "weights_get of plan 0 is that of something");
    adz_plan *const twice[] = { plans[0], plans[1], plans[1] };
    expect_plans_refused(twice, names, 3, ADZ_ERR_ARGUMENT, "plans 0 and 2 are both called first");
    expect_plans_refused(plans, names, 2, ADZ_ERR_UNSUPPORTED, "a function drops weight.grad");
    assert_int_equal(adz_plan_write_c_many(NULL, names, 1, "no.c", NULL), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "plans");
    assert_int_equal(adz_plan_write_c_many(plans, NULL, 1, "no.c", NULL), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "names");
    for (int i = 0; i < 3; ++i) {
        adz_plan *plan = plans[i];
        adz_plan_free(&plan);
    }
    accumulation_end(&a);
    accumulation_end(&b);
    adz_scope_close(scope);
}

/* ---- epochs ---------------------------------------------------------------------------------- */

typedef void (*batches_of)(
    int32_t count, const int32_t *order, const float *x, const float *target, float *loss);

/* Two libraries of one file: one runs an epoch in one call, and the other one step by step. */
static void an_epoch_is_one_call(void **state)
{
    (void)state;
    enum { COUNT = 5, LINES = 4, WIDE = 3 };
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(21);
    adz_module *net =
        ADZ_SEQUENTIAL(adz_linear_new(WIDE, 6, NULL), adz_tanh_new(), adz_linear_new(6, 1, NULL));
    c_network n = of(net, adz_randn(ADZ_SHAPE(LINES, WIDE), ADZ_F32));
    training t = { .optimizer = adz_adam_new(adz_module_parameters(net), 0.05, NULL), .loss = MSE };
    adz_c_options o = ADZ_C_OPTIONS;
    o.batches = true;
    assert_int_equal(write_training(&n, &t, "learner.c", &o), ADZ_OK);
    const compiled one = compile("learner", false), other = compile("learner", false);
    batches_of all;
    *(void **)(void *)&all = dlsym(one.library, "learner_step_batches");
    assert_true(all != NULL && dlsym(one.library, "learner_run_batches") != NULL);
    const float *x = adz_tensor_data_constant(adz_randn(ADZ_SHAPE(COUNT, LINES * WIDE), ADZ_F32));
    const float *y = adz_tensor_data_constant(adz_randn(ADZ_SHAPE(COUNT, LINES), ADZ_F32));
    const int32_t order[COUNT] = { 3, 0, 4, 4, 1 };
    for (int ordered = 0; ordered < 2; ++ordered) {
        float losses[COUNT], loss;
        all(COUNT, ordered ? order : NULL, x, y, losses);
        for (int i = 0; i < COUNT; ++i) {
            const int batch = ordered ? order[i] : i;
            other.step(x + batch * LINES * WIDE, y + batch * LINES, &loss);
            assert_true(loss == losses[i] && loss > 0);
        }
    }
    dlclose(one.library);
    dlclose(other.library);
    const char *const names[] = { "step", "step_batches" };
    adz_plan_options plan = ADZ_PLAN_OPTIONS;
    plan.inputs = adz_tensor_list_of(n.in, 1);
    plan.module = net;
    adz_plan *plans[2] = { adz_plan_new(call_network, &n, &plan), NULL };
    plans[1] = plans[0];
    assert_int_equal(adz_plan_write_c_many(plans, names, 2, "no.c", &o), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "step and step_batches of the plans 0 and 1");
    adz_plan_free(&plans[0]);
    adz_optimizer_release(&t.optimizer);
    adz_module_release(&net);
    adz_scope_close(scope);
}

int steps_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_loss_of_its_own_and_a_frozen_body),
        cmocka_unit_test(an_lstm_is_computed_once),
        cmocka_unit_test(every_optimizer),
        cmocka_unit_test(plans_share_variables),
        cmocka_unit_test(a_replaced_buffer_goes_on),
        cmocka_unit_test(refused_plans),
        cmocka_unit_test(an_epoch_is_one_call),
    };
    return cmocka_run_group_tests_name("c99: steps", tests, temporary_begin, temporary_end);
}
