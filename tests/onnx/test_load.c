/* Networks written as ONNX and read again: the same numbers, gradients and names. */
#include "adze/adze.h"
#include "adze/onnx.h"
#include "errors.h"
#include "export/networks.h"
#include "temporary.h"

/* The module as it is after writing and reading. */
static adz_module *read_back(
    adz_module *net, adz_tensor *x, adz_batch_dimension batch, const adz_onnx_load_options *o)
{
    const char *path = temporary_path("net.onnx");
    adz_onnx_options options = ADZ_ONNX_OPTIONS;
    options.batch_dimension = batch;
    if (network_write(net, x, path, &options) != ADZ_OK) {
        fail_msg("%s", adz_error_message());
    }
    return adz_onnx_load(path, o);
}

static adz_module *small_network(void)
{
    return ADZ_SEQUENTIAL(
        adz_linear_new(8, 16, NULL), adz_relu_new(), adz_linear_new(16, 3, NULL), adz_tanh_new());
}

static void expect_close(adz_tensor *a, adz_tensor *b, double tolerance)
{
    if (a == NULL || b == NULL || !adz_allclose(a, b, tolerance, tolerance, true)) {
        fail_msg("%s: %s and %s differ", adz_error_message(), adz_text_shape(a), adz_text_shape(b));
    }
}

static void same_numbers_and_names(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *net = small_network();
    adz_tensor *x = adz_randn(ADZ_SHAPE(5, 8), ADZ_F32);
    adz_module *read = read_back(net, x, ADZ_BATCH_FREE, NULL);
    assert_non_null(read);
    remove(temporary_path("net.onnx")); /* the module owns all it needs */
    assert_false(adz_module_is_training(read));
    expect_close(adz_module_forward(read, x), adz_module_forward(net, x), 0);
    adz_tensor *more = adz_randn(ADZ_SHAPE(9, 8), ADZ_F32);
    expect_close(adz_module_forward(read, more), adz_module_forward(net, more), 0);
    const adz_named_list a = adz_module_named_parameters(read);
    const adz_named_list b = adz_module_named_parameters(net);
    assert_int_equal(a.count, b.count);
    for (size_t i = 0; i < a.count; ++i) {
        adz_tensor *other = adz_module_get_parameter(net, a.items[i].name);
        assert_true(other != NULL && adz_equal(a.items[i].tensor, other));
    }
    assert_int_equal(adz_onnx_input_count(read), 1);
    assert_string_equal(adz_onnx_input_name_at(read, 0), "x");
    assert_int_equal(adz_onnx_input_dtype_at(read, 0), ADZ_F32);
    assert_int_equal(adz_onnx_input_shape_at(read, 0).rank, 2);
    assert_int_equal(adz_onnx_input_shape_at(read, 0).sizes[0], -1);
    assert_int_equal(adz_onnx_input_shape_at(read, 0).sizes[1], 8);
    assert_int_equal(adz_onnx_output_count(read), 1);
    assert_string_equal(adz_onnx_output_name_at(read, 0), "output");
    assert_null(adz_onnx_output_name_at(read, 1));
    expect_error(ADZ_ERR_INDEX, "index is 1");
    assert_null(adz_module_forward(read, adz_ones(ADZ_SHAPE(2, 7), ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "input \"x\"[2, 7] must be [-1, 8]");
    adz_module_release(&read);
    adz_module_release(&net);
    adz_scope_close(scope);
}

static void same_gradients_of_a_copy(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *net = small_network();
    adz_tensor *x = adz_randn(ADZ_SHAPE(5, 8), ADZ_F32);
    adz_module *read = read_back(net, x, ADZ_BATCH_FREE, NULL);
    adz_module *copy = adz_module_copy(read);
    adz_module_release(&read);
    adz_module *const both[] = { net, copy };
    for (int i = 0; i < 2; ++i) {
        adz_tensor *y = adz_module_forward(both[i], x);
        assert_int_equal(adz_backward(adz_mean(adz_square(y), ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    }
    const adz_named_list list = adz_module_named_parameters(copy);
    assert_int_equal(list.count, 4);
    for (size_t i = 0; i < list.count; ++i) {
        adz_tensor *other = adz_module_get_parameter(net, list.items[i].name);
        expect_close(adz_tensor_grad(list.items[i].tensor), adz_tensor_grad(other), 1e-6);
    }
    adz_module_release(&copy);
    adz_module_release(&net);
    adz_scope_close(scope);
}

static bool trains_weights(const char *name, const adz_tensor *weight, void *user)
{
    ++*(int *)user;
    return adz_tensor_rank(weight) == 2 && strstr(name, "weight") != NULL;
}

static void in_double_and_partly_trained(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *net = small_network();
    adz_tensor *x = adz_randn(ADZ_SHAPE(5, 8), ADZ_F32);
    int asked = 0;
    adz_onnx_load_options o = ADZ_ONNX_LOAD_OPTIONS;
    o.dtype = ADZ_F64;
    o.trains = trains_weights;
    o.user = &asked;
    adz_module *read = read_back(net, x, ADZ_BATCH_FREE, &o);
    assert_int_equal(asked, 4);
    assert_int_equal(adz_module_named_parameters(read).count, 2);
    assert_int_equal(adz_module_named_buffers(read).count, 2);
    adz_tensor *y = adz_module_forward(read, adz_to(x, ADZ_F64));
    assert_int_equal(adz_tensor_dtype(y), ADZ_F64);
    adz_module_to(net, ADZ_F64);
    expect_close(y, adz_module_forward(net, adz_to(x, ADZ_F64)), 1e-14);
    assert_null(adz_module_forward(read, x));
    expect_error(ADZ_ERR_DTYPE, "input \"x\" is float32, but must be float64");
    adz_module_release(&read);
    adz_module_release(&net);
    adz_scope_close(scope);
}

/* A plan of a network that was read computes what its call does, and it is written again. */
static void capture_and_write(const char *name, adz_module *read, adz_tensor *x, adz_tensor *y)
{
    module_and_input both = { read, x };
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    adz_plan_info info;
    o.inputs = adz_tensor_list_of(&x, 1);
    o.module = read;
    adz_plan *plan = adz_plan_new(network_forward, &both, &o);
    for (int i = 0; i < 3 && plan != NULL; ++i) {
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
    }
    if (plan == NULL || !adz_allclose(adz_plan_output(plan), y, 1e-6, 1e-6, true)) {
        fail_msg("%s as a plan: %s", name, adz_error_message());
    }
    adz_plan_get_info(plan, &info, sizeof info);
    assert_true(info.captured);
    adz_plan_free(&plan);
    const char *path = temporary_path("net.onnx");
    adz_onnx_options all = ADZ_ONNX_OPTIONS;
    all.allow_nonfinite = true; /* constants of formulas may be NaN */
    if (adz_module_write_onnx(read, x, path, &all) != ADZ_OK) {
        fail_msg("%s written again: %s", name, adz_error_message());
    }
    adz_module *again = adz_onnx_load(path, NULL);
    if (again == NULL || !adz_allclose(adz_module_forward(again, x), y, 1e-5, 1e-5, true)) {
        fail_msg("%s read again: %s", name, adz_error_message());
    }
    adz_module_release(&again);
}

/* Every network that is written is read. */
static void networks_read_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < n_networks; ++i) {
        adz_scope *scope = adz_scope_open();
        const network *n = &networks[i];
        adz_module *net = network_new(n, ADZ_F32);
        adz_tensor *x = n->input(3);
        adz_module_reset(net);
        adz_module *read =
            read_back(net, x, n->fixed_batch ? ADZ_BATCH_AUTO : ADZ_BATCH_FREE, NULL);
        if (read == NULL) {
            fail_msg("%s: %s", n->name, adz_error_message());
        }
        for (int k = 0; k < (n->fixed_batch ? 1 : 2); ++k) {
            x = n->input(k == 0 ? 3 : 4);
            adz_module_reset(net);
            adz_tensor *y = adz_module_forward(read, x);
            adz_tensor *expected = adz_module_forward(net, x);
            if (y == NULL || !adz_allclose(y, expected, 1e-5, 1e-5, true)) {
                fail_msg("%s: %s", n->name, adz_error_message());
            }
            capture_and_write(n->name, read, x, y);
        }
        adz_module_release(&read);
        adz_module_release(&net);
        adz_scope_close(scope);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_numbers_and_names),
        cmocka_unit_test(same_gradients_of_a_copy),
        cmocka_unit_test(in_double_and_partly_trained),
        cmocka_unit_test(networks_read_back),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
