/* The documented operator as ONNX and as C99: exports write its expression. */
#include "common.h"
#include "isru.h"
#include "masked.h"

#include <dlfcn.h>

#include "../../export/protobuf_reader.h"
#include "../../temporary.h"
#include "export/trace.h"

enum { ROWS = 3, FEATURES = 4 };

/* A network with the operator in its middle. */
typedef struct {
    adz_module *net;
    adz_tensor *x, *target;
    adz_optimizer *optimizer;
} network;

static network begin(adz_tensor *(*function)(adz_tensor *x))
{
    adz_manual_seed(1);
    network n = { .net = ADZ_SEQUENTIAL(adz_linear_new(FEATURES, 5, NULL),
                      adz_function_new(function), adz_linear_new(5, 2, NULL)),
        .x = adz_randn(ADZ_SHAPE(ROWS, FEATURES), ADZ_F32),
        .target = adz_randn(ADZ_SHAPE(ROWS, 2), ADZ_F32) };
    n.optimizer = adz_sgd_new(adz_module_parameters(n.net), 0.05, NULL);
    assert_non_null(n.optimizer);
    return n;
}

static void end(network *n)
{
    adz_optimizer_release(&n->optimizer);
    adz_module_release(&n->net);
}

static adz_tensor *predict(void *user)
{
    network *n = user;
    return adz_module_forward(n->net, n->x);
}

/* ---- ONNX ----------------------------------------------------------------------------------- */

static void expect_types(network *n, const char *const *types, int count)
{
    const char *path = temporary_path("net.onnx");
    if (adz_module_write_onnx(n->net, n->x, path, NULL) != ADZ_OK) {
        fail_msg("%s", adz_error_message());
    }
    read_model *m = read_model_file(path);
    assert_int_equal(m->n_nodes, count);
    for (int i = 0; i < count; ++i) {
        if (!read_is(m->nodes[i].type, types[i])) {
            fail_msg("node %d is no %s", i, types[i]);
        }
    }
    assert_int_equal(m->inputs[0].dims[0], -1); /* the batch is free */
    read_model_free(m);
    remove(path);
}

static void an_onnx_file_has_the_expression(void **state)
{
    (void)state;
    static const char *const types[] = { "Gemm", "Mul", "Mul", "Gemm" };
    adz_scope *scope = adz_scope_open();
    network n = begin(cube);
    expect_types(&n, types, 4);
    adz_tensor *before = adz_detach(predict(&n));
    adz_module_requires_grad_(n.net, false);
    expect_types(&n, types, 4);
    assert_same_bits(adz_detach(predict(&n)), before);
    adz_module_to(n.net, ADZ_F64); /* without a kernel, the expression computes the call */
    n.x = adz_to(n.x, ADZ_F64);
    expect_types(&n, types, 4);
    end(&n);
    adz_scope_close(scope);
}

/* A call that the expression computes is traced once. */
static void an_expression_is_traced_once(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    network n = begin(cube);
    for (int d = ADZ_F32; d <= ADZ_F64; ++d) {
        adz_module_to(n.net, (adz_dtype)d);
        n.x = adz_to(n.x, (adz_dtype)d);
        const adzi_export what = {
            .function = predict, .user = &n, .inputs = { &n.x, 1 }, .module = n.net
        };
        adzi_trace *trace = adzi_trace_new("test", &what, NULL);
        assert_non_null(trace);
        assert_int_equal(trace->n_calls, d == ADZ_F32 ? 3 : 4);
        adzi_trace_free(&trace);
    }
    end(&n);
    adz_scope_close(scope);
}

/* ---- C99 ------------------------------------------------------------------------------------ */

/* Compiles a written file. Skips the test if the machine has no compiler now. */
static void *load(const char *name)
{
    char command[2000], library[600];
    snprintf(library, sizeof library, "./%s/%s.so", temporary_folder, name);
    snprintf(command, sizeof command,
        "%s -std=c99 -pedantic -Wall -Wextra -Werror -O1 -ffp-contract=off -fPIC -shared -o %s %s/%s.c",
        C_COMPILER, library, temporary_folder, name);
    const int status = system(command);
    if (status != 0 && system(C_COMPILER " --version > /dev/null 2>&1") != 0) {
        skip();
    }
    assert_int_equal(status, 0);
    void *loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (loaded == NULL) {
        fail_msg("%s", dlerror());
    }
    return loaded;
}

static void expect_close(const float *ours, adz_tensor *theirs)
{
    for (int64_t i = 0; i < adz_tensor_numel(theirs); ++i) {
        assert_float_equal(ours[i], adz_tensor_data_f32(theirs)[i], 1e-5);
    }
}

static adz_tensor *train(void *user)
{
    network *n = user;
    adz_optimizer_zero_grad(n->optimizer);
    adz_tensor *loss = adz_mse_loss(predict(n), n->target, ADZ_REDUCE_MEAN);
    const bool good = adz_backward(loss) == ADZ_OK && adz_optimizer_step(n->optimizer) == ADZ_OK;
    return good ? loss : NULL;
}

/* Predictions, and three steps of a training that goes on in C. */
static void expect_c_file(adz_tensor *(*function)(adz_tensor *x))
{
    adz_scope *scope = adz_scope_open();
    network n = begin(function);
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    o.inputs = adz_tensor_list_of(&n.x, 1);
    o.module = n.net;
    adz_plan *plans[] = { adz_plan_new(predict, &n, &o), NULL };
    o.inputs = adz_tensor_list_of((adz_tensor *[]){ n.x, n.target }, 2);
    plans[1] = adz_plan_new(train, &n, &o);
    static const char *const names[] = { "run", "step" };
    if (adz_plan_write_c_many(plans, names, 2, temporary_path("net.c"), NULL) != ADZ_OK) {
        fail_msg("%s", adz_error_message());
    }
    adz_plan_free(&plans[0]);
    adz_plan_free(&plans[1]);
    void *library = load("net");
    void (*run)(const float *, float *);
    void (*step)(const float *, const float *, float *);
    *(void **)(void *)&run = dlsym(library, "net_run");
    *(void **)(void *)&step = dlsym(library, "net_step");
    assert_true(run != NULL && step != NULL);
    float y[ROWS * 2], ours;
    const float *x = adz_tensor_data_f32(n.x), *target = adz_tensor_data_f32(n.target);
    for (int i = 0; i < 3; ++i) {
        run(x, y);
        expect_close(y, adz_detach(predict(&n)));
        step(x, target, &ours);
        assert_float_equal(ours, adz_item(train(&n)), 1e-5);
    }
    dlclose(library);
    end(&n);
    adz_scope_close(scope);
}

static void a_c_file_computes_and_trains(void **state)
{
    (void)state;
    expect_c_file(cube);
    expect_c_file(masked); /* a step knows no value that is kept */
}

/* ---- texts for C ---------------------------------------------------------------------------- */

/* Without an expression, and with a name of one of adze's operators: nothing but the text says what
 * a C file computes. */
static adz_tensor *squash(adz_tensor *x)
{
    static adz_operator op;
    op = isru_operator;
    op.name = "relu";
    op.expression = NULL;
    return adz_operator_call(&op, &x, 1, &(isru_attributes){ 0.25 }, NULL);
}

static void a_c_file_has_the_text(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(3, 5), ADZ_F32), true);
    const isru_attributes at = { 0.5 };
    assert_int_equal(adz_operator_check(&isru_operator, &x, 1, &at, 1e-6), ADZ_OK);
    assert_null(isru(x, -1));
    expect_error(ADZ_ERR_ARGUMENT, "alpha is below 0");
    adz_scope_close(scope);
    expect_c_file(squash);
}

static const char *wrong_text;

static adz_tensor *with_wrong_text(adz_tensor *x)
{
    static adz_operator op;
    op = cube_operator;
    op.c_element = wrong_text;
    return adz_operator_call(&op, &x, 1, NULL, NULL);
}

static void wrong_texts_are_refused(void **state)
{
    (void)state;
    static const char *const texts[][2] = { { "$a * $b", "c_element has \"$b\"" },
        { "$0 * $a", "c_element has \"$0\"" }, { "$", "c_element has \"$\"" },
        { "@cube($a)", "no such function in C" } };
    for (size_t i = 0; i < COUNT_OF(texts); ++i) {
        adz_scope *scope = adz_scope_open();
        wrong_text = texts[i][0];
        network n = begin(with_wrong_text);
        adz_plan_options o = ADZ_PLAN_OPTIONS;
        o.inputs = adz_tensor_list_of(&n.x, 1);
        o.module = n.net;
        adz_plan *plan = adz_plan_new(predict, &n, &o);
        const adz_status status = adz_plan_write_c(plan, temporary_path("net.c"), NULL);
        assert_int_not_equal(status, ADZ_OK);
        expect_error(status, texts[i][1]);
        adz_plan_free(&plan);
        end(&n);
        adz_scope_close(scope);
    }
}

/* ---- names ---------------------------------------------------------------------------------- */

/* Operators of the program that have the name of one of adze's. */
static adz_tensor *with_expression(adz_tensor *x)
{
    static adz_operator op;
    op = cube_operator;
    op.name = "relu";
    return adz_operator_call(&op, &x, 1, NULL, NULL);
}

static adz_tensor *without_expression(adz_tensor *x)
{
    static adz_operator op;
    op = cube_operator;
    op.name = "relu";
    op.expression = NULL;
    return adz_operator_call(&op, &x, 1, NULL, NULL);
}

static adz_tensor *unknown(adz_tensor *x)
{
    static adz_operator op;
    op = cube_operator;
    op.expression = NULL;
    return adz_operator_call(&op, &x, 1, NULL, NULL);
}

static void a_name_of_adze_is_not_taken_for_its_operator(void **state)
{
    (void)state;
    static const char *const types[] = { "Gemm", "Mul", "Mul", "Gemm" };
    adz_scope *scope = adz_scope_open();
    network n = begin(with_expression);
    expect_types(&n, types, 4);
    end(&n);
    static const struct {
        adz_tensor *(*function)(adz_tensor *x);
        const char *in_onnx, *in_c;
    } cases[] = {
        { without_expression, "relu: an operator of the program", "relu: an operator of the" },
        { unknown, "cube has no counterpart in ONNX", "cube" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); ++i) {
        n = begin(cases[i].function);
        assert_int_equal(adz_module_write_onnx(n.net, n.x, temporary_path("net.onnx"), NULL),
            ADZ_ERR_UNSUPPORTED);
        expect_error(ADZ_ERR_UNSUPPORTED, cases[i].in_onnx);
        adz_plan_options o = ADZ_PLAN_OPTIONS;
        o.inputs = adz_tensor_list_of(&n.x, 1);
        o.module = n.net;
        adz_plan *plan = adz_plan_new(predict, &n, &o);
        assert_int_equal(
            adz_plan_write_c(plan, temporary_path("net.c"), NULL), ADZ_ERR_UNSUPPORTED);
        expect_error(ADZ_ERR_UNSUPPORTED, cases[i].in_c);
        assert_int_equal(temporary_files(false), 0);
        adz_plan_free(&plan);
        end(&n);
    }
    adz_scope_close(scope);
}

int exported_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            an_onnx_file_has_the_expression, temporary_begin, temporary_end),
        cmocka_unit_test(an_expression_is_traced_once),
        cmocka_unit_test_setup_teardown(
            a_c_file_computes_and_trains, temporary_begin, temporary_end),
        cmocka_unit_test_setup_teardown(a_c_file_has_the_text, temporary_begin, temporary_end),
        cmocka_unit_test_setup_teardown(wrong_texts_are_refused, temporary_begin, temporary_end),
        cmocka_unit_test_setup_teardown(
            a_name_of_adze_is_not_taken_for_its_operator, temporary_begin, temporary_end),
    };
    return run_group("operator_call: exported", tests, COUNT_OF(tests));
}
