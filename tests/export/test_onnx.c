/* ONNX files, read back by a reader of the tests: nodes, names, shapes, contents, and what is
 * refused. onnx_check.py runs the files. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "errors.h"
#include "groups.h"
#include "networks.h"
#include "protobuf_reader.h"
#include "temporary.h"

static const char *net_path(void)
{
    return temporary_path("net.onnx");
}

static read_model *written(adz_module *module, adz_tensor *x, const adz_onnx_options *options)
{
    if (network_write(module, x, net_path(), options) != ADZ_OK) {
        fail_msg("%s", adz_error_message());
    }
    return read_model_file(net_path());
}

/* ---- one file in detail --------------------------------------------------------------------- */

static void expect_node(
    const read_model *m, int i, const char *type, const char *in0, const char *in1, const char *out)
{
    const read_node *n = &m->nodes[i];
    assert_true(i < m->n_nodes && read_is(n->type, type));
    assert_true(n->n_in > 0 && read_is(n->in[0], in0));
    assert_true(in1 == NULL || (n->n_in > 1 && read_is(n->in[1], in1)));
    assert_true(n->n_out == 1 && read_is(n->out[0], out));
}

static void nodes_names_and_contents(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *net =
        ADZ_SEQUENTIAL(adz_linear_new(3, 4, NULL), adz_relu_new(), adz_softmax_new(-1));
    read_model *m = written(net, adz_ones(ADZ_SHAPE(5, 3), ADZ_F32), NULL);
    assert_int_equal(m->ir_version, 8);
    assert_int_equal(m->opset, 17);
    assert_true(read_is(m->producer, "adze"));
    assert_int_equal(m->n_nodes, 3);
    expect_node(m, 0, "Gemm", "x", "0.weight", "linear");
    expect_node(m, 1, "Relu", "linear", NULL, "relu");
    expect_node(m, 2, "Softmax", "relu", NULL, "output");
    assert_int_equal(read_attribute_of(&m->nodes[0], "transB")->whole, 1);
    assert_int_equal(read_attribute_of(&m->nodes[2], "axis")->whole, 1);
    assert_int_equal(m->n_inputs, 1);
    assert_true(read_is(m->inputs[0].name, "x") && m->inputs[0].rank == 2);
    assert_true(m->inputs[0].dims[0] == -1 && read_is(m->inputs[0].param, "batch"));
    assert_int_equal(m->inputs[0].dims[1], 3);
    assert_true(read_is(m->outputs[0].name, "output") && m->outputs[0].dims[0] == -1);
    assert_int_equal(m->outputs[0].dims[1], 4);
    const read_tensor *w = read_initialiser(m, "0.weight");
    assert_true(w != NULL && w->type == 1 && w->rank == 2 && w->dims[0] == 4 && w->dims[1] == 3);
    adz_tensor *weight = adz_module_get_parameter(net, "0.weight");
    assert_int_equal(w->raw.size, 12 * sizeof(float));
    assert_memory_equal(w->raw.at, adz_tensor_data(weight), w->raw.size);
    assert_non_null(read_initialiser(m, "0.bias"));
    assert_int_equal(m->n_initialisers, 2);
    read_model_free(m);
    adz_module_release(&net);
    adz_scope_close(scope);
}

/* Types and the fixed batch size. */
static void options_and_dtypes(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *net = network_new(&networks[0], ADZ_F64);
    adz_onnx_options o;
    adz_onnx_options_init(&o, sizeof o);
    o.batch_dimension = ADZ_BATCH_FIXED;
    read_model *m = written(net, adz_ones(ADZ_SHAPE(5, 6), ADZ_F64), &o);
    assert_true(m->inputs[0].type == 11 && m->inputs[0].dims[0] == 5);
    assert_int_equal(m->outputs[0].dims[0], 5);
    assert_int_equal(m->initialisers[0].type, 11);
    read_model_free(m);
    adz_module_release(&net);
    adz_scope_close(scope);
}

/* ---- all networks --------------------------------------------------------------------------- */

static bool is_input(const read_model *m, read_bytes name)
{
    bool found = name.size == 0;
    for (int i = 0; i < m->n_inputs + m->n_initialisers && !found; ++i) {
        const read_tensor *t = i < m->n_inputs ? &m->inputs[i] : &m->initialisers[i - m->n_inputs];
        found = t->name.size == name.size && memcmp(t->name.at, name.at, name.size) == 0;
    }
    return found;
}

/* The position of the node that computes a value; -1: none. */
static int maker(const read_model *m, read_bytes name)
{
    int made = -1;
    for (int i = 0; i < m->n_nodes; ++i) {
        for (int k = 0; k < m->nodes[i].n_out; ++k) {
            const read_bytes out = m->nodes[i].out[k];
            if (out.size == name.size && memcmp(out.at, name.at, name.size) == 0) {
                assert_int_equal(made, -1); /* one node makes it */
                made = i;
            }
        }
    }
    return made;
}

static bool is_read(const read_model *m, read_bytes name)
{
    for (int i = 0; i < m->n_nodes; ++i) {
        for (int k = 0; k < m->nodes[i].n_in; ++k) {
            const read_bytes in = m->nodes[i].in[k];
            if (in.size == name.size && memcmp(in.at, name.at, name.size) == 0) {
                return true;
            }
        }
    }
    return false;
}

static void expect_graph(const read_model *m)
{
    for (int i = 0; i < m->n_nodes; ++i) {
        for (int k = 0; k < m->nodes[i].n_in; ++k) {
            const int made = maker(m, m->nodes[i].in[k]);
            assert_true(made < i);
            assert_true(made >= 0 || is_input(m, m->nodes[i].in[k]));
        }
        assert_true(m->nodes[i].name.size > 0);
    }
    assert_true(maker(m, m->outputs[0].name) >= 0);
    for (int i = 0; i < m->n_initialisers; ++i) {
        assert_true(is_read(m, m->initialisers[i].name));
    }
}

/* Every parameter of the module is an initialiser under its name in the state, with its bytes. */
static void expect_parameters(const read_model *m, adz_module *module)
{
    const adz_named_list list = adz_module_named_parameters(module);
    for (size_t i = 0; i < list.count; ++i) {
        const read_tensor *t = read_initialiser(m, list.items[i].name);
        if (t == NULL) {
            fail_msg("%s is missing", list.items[i].name);
        }
        assert_memory_equal(t->raw.at, adz_tensor_data(list.items[i].tensor), t->raw.size);
        assert_int_equal(t->raw.size, adz_tensor_numel(list.items[i].tensor) * 4);
    }
}

static void all_networks(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_networks; ++i) {
        const network *n = &networks[i];
        adz_scope *scope = adz_scope_open();
        adz_module *module = network_new(n, ADZ_F32);
        adz_tensor *x = n->input(3);
        adz_tensor *before = adz_clone(x);
        read_model *m = written(module, x, NULL), *again = written(module, x, NULL);
        expect_graph(m);
        if (strcmp(n->name, "awd_lstm") != 0 && strcmp(n->name, "qrnn") != 0 &&
            strcmp(n->name, "lstm_classifier") != 0) { /* these have weights under two names */
            expect_parameters(m, module);
        }
        if ((m->inputs[0].dims[0] == -1) == n->fixed_batch) {
            fail_msg("%s: the batch dimension is %sfree", n->name, n->fixed_batch ? "" : "not ");
        }
        assert_int_equal(m->size, again->size);
        assert_memory_equal(m->file, again->file, m->size);
        assert_true(adz_equal(x, before));
        assert_true(adz_error_code() == ADZ_OK);
        read_model_free(m);
        read_model_free(again);
        adz_module_release(&module);
        adz_scope_close(scope);
    }
}

/* ---- operators of users --------------------------------------------------------------------- */

static adz_status unused_backward(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)node, (void)dx, (void)dy;
    return ADZ_OK;
}

static adz_status twice(adz_tensor **y, adz_tensor *const *in, const void *attributes)
{
    (void)attributes;
    y[0] = adz_add(in[0], in[0]);
    return y[0] != NULL ? ADZ_OK : adz_error_code();
}

static bool expressed;

/* An operator "mine" that doubles; with or without an expression. */
static adz_tensor *mine(adz_tensor *x)
{
    static const adz_operator with = { .size = sizeof(adz_operator),
        .name = "mine",
        .backward = unused_backward,
        .expression = twice };
    static const adz_operator without = {
        .size = sizeof(adz_operator), .name = "mine", .backward = unused_backward
    };
    adz_tensor *y = adz_empty_like(x);
    return adz_record(expressed ? &with : &without, &x, 1, &y, 1, NULL) == ADZ_OK ? y : NULL;
}

static void custom_operators(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *net = adz_function_new(mine);
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 3), ADZ_F32);
    expressed = true;
    read_model *m = written(net, x, NULL);
    assert_int_equal(m->n_nodes, 1);
    expect_node(m, 0, "Add", "x", "x", "output");
    read_model_free(m);
    expressed = false;
    assert_int_equal(network_write(net, x, net_path(), NULL), ADZ_ERR_UNSUPPORTED);
    expect_error(ADZ_ERR_UNSUPPORTED, "mine has no counterpart in ONNX");
    adz_module_release(&net);
    adz_scope_close(scope);
}

/* ---- what is refused ------------------------------------------------------------------------ */

static adz_tensor *mean_of_batch(adz_tensor *x)
{
    return adz_sub(x, adz_mean(x, ADZ_DIMS(0), ADZ_KEEPDIM));
}

static void expect_refused(
    adz_module *net, adz_tensor *x, const adz_onnx_options *o, adz_status status, const char *says)
{
    remove(net_path());
    assert_int_equal(network_write(net, x, net_path(), o), status);
    expect_error(status, says);
    assert_int_equal(access(net_path(), F_OK), -1);
    adz_module_release(&net);
}

static adz_tensor *indices_of_pool(adz_tensor *x)
{
    adz_tensor *positions;
    adz_tensor *y = adz_max_pool1d(x, 2, NULL, &positions);
    return adz_mul(y, adz_to(positions, ADZ_F32));
}

/* The nodes of a pooling of x[1, 1, 4] with windows of 3 positions at 0 and 2; the second window
 * goes one position beyond x, where nothing is padded. */
static read_model *pooled(const adz_avg_pool_options *o)
{
    adz_module *net = adz_avg_pool1d_new(3, o);
    read_model *m = written(net, adz_ones(ADZ_SHAPE(1, 1, 4), ADZ_F32), NULL);
    adz_module_release(&net);
    assert_true(m->n_nodes > 0 && read_is(m->nodes[0].type, "AveragePool"));
    const read_attribute *pads = read_attribute_of(&m->nodes[0], "pads");
    assert_true(pads->n == 2 && pads->list[0] == 0 && pads->list[1] == 1);
    return m;
}

/* Without padding the mean counts the positions in x alone, whatever count_include_pad is. With a
 * divisor of the caller, the mean counts all positions, so that a factor makes it the sum. */
static void divisors_without_padding(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_avg_pool_options o = ADZ_AVG_POOL_OPTIONS;
    o.stride = ADZ_SHAPE(2);
    o.ceil_mode = true;
    read_model *m = pooled(&o);
    assert_int_equal(m->n_nodes, 1);
    assert_int_equal(read_attribute_of(&m->nodes[0], "count_include_pad")->whole, 0);
    read_model_free(m);
    o.divisor_override = 2;
    m = pooled(&o);
    assert_int_equal(m->n_nodes, 2);
    assert_int_equal(read_attribute_of(&m->nodes[0], "count_include_pad")->whole, 1);
    assert_true(read_is(m->nodes[1].type, "Mul") && m->initialisers[0].raw.size == sizeof(float));
    float factor;
    memcpy(&factor, m->initialisers[0].raw.at, sizeof factor);
    assert_true(factor == 1.5f);
    read_model_free(m);
    adz_scope_close(scope);
}

/* Pooling and interpolation that no node of ONNX computes. */
static void windows_without_counterpart(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 1, 7), ADZ_F32);
    adz_avg_pool_options a = ADZ_AVG_POOL_OPTIONS;
    a.padding = ADZ_SHAPE(1);
    a.stride = ADZ_SHAPE(3);
    a.ceil_mode = true;
    expect_refused(adz_avg_pool1d_new(4, &a), x, NULL, ADZ_ERR_UNSUPPORTED,
        "counts a part of its padding, which ONNX cannot express");
    expect_refused(adz_adaptive_avg_pool1d_new(3), x, NULL, ADZ_ERR_UNSUPPORTED,
        "adaptive_avg_pool1d(output_size=[3]) has windows of different sizes");
    expect_refused(adz_function_new(indices_of_pool), x, NULL, ADZ_ERR_UNSUPPORTED, "indices");
    adz_max_pool_options m = ADZ_MAX_POOL_OPTIONS;
    m.stride = ADZ_SHAPE(1);
    m.padding = ADZ_SHAPE(4);
    m.dilation = ADZ_SHAPE(8);
    expect_refused(
        adz_max_pool1d_new(2, &m), x, NULL, ADZ_ERR_UNSUPPORTED, "has a window of padding only");
    adz_interpolate_options i = ADZ_INTERPOLATE_OPTIONS;
    i.scale_factor = 1.3;
    expect_refused(
        adz_upsample_new(ADZ_SHAPE_SCALAR, &i), x, NULL, ADZ_ERR_UNSUPPORTED, "no whole sizes");
    adz_tensor *image = adz_ones(ADZ_SHAPE(1, 1, 4, 4), ADZ_F32);
    expect_refused(adz_unfold_new(ADZ_SHAPE(2, 2), NULL), image, NULL, ADZ_ERR_UNSUPPORTED,
        "has no counterpart in ONNX's opset 17; write it as a convolution");
    adz_scope_close(scope);
}

static void calls_without_counterpart(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_ones(ADZ_SHAPE(4, 3), ADZ_F32);
    adz_onnx_options o = ADZ_ONNX_OPTIONS;
    o.batch_dimension = ADZ_BATCH_FREE;
    expect_refused(ADZ_SEQUENTIAL(adz_identity_new(), adz_dropout_new(0.5, NULL)), x, NULL,
        ADZ_ERR_UNSUPPORTED, "1: dropout(p=0.5) is in training");
    expect_refused(
        adz_batch_norm1d_new(3, NULL), x, NULL, ADZ_ERR_UNSUPPORTED, "is in training; call");
    expect_refused(adz_function_new(mean_of_batch), x, &o, ADZ_ERR_UNSUPPORTED,
        "mean(dim=[0], keepdim=True) can only be written for the batch size");
    expect_refused(adz_identity_new(), adz_scalar(2, ADZ_F32), &o, ADZ_ERR_ARGUMENT,
        "no input has a dimension");
    o.batch_dimension = (adz_batch_dimension)7;
    expect_refused(adz_identity_new(), x, &o, ADZ_ERR_ARGUMENT, "batch_dimension is 7");
    o.size = 0;
    expect_refused(adz_identity_new(), x, &o, ADZ_ERR_ARGUMENT, "size is 0");
    adz_scope_close(scope);
}

static adz_tensor *four_times(adz_tensor *x)
{
    return adz_softmax(adz_expand(x, ADZ_SHAPE(4, 3)), 0);
}

static adz_tensor *four_rows(adz_tensor *x)
{
    return adz_add(x, adz_ones(ADZ_SHAPE(4, 3), ADZ_F32));
}

/* A batch of size 1 that broadcasts to 4 is no free dimension: the file would add one row to one,
 * or leave the expansion out. */
static void a_broadcast_fixes_the_batch(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *(*const functions[])(adz_tensor *) = { four_times, four_rows };
    for (int i = 0; i < 2; ++i) {
        adz_module *net = adz_function_new(functions[i]);
        read_model *m = written(net, adz_ones(ADZ_SHAPE(1, 3), ADZ_F32), NULL);
        assert_true(m->inputs[0].dims[0] == 1 && m->outputs[0].dims[0] == 4);
        read_model_free(m);
        adz_module_release(&net);
    }
    adz_scope_close(scope);
}

/* A mean over the batch is no hindrance if its size may be fixed. */
static void a_hindrance_fixes_the_batch(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *net = adz_function_new(mean_of_batch);
    read_model *m = written(net, adz_ones(ADZ_SHAPE(4, 3), ADZ_F32), NULL);
    assert_int_equal(m->inputs[0].dims[0], 4);
    read_model_free(m);
    adz_module_release(&net);
    adz_scope_close(scope);
}

static void names(void **state)
{
    (void)state;
    static const char *const wrong[] = { "", "\xff\xfe", "0.weight" };
    static const char *const says[] = { "is empty", "not UTF-8", "is the name of two values" };
    adz_scope *scope = adz_scope_open();
    adz_module *net = ADZ_SEQUENTIAL(adz_linear_new(3, 4, NULL));
    module_and_input both = { net, adz_ones(ADZ_SHAPE(5, 3), ADZ_F32) };
    for (int i = 0; i < 3; ++i) {
        const adzi_export what = { .function = network_forward,
            .user = &both,
            .inputs = { &both.x, 1 },
            .input_names = &wrong[i],
            .module = net };
        adzi_write_onnx("adz_plan_write_onnx", &what, net_path(), NULL);
        expect_error(ADZ_ERR_ARGUMENT, says[i]);
    }
    /* A name is only data, whatever its characters are. */
    const char *odd = "\"x\"\n\xc3\xa4 %s";
    const adzi_export what = { .function = network_forward,
        .user = &both,
        .inputs = { &both.x, 1 },
        .input_names = &odd,
        .module = net };
    assert_int_equal(adzi_write_onnx("adz_plan_write_onnx", &what, net_path(), NULL), ADZ_OK);
    read_model *m = read_model_file(net_path());
    assert_true(read_is(m->inputs[0].name, odd) && read_is(m->nodes[0].in[0], odd));
    read_model_free(m);
    adz_module_release(&net);
    adz_scope_close(scope);
}

/* A failed write leaves the old file. */
static void an_old_file_stays(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *net = adz_linear_new(3, 4, NULL);
    adz_tensor *x = adz_ones(ADZ_SHAPE(5, 3), ADZ_F32);
    read_model *before = written(net, x, NULL);
    int64_t n = 1;
    for (; n < 100000; ++n) {
        adzi_alloc_fail_at(n);
        const adz_status status = network_write(net, x, net_path(), NULL);
        const bool refused = adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        if (!refused) {
            assert_int_equal(status, ADZ_OK);
            break;
        }
        assert_int_equal(status, ADZ_ERR_MEMORY);
        assert_int_equal(adz_error_code(), ADZ_ERR_MEMORY);
        adz_error_clear();
        read_model *m = read_model_file(net_path());
        assert_int_equal(m->size, before->size);
        read_model_free(m);
    }
    assert_true(n > 20);
    assert_int_equal(network_write(net, x, "no-such-folder/net.onnx", NULL), ADZ_ERR_IO);
    expect_error(ADZ_ERR_IO, "no-such-folder");
    assert_int_equal(network_write(net, x, NULL, NULL), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "path");
    read_model_free(before);
    adz_module_release(&net);
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_names_and_contents),
        cmocka_unit_test(options_and_dtypes),
        cmocka_unit_test(all_networks),
        cmocka_unit_test(custom_operators),
        cmocka_unit_test(calls_without_counterpart),
        cmocka_unit_test(divisors_without_padding),
        cmocka_unit_test(windows_without_counterpart),
        cmocka_unit_test(a_hindrance_fixes_the_batch),
        cmocka_unit_test(a_broadcast_fixes_the_batch),
        cmocka_unit_test(names),
        cmocka_unit_test(an_old_file_stays),
    };
    if (temporary_begin(NULL) != 0) {
        return EXIT_FAILURE;
    }
    const int failed = run_group("onnx", tests, sizeof tests / sizeof *tests);
    temporary_end(NULL);
    return failed;
}
