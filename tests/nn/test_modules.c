/* Each kind of module: values, names, printed form, gradients, rejected arguments. */
#include "../nn.h"

#include "autograd/ops/activation/activation_table.h"

/* ---- gradients of any module ---------------------------------------------------------------- */

typedef struct {
    adz_module *module;
    adz_generator *generator; /* set back before every call, or NULL */
} checked;

static int call_module(adz_tensor *const *inputs, size_t n, adz_tensor **outputs, void *user)
{
    const checked *c = user;
    (void)n;
    if (c->generator != NULL) {
        adz_generator_set_state(c->generator, (adz_generator_state){ 5, 0 });
    }
    outputs[0] = adz_module_forward(c->module, inputs[0]);
    return outputs[0] != NULL;
}

/* The module's gradients by x and by every parameter agree with differences. */
static void expect_gradients(adz_module *module, adz_tensor *x, adz_generator *generator)
{
    assert_int_equal(adz_module_to(module, ADZ_F64), ADZ_OK);
    adz_tensor_list parameters = adz_module_parameters(module);
    adz_tensor *inputs[16] = { adz_requires_grad_(adz_to(x, ADZ_F64), true) };
    size_t n = 1;
    for (; n <= parameters.count; ++n) {
        inputs[n] = parameters.items[n - 1];
    }
    checked c = { module, generator };
    adz_gradcheck_function function = { call_module, &c };
    adz_gradcheck_report report = { 0 };
    if (adz_gradcheck(&function, inputs, n, NULL, &report) != ADZ_OK) {
        fail_msg("%s: %s", adz_module_name(module), adz_error_message());
    }
    assert_true(report.nonzero > 0);
    adz_module_free(&module);
}

static void gradients_agree_with_differences(void **state)
{
    (void)state;
    adz_manual_seed(3);
    adz_generator *g = adz_generator_new(5);
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 3, 4), ADZ_F64);
    adz_linear_options plain = ADZ_LINEAR_OPTIONS;
    plain.bias = false;
    expect_gradients(adz_linear_new(4, 5, NULL), x, NULL);
    expect_gradients(adz_linear_new(4, 5, &plain), x, NULL);
    for (int a = 0; a < adzi_activation_count(); ++a) {
        expect_gradients(adz_activation_new((adz_activation)a), x, NULL);
    }
    expect_gradients(adz_softmax_new(1), x, NULL);
    adz_dropout_options d = { sizeof d, g };
    expect_gradients(adz_dropout_new(0.4, &d), x, g);
    for (int gated = 0; gated <= 1; ++gated) {
        adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
        o.is_gated = gated;
        o.activation = gated ? ADZ_ACTIVATION_SILU : ADZ_ACTIVATION_GELU;
        o.dropout = 0.3;
        o.generator = g;
        expect_gradients(adz_feed_forward_new(4, 6, &o), x, g);
    }
    adz_notebook_feed_forward_options n = ADZ_NOTEBOOK_FEED_FORWARD_OPTIONS;
    n.dropout = 0.3;
    n.generator = g;
    expect_gradients(adz_notebook_feed_forward_new(4, 6, &n), x, g);
    expect_gradients(adz_notebook_relu_new(NULL), x, NULL);
    adz_generator_free(&g);
}

/* ---- printing ------------------------------------------------------------------------------- */

static void expect_print(adz_module *module, const char *expected)
{
    char text[2000];
    assert_non_null(module);
    adz_module_to_string(module, text, sizeof text);
    assert_string_equal(text, expected);
    adz_module_free(&module);
}

static void modules_print_as_in_pytorch(void **state)
{
    (void)state;
    adz_linear_options plain = ADZ_LINEAR_OPTIONS;
    plain.bias = false;
    adz_relu_options inplace = ADZ_RELU_OPTIONS;
    inplace.inplace = true;
    expect_print(adz_linear_new(3, 4, &plain), "Linear(in_features=3, out_features=4, bias=False)");
    expect_print(adz_relu_new(NULL), "ReLU()");
    expect_print(adz_relu_new(&inplace), "ReLU(inplace=True)");
    expect_print(adz_leaky_relu_new(0.01), "LeakyReLU(negative_slope=0.01)");
    expect_print(adz_gelu_new(ADZ_GELU_NONE), "GELU(approximate='none')");
    expect_print(adz_gelu_new(ADZ_GELU_TANH), "GELU(approximate='tanh')");
    expect_print(adz_silu_new(), "SiLU()");
    expect_print(adz_sigmoid_new(), "Sigmoid()");
    expect_print(adz_tanh_new(), "Tanh()");
    expect_print(adz_softmax_new(-1), "Softmax(dim=-1)");
    expect_print(adz_dropout_new(0.5, NULL), "Dropout(p=0.5, inplace=False)");
    expect_print(adz_dropout_new(1, NULL), "Dropout(p=1.0, inplace=False)");
    expect_print(adz_dropout_new(1e-5, NULL), "Dropout(p=1e-05, inplace=False)");
    adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
    o.is_gated = true;
    o.bias_gate = false;
    expect_print(ADZ_SEQUENTIAL(adz_feed_forward_new(8, 32, &o), adz_identity_new()),
        "Sequential(\n"
        "  (0): FeedForward(\n"
        "    (layer1): Linear(in_features=8, out_features=32, bias=True)\n"
        "    (layer2): Linear(in_features=32, out_features=8, bias=True)\n"
        "    (dropout): Dropout(p=0.1, inplace=False)\n"
        "    (activation): ReLU()\n"
        "    (linear_v): Linear(in_features=8, out_features=32, bias=False)\n"
        "  )\n"
        "  (1): Identity()\n"
        ")");
    expect_print(adz_notebook_feed_forward_new(2, 3, NULL),
        "PositionWiseFeedForward(\n"
        "  (relu): ReLU()\n"
        "  (dropout): Dropout(p=0.1, inplace=False)\n"
        ")");
}

/* ---- Linear --------------------------------------------------------------------------------- */

static void linear_computes_and_starts_as_in_pytorch(void **state)
{
    (void)state;
    adz_module *m = adz_linear_new(2, 3, NULL);
    static const float w[] = { 1, 2, 3, 4, 5, 6 }, b[] = { 10, 20, 30 }, x[] = { 1, -1, 0.5, 2 };
    ADZ_NO_GRAD
    {
        adz_tensor_write(adz_module_parameter(m, "weight"), w, sizeof w);
        adz_tensor_write(adz_module_parameter(m, "bias"), b, sizeof b);
    }
    adz_tensor *y = adz_module_forward(m, adz_tensor_from(x, ADZ_SHAPE(2, 2), ADZ_F32));
    assert_true(HOLDS(y, 1e-6, 9, 19, 29, 14.5, 29.5, 44.5));
    adz_module_free(&m);

    m = adz_linear_new(64, 500, NULL);
    for (int pass = 0; pass < 2; ++pass) { /* as made, and drawn anew */
        const char *names[] = { "weight", "bias" };
        for (int i = 0; i < 2; ++i) {
            adz_tensor *t = adz_module_parameter(m, names[i]);
            const float *data = adz_tensor_data_f32(t);
            float most = 0;
            double sum = 0;
            int64_t n = adz_tensor_numel(t);
            for (int64_t k = 0; k < n; ++k) {
                most = fabsf(data[k]) > most ? fabsf(data[k]) : most;
                sum += data[k];
            }
            assert_true(most <= 0.125f && most > 0.12f);
            assert_true(fabs(sum / (double)n) < 0.02);
            fill(t, 0);
        }
        assert_int_equal(adz_module_reset_parameters(m), ADZ_OK);
    }
    assert_int_equal(adz_module_num_parameters(m), 64 * 500 + 500);
    adz_module_free(&m);
}

static void linear_refuses(void **state)
{
    (void)state;
    assert_null(adz_linear_new(-1, 3, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "in_features -1");
    adz_linear_options o = ADZ_LINEAR_OPTIONS;
    o.dtype = ADZ_I64;
    assert_null(adz_linear_new(1, 3, &o));
    expect_error(ADZ_ERR_DTYPE, "not int64");
    adz_module *m = ADZ_SEQUENTIAL(adz_linear_new(2, 3, NULL), adz_linear_new(4, 5, NULL));
    assert_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(7, 2), ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "1: linear: x[7, 3] and weight[5, 4] do not fit");
    adz_module_free(&m);
    assert_null(ADZ_SEQUENTIAL(
        adz_linear_new(2, 3, NULL), adz_linear_new(2, -3, NULL), adz_linear_new(2, 3, NULL)));
    expect_error(ADZ_ERR_ARGUMENT, "out_features -3");
    m = adz_linear_new(0, 2, NULL); /* nothing in: the bias */
    assert_true(alike(adz_module_forward(m, adz_ones(ADZ_SHAPE(1, 0), ADZ_F32)),
        adz_reshape(adz_module_parameter(m, "bias"), ADZ_SHAPE(1, 2)), 0));
    adz_module_free(&m);
}

/* ---- activations ---------------------------------------------------------------------------- */

static void expect_values(adz_module *module, const double expected[5])
{
    static const float x[] = { -2, -0.5f, 0, 0.5f, 2 };
    adz_tensor *y = adz_module_forward(module, adz_tensor_from(x, ADZ_SHAPE(5), ADZ_F32));
    assert_non_null(y);
    assert_true(holds(y, expected, 1e-6));
    adz_module_free(&module);
}

static void activations_compute(void **state)
{
    (void)state;
    expect_values(adz_relu_new(NULL), (const double[]){ 0, 0, 0, 0.5, 2 });
    expect_values(adz_notebook_relu_new(NULL), (const double[]){ 0, 0, 0, 0.5, 2 });
    expect_values(adz_leaky_relu_new(0.1), (const double[]){ -0.2, -0.05, 0, 0.5, 2 });
    expect_values(adz_gelu_new(ADZ_GELU_NONE),
        (const double[]){ -0.04550026, -0.15426877, 0, 0.34573123, 1.95449974 });
    expect_values(adz_gelu_new(ADZ_GELU_TANH),
        (const double[]){ -0.04540231, -0.15428599, 0, 0.34571401, 1.95459769 });
    expect_values(
        adz_silu_new(), (const double[]){ -0.23840584, -0.18877033, 0, 0.31122967, 1.76159416 });
    expect_values(
        adz_sigmoid_new(), (const double[]){ 0.11920292, 0.37754067, 0.5, 0.62245933, 0.88079708 });
    expect_values(
        adz_tanh_new(), (const double[]){ -0.96402758, -0.46211716, 0, 0.46211716, 0.96402758 });
    expect_values(adz_softmax_new(0),
        (const double[]){ 0.012554709, 0.056266301, 0.092767448, 0.152947665, 0.685463877 });
    expect_values(
        adz_activation_new(ADZ_ACTIVATION_IDENTITY), (const double[]){ -2, -0.5, 0, 0.5, 2 });
    assert_null(adz_activation_new((adz_activation)99));
    expect_error(ADZ_ERR_ARGUMENT, "99 is no adz_activation");
    assert_null(adz_gelu_new((adz_gelu_approximate)9));
    expect_error(ADZ_ERR_ARGUMENT, "9 is no adz_gelu_approximate");
}

static void rectifiers_differ_at_zero(void **state)
{
    (void)state;
    for (int notebook = 0; notebook < 2; ++notebook) {
        adz_module *m = notebook ? adz_notebook_relu_new(NULL) : adz_relu_new(NULL);
        static const float values[] = { -1, 0, 1 };
        adz_tensor *x = adz_requires_grad_(adz_tensor_from(values, ADZ_SHAPE(3), ADZ_F32), true);
        adz_backward(adz_sum(adz_module_forward(m, x), ADZ_ALL_DIMS, ADZ_DROPDIM));
        assert_true(HOLDS(adz_tensor_grad(x), 0, 0, notebook, 1));
        adz_module_free(&m);
    }
}

static void rectifiers_work_in_place(void **state)
{
    (void)state;
    adz_relu_options o;
    adz_relu_options_init(&o, sizeof o);
    assert_false(o.inplace);
    o.inplace = true;
    for (int notebook = 0; notebook < 2; ++notebook) {
        adz_module *m = notebook ? adz_notebook_relu_new(&o) : adz_relu_new(&o);
        adz_tensor *w = adz_requires_grad_(adz_linspace(-1, 1, 4, ADZ_F32), true);
        adz_tensor *x = adz_mul_number(w, 3);
        assert_ptr_equal(adz_module_forward(m, x), x);
        assert_true(HOLDS(x, 1e-6, 0, 0, 1, 3));
        adz_backward(adz_sum(x, ADZ_ALL_DIMS, ADZ_DROPDIM));
        assert_true(HOLDS(adz_tensor_grad(w), 0, 0, 0, 3, 3));
        assert_null(adz_module_forward(m, w));
        expect_error(ADZ_ERR_INPLACE, "a leaf that wants a gradient");
        adz_module_free(&m);
    }
}

/* ---- Dropout -------------------------------------------------------------------------------- */

static void dropout_heeds_the_mode(void **state)
{
    (void)state;
    adz_generator *g = adz_generator_new(1);
    adz_dropout_options o = { sizeof o, g };
    adz_module *m = adz_dropout_new(0.25, &o);
    adz_tensor *x = adz_ones(ADZ_SHAPE(10000), ADZ_F32);
    adz_tensor *y = adz_module_forward(m, x);
    int64_t kept = 0;
    for (int64_t i = 0; i < 10000; ++i) {
        float value = adz_tensor_data_f32(y)[i];
        assert_true(value == 0 || fabsf(value - 4.0f / 3) < 1e-6f);
        kept += value != 0;
    }
    assert_true(kept > 7300 && kept < 7700);
    assert_false(adz_equal(adz_module_forward(m, x), y));
    adz_generator_set_state(g, (adz_generator_state){ 1, 0 });
    assert_true(adz_equal(adz_module_forward(m, x), y));
    adz_module_eval(m);
    assert_ptr_equal(adz_module_forward(m, x), x);
    adz_module_free(&m);
    adz_generator_free(&g);
    m = adz_dropout_new(1, NULL);
    assert_true(all_are(adz_module_forward(m, x), 0));
    adz_module_free(&m);
    static const double wrong[] = { -0.1, 1.1, NAN };
    for (int i = 0; i < 3; ++i) {
        assert_null(adz_dropout_new(wrong[i], NULL));
        expect_error(ADZ_ERR_ARGUMENT, "must be in [0, 1]");
    }
    assert_null(adz_notebook_dropout_new(1, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "p is 1, but must be in [0, 1)");
}

/* ---- Embedding ------------------------------------------------------------------------------ */

static void embeddings_look_rows_up(void **state)
{
    (void)state;
    adz_embedding_table_options o;
    adz_embedding_table_options_init(&o, sizeof o);
    adz_module *m = adz_embedding_new(5, 3, &o);
    adz_tensor *weight = adz_module_parameter(m, "weight");
    static const int64_t numbers[] = { 4, 0, 4, 2 };
    adz_tensor *ids = adz_tensor_from(numbers, ADZ_SHAPE(2, 2), ADZ_I64);
    adz_tensor *y = adz_module_forward(m, ids);
    assert_int_equal(adz_tensor_rank(y), 3);
    assert_true(
        adz_tensor_at(y, (int64_t[]){ 1, 0, 1 }) == adz_tensor_at(weight, (int64_t[]){ 4, 1 }));
    adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM));
    assert_true(HOLDS(adz_tensor_grad(weight), 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 2, 2, 2));
    adz_module_free(&m);

    o.padding_idx = -1;
    o.scale_grad_by_freq = true;
    o.dtype = ADZ_F64;
    m = adz_embedding_new(5, 3, &o);
    weight = adz_module_parameter(m, "weight");
    for (int pass = 0; pass < 2; ++pass) {
        assert_true(all_are(adz_slice(weight, 0, 4, 5, 1), 0));
        assert_false(all_are(adz_slice(weight, 0, 3, 4, 1), 0));
        fill(weight, 7);
        adz_module_reset_parameters(m);
    }
    adz_backward(adz_sum(adz_module_forward(m, ids), ADZ_ALL_DIMS, ADZ_DROPDIM));
    assert_true(HOLDS(adz_tensor_grad(weight), 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0));
    expect_print(m, "Embedding(5, 3, padding_idx=4, scale_grad_by_freq=True)");
    expect_print(adz_embedding_new(5, 3, NULL), "Embedding(5, 3)");
}

static void embeddings_refuse(void **state)
{
    (void)state;
    adz_embedding_table_options o = ADZ_EMBEDDING_TABLE_OPTIONS;
    o.padding_idx = 5;
    assert_null(adz_embedding_new(5, 3, &o));
    expect_error(ADZ_ERR_ARGUMENT, "padding_idx 5 is no row of 5");
    o.padding_idx = -6;
    assert_null(adz_embedding_new(5, 3, &o));
    expect_error(ADZ_ERR_ARGUMENT, "padding_idx -6");
    o = (adz_embedding_table_options)ADZ_EMBEDDING_TABLE_OPTIONS;
    o.sparse = true;
    assert_null(adz_embedding_new(5, 3, &o));
    expect_error(ADZ_ERR_UNSUPPORTED, "sparse");
    assert_null(adz_embedding_new(5, -3, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "embedding_dim -3");
    adz_module *m = ADZ_SEQUENTIAL(adz_embedding_new(5, 3, NULL));
    assert_null(adz_module_forward(m, adz_full(ADZ_SHAPE(2), 5, ADZ_I64)));
    expect_error(ADZ_ERR_INDEX, "0: embedding: ");
    adz_module_free(&m);
}

/* ---- feed-forward networks ------------------------------------------------------------------ */

/* y by plain loops, for one row. */
static void feed_forward_by_hand(adz_module *m, const double *x, double *y, bool gated)
{
    enum { D = 3, F = 4 };
    const double *w1 = adz_tensor_data_f64(adz_module_parameter(m, "layer1.weight"));
    const double *b1 = adz_tensor_data_f64(adz_module_parameter(m, "layer1.bias"));
    const double *w2 = adz_tensor_data_f64(adz_module_parameter(m, "layer2.weight"));
    const double *b2 = adz_tensor_data_f64(adz_module_parameter(m, "layer2.bias"));
    const double *v =
        gated ? adz_tensor_data_f64(adz_module_parameter(m, "linear_v.weight")) : NULL;
    const double *bv = gated ? adz_tensor_data_f64(adz_module_parameter(m, "linear_v.bias")) : NULL;
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
        adz_module_free(&m);
    }
}

static void expect_names(adz_module *module, size_t count, const char *const *names)
{
    adz_named_list list = adz_module_named_parameters(module);
    assert_int_equal(list.count, count);
    for (size_t i = 0; i < count; ++i) {
        assert_string_equal(list.items[i].name, names[i]);
    }
    adz_module_free(&module);
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
    expect_error(ADZ_ERR_ARGUMENT, "d_model 0 and d_ff 4");
    assert_null(adz_feed_forward_new(4, -1, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "d_ff -1");
    adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
    o.dropout = 1.5;
    assert_null(adz_feed_forward_new(4, 4, &o));
    expect_error(ADZ_ERR_ARGUMENT, "p is 1.5");
    o.dropout = 0;
    o.activation = (adz_activation)42;
    assert_null(adz_feed_forward_new(4, 4, &o));
    expect_error(ADZ_ERR_ARGUMENT, "42 is no adz_activation");
    adz_module *m = ADZ_SEQUENTIAL(adz_feed_forward_new(4, 4, NULL));
    assert_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(2, 5), ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "0.layer1: linear: x[2, 5] and weight[4, 4] do not fit");
    adz_module_free(&m);
    assert_null(adz_notebook_feed_forward_new(4, 0, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "d_ff 0");
    m = adz_notebook_feed_forward_new(4, 6, NULL);
    assert_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(2, 6), ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "x[2, 6] must end in d_model, which is 4");
    assert_null(adz_module_forward(m, adz_scalar(1, ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "x[] must end in d_model");
    adz_module_free(&m);
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
    assert_true(all_are(adz_module_parameter(m, "b1"), 0));
    assert_true(all_are(adz_module_parameter(m, "b2"), 0));
    static const char *const names[] = { "w1", "w2" };
    static const double deviations[] = { 0.1, 0.2 };
    for (int i = 0; i < 2; ++i) {
        adz_tensor *w = adz_module_parameter(m, names[i]);
        double squares = adz_item(adz_mean(adz_mul(w, w), ADZ_ALL_DIMS, ADZ_DROPDIM));
        assert_true(fabs(sqrt(squares) / deviations[i] - 1) < 0.06);
    }
    adz_module_eval(m);
    fill(adz_module_parameter(m, "b1"), -0.1);
    fill(adz_module_parameter(m, "b2"), 0.5);
    adz_tensor *x = adz_randn(ADZ_SHAPE(100), ADZ_F64);
    adz_tensor *h = adz_relu(adz_add_number(adz_matmul(x, adz_module_parameter(m, "w1")), -0.1));
    adz_tensor *y = adz_add_number(adz_matmul(h, adz_module_parameter(m, "w2")), 0.5);
    assert_true(alike(adz_module_forward(m, x), y, 1e-13)); /* a vector in, a vector out */
    adz_tensor *rows = adz_expand(x, ADZ_SHAPE(2, 3, 100));
    adz_tensor *ys = adz_expand(y, ADZ_SHAPE(2, 3, 100));
    assert_true(alike(adz_module_forward(m, rows), ys, 1e-13));
    adz_module_free(&m);
}

/* A user's own activation takes the place of a child. */
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
    adz_tensor *h = adz_module_forward(adz_module_child(m, "layer1"), x);
    adz_tensor *y = adz_module_forward(adz_module_child(m, "layer2"), adz_mul_number(h, 2));
    assert_true(alike(adz_module_forward(m, x), y, 0));
    adz_module_free(&m);
}

/* ---- refused memory ------------------------------------------------------------------------- */

static bool exercise(void)
{
    adz_scope *scope = adz_scope_open();
    adz_module *m = adz_feed_forward_new(3, 4, NULL);
    adz_module *n = adz_notebook_feed_forward_new(3, 4, NULL);
    adz_module *s = m != NULL && n != NULL
                        ? ADZ_SEQUENTIAL(adz_module_keep(m), adz_module_keep(n), adz_softmax_new(1))
                        : NULL;
    adz_tensor *y = NULL;
    if (scope != NULL && s != NULL) {
        y = adz_module_forward(s, adz_ones(ADZ_SHAPE(2, 3), ADZ_F32));
    }
    bool good = y != NULL;
    adz_module_free(&m);
    adz_module_free(&n);
    adz_module_free(&s);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return good;
}

static void refused_memory_leaks_nothing(void **state)
{
    (void)state;
    int points = refuse_each_request(exercise);
    printf("%d failure points\n", points);
    assert_true(points > 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(gradients_agree_with_differences),
        TEST(modules_print_as_in_pytorch),
        TEST(linear_computes_and_starts_as_in_pytorch),
        TEST(linear_refuses),
        TEST(activations_compute),
        TEST(rectifiers_differ_at_zero),
        TEST(rectifiers_work_in_place),
        TEST(dropout_heeds_the_mode),
        TEST(embeddings_look_rows_up),
        TEST(embeddings_refuse),
        TEST(feed_forward_computes),
        TEST(feed_forward_parameters_have_pytorchs_names),
        TEST(feed_forward_refuses),
        TEST(the_notebooks_network_starts_and_computes),
        TEST(parts_can_be_replaced),
        TEST(refused_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
