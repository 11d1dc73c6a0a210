/* Inputs that do not fit an operator are refused: indices, sizes and states beyond their tensors.
 * Results at the ends of ranges are exact. */
#include <math.h>

#include "onnx/loaded.h"

static void put_whole(
    wire *graph, const char *name, int rank, const int64_t *sizes, const int64_t *numbers)
{
    size_t n = 1;
    for (int d = 0; d < rank; ++d) {
        n *= (size_t)sizes[d];
    }
    wire_initializer(graph, name, WIRE_INT64, rank, sizes, numbers, n * sizeof *numbers);
}

static void put_floats(
    wire *graph, const char *name, int rank, const int64_t *sizes, const float *numbers)
{
    size_t n = 1;
    for (int d = 0; d < rank; ++d) {
        n *= (size_t)sizes[d];
    }
    wire_initializer(graph, name, WIRE_FLOAT, rank, sizes, numbers, n * sizeof *numbers);
}

/* What the graph with input "x" and output "y" makes of x. */
static adz_tensor *run(wire *graph, int64_t opset, adz_tensor *x)
{
    wire_input(graph, "x", WIRE_FLOAT, NULL);
    wire_output(graph, "y", WIRE_FLOAT, NULL);
    adz_module *net = load_at(graph, opset);
    adz_tensor *y = adz_module_forward(net, x);
    adz_module_release(&net);
    return y;
}

/* ---- indices -------------------------------------------------------------------------------- */

/* A coordinate that leaves its dimension must not name an element of the next row. */
static void coordinates_stay_in_their_dimension(void **state)
{
    (void)state;
    static const int64_t outside[][2] = { { 0, 3 }, { 1, -4 }, { -3, 5 }, { 2, -3 } };
    for (size_t i = 0; i < sizeof outside / sizeof *outside; ++i) {
        wire graph = { 0 };
        put_whole(&graph, "i", 2, (const int64_t[]){ 1, 2 }, outside[i]);
        wire_simple(&graph, "GatherND", "x i", "y");
        assert_null(run(&graph, 13, adz_ones(ADZ_SHAPE(2, 3), ADZ_F32)));
        expect_error(ADZ_ERR_INDEX, "index");
        put_whole(&graph, "i", 2, (const int64_t[]){ 1, 2 }, outside[i]);
        put_floats(&graph, "u", 1, (const int64_t[]){ 1 }, (const float[]){ 7 });
        wire_simple(&graph, "ScatterND", "x i u", "y");
        assert_null(run(&graph, 13, adz_ones(ADZ_SHAPE(2, 3), ADZ_F32)));
        expect_error(ADZ_ERR_INDEX, "index");
    }
}

/* ---- sizes ---------------------------------------------------------------------------------- */

static void groups_divide_the_channels(void **state)
{
    (void)state;
    for (int64_t opset = 18; opset <= 21; opset += 3) {
        wire graph = { 0 };
        put_floats(&graph, "s", 1, (const int64_t[]){ 1 }, (const float[]){ 1 });
        wire node = wire_node("GroupNormalization", "x s s", "y");
        wire_attribute_int(&node, "num_groups", 2);
        wire_put_node(&graph, &node);
        assert_null(run(&graph, opset, adz_ones(ADZ_SHAPE(3, 1, 2), ADZ_F32)));
        expect_error(ADZ_ERR_SHAPE, "2 groups");
    }
}

/* Four channels of 2^31 rows and columns have more elements than 64 bits count. */
static void unpooled_sizes_are_bounded(void **state)
{
    (void)state;
    wire graph = { 0 };
    put_whole(&graph, "i", 4, (const int64_t[]){ 1, 4, 2, 2 }, (const int64_t[16]){ 0 });
    wire node = wire_node("MaxUnpool", "x i", "y");
    wire_attribute_ints(&node, "kernel_shape", (const int64_t[]){ 2, 2 }, 2);
    wire_attribute_ints(&node, "strides", (const int64_t[]){ INT32_MAX, INT32_MAX }, 2);
    wire_put_node(&graph, &node);
    assert_null(run(&graph, 13, adz_ones(ADZ_SHAPE(1, 4, 2, 2), ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "zeros");
    put_whole(&graph, "i", 3, (const int64_t[]){ 1, 1, 1 }, (const int64_t[]){ 0 });
    put_whole(&graph, "o", 1, (const int64_t[]){ 3 }, (const int64_t[]){ 1, 1, INT64_MIN });
    node = wire_node("MaxUnpool", "x i o", "y");
    wire_attribute_ints(&node, "kernel_shape", (const int64_t[]){ 2 }, 1);
    wire_put_node(&graph, &node);
    assert_null(run(&graph, 13, adz_ones(ADZ_SHAPE(1, 1, 1), ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "output_shape");
}

/* Elements outside of the region are the given number, whatever stands at the end of x. */
static void extrapolated_elements_are_the_number(void **state)
{
    (void)state;
    wire graph = { 0 };
    put_floats(&graph, "r", 1, (const int64_t[]){ 2 }, (const float[]){ 0, 2 });
    put_whole(&graph, "n", 1, (const int64_t[]){ 1 }, (const int64_t[]){ 3 });
    wire node = wire_node("Resize", "x r - n", "y");
    wire_attribute_text(&node, "coordinate_transformation_mode", "tf_crop_and_resize");
    wire_attribute_float(&node, "extrapolation_value", 5);
    wire_put_node(&graph, &node);
    const float numbers[] = { 1, INFINITY };
    adz_tensor *y = run(&graph, 13, adz_tensor_from(numbers, ADZ_SHAPE(2), ADZ_F32));
    assert_non_null(y);
    assert_true(adz_item(adz_select(y, 0, 0)) == 1);
    assert_true(adz_item(adz_select(y, 0, 2)) == 5);
}

/* With this scale the weights of a row would take 10^30 steps. */
static void scales_of_antialias_are_bounded(void **state)
{
    (void)state;
    wire graph = { 0 };
    put_floats(&graph, "r", 1, (const int64_t[]){ 2 }, (const float[]){ 0, 1e30f });
    put_floats(&graph, "s", 1, (const int64_t[]){ 1 }, (const float[]){ 1e-30f });
    wire node = wire_node("Resize", "x r s", "y");
    wire_attribute_text(&node, "coordinate_transformation_mode", "tf_crop_and_resize");
    wire_attribute_text(&node, "mode", "linear");
    wire_attribute_int(&node, "antialias", 1);
    wire_put_node(&graph, &node);
    assert_null(run(&graph, 18, adz_ones(ADZ_SHAPE(4), ADZ_F32)));
    expect_error(ADZ_ERR_UNSUPPORTED, "antialias with scale");
}

/* ---- sequences ------------------------------------------------------------------------------ */

static void past_inputs_fit_the_kernel(void **state)
{
    (void)state;
    wire graph = { 0 };
    put_floats(&graph, "w", 3, (const int64_t[]){ 1, 1, 3 }, (const float[]){ 1, 2, 3 });
    put_floats(&graph, "p", 3, (const int64_t[]){ 1, 1, 1 }, (const float[]){ 1 });
    wire_simple(&graph, "CausalConvWithState", "x w - p", "y");
    assert_null(run(&graph, 27, adz_ones(ADZ_SHAPE(1, 1, 4), ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "past_state[1, 1, 1]");
}

static void gates_are_needed(void **state)
{
    (void)state;
    wire graph = { 0 };
    wire node = wire_node("LinearAttention", "x x x", "y");
    wire_attribute_int(&node, "q_num_heads", 1);
    wire_attribute_int(&node, "kv_num_heads", 1);
    wire_put_node(&graph, &node);
    assert_null(run(&graph, 27, adz_ones(ADZ_SHAPE(1, 2, 4), ADZ_F32)));
    expect_error(ADZ_ERR_ARGUMENT, "decay");
}

/* An attribute's name is a whole word of the table, not two of them. */
static void attributes_are_whole_words(void **state)
{
    (void)state;
    wire graph = { 0 };
    wire node = wire_node("HardSigmoid", "x", "y");
    wire_attribute_float(&node, "alpha:f beta", 1);
    wire_put_node(&graph, &node);
    wire_input(&graph, "x", WIRE_FLOAT, NULL);
    wire_output(&graph, "y", WIRE_FLOAT, NULL);
    expect_not_loaded(
        &graph, 17, ADZ_ERR_UNSUPPORTED, "attribute \"alpha:f beta\" is not supported");
}

/* int8 is held as int32: what int8 does not have is refused, in calls and in plans. */
static void inputs_of_int8_are_checked(void **state)
{
    (void)state;
    wire graph = { 0 };
    wire node = wire_node("Cast", "x", "y");
    wire_attribute_int(&node, "to", WIRE_FLOAT);
    wire_put_node(&graph, &node);
    wire_input(&graph, "x", WIRE_INT8, "2");
    wire_output(&graph, "y", WIRE_FLOAT, NULL);
    adz_module *net = load(&graph);
    adz_tensor *x = adz_tensor_from((const int32_t[]){ -128, 127 }, ADZ_SHAPE(2), ADZ_I32);
    adz_tensor *good = adz_clone(x);
    adz_plan *plan = plan_of(&(network_call){ net, x });
    static const int32_t wrong[][2] = { { -129, 0 }, { 0, 128 }, { INT32_MAX, INT32_MIN } };
    for (size_t i = 0; i < 3; ++i) {
        assert_true(adz_equal(adz_module_forward(net, good), adz_to(good, ADZ_F32)));
        adz_copy_(x, adz_tensor_from(wrong[i], ADZ_SHAPE(2), ADZ_I32));
        assert_null(adz_module_forward(net, x));
        expect_error(ADZ_ERR_INDEX, "input \"x\" of int8, -128 to 127: take");
        assert_int_equal(adz_plan_run(plan), ADZ_ERR_INDEX);
        expect_error(ADZ_ERR_INDEX, "take");
    }
    adz_plan_free(&plan);
    adz_module_release(&net);
}

/* Running statistics of f64 beside inputs of f32 have no update. */
static void statistics_of_another_type_are_not_trained(void **state)
{
    (void)state;
    const double ones[3] = { 1, 1, 1 };
    wire graph = { 0 };
    const int64_t n = 3;
    wire_initializer(&graph, "w", WIRE_FLOAT, 1, &n, (const float[]){ 1, 1, 1 }, 3 * sizeof(float));
    wire_initializer(&graph, "mean", WIRE_DOUBLE, 1, &n, ones, sizeof ones);
    wire_initializer(&graph, "var", WIRE_DOUBLE, 1, &n, ones, sizeof ones);
    wire_simple(&graph, "BatchNormalization", "x w w mean var", "y");
    wire_input(&graph, "x", WIRE_FLOAT, "N 3");
    wire_output(&graph, "y", WIRE_FLOAT, NULL);
    const char *path = temporary_path("net.onnx");
    assert_true(wire_save_model(path, &graph, 15));
    adz_module *net = adz_onnx_load(path, NULL);
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 3), ADZ_F32);
    assert_non_null(adz_module_forward(net, x));
    adz_module_train(net, true);
    assert_null(adz_module_forward(net, x));
    expect_error(ADZ_ERR_UNSUPPORTED, "statistics of another dtype");
    adz_module_release(&net);
    adz_onnx_load_options o = ADZ_ONNX_LOAD_OPTIONS;
    o.dtype = ADZ_F64; /* all are f64 then, and the update is there */
    net = adz_onnx_load(path, &o);
    adz_module_train(net, true);
    assert_non_null(adz_module_forward(net, adz_to(x, ADZ_F64)));
    assert_true(adz_tensor_at(adz_module_get_buffer(net, "mean"), (int64_t[]){ 0 }) != 1);
    adz_module_release(&net);
}

/* ---- errors -------------------------------------------------------------------------------- */

typedef struct heard {
    int calls;
    char text[1024];
} heard;

static void hear(adz_status status, const char *message, void *user)
{
    heard *h = user;
    (void)status;
    ++h->calls;
    snprintf(h->text, sizeof h->text, "%s", message);
}

/* A program that hears of errors hears of the file, too. */
static void errors_name_the_file(void **state)
{
    (void)state;
    heard h = { 0 };
    const char *path = temporary_path("cut.onnx");
    assert_true(wire_save(path, "\x08\x0a\x3a", 3));
    adz_on_error(hear, &h);
    assert_null(adz_onnx_load(path, NULL));
    adz_on_error(adz_quiet, NULL);
    assert_int_equal(h.calls, 1);
    assert_non_null(strstr(h.text, "cut.onnx: adz_onnx_load: the file ends inside"));
    expect_error(ADZ_ERR_FORMAT, "cut.onnx: adz_onnx_load");
    assert_null(adz_onnx_load("/nowhere/net.onnx", NULL));
    expect_error(ADZ_ERR_IO, "/nowhere/net.onnx: adz_onnx_load: the file cannot be opened");
    assert_null(adz_onnx_tensor_load("/nowhere/t.pb"));
    expect_error(ADZ_ERR_IO, "/nowhere/t.pb: adz_onnx_tensor_load: the file cannot");
}

/* What a node computes says the node's name, also to a program that hears of errors. */
static void errors_name_the_node(void **state)
{
    (void)state;
    heard h = { 0 };
    wire graph = { 0 };
    put_floats(&graph, "w", 2, (const int64_t[]){ 3, 1 }, (const float[]){ 1, 2, 3 });
    wire node = wire_node("MatMul", "x w", "y");
    wire_text(&node, 3, "layer/second");
    wire_put_node(&graph, &node);
    wire_input(&graph, "x", WIRE_FLOAT, NULL);
    wire_output(&graph, "y", WIRE_FLOAT, NULL);
    adz_module *net = load(&graph);
    adz_on_error(hear, &h);
    assert_null(adz_module_forward(net, adz_ones(ADZ_SHAPE(1, 4), ADZ_F32)));
    adz_on_error(adz_quiet, NULL);
    assert_non_null(strstr(h.text, "layer/second"));
    expect_error(
        ADZ_ERR_SHAPE, "node \"layer/second\" (opset 17): layer/second: matmul: inner sizes");
    adz_module_release(&net);
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* 3^39 has more than the 53 bits of an f64. */
static void powers_of_integers_are_exact(void **state)
{
    (void)state;
    wire graph = { 0 };
    const int32_t exponent = 39;
    wire_initializer(&graph, "b", WIRE_INT32, 0, NULL, &exponent, sizeof exponent);
    wire node = wire_node("Cast", "x", "a");
    wire_attribute_int(&node, "to", WIRE_INT64);
    wire_put_node(&graph, &node);
    wire_simple(&graph, "Pow", "a b", "y");
    adz_tensor *y = run(&graph, 13, adz_full(ADZ_SHAPE(1), 3, ADZ_F32));
    assert_non_null(y);
    assert_int_equal(adz_item_i64(y), INT64_C(4052555153018976267));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(coordinates_stay_in_their_dimension),
        TEST(groups_divide_the_channels),
        TEST(unpooled_sizes_are_bounded),
        TEST(extrapolated_elements_are_the_number),
        TEST(scales_of_antialias_are_bounded),
        TEST(past_inputs_fit_the_kernel),
        TEST(gates_are_needed),
        TEST(attributes_are_whole_words),
        TEST(errors_name_the_file),
        TEST(errors_name_the_node),
        TEST(inputs_of_int8_are_checked),
        TEST(statistics_of_another_type_are_not_trained),
        TEST(powers_of_integers_are_exact),
    };
    const int failed = cmocka_run_group_tests(tests, temporary_begin, NULL);
    temporary_end(NULL);
    return failed;
}
