/* Feed-forward networks. */
#include "adze/zoo.h"
#include "print.h"
#include "tests.h"

/* Computes y for one row by plain loops. */
static void feed_forward_by_hand(adz_module *m, const double *x, double *y, bool gated)
{
    enum { D = 3, F = 4 };
    const double *w1 = adz_tensor_data_f64(adz_module_get_parameter(m, "layer1.weight"));
    const double *b1 = adz_tensor_data_f64(adz_module_get_parameter(m, "layer1.bias"));
    const double *w2 = adz_tensor_data_f64(adz_module_get_parameter(m, "layer2.weight"));
    const double *b2 = adz_tensor_data_f64(adz_module_get_parameter(m, "layer2.bias"));
    const double *v =
        gated ? adz_tensor_data_f64(adz_module_get_parameter(m, "linear_v.weight")) : NULL;
    const double *bv =
        gated ? adz_tensor_data_f64(adz_module_get_parameter(m, "linear_v.bias")) : NULL;
    double h[F];
    for (int f = 0; f < F; ++f) {
        double a = b1[f], gate = gated ? bv[f] : 1;
        for (int d = 0; d < D; ++d) {
            a += w1[f * D + d] * x[d];
            gate += gated ? v[f * D + d] * x[d] : 0;
        }
        h[f] = tanh(a) * gate;
    }
    for (int d = 0; d < D; ++d) {
        y[d] = b2[d];
        for (int f = 0; f < F; ++f) {
            y[d] += w2[d * F + f] * h[f];
        }
    }
}

static void feed_forward_computes(void **state)
{
    (void)state;
    for (int gated = 0; gated < 2; ++gated) {
        adz_feed_forward_options o;
        adz_feed_forward_options_init(&o, sizeof o);
        assert_true(o.dropout == 0.1 && o.activation == ADZ_ACTIVATION_RELU && !o.is_gated &&
                    o.bias1 && o.bias2 && o.bias_gate && o.dtype == ADZ_F32);
        o.activation = ADZ_ACTIVATION_TANH;
        o.is_gated = gated;
        o.dtype = ADZ_F64;
        adz_module *m = adz_feed_forward_new(3, 4, &o);
        adz_module_eval(m);
        double x[] = { 0.5, -1, 2 }, y[3];
        feed_forward_by_hand(m, x, y, gated);
        adz_tensor *t = adz_tensor_from(x, ADZ_SHAPE(1, 1, 3), ADZ_F64);
        assert_true(holds(adz_module_forward(m, t), y, 1e-14));
        adz_module_release(&m);
    }
}

static void expect_names(adz_module *module, size_t count, const char *const *names)
{
    adz_named_list list = adz_module_named_parameters(module);
    assert_int_equal(list.count, count);
    for (size_t i = 0; i < count; ++i) {
        assert_string_equal(list.items[i].name, names[i]);
    }
    adz_module_release(&module);
}

static void feed_forward_parameters_have_pytorchs_names(void **state)
{
    (void)state;
    adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
    expect_names(adz_feed_forward_new(2, 3, &o), 4,
        (const char *const[]){ "layer1.weight", "layer1.bias", "layer2.weight", "layer2.bias" });
    o.bias1 = false;
    o.is_gated = true;
    expect_names(adz_feed_forward_new(2, 3, &o), 5,
        (const char *const[]){
            "layer1.weight", "layer2.weight", "layer2.bias", "linear_v.weight", "linear_v.bias" });
    o.bias2 = o.bias_gate = false;
    expect_names(adz_feed_forward_new(2, 3, &o), 3,
        (const char *const[]){ "layer1.weight", "layer2.weight", "linear_v.weight" });
    adz_notebook_feed_forward_options n;
    adz_notebook_feed_forward_options_init(&n, sizeof n);
    expect_names(adz_notebook_feed_forward_new(2, 3, &n), 4,
        (const char *const[]){ "w1", "w2", "b1", "b2" });
    n.bias = false;
    expect_names(adz_notebook_feed_forward_new(2, 3, &n), 2, (const char *const[]){ "w1", "w2" });
}

static void feed_forward_refuses(void **state)
{
    (void)state;
    assert_null(adz_feed_forward_new(0, 4, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "d_model is 0, but must be 1 or more");
    assert_null(adz_feed_forward_new(4, -1, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "d_ff is -1");
    adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
    o.dropout = 1.5;
    assert_null(adz_feed_forward_new(4, 4, &o));
    expect_error(ADZ_ERR_ARGUMENT, "dropout is 1.5, but must be in [0, 1]");
    o.dropout = 0;
    o.activation = (adz_activation)42;
    assert_null(adz_feed_forward_new(4, 4, &o));
    expect_error(ADZ_ERR_ARGUMENT, "activation is 42");
    adz_module *m = ADZ_SEQUENTIAL(adz_feed_forward_new(4, 4, NULL));
    assert_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(2, 5), ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "0.layer1: linear: x[2, 5] and weight[4, 4] do not fit");
    adz_module_release(&m);
    assert_null(adz_notebook_feed_forward_new(4, 0, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "d_ff 0");
    m = adz_notebook_feed_forward_new(4, 6, NULL);
    assert_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(2, 6), ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "x[2, 6] must end in d_model, which is 4");
    assert_null(adz_module_forward(m, adz_scalar(1, ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "x[] must end in d_model");
    adz_module_release(&m);
    adz_notebook_feed_forward_options n = ADZ_NOTEBOOK_FEED_FORWARD_OPTIONS;
    n.dropout = 1;
    assert_null(adz_notebook_feed_forward_new(4, 6, &n));
    expect_error(ADZ_ERR_ARGUMENT, "[0, 1)");
}

static void the_notebooks_network_starts_and_computes(void **state)
{
    (void)state;
    adz_notebook_feed_forward_options n = ADZ_NOTEBOOK_FEED_FORWARD_OPTIONS;
    n.dtype = ADZ_F64;
    adz_module *m = adz_notebook_feed_forward_new(100, 25, &n);
    assert_true(all_are(adz_module_get_parameter(m, "b1"), 0));
    assert_true(all_are(adz_module_get_parameter(m, "b2"), 0));
    static const char *const names[] = { "w1", "w2" };
    static const double deviations[] = { 0.1, 0.2 };
    for (int i = 0; i < 2; ++i) {
        adz_tensor *w = adz_module_get_parameter(m, names[i]);
        double squares = adz_item(adz_mean(adz_mul(w, w), ADZ_ALL_DIMS, ADZ_DROPDIM));
        assert_true(fabs(sqrt(squares) / deviations[i] - 1) < 0.06);
    }
    adz_module_eval(m);
    fill(adz_module_get_parameter(m, "b1"), -0.1);
    fill(adz_module_get_parameter(m, "b2"), 0.5);
    adz_tensor *x = adz_randn(ADZ_SHAPE(100), ADZ_F64);
    adz_tensor *h =
        adz_relu(adz_add_number(adz_matmul(x, adz_module_get_parameter(m, "w1")), -0.1));
    adz_tensor *y = adz_add_number(adz_matmul(h, adz_module_get_parameter(m, "w2")), 0.5);
    assert_true(alike(adz_module_forward(m, x), y, 1e-13)); /* A vector gives a vector. */
    adz_tensor *rows = adz_expand(x, ADZ_SHAPE(2, 3, 100));
    adz_tensor *ys = adz_expand(y, ADZ_SHAPE(2, 3, 100));
    assert_true(alike(adz_module_forward(m, rows), ys, 1e-13));
    adz_module_release(&m);
}

/* An activation of the user, which replaces a child. */
static adz_tensor *double_forward(adz_module *self, adz_tensor *x)
{
    (void)self;
    return adz_mul_number(x, 2);
}

static void parts_can_be_replaced(void **state)
{
    (void)state;
    static const adz_module_type double_type = {
        .size = sizeof(adz_module_type), .name = "Double", .forward = double_forward
    };
    adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
    o.dtype = ADZ_F64;
    adz_module *m = adz_feed_forward_new(3, 4, &o);
    assert_non_null(adz_module_set_child(m, "activation", adz_module_new(&double_type, 0)));
    assert_non_null(adz_module_set_child(m, "dropout", adz_identity_new()));
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 3), ADZ_F64);
    adz_tensor *h = adz_module_forward(adz_module_get_child(m, "layer1"), x);
    adz_tensor *y = adz_module_forward(adz_module_get_child(m, "layer2"), adz_mul_number(h, 2));
    assert_true(alike(adz_module_forward(m, x), y, 0));
    adz_module_release(&m);
}

int feed_forward_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(feed_forward_computes),
        TEST(feed_forward_parameters_have_pytorchs_names),
        TEST(feed_forward_refuses),
        TEST(the_notebooks_network_starts_and_computes),
        TEST(parts_can_be_replaced),
    };
    return cmocka_run_group_tests_name("modules: feed forward", tests, NULL, NULL);
}
