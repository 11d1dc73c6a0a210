/* Nodes at the edges of their definitions: inputs and results that are left out, bytes and long
 * lists on the host, functions that repeat constants, memory that is refused. */
#include "base/alloc.h"
#include "onnx/loaded.h"

static void put_bytes(wire *graph, const char *name, int type, int byte)
{
    const uint8_t bytes[] = { (uint8_t)byte, (uint8_t)byte };
    wire_initializer(graph, name, type, 1, (const int64_t[]){ 2 }, bytes, sizeof bytes);
}

static adz_tensor *result(adz_module *net, adz_tensor *x)
{
    adz_tensor *y = net != NULL ? adz_module_forward(net, x) : NULL;
    if (y == NULL) {
        fail_msg("%s", adz_error_message());
    }
    return y;
}

/* ---- left out ------------------------------------------------------------------------------- */

/* A graph that gives its state back, for Loop and Scan. */
static wire body_of(bool loop)
{
    wire body = { 0 };
    if (loop) {
        wire_input(&body, "i", WIRE_INT64, "");
        wire_input(&body, "go", WIRE_BOOL, "");
    }
    wire_input(&body, "s", WIRE_FLOAT, NULL);
    if (!loop) {
        wire_input(&body, "e", WIRE_FLOAT, NULL);
    } else {
        wire_simple(&body, "Identity", "go", "on");
        wire_output(&body, "on", WIRE_BOOL, "");
    }
    wire_simple(&body, "Identity", "s", "t");
    wire_output(&body, "t", WIRE_FLOAT, NULL);
    return body;
}

static void states_may_not_be_left_out(void **state)
{
    (void)state;
    for (int loop = 0; loop < 2; ++loop) {
        wire graph = { 0 }, body = body_of(loop != 0);
        wire_input(&graph, "x", WIRE_FLOAT, "2");
        put_ints(&graph, "n", (int64_t[]){ 2 }, 1);
        wire node = loop != 0 ? wire_node("Loop", "n - -", "y") : wire_node("Scan", "- x", "y");
        wire_attribute_graph(&node, "body", &body);
        if (loop == 0) {
            wire_attribute_int(&node, "num_scan_inputs", 1);
        }
        wire_put_node(&graph, &node);
        wire_output(&graph, "y", WIRE_FLOAT, NULL);
        expect_not_loaded(
            &graph, 17, ADZ_ERR_FORMAT, loop != 0 ? "input 2 is left out" : "input 0 is left out");
    }
}

static void terms_may_not_be_left_out(void **state)
{
    (void)state;
    static const char *const types[] = { "Concat", "Max", "Sum" };
    for (size_t i = 0; i < 3; ++i) {
        wire graph = { 0 };
        wire_input(&graph, "x", WIRE_FLOAT, "2");
        wire_simple(&graph, "Shape", "x", "s");
        wire node = wire_node(types[i], "s -", "y");
        if (i == 0) {
            wire_attribute_int(&node, "axis", 0);
        }
        wire_put_node(&graph, &node);
        wire_output(&graph, "y", WIRE_INT64, NULL);
        expect_not_loaded(&graph, 17, ADZ_ERR_FORMAT, "input 1 is left out");
    }
}

static void nodes_without_results_are_refused(void **state)
{
    (void)state;
    static const char *const results[] = { "", "-" };
    for (size_t i = 0; i < 2; ++i) {
        wire graph = { 0 };
        wire_input(&graph, "x", WIRE_FLOAT, "2");
        wire_simple(&graph, "Neg", "x", "y");
        wire_simple(&graph, "Shape", "x", results[i]);
        wire_output(&graph, "y", WIRE_FLOAT, "2");
        expect_not_loaded(&graph, 17, ADZ_ERR_FORMAT, "has no result");
    }
}

static void attributes_are_given_once(void **state)
{
    (void)state;
    wire graph = { 0 };
    wire_input(&graph, "x", WIRE_FLOAT, "2 2");
    wire node = wire_node("Softmax", "x", "y");
    wire_attribute_int(&node, "axis", 0);
    wire_attribute_int(&node, "axis", 1);
    wire_put_node(&graph, &node);
    wire_output(&graph, "y", WIRE_FLOAT, "2 2");
    expect_not_loaded(&graph, 17, ADZ_ERR_FORMAT, "attribute \"axis\" is given twice");
}

static void nodes_without_names_are_numbered(void **state)
{
    (void)state;
    wire graph = { 0 };
    wire_input(&graph, "x", WIRE_FLOAT, "2");
    wire_simple(&graph, "Neg", "x", "a");
    wire_simple(&graph, "Nonsense", "a", "y");
    wire_output(&graph, "y", WIRE_FLOAT, "2");
    expect_not_loaded(&graph, 17, ADZ_ERR_UNSUPPORTED, "node \"Nonsense_1\" (Nonsense, opset 17)");
}

/* ---- numbers on the host -------------------------------------------------------------------- */

/* Numbers of 8 bits wrap wherever they are computed: of constants, the host computes. */
static void bytes_wrap_on_the_host(void **state)
{
    (void)state;
    for (int type = WIRE_UINT8; type <= WIRE_INT8; ++type) {
        wire graph = { 0 };
        wire_input(&graph, "x", WIRE_FLOAT, "2");
        put_bytes(&graph, "a", type, type == WIRE_INT8 ? 100 : 200);
        put_bytes(&graph, "b", type, 90);
        wire_simple(&graph, "Add", "a b", "sum");
        wire_simple(&graph, "Greater", "sum b", "greater");
        wire node = wire_node("Cast", "greater", "c");
        wire_attribute_int(&node, "to", WIRE_FLOAT);
        wire_put_node(&graph, &node);
        node = wire_node("Cast", "sum", "d");
        wire_attribute_int(&node, "to", WIRE_FLOAT);
        wire_put_node(&graph, &node);
        wire_simple(&graph, "Add", "c d", "e");
        wire_simple(&graph, "Add", "x e", "y");
        wire_output(&graph, "y", WIRE_FLOAT, "2");
        adz_module *net = load(&graph);
        adz_tensor *y = result(net, adz_zeros(ADZ_SHAPE(2), ADZ_F32));
        assert_true(adz_item(adz_select(y, 0, 1)) == (type == WIRE_INT8 ? 190 - 256 : 290 - 256));
        adz_module_release(&net);
    }
}

/* Lists that are too long for the host are tensors: distances between 100 positions. */
static void long_lists_become_tensors(void **state)
{
    (void)state;
    wire graph = { 0 };
    wire_input(&graph, "x", WIRE_FLOAT, "N");
    put_ints(&graph, "zero", (int64_t[]){ 0 }, 1);
    put_ints(&graph, "one", (int64_t[]){ 1 }, 1);
    wire_simple(&graph, "Shape", "x", "n");
    wire_simple(&graph, "Range", "zero n one", "at");
    wire_simple(&graph, "Unsqueeze", "at one", "rows");
    wire_simple(&graph, "Sub", "at rows", "far");
    wire_simple(&graph, "Greater", "far zero", "ahead");
    wire_simple(&graph, "Where", "ahead far zero", "kept");
    wire_simple(&graph, "Gather", "at kept", "again");
    wire_output(&graph, "far", WIRE_INT64, NULL);
    wire_output(&graph, "again", WIRE_INT64, NULL);
    adz_module *net = load(&graph);
    adz_values *out = adz_values_new();
    adz_tensor *far = ADZ_CALL_RESULTS(net, out, { "x", adz_zeros(ADZ_SHAPE(100), ADZ_F32) });
    assert_int_equal(adz_error_code(), ADZ_OK);
    adz_tensor *at = adz_arange(0, 100, 1, ADZ_I64);
    adz_tensor *wanted = adz_sub(at, adz_unsqueeze(at, 1));
    assert_true(adz_equal(far, wanted));
    assert_true(adz_equal(adz_values_get(out, "again"), adz_clamp(wanted, 0, 100)));
    adz_values_free(&out);
    adz_module_release(&net);
}

/* A count beyond the largest number ends. */
static void ranges_end_at_the_largest_number(void **state)
{
    (void)state;
    wire graph = { 0 };
    wire_input(&graph, "x", WIRE_FLOAT, "2");
    put_ints(&graph, "start", (int64_t[]){ INT64_MAX - 5 }, 1);
    put_ints(&graph, "limit", (int64_t[]){ INT64_MAX }, 1);
    put_ints(&graph, "step", (int64_t[]){ 4 }, 1);
    wire_simple(&graph, "Range", "start limit step", "y");
    wire_output(&graph, "y", WIRE_INT64, NULL);
    adz_module *net = load(&graph);
    adz_tensor *y = result(net, adz_zeros(ADZ_SHAPE(2), ADZ_F32));
    assert_int_equal(adz_tensor_numel(y), 2);
    assert_true(adz_item_i64(adz_select(y, 0, 1)) == INT64_MAX - 1);
    adz_module_release(&net);
}

static void expect_run_refused(wire *graph, adz_status status, const char *says)
{
    adz_module *net = load(graph);
    assert_null(adz_module_forward(net, adz_zeros(ADZ_SHAPE(2), ADZ_F32)));
    expect_error(status, says);
    adz_module_release(&net);
}

/* The host refuses what tensors refuse. */
static void lists_have_one_dimension(void **state)
{
    (void)state;
    static const char *const types[] = { "Concat", "Gather" };
    for (size_t i = 0; i < 2; ++i) {
        wire graph = { 0 };
        wire_input(&graph, "x", WIRE_FLOAT, "2");
        put_ints(&graph, "zero", (int64_t[]){ 0 }, 1);
        wire_simple(&graph, "Shape", "x", "s");
        wire node = wire_node(types[i], "s zero", "y");
        wire_attribute_int(&node, "axis", 1);
        wire_put_node(&graph, &node);
        wire_output(&graph, "y", WIRE_INT64, NULL);
        expect_run_refused(&graph, ADZ_ERR_DIM, "axis 1 is none");
    }
}

static void shapes_of_lists_are_checked(void **state)
{
    (void)state;
    static const int64_t shapes[][3] = { { -1, -1, 1 }, { -2, 1, 1 },
        { (int64_t)1 << 32, (int64_t)1 << 32, -1 }, { 2, INT64_MIN, -1 } };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        wire graph = { 0 };
        wire_input(&graph, "x", WIRE_FLOAT, "2");
        put_ints(&graph, "shape", shapes[i], 3);
        wire_simple(&graph, "Shape", "x", "s");
        wire_simple(&graph, "Reshape", "s shape", "y");
        wire_output(&graph, "y", WIRE_INT64, NULL);
        expect_run_refused(&graph, ADZ_ERR_SHAPE, "Reshape");
    }
}

/* ---- numbers of every size ------------------------------------------------------------------ */

static void expect_node_refused(wire *node, int64_t opset, const char *says)
{
    wire graph = { 0 };
    const float scales[] = { 1, 1e30F };
    wire_initializer(&graph, "w", WIRE_FLOAT, 2, (int64_t[]){ 2, 2 }, (float[4]){ 0 }, 16);
    wire_initializer(&graph, "image", WIRE_FLOAT, 4, (int64_t[]){ 1, 1, 1, 1 }, scales, 4);
    wire_initializer(&graph, "scales", WIRE_FLOAT, 1, (int64_t[]){ 2 }, scales, sizeof scales);
    put_ints(&graph, "sizes", (int64_t[]){ INT64_MIN, INT64_MAX }, 2);
    wire_input(&graph, "x", WIRE_FLOAT, "2");
    wire_put_node(&graph, node);
    wire_output(&graph, "y", WIRE_FLOAT, NULL);
    adz_module *net = load_at(&graph, opset);
    assert_null(adz_module_forward(net, adz_zeros(ADZ_SHAPE(2), ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, says);
    adz_module_release(&net);
}

static void extreme_numbers_are_refused(void **state)
{
    (void)state;
    wire node = wire_node("Add", "w x", "y");
    wire_attribute_int(&node, "broadcast", 1);
    wire_attribute_int(&node, "axis", INT64_MAX);
    expect_node_refused(&node, 6, "does not fit");
    node = wire_node("Resize", "w - scales", "y");
    expect_node_refused(&node, 17, "would have -1 elements");
    node = wire_node("Resize", "w - - sizes", "y");
    expect_node_refused(&node, 17, "would have -1 elements");
    node = wire_node("CenterCropPad", "w sizes", "y");
    expect_node_refused(&node, 18, "a size is negative");
    node = wire_node("DepthToSpace", "image", "y");
    wire_attribute_int(&node, "blocksize", (int64_t)1 << 32);
    expect_node_refused(&node, 17, "no blocks of 4294967296");
    node = wire_node("GroupNormalization", "image x x", "y");
    wire_attribute_int(&node, "num_groups", INT64_MAX);
    expect_node_refused(&node, 21, "groups");
}

/* ---- much from little ----------------------------------------------------------------------- */

/* A function with a large constant, called often, may not become many constants. */
static void functions_that_repeat_constants_are_refused(void **state)
{
    (void)state;
    static float zeros[65536];
    wire nodes = { 0 }, graph = { 0 }, node = wire_node("Constant", "", "b");
    wire tensor = wire_tensor("", WIRE_FLOAT, 1, (int64_t[]){ 65536 }, zeros, sizeof zeros);
    wire_attribute_tensor(&node, "value", &tensor);
    wire_put_node(&nodes, &node);
    wire function = wire_function("F", "", "b", &nodes, 17);
    for (int i = 0; i < 2000; ++i) {
        char name[16];
        snprintf(name, sizeof name, "c%d", i);
        wire_simple(&graph, "local:F", "", name);
    }
    wire_output(&graph, "c0", WIRE_FLOAT, NULL);
    wire model = wire_model(&graph, &function, 1, 17);
    const char *path = temporary_path("hostile.onnx");
    const size_t size = model.size;
    assert_true(wire_save(path, model.at, model.size));
    wire_free(&model);
    adz_memory_info before, after;
    adz_get_memory_info(&before, sizeof before);
    adz_reset_peak_memory();
    assert_null(adz_onnx_load(path, NULL));
    expect_error(ADZ_ERR_UNSUPPORTED, "for its length");
    adz_get_memory_info(&after, sizeof after);
    assert_true(after.peak_bytes - before.live_bytes < (64u << 20) + 64 * size);
}

/* Nor may a file of a megabyte be read for minutes: each call reads the whole function. */
static void long_functions_are_not_read_often(void **state)
{
    (void)state;
    wire nodes = { 0 }, graph = { 0 };
    wire_simple(&nodes, "Neg", "a", "b");
    wire function = wire_function("F", "a", "b", &nodes, 17);
    for (int i = 0; i < 100000; ++i) {
        wire_int(&function, 99, 1);
    }
    wire_input(&graph, "x", WIRE_FLOAT, "2");
    for (int i = 0; i < 2000; ++i) {
        char name[16];
        snprintf(name, sizeof name, "y%d", i);
        wire_simple(&graph, "local:F", "x", name);
    }
    wire_output(&graph, "y0", WIRE_FLOAT, NULL);
    wire model = wire_model(&graph, &function, 1, 17);
    const char *path = temporary_path("hostile.onnx");
    assert_true(wire_save(path, model.at, model.size));
    wire_free(&model);
    assert_null(adz_onnx_load(path, NULL));
    expect_error(ADZ_ERR_UNSUPPORTED, "for its length");
}

/* ---- memory that is refused ----------------------------------------------------------------- */

/* A network with a function, a branch, a weight below a child, and numbers on the host. */
static void save_rich_network(const char *path)
{
    const float w[] = { 1, 2 };
    wire graph = { 0 }, nodes = { 0 }, then = { 0 }, otherwise = { 0 };
    wire_simple(&nodes, "Neg", "a", "h");
    wire_simple(&nodes, "Abs", "h", "b");
    wire function = wire_function("F", "a", "b", &nodes, 17);
    wire_input(&graph, "x", WIRE_FLOAT, "N");
    wire_initializer(&graph, "fc.weight", WIRE_FLOAT, 1, (int64_t[]){ 2 }, w, sizeof w);
    put_ints(&graph, "one", (int64_t[]){ 1 }, 1);
    wire_simple(&graph, "Mul", "x fc.weight", "m");
    wire_simple(&graph, "local:F", "m", "f");
    wire_simple(&graph, "Shape", "f", "s");
    wire node = wire_node("Concat", "s one", "t");
    wire_attribute_int(&node, "axis", 0);
    wire_put_node(&graph, &node);
    wire_simple(&graph, "Reshape", "f t", "r");
    wire_simple(&graph, "Greater", "s one", "c");
    wire_simple(&then, "Exp", "r", "e");
    wire_output(&then, "e", WIRE_FLOAT, NULL);
    wire_simple(&otherwise, "Log", "r", "l");
    wire_output(&otherwise, "l", WIRE_FLOAT, NULL);
    node = wire_node("If", "c", "y");
    wire_attribute_graph(&node, "then_branch", &then);
    wire_attribute_graph(&node, "else_branch", &otherwise);
    wire_put_node(&graph, &node);
    wire_output(&graph, "y", WIRE_FLOAT, NULL);
    wire model = wire_model(&graph, &function, 1, 17);
    assert_true(wire_save(path, model.at, model.size));
    wire_free(&model);
}

/* Loads and calls; request n of memory is refused. Returns whether that many were made. */
static bool works_without_request(const char *path, adz_tensor *x, int64_t n)
{
    adzi_alloc_fail_at(n);
    adz_scope *own = adz_scope_open();
    adz_module *net = own != NULL ? adz_onnx_load(path, NULL) : NULL;
    adz_tensor *y = net != NULL ? adz_module_forward(net, x) : NULL;
    const bool failed = adzi_alloc_failed();
    adzi_alloc_fail_at(0);
    if (y == NULL) {
        if (!failed) {
            fail_msg("%s", adz_error_message());
        }
        assert_int_equal(adz_error_take(NULL, 0), ADZ_ERR_MEMORY);
    }
    adz_module_release(&net);
    adz_scope_close(own);
    return failed;
}

static void refused_memory_is_an_error(void **state)
{
    (void)state;
    const char *path = temporary_path("rich.onnx");
    adz_tensor *x = adz_ones(ADZ_SHAPE(2), ADZ_F32);
    save_rich_network(path);
    works_without_request(path, x, 0);
    works_without_request(path, x, 1);
    adz_memory_info before, after;
    adz_get_memory_info(&before, sizeof before);
    int64_t n = 1;
    while (works_without_request(path, x, n)) {
        ++n;
    }
    assert_true(n > 30);
    adz_get_memory_info(&after, sizeof after);
    assert_int_equal(after.live_tensors, before.live_tensors);
    assert_int_equal(after.live_bytes, before.live_bytes);
}

/* ---- messages ------------------------------------------------------------------------------- */

static void tensor_files_name_their_function(void **state)
{
    (void)state;
    const char *path = temporary_path("tensor.pb");
    const float one = 1;
    static const int64_t sizes[][1] = { { 2 }, { INT64_MAX } };
    for (size_t i = 0; i < 2; ++i) {
        wire tensor = wire_tensor("w", WIRE_FLOAT, 1, sizes[i], &one, sizeof one);
        assert_true(wire_save(path, tensor.at, tensor.size));
        wire_free(&tensor);
        assert_null(adz_onnx_tensor_load(path));
        assert_string_equal(adz_error_operator(), "adz_onnx_tensor_load");
        expect_error(ADZ_ERR_FORMAT, "tensor");
    }
    assert_true(wire_save(path, "\x08", 1));
    assert_null(adz_onnx_tensor_load(path));
    assert_string_equal(adz_error_operator(), "adz_onnx_tensor_load");
    expect_error(ADZ_ERR_FORMAT, "ends inside a tensor");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(states_may_not_be_left_out),
        TEST(terms_may_not_be_left_out),
        TEST(nodes_without_results_are_refused),
        TEST(attributes_are_given_once),
        TEST(nodes_without_names_are_numbered),
        TEST(bytes_wrap_on_the_host),
        TEST(long_lists_become_tensors),
        TEST(ranges_end_at_the_largest_number),
        TEST(lists_have_one_dimension),
        TEST(shapes_of_lists_are_checked),
        TEST(extreme_numbers_are_refused),
        TEST(functions_that_repeat_constants_are_refused),
        TEST(long_functions_are_not_read_often),
        TEST(refused_memory_is_an_error),
        TEST(tensor_files_name_their_function),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
