/* Quantised operators, against the formulas of ONNX in plain C. */
#include <math.h>

#include "onnx/loaded.h"

static double at(const adz_tensor *t, int64_t i)
{
    adz_tensor *flat = adz_flatten((adz_tensor *)(uintptr_t)t, 0, -1);
    return adz_tensor_at(flat, &i);
}

static void put_float(wire *graph, const char *name, float number)
{
    wire_initializer(graph, name, WIRE_FLOAT, 0, NULL, &number, sizeof number);
}

/* Quantises and back: 3 rows, each with its scale and its zero point of int8. */
static void rows_have_their_scales(void **state)
{
    (void)state;
    enum { ROWS = 3, COLUMNS = 40 };
    static const float scales[ROWS] = { 0.02f, 0.5f, 1.0f / 3 };
    static const int8_t zeros[ROWS] = { 0, -100, 120 };
    wire graph = { 0 }, node = wire_node("QuantizeLinear", "x s z", "q");
    wire_initializer(&graph, "s", WIRE_FLOAT, 1, (int64_t[]){ ROWS }, scales, sizeof scales);
    wire_initializer(&graph, "z", WIRE_INT8, 1, (int64_t[]){ ROWS }, zeros, sizeof zeros);
    wire_input(&graph, "x", WIRE_FLOAT, "3 N");
    wire_attribute_int(&node, "axis", 0);
    wire_put_node(&graph, &node);
    node = wire_node("DequantizeLinear", "q s z", "y");
    wire_attribute_int(&node, "axis", 0);
    wire_put_node(&graph, &node);
    wire_output(&graph, "y", WIRE_FLOAT, "3 N");
    adz_module *net = load_at(&graph, 21);
    adz_tensor *x = adz_mul_number(adz_randn(ADZ_SHAPE(ROWS, COLUMNS), ADZ_F32), 4);
    adz_tensor *y = adz_module_forward(net, x);
    assert_non_null(y);
    bool cut = false;
    for (int64_t i = 0; i < ROWS * COLUMNS; ++i) {
        const float s = scales[i / COLUMNS], z = (float)zeros[i / COLUMNS];
        const float exact = rintf((float)at(x, i) / s) + z;
        const float q = exact < -128 ? -128 : exact > 127 ? 127 : exact;
        cut = cut || q != exact;
        assert_true(at(y, i) == (double)((q - z) * s));
    }
    assert_true(cut); /* some left the range */
    adz_module_release(&net);
}

/* Half a step goes to the even number: 0.5, 1.5, 2.5 and -0.5. */
static void halves_go_to_even_numbers(void **state)
{
    (void)state;
    static const float numbers[] = { 0.5f, 1.5f, 2.5f, 300, -1 };
    static const double wanted[] = { 0, 2, 2, 255, 0 };
    wire graph = { 0 };
    put_float(&graph, "s", 1);
    wire_input(&graph, "x", WIRE_FLOAT, "N");
    wire_simple(&graph, "QuantizeLinear", "x s", "q");
    wire_output(&graph, "q", WIRE_UINT8, "N");
    adz_module *net = load_at(&graph, 21);
    adz_tensor *q = adz_module_forward(net, adz_tensor_from(numbers, ADZ_SHAPE(5), ADZ_F32));
    assert_non_null(q);
    for (int64_t i = 0; i < 5; ++i) {
        assert_true(at(q, i) == wanted[i]);
    }
    adz_module_release(&net);
}

/* A matrix is quantised by its range, multiplied as integers, and scaled back. */
static void products_of_integers_are_exact(void **state)
{
    (void)state;
    enum { N = 5, K = 700, M = 4 }; /* more terms than f32 holds exactly */
    static uint8_t weights[K * M];
    static const uint8_t zero = 131;
    uint32_t draw = 1;
    for (int i = 0; i < K * M; ++i) {
        draw = draw * 1664525u + 1013904223u;
        weights[i] = (uint8_t)(draw >> 24);
    }
    wire graph = { 0 };
    wire_initializer(&graph, "w", WIRE_UINT8, 2, (int64_t[]){ K, M }, weights, sizeof weights);
    wire_initializer(&graph, "wz", WIRE_UINT8, 0, NULL, &zero, sizeof zero);
    wire_input(&graph, "x", WIRE_FLOAT, "N 700");
    wire_simple(&graph, "DynamicQuantizeLinear", "x", "q s z");
    wire_simple(&graph, "MatMulInteger", "q w z wz", "y");
    wire_output(&graph, "y", WIRE_INT32, "N 4");
    wire_output(&graph, "q", WIRE_UINT8, "N 700");
    wire_output(&graph, "z", WIRE_UINT8, "");
    adz_module *net = load_at(&graph, 21);
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, "", adz_add_number(adz_randn(ADZ_SHAPE(N, K), ADZ_F32), 1));
    assert_int_equal(adz_module_call(net, in, out), ADZ_OK);
    adz_tensor *y = adz_values_at(out, 0), *q = adz_values_at(out, 1);
    const int64_t z = (int64_t)at(adz_values_at(out, 2), 0);
    assert_true(z > 0 && z < 255);
    assert_int_equal(adz_tensor_dtype(y), ADZ_I32);
    for (int64_t i = 0; i < N * M; ++i) {
        int64_t sum = 0;
        for (int64_t k = 0; k < K; ++k) {
            sum += ((int64_t)at(q, i / M * K + k) - z) *
                   ((int64_t)weights[k * M + i % M] - (int64_t)zero);
        }
        assert_int_equal((int64_t)at(y, i), sum);
    }
    adz_values_free(&in);
    adz_values_free(&out);
    adz_module_release(&net);
}

static void other_types_are_refused(void **state)
{
    (void)state;
    wire graph = { 0 }, node = wire_node("QuantizeLinear", "x s", "q");
    put_float(&graph, "s", 1);
    wire_input(&graph, "x", WIRE_FLOAT, "N");
    wire_attribute_int(&node, "output_dtype", 22);
    wire_put_node(&graph, &node);
    wire_output(&graph, "q", WIRE_UINT8, "N");
    expect_not_loaded(&graph, 21, ADZ_ERR_UNSUPPORTED, "the type of its zero point is int4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rows_have_their_scales),
        TEST(halves_go_to_even_numbers),
        TEST(products_of_integers_are_exact),
        TEST(other_types_are_refused),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
