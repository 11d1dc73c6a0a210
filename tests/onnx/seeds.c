#include "seeds.h"

#include <string.h>

static void put_floats(wire *graph, const char *name, int64_t rows, int64_t columns)
{
    static float numbers[64];
    for (int64_t i = 0; i < rows * columns; ++i) {
        numbers[i] = (float)(i % 7) / 4 - 0.5f;
    }
    wire_initializer(graph, name, WIRE_FLOAT, columns > 1 ? 2 : 1, (int64_t[]){ rows, columns },
        numbers, (size_t)(rows * columns) * sizeof(float));
}

/* Two layers; the second one's weights are a list of numbers and not raw bytes. */
static wire perceptron(void)
{
    wire graph = { 0 }, node = wire_node("Gemm", "x w1 b1", "h"), tensor = { 0 };
    put_floats(&graph, "w1", 4, 6);
    put_floats(&graph, "b1", 6, 1);
    wire_int(&tensor, 1, 6);
    wire_int(&tensor, 1, 2);
    wire_int(&tensor, 2, WIRE_FLOAT);
    for (int i = 0; i < 12; ++i) {
        wire_float(&tensor, 4, (float)i);
    }
    wire_text(&tensor, 8, "fc.w2");
    wire_put(&graph, 5, &tensor);
    wire_input(&graph, "x", WIRE_FLOAT, "N 4");
    wire_attribute_float(&node, "alpha", 0.5f);
    wire_put_node(&graph, &node);
    wire_simple(&graph, "Tanh", "h", "t");
    wire_simple(&graph, "MatMul", "t fc.w2", "y");
    wire_output(&graph, "y", WIRE_FLOAT, "N 2");
    return wire_model(&graph, NULL, 0, 17);
}

/* Shapes that are followed on the host, and every kind of list. */
static wire shapes(void)
{
    wire graph = { 0 }, node = wire_node("Transpose", "x", "t");
    const int64_t zero = 0, rest = -1;
    wire_initializer(&graph, "zero", WIRE_INT64, 1, (int64_t[]){ 1 }, &zero, sizeof zero);
    wire_initializer(&graph, "rest", WIRE_INT64, 1, (int64_t[]){ 1 }, &rest, sizeof rest);
    wire_input(&graph, "x", WIRE_FLOAT, "N 4 3");
    wire_attribute_ints(&node, "perm", (int64_t[]){ 0, 2, 1 }, 3);
    wire_put_node(&graph, &node);
    wire_simple(&graph, "Shape", "t", "s");
    wire_simple(&graph, "Gather", "s zero", "n");
    node = wire_node("Concat", "n rest", "to");
    wire_attribute_int(&node, "axis", 0);
    wire_put_node(&graph, &node);
    wire_simple(&graph, "Reshape", "t to", "y");
    wire_output(&graph, "y", WIRE_FLOAT, NULL);
    return wire_model(&graph, NULL, 0, 17);
}

static wire conditional(void)
{
    wire graph = { 0 }, node = wire_node("If", "c", "y"), branches[2] = { { 0 } };
    const float one = 1;
    for (int i = 0; i < 2; ++i) {
        wire_initializer(&branches[i], "k", WIRE_FLOAT, 0, NULL, &one, sizeof one);
        wire_simple(&branches[i], i == 0 ? "Add" : "Sub", "x k", "r");
        wire_output(&branches[i], "r", WIRE_FLOAT, "N");
    }
    wire_input(&graph, "x", WIRE_FLOAT, "N");
    wire_input(&graph, "c", WIRE_BOOL, "");
    wire_attribute_graph(&node, "then_branch", &branches[0]);
    wire_attribute_graph(&node, "else_branch", &branches[1]);
    wire_put_node(&graph, &node);
    wire_output(&graph, "y", WIRE_FLOAT, "N");
    return wire_model(&graph, NULL, 0, 16);
}

static wire recurrent(void)
{
    wire graph = { 0 }, node = wire_node("GRU", "x w r", "y h");
    static float w[1 * 6 * 3], r[1 * 6 * 2];
    wire_initializer(&graph, "w", WIRE_FLOAT, 3, (int64_t[]){ 1, 6, 3 }, w, sizeof w);
    wire_initializer(&graph, "r", WIRE_FLOAT, 3, (int64_t[]){ 1, 6, 2 }, r, sizeof r);
    wire_input(&graph, "x", WIRE_FLOAT, "T B 3");
    wire_attribute_int(&node, "hidden_size", 2);
    wire_attribute_texts(&node, "activations", "Sigmoid Relu");
    wire_attribute_text(&node, "direction", "forward");
    wire_put_node(&graph, &node);
    wire_output(&graph, "y", WIRE_FLOAT, NULL);
    return wire_model(&graph, NULL, 0, 14);
}

/* A function that calls another one, with an attribute that the call gives. */
static wire functions(void)
{
    wire both[2], nodes = { 0 }, graph = { 0 }, node = wire_node("local:Outer", "x w", "y");
    wire_simple(&nodes, "local:Inner", "a", "b");
    wire_simple(&nodes, "Mul", "b c", "d");
    both[0] = wire_function("Outer", "a c", "d", &nodes, 17);
    wire_simple(&nodes, "Neg", "p", "q");
    wire_simple(&nodes, "Exp", "q", "r");
    both[1] = wire_function("Inner", "p", "r", &nodes, 17);
    put_floats(&graph, "w", 4, 1);
    wire_input(&graph, "x", WIRE_FLOAT, "N 4");
    wire_put_node(&graph, &node);
    wire_output(&graph, "y", WIRE_FLOAT, "N 4");
    return wire_model(&graph, both, 2, 17);
}

wire seed(size_t i)
{
    static wire (*const all[])(void) = { perceptron, shapes, conditional, recurrent, functions };
    return i < sizeof all / sizeof *all ? all[i]() : (wire){ 0 };
}
