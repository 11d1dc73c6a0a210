/* For tests that write a graph to a file and load it. Each test runs in a scope of its own, and
 * fails if it leaves an error. */
#ifndef ADZE_TESTS_ONNX_LOADED_H
#define ADZE_TESTS_ONNX_LOADED_H

#include "adze/adze.h"
#include "adze/onnx.h"
#include "errors.h"
#include "onnx/wire_writer.h"
#include "temporary.h"

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_scope, close_scope)

static adz_scope *scope_of_test;

static inline int open_scope(void **state)
{
    (void)state;
    scope_of_test = adz_scope_open();
    return scope_of_test == NULL;
}

static inline int close_scope(void **state)
{
    (void)state;
    const bool failed = adz_error_code() != ADZ_OK;
    adz_error_clear();
    adz_scope_close(scope_of_test);
    return failed;
}

/* The module of a graph, which it ends; NULL where loading fails. */
static inline adz_module *load_with(
    wire *graph, int64_t opset, const adz_onnx_load_options *options)
{
    const char *path = temporary_path("net.onnx");
    assert_true(wire_save_model(path, graph, opset));
    return adz_onnx_load(path, options);
}

/* The module of a graph, which it ends. The test fails if there is none. */
static inline adz_module *load_at(wire *graph, int64_t opset)
{
    adz_module *net = load_with(graph, opset, NULL);
    if (net == NULL) {
        fail_msg("%s", adz_error_message());
    }
    return net;
}

static inline adz_module *load(wire *graph)
{
    return load_at(graph, 17);
}

static inline void expect_not_loaded(
    wire *graph, int64_t opset, adz_status status, const char *says)
{
    assert_null(load_with(graph, opset, NULL));
    expect_error(status, says);
}

static inline void expect_close(adz_tensor *a, adz_tensor *b)
{
    if (a == NULL || b == NULL || adz_tensor_dtype(a) != adz_tensor_dtype(b) ||
        !adz_allclose(a, b, 1e-6, 1e-6, true)) {
        fail_msg("%s: %s and %s differ", adz_error_message(), adz_text_shape(a), adz_text_shape(b));
    }
}

static inline void put_ints(wire *graph, const char *name, const int64_t *numbers, int64_t n)
{
    wire_initializer(graph, name, WIRE_INT64, 1, &n, numbers, (size_t)n * sizeof *numbers);
}

/* A network and its input, for a plan. */
typedef struct network_call {
    adz_module *net;
    adz_tensor *x;
} network_call;

static inline adz_tensor *forward(void *user)
{
    const network_call *b = user;
    return adz_module_forward(b->net, b->x);
}

/* The plan of a network, which has run once. */
static inline adz_plan *plan_of(network_call *b)
{
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    o.inputs = adz_tensor_list_of(&b->x, 1);
    o.module = b->net;
    adz_plan *plan = adz_plan_new(forward, b, &o);
    if (plan == NULL || adz_plan_run(plan) != ADZ_OK) {
        fail_msg("%s", adz_error_message());
    }
    return plan;
}

#endif
