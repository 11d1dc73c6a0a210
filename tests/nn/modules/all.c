/* The checks of every kind of module: gradients, the printed form, refused memory. */
#include "adze/zoo.h"
#include "print.h"
#include "tests.h"

typedef struct {
    adz_module *module;
    adz_generator *generator; /* gets one fixed state before each call; may be NULL */
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

/* Compares the gradients of x and of every parameter with differences of the result. */
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
    adz_module_release(&module);
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
    for (int a = ADZ_ACTIVATION_RELU; a <= ADZ_ACTIVATION_IDENTITY; ++a) {
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
    expect_gradients(adz_notebook_relu_new(), x, NULL);
    adz_generator_free(&g);
}

static void activations_print_as_in_pytorch(void **state)
{
    (void)state;
    expect_print(adz_elu_new(1), "ELU(alpha=1.0)");
    expect_print(adz_glu_new(-1), "GLU(dim=-1)");
    expect_print(adz_hardshrink_new(0.5), "Hardshrink(0.5)");
    expect_print(adz_hardsigmoid_new(), "Hardsigmoid()");
    expect_print(adz_logsigmoid_new(), "LogSigmoid()");
    expect_print(adz_log_softmax_new(1), "LogSoftmax(dim=1)");
    expect_print(adz_rrelu_new(NULL), "RReLU(lower=0.125, upper=0.3333333333333333)");
    expect_print(adz_softmax2d_new(), "Softmax2d()");
    expect_print(adz_softmin_new(1), "Softmin(dim=1)");
    expect_print(adz_softplus_new(1, 20), "Softplus(beta=1.0, threshold=20.0)");
    expect_print(adz_softshrink_new(0.5), "Softshrink(0.5)");
    expect_print(adz_tanhshrink_new(), "Tanhshrink()");
    expect_print(adz_threshold_new(0.1, 20.5), "Threshold(threshold=0.1, value=20.5)");
}

static void modules_print_as_in_pytorch(void **state)
{
    (void)state;
    adz_linear_options plain = ADZ_LINEAR_OPTIONS;
    plain.bias = false;
    expect_print(adz_linear_new(3, 4, &plain), "Linear(in_features=3, out_features=4, bias=False)");
    expect_print(adz_relu_new(), "ReLU()");
    expect_print(adz_relu_inplace_new(), "ReLU(inplace=True)");
    expect_print(adz_leaky_relu_new(0.01), "LeakyReLU(negative_slope=0.01)");
    expect_print(adz_hardtanh_new(-1, 2.5), "Hardtanh(min_val=-1.0, max_val=2.5)");
    expect_print(adz_relu6_new(), "ReLU6()");
    expect_print(adz_hardswish_new(), "Hardswish()");
    expect_print(adz_mish_new(), "Mish()");
    expect_print(adz_softsign_new(), "Softsign()");
    expect_print(adz_celu_new(0.5), "CELU(alpha=0.5)");
    expect_print(adz_selu_new(), "SELU()");
    expect_print(adz_prelu_new(NULL), "PReLU(num_parameters=1)");
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
    adz_module_release(&m);
    adz_module_release(&n);
    adz_module_release(&s);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return good;
}

static bool make_norm(void)
{
    adz_module *m = adz_batch_norm1d_new(3, NULL);
    const bool good = m != NULL;
    adz_module_release(&m);
    return good;
}

static void refused_memory_leaks_nothing(void **state)
{
    (void)state;
    assert_true(refuse_each_request(make_norm) > 3);
    int points = refuse_each_request(exercise);
    printf("%d failure points\n", points);
    assert_true(points > 60);
}

int all_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(gradients_agree_with_differences),
        TEST(activations_print_as_in_pytorch),
        TEST(modules_print_as_in_pytorch),
        TEST(refused_memory_leaks_nothing),
    };
    return cmocka_run_group_tests_name("modules: all", tests, NULL, NULL);
}
