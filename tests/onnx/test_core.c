/* What loading makes of a file: names, which weights are trained, numbers on the host, element
 * types, older opsets, and what it refuses. */
#include <math.h>
#include <pthread.h>

#include "onnx/loaded.h"

static void put_floats(wire *graph, const char *name, int64_t rows, int64_t columns, float first)
{
    float numbers[64];
    for (int64_t i = 0; i < rows * columns; ++i) {
        numbers[i] = first + (float)i / 7;
    }
    wire_initializer(graph, name, WIRE_FLOAT, 2, (const int64_t[]){ rows, columns }, numbers,
        (size_t)(rows * columns) * sizeof *numbers);
}

/* ---- names and weights ---------------------------------------------------------------------- */

static void weights_are_named_as_in_the_file(void **state)
{
    (void)state;
    wire graph = { 0 };
    put_floats(&graph, "layers.0.weight", 3, 3, 0.5F);
    put_floats(&graph, "scale", 1, 3, 1);
    put_floats(&graph, "lost", 1, 3, 2);
    wire_input(&graph, "x", WIRE_FLOAT, "N 3");
    wire_simple(&graph, "MatMul", "x layers.0.weight", "a");
    wire_simple(&graph, "MatMul", "a layers.0.weight", "b");
    wire_simple(&graph, "Mul", "b scale", "c");
    wire_simple(&graph, "Greater", "c lost", "d");
    wire_output(&graph, "c", WIRE_FLOAT, "N 3");
    wire_output(&graph, "d", WIRE_BOOL, "N 3");
    adz_module *net = load(&graph);
    const adz_named_list list = adz_module_named_parameters(net);
    assert_int_equal(list.count, 2); /* a weight that is used twice is one parameter */
    assert_string_equal(list.items[0].name, "scale");
    assert_string_equal(list.items[1].name, "layers.0.weight");
    assert_int_equal(adz_module_named_buffers(net).count, 1); /* no gradient reaches it */
    assert_string_equal(adz_module_named_buffers(net).items[0].name, "lost");
    adz_tensor *w = adz_module_get_parameter(net, "layers.0.weight");
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 3), ADZ_F32);
    adz_values *out = adz_values_new();
    adz_tensor *y = ADZ_CALL_RESULTS(net, out, { "x", x });
    expect_close(
        y, adz_mul(adz_matmul(adz_matmul(x, w), w), adz_module_get_parameter(net, "scale")));
    expect_close(adz_values_get(out, "d"), adz_gt(y, adz_module_get_buffer(net, "lost")));
    adz_values_free(&out);
    adz_module_release(&net);
}

/* Names that cannot be split at their dots: "a" is a weight and a child. */
static void names_that_cannot_be_split(void **state)
{
    (void)state;
    wire graph = { 0 };
    put_floats(&graph, "a", 1, 3, 1);
    put_floats(&graph, "a.b", 1, 3, 2);
    wire_input(&graph, "x", WIRE_FLOAT, "N 3");
    wire_simple(&graph, "Mul", "x a", "y");
    wire_simple(&graph, "Add", "y a.b", "z");
    wire_output(&graph, "z", WIRE_FLOAT, NULL);
    adz_module *net = load(&graph);
    adz_tensor *a = adz_module_get_parameter(net, "a"), *b = adz_module_get_parameter(net, "a_b");
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 3), ADZ_F32);
    expect_close(adz_module_forward(net, x), adz_add(adz_mul(x, a), b));
    adz_module_release(&net);
}

/* "a.b" and "a_b" would be the same parameter. */
static void names_that_meet(void **state)
{
    (void)state;
    wire graph = { 0 };
    put_floats(&graph, "a", 1, 3, 1);
    put_floats(&graph, "a.b", 1, 3, 2);
    put_floats(&graph, "a_b", 1, 3, 3);
    wire_input(&graph, "x", WIRE_FLOAT, "N 3");
    wire_simple(&graph, "Mul", "x a", "y");
    wire_simple(&graph, "Add", "y a.b", "z");
    wire_simple(&graph, "Div", "z a_b", "u");
    wire_output(&graph, "u", WIRE_FLOAT, NULL);
    adz_module *net = load(&graph);
    assert_int_equal(adz_module_named_parameters(net).count, 3);
    const char *third = adz_module_named_parameters(net).items[2].name;
    assert_non_null(strstr(third, "a_b@"));
    adz_tensor *a = adz_module_get_parameter(net, "a"), *b = adz_module_get_parameter(net, "a_b");
    adz_tensor *c = adz_module_get_parameter(net, third), *x = adz_randn(ADZ_SHAPE(2, 3), ADZ_F32);
    expect_close(adz_module_forward(net, x), adz_div(adz_add(adz_mul(x, a), b), c));
    adz_module_release(&net);
}

/* The result is the network's own input, a weight, or a value that a node hands through. */
static void results_that_nothing_computes(void **state)
{
    (void)state;
    wire graph = { 0 };
    put_floats(&graph, "w", 1, 3, 1);
    wire_input(&graph, "x", WIRE_FLOAT, "N 3");
    wire_simple(&graph, "Neg", "x", "a");
    wire_simple(&graph, "Identity", "a", "b");
    wire_simple(&graph, "Identity", "b", "c");
    wire_output(&graph, "c", WIRE_FLOAT, NULL);
    wire_output(&graph, "x", WIRE_FLOAT, NULL);
    wire_output(&graph, "w", WIRE_FLOAT, NULL);
    adz_module *net = load(&graph);
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 3), ADZ_F32);
    adz_values *out = adz_values_new();
    expect_close(ADZ_CALL_RESULTS(net, out, { NULL, x }), adz_neg(x));
    expect_close(adz_values_get(out, "x"), x);
    expect_close(adz_values_get(out, "w"), adz_module_get_parameter(net, "w"));
    adz_values_free(&out);
    adz_module_release(&net);
}

/* ---- the host ------------------------------------------------------------------------------- */

/* Shape, Gather, Unsqueeze, Concat and Reshape: x[N, 6] becomes [N, 2, 3]. */
static adz_module *reshaping(void)
{
    wire graph = { 0 };
    const int64_t zero = 0;
    wire_initializer(&graph, "zero", WIRE_INT64, 0, NULL, &zero, sizeof zero);
    put_ints(&graph, "axes", (const int64_t[]){ 0 }, 1);
    put_ints(&graph, "rest", (const int64_t[]){ 2, -1 }, 2);
    wire_input(&graph, "x", WIRE_FLOAT, "N 6");
    wire_simple(&graph, "Exp", "x", "h");
    wire_simple(&graph, "Shape", "h", "s");
    wire_simple(&graph, "Gather", "s zero", "n");
    wire_simple(&graph, "Unsqueeze", "n axes", "m");
    wire node = wire_node("Concat", "m rest", "shape");
    wire_attribute_int(&node, "axis", 0);
    wire_put_node(&graph, &node);
    wire_simple(&graph, "Reshape", "h shape", "y");
    wire_output(&graph, "y", WIRE_FLOAT, "N 2 3");
    return load(&graph);
}

static void shapes_are_followed_in_plans_and_exports(void **state)
{
    (void)state;
    adz_module *net = reshaping();
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 6), ADZ_F32);
    expect_close(adz_module_forward(net, x), adz_reshape(adz_exp(x), ADZ_SHAPE(4, 2, 3)));
    adz_plan *plan = plan_of(&(network_call){ net, x });
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
    }
    adz_plan_info info;
    adz_plan_get_info(plan, &info, sizeof info);
    assert_true(info.captured);
    expect_close(adz_plan_output(plan), adz_reshape(adz_exp(x), ADZ_SHAPE(4, 2, 3)));
    assert_int_equal(adz_module_write_onnx(net, x, temporary_path("again.onnx"), NULL), ADZ_OK);
    assert_int_equal(adz_plan_write_c(plan, temporary_path("net.c"), NULL), ADZ_OK);
    adz_plan_free(&plan);
    adz_module_release(&net);
}

typedef struct both_inputs {
    adz_module *net;
    adz_tensor *x, *shape;
} both_inputs;

static adz_tensor *forward_both(void *user)
{
    const both_inputs *b = user;
    return ADZ_CALL(b->net, { "x", b->x }, { "shape", b->shape });
}

/* A shape that is computed from an input: a plain call may look at it, a plan may not. */
static void shapes_from_inputs_are_not_captured(void **state)
{
    (void)state;
    wire graph = { 0 };
    wire_input(&graph, "x", WIRE_FLOAT, "N 6");
    wire_input(&graph, "shape", WIRE_INT64, "2");
    wire_simple(&graph, "Abs", "shape", "computed");
    wire_simple(&graph, "Reshape", "x computed", "y");
    wire_output(&graph, "y", WIRE_FLOAT, NULL);
    adz_module *net = load(&graph);
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 6), ADZ_F32);
    adz_tensor *shape = adz_tensor_from((const int64_t[]){ 3, -8 }, ADZ_SHAPE(2), ADZ_I64);
    adz_tensor *y = ADZ_CALL(net, { "shape", shape }, { "x", x });
    expect_close(y, adz_reshape(x, ADZ_SHAPE(3, 8)));
    adz_tensor *const inputs[] = { x, shape };
    both_inputs b = { net, x, shape };
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    o.inputs = adz_tensor_list_of(inputs, 2);
    o.module = net;
    adz_plan *plan = adz_plan_new(forward_both, &b, &o);
    for (int i = 0; i < 3 && plan != NULL; ++i) {
        adz_plan_run(plan);
    }
    expect_error(ADZ_ERR_STATE, "input 1 decides about shapes");
    adz_plan_free(&plan);
    adz_module_release(&net);
}

/* ---- types and opsets ----------------------------------------------------------------------- */

static void bytes_wrap(void **state)
{
    (void)state;
    const int types[] = { WIRE_UINT8, WIRE_INT8 };
    const int32_t expected[2][3] = { { 44, 255, 0 }, { -56, -1, -128 } };
    for (int i = 0; i < 2; ++i) {
        wire graph = { 0 };
        const int8_t b[] = { 100, -1, 1 };
        wire_initializer(&graph, "b", types[i], 1, (const int64_t[]){ 3 }, b, sizeof b);
        wire_input(&graph, "x", types[i], "3");
        wire_simple(&graph, "Add", "x b", "y");
        wire_output(&graph, "y", types[i], "3");
        adz_module *net = load(&graph);
        adz_tensor *x = adz_tensor_from((const int32_t[]){ 100, 0, 127 }, ADZ_SHAPE(3), ADZ_I32);
        if (i == 0) {
            x = adz_to(
                adz_tensor_from((const int32_t[]){ 200, 0, 255 }, ADZ_SHAPE(3), ADZ_I32), ADZ_U8);
        }
        adz_tensor *y = adz_module_forward(net, x);
        expect_close(adz_to(y, ADZ_I32), adz_tensor_from(expected[i], ADZ_SHAPE(3), ADZ_I32));
        adz_module_release(&net);
    }
}

static void halves_become_floats(void **state)
{
    (void)state;
    const uint16_t halves[] = { 0x3c00, 0xc000, 0x7c00 }; /* 1, -2, infinity */
    for (int f64 = 0; f64 < 2; ++f64) {
        wire graph = { 0 };
        adz_onnx_load_options o = ADZ_ONNX_LOAD_OPTIONS;
        o.dtype = f64 ? ADZ_F64 : ADZ_F32;
        wire_initializer(
            &graph, "w", WIRE_FLOAT16, 1, (const int64_t[]){ 3 }, halves, sizeof halves);
        wire_input(&graph, "x", WIRE_FLOAT16, "3");
        wire_simple(&graph, "Add", "x w", "y");
        wire_output(&graph, "y", WIRE_FLOAT16, "3");
        adz_module *net = load_with(&graph, 17, &o);
        assert_int_equal(adz_onnx_input_dtype_at(net, 0), o.dtype);
        adz_tensor *x = adz_ones(ADZ_SHAPE(3), o.dtype);
        adz_tensor *y = adz_module_forward(net, x);
        expect_close(
            y, adz_to(adz_tensor_from((const double[]){ 2, -1, INFINITY }, ADZ_SHAPE(3), ADZ_F64),
                   o.dtype));
        adz_module_release(&net);
    }
}

/* Opset 6 broadcasts only if an attribute says so. */
static void older_meanings(void **state)
{
    (void)state;
    for (int broadcast = 0; broadcast < 2; ++broadcast) {
        wire graph = { 0 };
        const float w[] = { 1, 2 };
        wire_initializer(&graph, "w", WIRE_FLOAT, 1, (const int64_t[]){ 2 }, w, sizeof w);
        wire_input(&graph, "x", WIRE_FLOAT, "2 3");
        wire node = wire_node("Mul", "x w", "y");
        wire_attribute_int(&node, "broadcast", broadcast);
        wire_attribute_int(&node, "axis", 0);
        wire_put_node(&graph, &node);
        wire_output(&graph, "y", WIRE_FLOAT, "2 3");
        adz_module *net = load_at(&graph, 6);
        adz_tensor *x = adz_randn(ADZ_SHAPE(2, 3), ADZ_F32);
        adz_tensor *y = adz_module_forward(net, x);
        if (broadcast != 0) {
            adz_tensor *column = adz_tensor_from(w, ADZ_SHAPE(2, 1), ADZ_F32);
            expect_close(y, adz_mul(x, column));
        } else {
            assert_null(y);
            expect_error(ADZ_ERR_SHAPE, "broadcast is 0");
        }
        adz_module_release(&net);
    }
}

/* Without axes all dimensions are reduced, or none if an attribute says so. Of nothing the largest
 * is the end of the range. */
static void reductions_of_all_and_of_nothing(void **state)
{
    (void)state;
    for (int noop = 0; noop < 2; ++noop) {
        wire graph = { 0 };
        put_ints(&graph, "axes", NULL, 0);
        wire_input(&graph, "x", WIRE_FLOAT, "N 3");
        const char *const types[] = { "ReduceSumSquare", "ReduceMax" };
        const char *const names[] = { "y", "z" };
        for (int i = 0; i < 2; ++i) {
            wire node = wire_node(types[i], "x axes", names[i]);
            wire_attribute_int(&node, "noop_with_empty_axes", noop);
            wire_put_node(&graph, &node);
            wire_output(&graph, names[i], WIRE_FLOAT, NULL);
        }
        adz_module *net = load_at(&graph, 18);
        adz_tensor *x = adz_randn(ADZ_SHAPE(2, 3), ADZ_F32);
        adz_tensor *y = adz_module_forward(net, x);
        expect_close(y, noop ? adz_square(x) : adz_sum(adz_square(x), ADZ_ALL_DIMS, ADZ_KEEPDIM));
        adz_values *out = adz_values_new();
        adz_tensor *nothing = adz_zeros(ADZ_SHAPE(0, 3), ADZ_F32);
        ADZ_CALL_RESULTS(net, out, { "x", nothing });
        expect_close(adz_values_get(out, "z"),
            noop ? nothing : adz_full(ADZ_SHAPE(1, 1), -INFINITY, ADZ_F32));
        adz_values_free(&out);
        adz_module_release(&net);
    }
}

/* ---- refused -------------------------------------------------------------------------------- */

static void expect_node_refused(wire *node, int64_t opset, const char *says)
{
    wire graph = { 0 };
    wire_input(&graph, "x", WIRE_FLOAT, "3");
    wire_text(node, 3, "the node");
    wire_put_node(&graph, node);
    wire_output(&graph, "y", WIRE_FLOAT, "3");
    expect_not_loaded(&graph, opset, ADZ_ERR_UNSUPPORTED, says);
}

static void expect_refused(const char *type, const char *attribute, int64_t opset, const char *says)
{
    wire node = wire_node(type, "x", "y");
    if (attribute != NULL) {
        wire_attribute_int(&node, attribute, 1);
    }
    expect_node_refused(&node, opset, says);
}

static void refusals_name_the_place(void **state)
{
    (void)state;
    expect_refused("Nonsense", NULL, 17,
        "node \"the node\" (Nonsense, opset 17): this operator is not supported");
    expect_refused("Exp", "speed", 17,
        "node \"the node\" (Exp, opset 17): attribute \"speed\" is not supported");
    expect_refused(
        "Gelu", NULL, 17, "(Gelu, opset 17): this operator is not supported in this opset");
    expect_refused("com.example:Exp", NULL, 17, "operators of the domain \"com.example\"");
    expect_refused("com.example:Exp", NULL, 0, "operators of the domain \"com.example\"");
    expect_refused(
        "Exp", NULL, 0, "(Exp, opset 0): the file has no opset of the domain \"ai.onnx\"");
    expect_refused("Exp", NULL, 5, "opset 5; opsets 6 to 28");
    expect_refused("Exp", NULL, 29, "opset 29; opsets 6 to 28");
    wire node = wire_node("Einsum", "x x x", "y");
    expect_node_refused(&node, 17, "3 operands are not supported");
    node = wire_node("BatchNormalization", "x x x x x", "y mean");
    expect_node_refused(&node, 9, "statistics as results are supported from opset 14 on");
    assert_null(adz_onnx_load("no such file.onnx", NULL));
    expect_error(ADZ_ERR_IO, "no such file.onnx");
    expect_null(adz_onnx_load(NULL, NULL) == NULL, "adz_onnx_load", "path");
    adz_module *other = adz_relu_new();
    assert_int_equal(adz_onnx_input_count(other), 0);
    expect_error(ADZ_ERR_ARGUMENT, "the module is a ReLU");
    adz_module_release(&other);
}

/* What only the elements or shapes of a call show. */
static void expect_refused_call(wire *node, adz_tensor *x, const char *says)
{
    wire graph = { 0 };
    const int64_t shape[] = { 3 }, single[] = { 1, 1, 1 };
    wire_initializer(&graph, "third", WIRE_FLOAT, 1, shape, (const float[]){ 1, 1, 0.6F }, 12);
    wire_initializer(&graph, "kernel", WIRE_FLOAT, 3, single, (const float[]){ 2 }, 4);
    wire_input(&graph, "x", adz_tensor_dtype(x) == ADZ_I32 ? WIRE_INT32 : WIRE_FLOAT, NULL);
    wire_put_node(&graph, node);
    wire_output(&graph, "y", adz_tensor_dtype(x) == ADZ_I32 ? WIRE_INT32 : WIRE_FLOAT, NULL);
    adz_module *net = load_at(&graph, 10);
    assert_null(adz_module_forward(net, x));
    expect_error(ADZ_ERR_UNSUPPORTED, says);
    adz_module_release(&net);
}

static void what_onnx_leaves_open_is_refused(void **state)
{
    (void)state;
    adz_tensor *whole = adz_ones(ADZ_SHAPE(2, 3), ADZ_I32),
               *x = adz_ones(ADZ_SHAPE(1, 1, 5), ADZ_F32);
    wire node = wire_node("Erf", "x", "y");
    expect_refused_call(&node, whole, "results of int32 are not supported");
    node = wire_node("ReduceLogSum", "x", "y");
    expect_refused_call(&node, whole, "logarithms of int32 are not supported");
    node = wire_node("Resize", "x third", "y");
    expect_refused_call(&node, x, "mode nearest with scale 0.6000000238 is not supported");
    node = wire_node("ConvTranspose", "x kernel", "y");
    wire_attribute_text(&node, "auto_pad", "SAME_UPPER");
    wire_attribute_ints(&node, "strides", (const int64_t[]){ 3 }, 1);
    expect_refused_call(&node, x, "dimension 2 longer than the kernel reaches");
}

/* ---- threads -------------------------------------------------------------------------------- */

static void *many_calls(void *user)
{
    const network_call *b = user;
    bool good = true;
    for (int i = 0; i < 100 && good; ++i) {
        adz_scope *own = adz_scope_open();
        adz_tensor *y = adz_module_forward(b->net, b->x);
        good = y != NULL &&
               adz_allclose(y, adz_reshape(adz_exp(b->x), ADZ_SHAPE(-1, 2, 3)), 1e-6, 1e-6, false);
        adz_scope_close(own);
    }
    return good ? user : NULL;
}

static void two_threads_call_one_network(void **state)
{
    (void)state;
    adz_module *net = reshaping();
    network_call b[2];
    pthread_t threads[2];
    for (int i = 0; i < 2; ++i) {
        b[i] = (network_call){ net, adz_keep(adz_randn(ADZ_SHAPE(2 + i, 6), ADZ_F32)) };
    }
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(pthread_create(&threads[i], NULL, many_calls, &b[i]), 0);
    }
    for (int i = 0; i < 2; ++i) {
        void *result;
        assert_int_equal(pthread_join(threads[i], &result), 0);
        assert_non_null(result);
        adz_release(&b[i].x);
    }
    adz_module_release(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(weights_are_named_as_in_the_file),
        TEST(names_that_cannot_be_split),
        TEST(names_that_meet),
        TEST(results_that_nothing_computes),
        TEST(shapes_are_followed_in_plans_and_exports),
        TEST(shapes_from_inputs_are_not_captured),
        TEST(bytes_wrap),
        TEST(halves_become_floats),
        TEST(older_meanings),
        TEST(reductions_of_all_and_of_nothing),
        TEST(refusals_name_the_place),
        TEST(what_onnx_leaves_open_is_refused),
        TEST(two_threads_call_one_network),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
