/* If, Loop, Scan, recurrent operators and Resize, against the library's own operators. */
#include "onnx/loaded.h"

/* Calls a network of up to two inputs; result i. */
static adz_tensor *call(adz_module *net, adz_tensor *a, adz_tensor *b, size_t result)
{
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, "", a);
    if (b != NULL) {
        adz_values_add(in, "", b);
    }
    adz_tensor *y = adz_module_call(net, in, out) == ADZ_OK ? adz_values_at(out, result) : NULL;
    adz_values_free(&in);
    adz_values_free(&out);
    return y;
}

static void put_int(wire *graph, const char *name, int64_t number)
{
    wire_initializer(graph, name, WIRE_INT64, 0, NULL, &number, sizeof number);
}

/* ---- If ---- */

static wire branch(const char *type, const char *name)
{
    wire graph = { 0 };
    wire_simple(&graph, type, "x", name);
    wire_output(&graph, name, WIRE_FLOAT, NULL);
    return graph;
}

static adz_module *conditional(void)
{
    wire graph = { 0 }, node = wire_node("If", "cond", "y");
    wire then_branch = branch("Exp", "a"), else_branch = branch("Neg", "b");
    wire_input(&graph, "x", WIRE_FLOAT, "N");
    wire_input(&graph, "cond", WIRE_BOOL, "");
    wire_attribute_graph(&node, "then_branch", &then_branch);
    wire_attribute_graph(&node, "else_branch", &else_branch);
    wire_put_node(&graph, &node);
    wire_output(&graph, "y", WIRE_FLOAT, "N");
    return load(&graph);
}

static void branches_are_chosen_by_each_call(void **state)
{
    (void)state;
    adz_module *net = conditional();
    adz_tensor *x = adz_randn(ADZ_SHAPE(4), ADZ_F32);
    expect_close(call(net, x, adz_full(ADZ_SHAPE_SCALAR, 1, ADZ_BOOL), 0), adz_exp(x));
    expect_close(call(net, x, adz_full(ADZ_SHAPE_SCALAR, 0, ADZ_BOOL), 0), adz_neg(x));
    adz_module_release(&net);
}

static void branches_without_a_graph_are_refused(void **state)
{
    (void)state;
    wire graph = { 0 }, node = wire_node("If", "cond", "y"), only = branch("Exp", "a");
    wire_input(&graph, "x", WIRE_FLOAT, "N");
    wire_input(&graph, "cond", WIRE_BOOL, "");
    wire_attribute_graph(&node, "then_branch", &only);
    wire_put_node(&graph, &node);
    wire_output(&graph, "y", WIRE_FLOAT, "N");
    expect_not_loaded(
        &graph, 17, ADZ_ERR_FORMAT, "\"else_branch\" must be a graph without inputs that gives 1");
}

/* ---- Loop ---- */

/* The state is doubled and x is added, `turns` times or until it passes the limit; every state is
 * gathered, and so are the numbers of the turns. */
static wire doubling(void)
{
    wire body = { 0 };
    wire_input(&body, "i", WIRE_INT64, "");
    wire_input(&body, "go", WIRE_BOOL, "");
    wire_input(&body, "s", WIRE_FLOAT, "N");
    wire_simple(&body, "Add", "s s", "twice");
    wire_simple(&body, "Add", "twice x", "next");
    wire_simple(&body, "Identity", "next", "seen");
    wire_simple(&body, "Identity", "go", "go_on");
    wire_simple(&body, "Identity", "i", "turn");
    wire_output(&body, "go_on", WIRE_BOOL, "");
    wire_output(&body, "next", WIRE_FLOAT, "N");
    wire_output(&body, "seen", WIRE_FLOAT, "N");
    wire_output(&body, "turn", WIRE_INT64, "");
    return body;
}

static adz_module *looping(int64_t turns)
{
    wire graph = { 0 }, node = wire_node("Loop", "turns - x", "last all numbers");
    wire body = doubling();
    put_int(&graph, "turns", turns);
    wire_input(&graph, "x", WIRE_FLOAT, "N");
    wire_attribute_graph(&node, "body", &body);
    wire_put_node(&graph, &node);
    wire_output(&graph, "last", WIRE_FLOAT, "N");
    wire_output(&graph, "all", WIRE_FLOAT, "T N");
    wire_output(&graph, "numbers", WIRE_INT64, "T");
    return load(&graph);
}

static void loops_carry_and_gather(void **state)
{
    (void)state;
    adz_module *net = looping(3);
    adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(4), ADZ_F32), true);
    adz_tensor *last = call(net, x, NULL, 0);
    expect_close(last, adz_mul_number(x, 15)); /* 1, 3, 7, 15 */
    adz_tensor *all = call(net, x, NULL, 1);
    assert_int_equal(adz_tensor_size(all, 0), 3);
    expect_close(adz_select(all, 0, 1), adz_mul_number(x, 7));
    adz_tensor *numbers = call(net, x, NULL, 2);
    assert_true(adz_tensor_at(numbers, (int64_t[]){ 2 }) == 2);
    adz_backward(adz_sum(last, ADZ_ALL_DIMS, false));
    expect_close(adz_tensor_grad(x), adz_full(ADZ_SHAPE(4), 15, ADZ_F32));
    adz_module_release(&net);
}

/* The node's second input is the number of the turn, which it reads on the host. */
static adz_module *counting(const char *type)
{
    wire graph = { 0 }, body = { 0 }, node = wire_node("Loop", "turns - x", "y");
    put_int(&graph, "turns", 3);
    wire_input(&graph, "x", WIRE_FLOAT, "2 3 4");
    wire_input(&body, "i", WIRE_INT64, "");
    wire_input(&body, "go", WIRE_BOOL, "");
    wire_input(&body, "s", WIRE_FLOAT, "2 3 4");
    wire_simple(&body, type, "s i", "t");
    wire_simple(&body, "Identity", "go", "go_on");
    wire_output(&body, "go_on", WIRE_BOOL, "");
    wire_output(&body, "t", WIRE_FLOAT, "2 3 4");
    wire_attribute_graph(&node, "body", &body);
    wire_put_node(&graph, &node);
    wire_output(&graph, "y", WIRE_FLOAT, "2 3 4");
    return load_at(&graph, 26);
}

/* A plan knows no numbers that tensors hold, so it makes the turns of such a loop one by one. */
static void turns_decide_what_nodes_compute(void **state)
{
    (void)state;
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 3, 4), ADZ_F32);
    adz_tensor *sums = adz_cumsum(adz_cumsum(adz_cumsum(x, 0), 1), 2);
    adz_tensor *products = adz_cumprod(adz_cumprod(adz_cumprod(x, 0), 1), 2);
    const struct {
        const char *type;
        adz_tensor *y;
    } rows[] = { { "CumSum", sums }, { "CumProd", products }, { "Trilu", adz_triu(x, 2) } };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        network_call b = { counting(rows[i].type), x };
        adz_plan *plan = plan_of(&b);
        expect_close(adz_module_forward(b.net, x), rows[i].y);
        expect_close(adz_plan_output(plan), rows[i].y);
        adz_plan_free(&plan);
        adz_module_release(&b.net);
    }
}

static void a_loop_without_turns_gives_its_input(void **state)
{
    (void)state;
    wire graph = { 0 }, node = wire_node("Loop", "turns - x", "last - -"), body = doubling();
    put_int(&graph, "turns", 0);
    wire_input(&graph, "x", WIRE_FLOAT, "N");
    wire_attribute_graph(&node, "body", &body);
    wire_put_node(&graph, &node);
    wire_output(&graph, "last", WIRE_FLOAT, "N");
    adz_module *net = load(&graph);
    adz_tensor *x = adz_randn(ADZ_SHAPE(4), ADZ_F32);
    expect_close(call(net, x, NULL, 0), x);
    adz_module_release(&net);
    net = looping(0);
    assert_null(call(net, x, NULL, 0));
    expect_error(ADZ_ERR_UNSUPPORTED, "gathers values of a graph that runs zero times");
    adz_module_release(&net);
}

/* ---- Scan ---- */

static void scans_run_along_an_axis(void **state)
{
    (void)state;
    wire graph = { 0 }, node = wire_node("Scan", "start x", "last all"), body = { 0 };
    wire_input(&body, "s", WIRE_FLOAT, "N");
    wire_input(&body, "row", WIRE_FLOAT, "N");
    wire_simple(&body, "Add", "s row", "sum");
    wire_simple(&body, "Identity", "sum", "seen");
    wire_output(&body, "sum", WIRE_FLOAT, "N");
    wire_output(&body, "seen", WIRE_FLOAT, "N");
    wire_input(&graph, "start", WIRE_FLOAT, "N");
    wire_input(&graph, "x", WIRE_FLOAT, "N T");
    wire_attribute_graph(&node, "body", &body);
    wire_attribute_int(&node, "num_scan_inputs", 1);
    wire_attribute_ints(&node, "scan_input_axes", (int64_t[]){ 1 }, 1);
    wire_attribute_ints(&node, "scan_output_axes", (int64_t[]){ 1 }, 1);
    wire_put_node(&graph, &node);
    wire_output(&graph, "last", WIRE_FLOAT, "N");
    wire_output(&graph, "all", WIRE_FLOAT, "N T");
    adz_module *net = load(&graph);
    adz_tensor *x = adz_randn(ADZ_SHAPE(3, 5), ADZ_F32);
    adz_tensor *start = adz_zeros(ADZ_SHAPE(3), ADZ_F32);
    expect_close(call(net, start, x, 0), adz_sum(x, ADZ_DIMS(1), false));
    expect_close(call(net, start, x, 1), adz_cumsum(x, 1));
    adz_module_release(&net);
}

/* ---- functions ---- */

/* y = (x w, scaled) + x, by a function that is called twice: with and without a number. A second
 * function inside it gets the number by name, or a default. */
static void functions_are_inlined(void **state)
{
    (void)state;
    wire graph = { 0 }, nodes = { 0 }, both[2], node = wire_node("local:Inner", "a", "b");
    wire_attribute_reference(&node, "k", 1, "scale");
    wire_put_node(&nodes, &node);
    wire_simple(&nodes, "Add", "b a", "y"); /* y is a name of the graph, too */
    both[0] = wire_function("Outer", "a unused", "y b", &nodes, 17);
    wire given = { 0 };
    wire_text(&given, 1, "scale");
    wire_float(&given, 2, 3);
    wire_int(&given, 20, 1);
    wire_put(&both[0], 11, &given);
    node = wire_node("Constant", "", "c");
    wire_attribute_reference(&node, "value_float", 1, "k");
    wire_put_node(&nodes, &node);
    wire_simple(&nodes, "Mul", "a c", "b");
    both[1] = wire_function("Inner", "a", "b", &nodes, 17);
    wire_input(&graph, "x", WIRE_FLOAT, "N");
    node = wire_node("local:Outer", "x", "h -");
    wire_attribute_float(&node, "scale", 5);
    wire_put_node(&graph, &node);
    wire_simple(&graph, "local:Outer", "h", "y inner");
    wire_output(&graph, "y", WIRE_FLOAT, "N");
    wire_output(&graph, "inner", WIRE_FLOAT, "N");
    wire model = wire_model(&graph, both, 2, 17);
    const char *path = temporary_path("net.onnx");
    assert_true(wire_save(path, model.at, model.size));
    wire_free(&model);
    adz_module *net = adz_onnx_load(path, NULL);
    if (net == NULL) {
        fail_msg("%s", adz_error_message());
    }
    assert_string_equal(adz_onnx_output_name_at(net, 1), "inner");
    adz_tensor *x = adz_randn(ADZ_SHAPE(4), ADZ_F32);
    expect_close(call(net, x, NULL, 0), adz_mul_number(x, 6 * 4));
    expect_close(call(net, x, NULL, 1), adz_mul_number(x, 6 * 3));
    adz_module_release(&net);
}

/* ---- recurrent operators ---- */

enum { STEPS = 5, BATCH = 3, WIDTH = 4, HIDDEN = 6 };

static void put_weight(wire *graph, const char *name, adz_tensor *t)
{
    const adz_shape shape = adz_tensor_shape(t);
    wire_initializer(graph, name, WIRE_FLOAT, shape.rank, shape.sizes, adz_tensor_data(t),
        (size_t)adz_tensor_numel(t) * sizeof(float));
}

typedef struct weights {
    adz_tensor *w, *r, *b;
} weights;

static weights draw(int gates, int directions)
{
    const int64_t rows = gates * HIDDEN;
    return (weights){ adz_randn(ADZ_SHAPE(directions, rows, WIDTH), ADZ_F32),
        adz_randn(ADZ_SHAPE(directions, rows, HIDDEN), ADZ_F32),
        adz_randn(ADZ_SHAPE(directions, 2 * rows), ADZ_F32) };
}

static adz_module *recurrent(
    const char *type, const weights *w, const char *direction, const char *activations, bool after)
{
    wire graph = { 0 }, node = wire_node(type, "x w r b", "y h");
    put_weight(&graph, "w", w->w);
    put_weight(&graph, "r", w->r);
    put_weight(&graph, "b", w->b);
    wire_input(&graph, "x", WIRE_FLOAT, "T B 4");
    wire_attribute_int(&node, "hidden_size", HIDDEN);
    wire_attribute_text(&node, "direction", direction);
    if (activations != NULL) {
        wire_attribute_texts(&node, "activations", activations);
    }
    if (after) {
        wire_attribute_int(&node, "linear_before_reset", 1);
    }
    wire_put_node(&graph, &node);
    wire_output(&graph, "y", WIRE_FLOAT, NULL);
    wire_output(&graph, "h", WIRE_FLOAT, NULL);
    return load(&graph);
}

/* Activations that are named, in letters of any size, and those that are not. */
static void both_ways_agree(
    const char *type, int gates, const char *direction, const char *usual, bool after)
{
    const int directions = strcmp(direction, "bidirectional") == 0 ? 2 : 1;
    const bool backward = strcmp(direction, "reverse") == 0;
    weights w = draw(gates, directions);
    adz_tensor *x = adz_randn(ADZ_SHAPE(STEPS, BATCH, WIDTH), ADZ_F32);
    adz_module *net = recurrent(type, &w, direction, NULL, after);
    adz_module *named = recurrent(type, &w, direction, usual, after);
    adz_tensor *y = call(net, x, NULL, 0);
    assert_int_equal(adz_tensor_size(y, 1), directions);
    expect_close(call(named, x, NULL, 0), y);
    expect_close(call(named, x, NULL, 1), call(net, x, NULL, 1));
    /* One step is computed in another way than several. */
    adz_tensor *one = call(net, adz_narrow(x, 0, backward ? STEPS - 1 : 0, 1), NULL, 0);
    expect_close(adz_select(adz_select(one, 1, 0), 0, 0),
        adz_select(adz_select(y, 1, 0), 0, backward ? STEPS - 1 : 0));
    /* The last state is the last step of each direction. */
    adz_tensor *h = call(net, x, NULL, 1);
    expect_close(adz_select(h, 0, 0), adz_select(adz_select(y, 1, 0), 0, backward ? 0 : STEPS - 1));
    adz_module_release(&net);
    adz_module_release(&named);
}

/* The LSTM of the library from the file's weights: its rows are in another order. */
static void an_lstm_is_the_library_s(void **state)
{
    (void)state;
    weights w = draw(4, 1);
    static const int64_t order[] = { 0, 2, 3, 1 };
    adz_tensor *parts[3][4], *all[4];
    adz_tensor *both[2] = { adz_narrow(w.b, 1, 0, 4 * HIDDEN),
        adz_narrow(w.b, 1, 4 * HIDDEN, 4 * HIDDEN) };
    for (int i = 0; i < 4; ++i) {
        parts[0][i] = adz_narrow(adz_select(w.w, 0, 0), 0, order[i] * HIDDEN, HIDDEN);
        parts[1][i] = adz_narrow(adz_select(w.r, 0, 0), 0, order[i] * HIDDEN, HIDDEN);
        parts[2][i] =
            adz_narrow(adz_select(adz_add(both[0], both[1]), 0, 0), 0, order[i] * HIDDEN, HIDDEN);
    }
    for (int k = 0; k < 3; ++k) {
        all[k] = adz_cat(parts[k], 4, 0);
    }
    all[3] = adz_zeros(ADZ_SHAPE(4 * HIDDEN), ADZ_F32);
    adz_tensor *x = adz_randn(ADZ_SHAPE(STEPS, BATCH, WIDTH), ADZ_F32);
    adz_tensor *y = adz_lstm(x, ADZ_NONE, ADZ_NONE, all, 4, NULL, NULL, NULL);
    adz_module *net = recurrent("LSTM", &w, "forward", NULL, false);
    adz_tensor *found = call(net, x, NULL, 0);
    expect_close(adz_reshape(found, adz_tensor_shape(y)), y);
    adz_module_release(&net);
}

static void directions_and_activations(void **state)
{
    (void)state;
    static const char *const names[] = { "forward", "reverse", "bidirectional" };
    for (int i = 0; i < 3; ++i) {
        const bool two = i == 2;
        both_ways_agree("LSTM", 4, names[i],
            two ? "sigmoid Tanh tanh Sigmoid tanh Tanh" : "Sigmoid tanh TANH", false);
        both_ways_agree(
            "GRU", 3, names[i], two ? "sigmoid Tanh sigmoid Tanh" : "Sigmoid tanh", true);
        both_ways_agree(
            "GRU", 3, names[i], two ? "sigmoid Tanh sigmoid Tanh" : "Sigmoid tanh", false);
        both_ways_agree("RNN", 1, names[i], two ? "Tanh tanh" : "tanh", false);
    }
}

/* Peepholes of 0 change nothing, but are computed step by step. */
static void step_by_step_is_the_same(void **state)
{
    (void)state;
    weights w = draw(4, 2);
    adz_tensor *x = adz_randn(ADZ_SHAPE(STEPS, BATCH, WIDTH), ADZ_F32);
    wire graph = { 0 }, node = wire_node("LSTM", "x w r b - - - p", "y");
    put_weight(&graph, "w", w.w);
    put_weight(&graph, "r", w.r);
    put_weight(&graph, "b", w.b);
    put_weight(&graph, "p", adz_zeros(ADZ_SHAPE(2, 3 * HIDDEN), ADZ_F32));
    wire_input(&graph, "x", WIRE_FLOAT, "T B 4");
    wire_attribute_text(&node, "direction", "bidirectional");
    wire_put_node(&graph, &node);
    wire_output(&graph, "y", WIRE_FLOAT, NULL);
    adz_module *steps = load(&graph), *net = recurrent("LSTM", &w, "bidirectional", NULL, false);
    expect_close(call(steps, x, NULL, 0), call(net, x, NULL, 0));
    adz_module_release(&net);
    adz_module_release(&steps);
}

static void unknown_activations_are_refused(void **state)
{
    (void)state;
    weights w = draw(1, 1);
    wire graph = { 0 }, node = wire_node("RNN", "x w r", "y");
    put_weight(&graph, "w", w.w);
    put_weight(&graph, "r", w.r);
    wire_input(&graph, "x", WIRE_FLOAT, "T B 4");
    wire_attribute_texts(&node, "activations", "Affine");
    wire_put_node(&graph, &node);
    wire_output(&graph, "y", WIRE_FLOAT, NULL);
    expect_not_loaded(&graph, 17, ADZ_ERR_UNSUPPORTED, "activation \"Affine\" is not supported");
}

/* ---- Resize ---- */

static adz_module *resizing(const char *mode, const char *positions, const float *scales)
{
    wire graph = { 0 }, node = wire_node("Resize", "x - scales", "y");
    wire_initializer(&graph, "scales", WIRE_FLOAT, 1, (int64_t[]){ 4 }, scales, 4 * sizeof *scales);
    wire_input(&graph, "x", WIRE_FLOAT, "N C H W");
    wire_attribute_text(&node, "mode", mode);
    wire_attribute_text(&node, "coordinate_transformation_mode", positions);
    wire_attribute_text(&node, "nearest_mode", "floor");
    wire_put_node(&graph, &node);
    wire_output(&graph, "y", WIRE_FLOAT, NULL);
    return load(&graph);
}

static void images_are_resized(void **state)
{
    (void)state;
    static const float twice[] = { 1, 1, 2, 3 }, odd[] = { 1, 1, 1.5f, 0.5f };
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 3, 4, 6), ADZ_F32);
    adz_interpolate_options o = ADZ_INTERPOLATE_OPTIONS;
    adz_module *net = resizing("nearest", "asymmetric", twice);
    expect_close(call(net, x, NULL, 0), adz_interpolate(x, ADZ_SHAPE(8, 18), &o));
    adz_module_release(&net);
    net = resizing("nearest", "asymmetric", odd);
    expect_close(call(net, x, NULL, 0), adz_interpolate(x, ADZ_SHAPE(6, 3), &o));
    adz_module_release(&net);
    o.mode = ADZ_INTERPOLATE_BILINEAR;
    net = resizing("linear", "half_pixel", twice);
    expect_close(call(net, x, NULL, 0), adz_interpolate(x, ADZ_SHAPE(8, 18), &o));
    adz_module_release(&net);
    /* Results of two elements or more have the positions of half_pixel, but this name is computed
     * by weights and not by the kernel. */
    net = resizing("linear", "pytorch_half_pixel", odd);
    expect_close(call(net, x, NULL, 0), adz_interpolate(x, ADZ_SHAPE(6, 3), &o));
    adz_module_release(&net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(branches_are_chosen_by_each_call),
        TEST(branches_without_a_graph_are_refused),
        TEST(loops_carry_and_gather),
        TEST(turns_decide_what_nodes_compute),
        TEST(a_loop_without_turns_gives_its_input),
        TEST(scans_run_along_an_axis),
        TEST(functions_are_inlined),
        TEST(an_lstm_is_the_library_s),
        TEST(directions_and_activations),
        TEST(step_by_step_is_the_same),
        TEST(unknown_activations_are_refused),
        TEST(images_are_resized),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
