/* Linear layers, activations, dropout and embeddings. */
#include "adze/zoo.h"
#include "nn/layers/dropout.h"
#include "print.h"
#include "tests.h"

static void linear_computes_and_starts_as_in_pytorch(void **state)
{
    (void)state;
    adz_module *m = adz_linear_new(2, 3, NULL);
    static const float w[] = { 1, 2, 3, 4, 5, 6 }, b[] = { 10, 20, 30 }, x[] = { 1, -1, 0.5, 2 };
    ADZ_NO_GRAD
    {
        adz_tensor_write(adz_module_get_parameter(m, "weight"), w, sizeof w);
        adz_tensor_write(adz_module_get_parameter(m, "bias"), b, sizeof b);
    }
    adz_tensor *y = adz_module_forward(m, adz_tensor_from(x, ADZ_SHAPE(2, 2), ADZ_F32));
    assert_true(HOLDS(y, 1e-6, 9, 19, 29, 14.5, 29.5, 44.5));
    adz_module_release(&m);

    m = adz_linear_new(64, 500, NULL);
    for (int pass = 0; pass < 2; ++pass) { /* after the constructor, and after a reset */
        const char *names[] = { "weight", "bias" };
        for (int i = 0; i < 2; ++i) {
            adz_tensor *t = adz_module_get_parameter(m, names[i]);
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
    assert_int_equal(adz_module_numel(m), 64 * 500 + 500);
    adz_module_release(&m);
}

static void linear_refuses(void **state)
{
    (void)state;
    assert_null(adz_linear_new(-1, 3, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "in_features is -1, but must be 0 or more");
    adz_linear_options o = ADZ_LINEAR_OPTIONS;
    o.dtype = ADZ_I64;
    assert_null(adz_linear_new(1, 3, &o));
    expect_error(ADZ_ERR_DTYPE, "not int64");
    adz_module *m = ADZ_SEQUENTIAL(adz_linear_new(2, 3, NULL), adz_linear_new(4, 5, NULL));
    assert_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(7, 2), ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "1: linear: x[7, 3] and weight[5, 4] do not fit");
    adz_module_release(&m);
    assert_null(ADZ_SEQUENTIAL(
        adz_linear_new(2, 3, NULL), adz_linear_new(2, -3, NULL), adz_linear_new(2, 3, NULL)));
    expect_error(ADZ_ERR_ARGUMENT, "out_features is -3");
    m = adz_linear_new(2, 0, NULL);
    assert_int_equal(
        adz_tensor_numel(adz_module_forward(m, adz_ones(ADZ_SHAPE(7, 2), ADZ_F32))), 0);
    adz_module_release(&m);
    m = adz_linear_new(0, 2, NULL); /* Without inputs the result is the bias. */
    assert_true(alike(adz_module_forward(m, adz_ones(ADZ_SHAPE(1, 0), ADZ_F32)),
        adz_reshape(adz_module_get_parameter(m, "bias"), ADZ_SHAPE(1, 2)), 0));
    adz_module_release(&m);
}

/* ---- activations ---------------------------------------------------------------------------- */

static void expect_values(adz_module *module, const double expected[5])
{
    static const float x[] = { -2, -0.5f, 0, 0.5f, 2 };
    adz_tensor *y = adz_module_forward(module, adz_tensor_from(x, ADZ_SHAPE(5), ADZ_F32));
    assert_non_null(y);
    assert_true(holds(y, expected, 1e-6));
    adz_module_release(&module);
}

static void activations_compute(void **state)
{
    (void)state;
    expect_values(adz_relu_new(), (const double[]){ 0, 0, 0, 0.5, 2 });
    expect_values(adz_notebook_relu_new(), (const double[]){ 0, 0, 0, 0.5, 2 });
    expect_values(adz_leaky_relu_new(0.1), (const double[]){ -0.2, -0.05, 0, 0.5, 2 });
    expect_values(adz_prelu_new(NULL), (const double[]){ -0.5, -0.125, 0, 0.5, 2 });
    adz_prelu_options slopes = ADZ_PRELU_OPTIONS;
    slopes.init = -2;
    expect_values(adz_prelu_new(&slopes), (const double[]){ 4, 1, 0, 0.5, 2 });
    slopes.num_parameters = 0;
    assert_null(adz_prelu_new(&slopes));
    assert_int_equal(adz_error_code(), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    expect_values(adz_hardtanh_new(-1, 1.5), (const double[]){ -1, -0.5, 0, 0.5, 1.5 });
    expect_values(adz_relu6_new(), (const double[]){ 0, 0, 0, 0.5, 2 });
    expect_values(adz_hardswish_new(),
        (const double[]){ -0.33333333, -0.20833333, 0, 0.29166667, 1.66666667 });
    expect_values(
        adz_mish_new(), (const double[]){ -0.25250148, -0.22074377, 0, 0.37524521, 1.94395896 });
    expect_values(adz_softsign_new(),
        (const double[]){ -0.66666667, -0.33333333, 0, 0.33333333, 0.66666667 });
    expect_values(adz_celu_new(0.5), (const double[]){ -0.49084218, -0.31606028, 0, 0.5, 2 });
    expect_values(
        adz_selu_new(), (const double[]){ -1.52016647, -0.69175819, 0, 0.52535049, 2.10140197 });
    assert_null(adz_hardtanh_new(1, -1));
    expect_error(ADZ_ERR_ARGUMENT, "min_val is 1 and max_val -1");
    assert_null(adz_celu_new(0));
    expect_error(ADZ_ERR_ARGUMENT, "alpha is 0");
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
    expect_error(ADZ_ERR_ARGUMENT, "activation is 99");
    assert_null(adz_gelu_new((adz_gelu_approximate)9));
    expect_error(ADZ_ERR_ARGUMENT, "9 is no adz_gelu_approximate");
}

/* PyTorch 2.15 computed the expected values. */
static void further_activations_compute(void **state)
{
    (void)state;
    expect_values(adz_elu_new(0.5), (const double[]){ -0.432332367, -0.196734667, 0, 0.5, 2 });
    expect_values(adz_softplus_new(2, 0.5),
        (const double[]){ 0.00907496456, 0.15663084, 0.34657359, 0.5, 2 });
    expect_values(adz_logsigmoid_new(),
        (const double[]){ -2.12692809, -0.974076986, -0.693147182, -0.474076986, -0.126928017 });
    expect_values(adz_log_softmax_new(0),
        (const double[]){ -4.37765932, -2.87765956, -2.37765956, -1.87765956, -0.3776595 });
    expect_values(adz_softmin_new(0),
        (const double[]){ 0.685463786, 0.152947649, 0.0927674323, 0.0562662929, 0.0125547079 });
    expect_values(adz_threshold_new(0.1, 20), (const double[]){ 20, 20, 20, 0.5, 2 });
    expect_values(adz_hardsigmoid_new(),
        (const double[]){ 0.166666672, 0.416666657, 0.5, 0.583333313, 0.833333313 });
    expect_values(adz_softshrink_new(0.4), (const double[]){ -1.6, -0.1, 0, 0.1, 1.6 });
    expect_values(adz_hardshrink_new(0.6), (const double[]){ -2, 0, 0, 0, 2 });
    expect_values(adz_tanhshrink_new(),
        (const double[]){ -1.03597236, -0.0378828347, 0, 0.0378828347, 1.03597236 });
    adz_module *rrelu = adz_rrelu_new(NULL);
    adz_module_eval(rrelu);
    expect_values(rrelu, (const double[]){ -0.458333343, -0.114583336, 0, 0.5, 2 });
    assert_null(adz_softplus_new(0, 20));
    expect_error(ADZ_ERR_ARGUMENT, "beta is 0");
    assert_null(adz_softshrink_new(-0.5));
    expect_error(ADZ_ERR_ARGUMENT, "lambd is -0.5");
    adz_rrelu_options o = ADZ_RRELU_OPTIONS;
    o.lower = 0.5;
    assert_null(adz_rrelu_new(&o));
    expect_error(ADZ_ERR_ARGUMENT, "lower is 0.5");
    o.lower = (double)INFINITY;
    assert_null(adz_rrelu_new(&o));
    expect_error(ADZ_ERR_ARGUMENT, "lower is inf");
}

/* In training the module draws from its generator, each time anew. */
static void rrelu_draws_in_training(void **state)
{
    (void)state;
    adz_rrelu_options o = ADZ_RRELU_OPTIONS;
    o.generator = adz_generator_new(6);
    adz_generator *same = adz_generator_new(6);
    adz_module *m = adz_rrelu_new(&o);
    adz_tensor *x = adz_randn(ADZ_SHAPE(30, 20), ADZ_F32);
    adz_tensor *y = adz_module_forward(m, x);
    assert_true(alike(y, adz_rrelu(x, 1.0 / 8, 1.0 / 3, true, same), 0));
    assert_false(alike(y, adz_module_forward(m, x), 1e-6));
    adz_module_release(&m);
    adz_generator_free(&o.generator);
    adz_generator_free(&same);
}

static void modules_along_a_dimension(void **state)
{
    (void)state;
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 4, 3, 6), ADZ_F64);
    adz_module *m = adz_glu_new(-1);
    assert_true(alike(adz_module_forward(m, x), adz_glu(x, 3), 0));
    adz_module_release(&m);
    m = adz_softmax2d_new();
    assert_true(alike(adz_module_forward(m, x), adz_softmax(x, 1), 0));
    x = adz_select(x, 0, 0);
    assert_true(alike(adz_module_forward(m, x), adz_softmax(x, 0), 0));
    assert_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(2, 3), ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "[N, C, H, W]");
    adz_module_release(&m);
}

static void softmax_heeds_the_dimension(void **state)
{
    (void)state;
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 3, 4), ADZ_F64);
    for (int dim = -3; dim < 3; ++dim) {
        adz_module *m = adz_softmax_new(dim);
        assert_true(alike(adz_module_forward(m, x), adz_softmax(x, dim), 0));
        adz_module_release(&m);
    }
}

static void rectifiers_differ_at_zero(void **state)
{
    (void)state;
    for (int notebook = 0; notebook < 2; ++notebook) {
        adz_module *m = notebook ? adz_notebook_relu_new() : adz_relu_new();
        static const float values[] = { -1, 0, 1 };
        adz_tensor *x = adz_requires_grad_(adz_tensor_from(values, ADZ_SHAPE(3), ADZ_F32), true);
        adz_backward(adz_sum(adz_module_forward(m, x), ADZ_ALL_DIMS, ADZ_DROPDIM));
        assert_true(HOLDS(adz_tensor_grad(x), 0, 0, notebook, 1));
        adz_module_release(&m);
    }
}

static void rectifiers_work_in_position(void **state)
{
    (void)state;
    for (int notebook = 0; notebook < 2; ++notebook) {
        adz_module *m = notebook ? adz_notebook_relu_inplace_new() : adz_relu_inplace_new();
        adz_tensor *w = adz_requires_grad_(adz_linspace(-1, 1, 4, ADZ_F32), true);
        adz_tensor *x = adz_mul_number(w, 3);
        assert_ptr_equal(adz_module_forward(m, x), x);
        assert_true(HOLDS(x, 1e-6, 0, 0, 1, 3));
        adz_backward(adz_sum(x, ADZ_ALL_DIMS, ADZ_DROPDIM));
        assert_true(HOLDS(adz_tensor_grad(w), 0, 0, 0, 3, 3));
        assert_null(adz_module_forward(m, w));
        expect_error(ADZ_ERR_INPLACE, "a leaf that wants a gradient");
        adz_module_release(&m);
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
    adz_module_release(&m);
    adz_generator_free(&g);
    m = adz_dropout_new(1, NULL);
    assert_true(all_are(adz_module_forward(m, x), 0));
    adz_module_release(&m);
    static const double wrong[] = { -0.1, 1.1, NAN };
    for (int i = 0; i < 3; ++i) {
        assert_null(adz_dropout_new(wrong[i], NULL));
        expect_error(ADZ_ERR_ARGUMENT, "must be in [0, 1]");
    }
    assert_null(adz_notebook_dropout_new(1, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "p is 1, but must be in [0, 1)");
}

/* Masks are used up only where elements are dropped: in training, and with p above 0. */
static void given_masks_are_used_up_by_drops_alone(void **state)
{
    (void)state;
    adz_tensor *x = adz_ones(ADZ_SHAPE(4), ADZ_F32), *zeros = adz_zeros_like(x);
    adz_tensor *items[] = { zeros, zeros };
    adz_module *m = adz_dropout_new(0.5, NULL), *keeps = adz_dropout_new(0, NULL);
    adzi_masks masks = { items, 1, 0 }; /* the second item is no part of the replay */
    adzi_module_replay(m, &masks);
    adzi_module_replay(keeps, &masks);
    adz_module_eval(m);
    assert_ptr_equal(adz_module_forward(m, x), x);
    adz_module_train(m, true);
    assert_true(all_are(adz_module_forward(keeps, x), 1) && masks.next == 0);
    assert_true(all_are(adz_module_forward(m, x), 0) && masks.next == 1);
    assert_null(adz_module_forward(m, x));
    expect_error(ADZ_ERR_STATE, "Dropout: no mask is left of the 1 that are to be replayed");
    adz_module_release(&m);
    adz_module_release(&keeps);
}

/* ---- Embedding ------------------------------------------------------------------------------ */

static void embeddings_look_rows_up(void **state)
{
    (void)state;
    adz_embedding_module_options o;
    adz_embedding_module_options_init(&o, sizeof o);
    adz_module *m = adz_embedding_new(5, 3, &o);
    adz_tensor *weight = adz_module_get_parameter(m, "weight");
    static const int64_t numbers[] = { 4, 0, 4, 2 };
    adz_tensor *ids = adz_tensor_from(numbers, ADZ_SHAPE(2, 2), ADZ_I64);
    adz_tensor *y = adz_module_forward(m, ids);
    assert_int_equal(adz_tensor_rank(y), 3);
    assert_true(
        adz_tensor_at(y, (int64_t[]){ 1, 0, 1 }) == adz_tensor_at(weight, (int64_t[]){ 4, 1 }));
    adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM));
    assert_true(HOLDS(adz_tensor_grad(weight), 0, 1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 2, 2, 2));
    adz_module_release(&m);

    o.padding_idx = -1;
    o.scale_grad_by_freq = true;
    o.dtype = ADZ_F64;
    m = adz_embedding_new(5, 3, &o);
    weight = adz_module_get_parameter(m, "weight");
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
    adz_embedding_module_options o = ADZ_EMBEDDING_MODULE_OPTIONS;
    o.padding_idx = 5;
    assert_null(adz_embedding_new(5, 3, &o));
    expect_error(ADZ_ERR_ARGUMENT, "padding_idx 5 is no row of 5");
    o.padding_idx = -6;
    assert_null(adz_embedding_new(5, 3, &o));
    expect_error(ADZ_ERR_ARGUMENT, "padding_idx -6");
    o = (adz_embedding_module_options)ADZ_EMBEDDING_MODULE_OPTIONS;
    o.sparse = true;
    assert_null(adz_embedding_new(5, 3, &o));
    expect_error(ADZ_ERR_UNSUPPORTED, "sparse");
    assert_null(adz_embedding_new(5, -3, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "embedding_dim is -3, but must be 0 or more");
    adz_module *m = ADZ_SEQUENTIAL(adz_embedding_new(5, 3, NULL));
    assert_null(adz_module_forward(m, adz_full(ADZ_SHAPE(2), 5, ADZ_I64)));
    expect_error(ADZ_ERR_INDEX, "0: embedding: ");
    adz_module_release(&m);
}

static void embeddings_have_borders(void **state)
{
    (void)state;
    adz_embedding_module_options o = ADZ_EMBEDDING_MODULE_OPTIONS;
    static const int64_t first[] = { 0, -5 };
    for (int i = 0; i < 2; ++i) {
        o.padding_idx = first[i];
        expect_print(adz_embedding_new(5, 3, &o), "Embedding(5, 3, padding_idx=0)");
    }
    expect_print(adz_embedding_new(0, 3, NULL), "Embedding(0, 3)");
    expect_print(adz_embedding_new(5, 0, NULL), "Embedding(5, 0)");
    o = (adz_embedding_module_options)ADZ_EMBEDDING_MODULE_OPTIONS;
    o.dtype = ADZ_I64;
    assert_null(adz_embedding_new(5, 3, &o));
    expect_error(ADZ_ERR_DTYPE, "adz_embedding_new: parameters are float32 or float64, not int64");
}

int layers_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(linear_computes_and_starts_as_in_pytorch),
        TEST(linear_refuses),
        TEST(activations_compute),
        TEST(further_activations_compute),
        TEST(rrelu_draws_in_training),
        TEST(modules_along_a_dimension),
        TEST(softmax_heeds_the_dimension),
        TEST(rectifiers_differ_at_zero),
        TEST(rectifiers_work_in_position),
        TEST(dropout_heeds_the_mode),
        TEST(given_masks_are_used_up_by_drops_alone),
        TEST(embeddings_look_rows_up),
        TEST(embeddings_refuse),
        TEST(embeddings_have_borders),
    };
    return cmocka_run_group_tests_name("modules: layers", tests, NULL, NULL);
}
