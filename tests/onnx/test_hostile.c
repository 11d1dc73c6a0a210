/* ONNX files that are broken or made to harm: an error each, nothing half-loaded, no leak, and
 * memory bounded by the file's length.
 *
 *     test_onnx_hostile [MUTANTS]     how many mutants of each seed are read */
#include <stdlib.h>
#include <unistd.h>

#include "adze/adze.h"
#include "adze/onnx.h"
#include "errors.h"
#include "onnx/seeds.h"
#include "temporary.h"

static int mutants = 400;

/* Bytes that a file of this size may take while it is read: the file, what it contains as tensors
 * of twice its width, and structures that are up to a hundred times as long as what they stand for.
 */
enum { BASE = 1 << 20, TIMES = 400 };

/* Reads a file; the module ends at once. Returns whether it was read. Nothing may stay. */
static bool reads(const uint8_t *bytes, size_t size)
{
    const char *path = temporary_path("hostile.onnx");
    adz_memory_info before, after;
    assert_true(wire_save(path, bytes, size));
    adz_get_memory_info(&before, sizeof before);
    adz_reset_peak_memory();
    adz_module *net = adz_onnx_load(path, NULL);
    const bool read = net != NULL;
    if (read) {
        assert_int_equal(adz_error_code(), ADZ_OK);
        adz_module_release(&net);
    } else {
        char text[2048];
        const adz_status status = adz_error_take(text, sizeof text);
        if (status != ADZ_ERR_FORMAT && status != ADZ_ERR_UNSUPPORTED) {
            fail_msg("%s: %s", adz_status_name(status), text);
        }
        assert_true(strlen(text) > 20);
    }
    adz_get_memory_info(&after, sizeof after);
    if (after.live_bytes != before.live_bytes || after.live_tensors != before.live_tensors) {
        fail_msg("%zu bytes and %zu tensors stay", after.live_bytes - before.live_bytes,
            after.live_tensors - before.live_tensors);
    }
    if (after.peak_bytes > before.live_bytes + BASE + TIMES * size) {
        fail_msg("%zu bytes for a file of %zu", after.peak_bytes - before.live_bytes, size);
    }
    return read;
}

static void expect_refused(wire *model, adz_status status, const char *part)
{
    const char *path = temporary_path("hostile.onnx");
    assert_false(reads(model->at, model->size));
    assert_null(adz_onnx_load(path, NULL));
    expect_error(status, part);
    wire_free(model);
}

/* ---- cuts and mutants ---- */

/* What a thread needs once is there afterwards. */
static void read_each_once(void)
{
    size_t n = 0;
    for (wire model = seed(0); model.size > 0; model = seed(++n)) {
        const char *path = temporary_path("hostile.onnx");
        assert_true(wire_save(path, model.at, model.size));
        adz_module *net = adz_onnx_load(path, NULL);
        adz_module_release(&net);
        wire_save(path, model.at, model.size / 2);
        assert_null(adz_onnx_load(path, NULL));
        adz_error_clear();
        wire_free(&model);
    }
}

static void seeds_are_read(void **state)
{
    (void)state;
    size_t n = 0;
    read_each_once();
    for (wire model = seed(0); model.size > 0; model = seed(++n)) {
        if (!reads(model.at, model.size)) {
            fail_msg("seed %zu", n);
        }
        wire_free(&model);
    }
    assert_true(n >= 5);
}

static void cut_files_are_refused(void **state)
{
    (void)state;
    size_t n = 0;
    for (wire model = seed(0); model.size > 0; model = seed(++n)) {
        for (size_t size = 0; size < model.size; ++size) {
            if (reads(model.at, size)) {
                fail_msg(
                    "seed %zu is read though only %zu of %zu bytes are there", n, size, model.size);
            }
        }
        wire_free(&model);
    }
}

static uint64_t draw(void)
{
    static uint64_t x = 88172645463325252u;
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x;
}

/* Changes, removes, repeats or inserts some bytes. */
static void mutate(wire *m)
{
    static const uint8_t edges[] = { 0, 1, 0x7f, 0x80, 0xff, 8, 0x0a, 0x12 };
    const size_t at = (size_t)(draw() % m->size);
    switch (draw() % 6) {
    case 0:
        m->at[at] ^= (uint8_t)(1u << draw() % 8);
        break;
    case 1:
        m->at[at] = edges[draw() % sizeof edges];
        break;
    case 2:
        m->at[at] = (uint8_t)draw();
        break;
    case 3: { /* a piece stands elsewhere, too */
        const size_t from = (size_t)(draw() % m->size);
        size_t n = (size_t)(draw() % 16);
        n = n < m->size - at ? n : m->size - at;
        n = n < m->size - from ? n : m->size - from;
        memmove(m->at + at, m->at + from, n);
        break;
    }
    case 4: { /* a piece is missing */
        size_t n = (size_t)(draw() % 8);
        n = n < m->size - at ? n : m->size - at;
        memmove(m->at + at, m->at + at + n, m->size - at - n);
        m->size = m->size > n ? m->size - n : 1;
        break;
    }
    default: { /* a number becomes long */
        const size_t n = (size_t)(draw() % 11);
        for (size_t i = at; i < at + n && i < m->size; ++i) {
            m->at[i] |= 0x80;
        }
    }
    }
}

static void mutants_do_no_harm(void **state)
{
    (void)state;
    size_t n = 0;
    for (wire model = seed(0); model.size > 0; model = seed(++n)) {
        for (int i = 0; i < mutants; ++i) {
            wire m = { 0 };
            wire_raw(&m, model.at, model.size);
            for (uint64_t k = draw() % 4 + 1; k > 0; --k) {
                mutate(&m);
            }
            reads(m.at, m.size);
            wire_free(&m);
        }
        wire_free(&model);
    }
}

/* ---- graphs ---- */

static wire with_nodes(const char *const (*nodes)[3], size_t n)
{
    wire graph = { 0 };
    wire_input(&graph, "x", WIRE_FLOAT, "N");
    for (size_t i = 0; i < n; ++i) {
        wire_simple(&graph, nodes[i][0], nodes[i][1], nodes[i][2]);
    }
    wire_output(&graph, "y", WIRE_FLOAT, "N");
    return wire_model(&graph, NULL, 0, 17);
}

static void cycles_are_refused(void **state)
{
    (void)state;
    static const char *const circle[][3] = { { "Add", "x b", "a" }, { "Neg", "a", "b" },
        { "Neg", "b", "y" } };
    static const char *const itself[][3] = { { "Add", "x y", "y" } };
    wire model = with_nodes(circle, 3);
    expect_refused(&model, ADZ_ERR_FORMAT, "reads \"b\", which no input");
    model = with_nodes(itself, 1);
    expect_refused(&model, ADZ_ERR_FORMAT, "reads \"y\", which no input");
}

static void a_name_twice_is_refused(void **state)
{
    (void)state;
    static const char *const twice[][3] = { { "Neg", "x", "y" }, { "Exp", "x", "y" } };
    static const char *const input[][3] = { { "Neg", "x", "x" }, { "Exp", "x", "y" } };
    wire model = with_nodes(twice, 2);
    expect_refused(&model, ADZ_ERR_FORMAT, "the name \"y\" is given twice");
    model = with_nodes(input, 2);
    expect_refused(&model, ADZ_ERR_FORMAT, "the name \"x\" is given twice");
}

/* If inside If, a hundred times. */
static void deep_nesting_is_refused(void **state)
{
    (void)state;
    wire inner = { 0 };
    wire_simple(&inner, "Neg", "x", "r0");
    wire_output(&inner, "r0", WIRE_FLOAT, "N");
    for (int i = 1; i <= 100; ++i) {
        char name[16];
        snprintf(name, sizeof name, "r%d", i);
        wire outer = { 0 }, node = wire_node("If", "c", name), other = { 0 };
        wire_simple(&other, "Exp", "x", "e");
        wire_output(&other, "e", WIRE_FLOAT, "N");
        wire_attribute_graph(&node, "then_branch", &inner);
        wire_attribute_graph(&node, "else_branch", &other);
        wire_put_node(&outer, &node);
        wire_output(&outer, name, WIRE_FLOAT, "N");
        inner = outer;
    }
    wire_input(&inner, "x", WIRE_FLOAT, "N");
    wire_input(&inner, "c", WIRE_BOOL, "");
    wire model = wire_model(&inner, NULL, 0, 17);
    expect_refused(&model, ADZ_ERR_UNSUPPORTED, "inside each other");
}

/* ---- functions ---- */

static wire one_function(wire *nodes)
{
    wire graph = { 0 }, function = wire_function("F0", "a", "b", nodes, 17);
    wire_input(&graph, "x", WIRE_FLOAT, "N");
    wire_simple(&graph, "local:F0", "x", "y");
    wire_output(&graph, "y", WIRE_FLOAT, "N");
    return wire_model(&graph, &function, 1, 17);
}

static void functions_that_call_themselves_are_refused(void **state)
{
    (void)state;
    wire nodes = { 0 };
    wire_simple(&nodes, "local:F0", "a", "b");
    wire model = one_function(&nodes);
    expect_refused(&model, ADZ_ERR_UNSUPPORTED, "inside each other");
}

/* Each of 24 functions calls the next one twice: 2^24 nodes. */
static void functions_that_multiply_are_refused(void **state)
{
    (void)state;
    wire all[25], graph = { 0 };
    for (int i = 0; i < 25; ++i) {
        char name[16], next[24];
        wire nodes = { 0 };
        snprintf(name, sizeof name, "F%d", i);
        snprintf(next, sizeof next, "local:F%d", i + 1);
        wire_simple(&nodes, i < 24 ? next : "Neg", "a", "h");
        wire_simple(&nodes, i < 24 ? next : "Neg", "h", "b");
        all[i] = wire_function(name, "a", "b", &nodes, 17);
    }
    wire_input(&graph, "x", WIRE_FLOAT, "N");
    wire_simple(&graph, "local:F0", "x", "y");
    wire_output(&graph, "y", WIRE_FLOAT, "N");
    wire model = wire_model(&graph, all, 25, 17);
    const char *path = temporary_path("hostile.onnx");
    assert_true(wire_save(path, model.at, model.size));
    wire_free(&model);
    assert_null(adz_onnx_load(path, NULL));
    expect_error(ADZ_ERR_UNSUPPORTED, "too many nodes for its length");
}

static void functions_see_their_own_names_only(void **state)
{
    (void)state;
    wire nodes = { 0 };
    wire_simple(&nodes, "Add", "a x", "b"); /* x is the graph's */
    wire model = one_function(&nodes);
    expect_refused(&model, ADZ_ERR_FORMAT, "reads \"x\", which no input");
}

/* An attribute's default may not be the attribute itself. */
static void defaults_that_refer_to_themselves_are_refused(void **state)
{
    (void)state;
    wire nodes = { 0 }, graph = { 0 }, given = { 0 }, node = wire_node("LeakyRelu", "a", "b");
    wire_attribute_reference(&node, "alpha", 1, "slope");
    wire_put_node(&nodes, &node);
    wire function = wire_function("F0", "a", "b", &nodes, 17);
    wire_text(&given, 1, "slope");
    wire_int(&given, 20, 1);
    wire_text(&given, 21, "slope");
    wire_put(&function, 11, &given);
    wire_input(&graph, "x", WIRE_FLOAT, "N");
    wire_simple(&graph, "local:F0", "x", "y");
    wire_output(&graph, "y", WIRE_FLOAT, "N");
    wire model = wire_model(&graph, &function, 1, 17);
    expect_refused(&model, ADZ_ERR_UNSUPPORTED, "refers to an attribute");
}

/* ---- runs ---- */

/* y = node(x) on zeros of this shape, with an initialiser "sizes". The run is refused. */
static void expect_run_refused(wire *node, const int64_t *sizes, adz_shape shape, adz_status status)
{
    wire graph = { 0 };
    adz_scope *scope = adz_scope_open();
    wire_initializer(&graph, "sizes", WIRE_INT64, 1, (int64_t[]){ 2 }, sizes, 16);
    wire_initializer(&graph, "depth", WIRE_INT64, 0, NULL, sizes, 8);
    wire_input(&graph, "x", WIRE_FLOAT, NULL);
    wire_simple(&graph, "Shape", "x", "s");
    wire_put_node(&graph, node);
    wire_output(&graph, "y", WIRE_FLOAT, NULL);
    wire model = wire_model(&graph, NULL, 0, 11);
    const char *path = temporary_path("hostile.onnx");
    assert_true(wire_save(path, model.at, model.size));
    wire_free(&model);
    adz_module *net = adz_onnx_load(path, NULL);
    assert_non_null(net);
    assert_null(adz_module_forward(net, adz_zeros(shape, ADZ_F32)));
    expect_error(status, "");
    adz_module_release(&net);
    adz_scope_close(scope);
}

static void results_of_nine_dimensions_are_refused(void **state)
{
    (void)state;
    wire node = wire_node("OneHot", "x depth sizes", "y");
    expect_run_refused(
        &node, (int64_t[]){ 3, 1 }, ADZ_SHAPE(1, 1, 1, 1, 1, 1, 1, 1), ADZ_ERR_UNSUPPORTED);
}

/* 2^11 elements that become 2^53 need a matrix of 2^64 weights, a number that wraps to 0. */
static void weights_that_no_memory_holds_are_refused(void **state)
{
    (void)state;
    wire node = wire_node("Resize", "x - - sizes", "y");
    wire_attribute_text(&node, "mode", "linear");
    expect_run_refused(
        &node, (int64_t[]){ 1, (int64_t)1 << 53 }, ADZ_SHAPE(1, 2048), ADZ_ERR_MEMORY);
}

static void dimensions_that_a_list_lacks_are_refused(void **state)
{
    (void)state;
    wire node = wire_node("ReduceMax", "s", "y");
    wire_attribute_ints(&node, "axes", (int64_t[]){ 5 }, 1);
    expect_run_refused(&node, (int64_t[]){ 1, 1 }, ADZ_SHAPE(2, 3), ADZ_ERR_DIM);
}

/* ---- tensors ---- */

static wire with_tensor(wire *tensor)
{
    wire graph = { 0 };
    wire_put(&graph, 5, tensor);
    wire_input(&graph, "x", WIRE_FLOAT, "N");
    wire_simple(&graph, "Add", "x w", "y");
    wire_output(&graph, "y", WIRE_FLOAT, "N");
    return wire_model(&graph, NULL, 0, 17);
}

static void huge_sizes_are_refused(void **state)
{
    (void)state;
    static const int64_t sizes[][3] = { { INT64_MAX, 1, 1 }, { INT64_MAX, INT64_MAX, 4 },
        { 1 << 30, 1 << 30, 16 }, { 1 << 20, 1 << 20, 1 }, { -1, 1, 1 }, { INT64_MIN, 1, 1 },
        { 1 << 24, 1, 1 } };
    const float one = 1;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        wire tensor = wire_tensor("w", WIRE_FLOAT, 3, sizes[i], &one, sizeof one);
        wire model = with_tensor(&tensor);
        assert_false(reads(model.at, model.size));
        wire_free(&model);
    }
    wire tensor = wire_tensor("w", WIRE_FLOAT, 1, (int64_t[]){ 2 }, &one, sizeof one);
    wire model = with_tensor(&tensor);
    expect_refused(&model, ADZ_ERR_FORMAT, "tensor \"w\" of shape");
}

static void long_numbers_are_refused(void **state)
{
    (void)state;
    static const uint8_t eleven[] = { 0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 0x01 };
    static const uint8_t beyond[] = { 0x3a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f };
    static const uint8_t group[] = { 0x0b };
    assert_false(reads(eleven, sizeof eleven));
    assert_false(reads(beyond, sizeof beyond));
    assert_false(reads(group, sizeof group));
}

/* ---- tensors in other files ---- */

static void external(const char *location, const char *offset, const char *length,
    adz_status status, const char *part)
{
    wire tensor =
        wire_external_tensor("w", WIRE_FLOAT, 1, (int64_t[]){ 4 }, location, offset, length);
    wire model = with_tensor(&tensor);
    const char *path = temporary_path("hostile.onnx");
    assert_true(wire_save(path, model.at, model.size));
    wire_free(&model);
    adz_module *net = adz_onnx_load(path, NULL);
    if (status == ADZ_OK) {
        if (net == NULL) {
            fail_msg("%s: %s", location, adz_error_message());
        }
        adz_tensor *w = adz_module_get_parameter(net, "w");
        assert_true(w != NULL && adz_tensor_at(w, (int64_t[]){ 3 }) == 3);
        adz_module_release(&net);
    } else {
        assert_null(net);
        expect_error(status, part);
    }
}

static void other_files_are_below_the_folder(void **state)
{
    (void)state;
    static const float numbers[] = { -1, 0, 1, 2, 3 };
    char outside[600], here[512];
    assert_true(wire_save(temporary_path("w.bin"), numbers, sizeof numbers));
    assert_true(wire_save("outside.bin", numbers, sizeof numbers));
    assert_non_null(getcwd(here, sizeof here));
    snprintf(outside, sizeof outside, "%s/outside.bin", here);
    external("w.bin", "4", "16", ADZ_OK, "");
    external("./w.bin", "4", NULL, ADZ_OK, "");
    external("../outside.bin", "4", "16", ADZ_ERR_FORMAT, "no path below the folder");
    external(outside, "4", "16", ADZ_ERR_FORMAT, "no path below the folder");
    external("", "4", "16", ADZ_ERR_FORMAT, "no path below the folder");
    external(NULL, "4", "16", ADZ_ERR_FORMAT, "no path below the folder");
    external("w.bin/..", "4", "16", ADZ_ERR_IO, "links are not followed");
    external("missing.bin", "4", "16", ADZ_ERR_IO, "cannot be opened");
    external("w.bin", "-4", "16", ADZ_ERR_FORMAT, "no number");
    external("w.bin", "99999999999999999999999", "16", ADZ_ERR_FORMAT, "no number");
    external("w.bin", "8", "16", ADZ_ERR_FORMAT, "is shorter");
    external("w.bin", "9223372036854775807", "16", ADZ_ERR_FORMAT, "is shorter");
    external("w.bin", "4", "12", ADZ_ERR_FORMAT, "has 16 bytes, but 12");
    external(".", "0", "16", ADZ_ERR_IO, "no regular file");
    assert_int_equal(symlink(outside, temporary_path("link.bin")), 0);
    external("link.bin", "4", "16", ADZ_ERR_IO, "links are not followed");
    assert_int_equal(symlink(here, temporary_path("folder")), 0);
    external("folder/outside.bin", "4", "16", ADZ_ERR_IO, "links are not followed");
    remove("outside.bin");
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seeds_are_read),
        cmocka_unit_test(cut_files_are_refused),
        cmocka_unit_test(mutants_do_no_harm),
        cmocka_unit_test(cycles_are_refused),
        cmocka_unit_test(a_name_twice_is_refused),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(functions_that_call_themselves_are_refused),
        cmocka_unit_test(functions_that_multiply_are_refused),
        cmocka_unit_test(functions_see_their_own_names_only),
        cmocka_unit_test(defaults_that_refer_to_themselves_are_refused),
        cmocka_unit_test(results_of_nine_dimensions_are_refused),
        cmocka_unit_test(weights_that_no_memory_holds_are_refused),
        cmocka_unit_test(dimensions_that_a_list_lacks_are_refused),
        cmocka_unit_test(huge_sizes_are_refused),
        cmocka_unit_test(long_numbers_are_refused),
        cmocka_unit_test(other_files_are_below_the_folder),
    };
    if (argc > 1) {
        mutants = atoi(argv[1]);
    }
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
