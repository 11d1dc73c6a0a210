/* FeedForward of the annotated transformers, and its seven variants. */
#include "nn/case.h"

static adz_module *plain(adz_generator *g)
{
    adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
    o.generator = g;
    o.activation = ADZ_ACTIVATION_GELU;
    return adz_feed_forward_new(4, 6, &o);
}

static adz_module *gated(adz_generator *g)
{
    adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
    o.generator = g;
    o.dropout = 0.4;
    o.activation_function = adz_sin;
    o.is_gated = true;
    o.bias2 = false;
    return adz_feed_forward_new(4, 6, &o);
}

static adz_module *swiglu(adz_generator *g)
{
    adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
    o.generator = g;
    return adz_feed_forward_variant_new("SwiGLU", 4, 6, &o);
}

/* A child that the program adds is no gate. */
static void other_children_are_not_called(void **state)
{
    (void)state;
    adz_module *m = plain(NULL);
    adz_module_eval(m);
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 4), ADZ_F32), *y = adz_module_forward(m, x);
    assert_non_null(adz_module_add_child(m, "extra", adz_linear_new(4, 6, NULL)));
    expect_same(adz_module_forward(m, x), y, 0);
    adz_module_release(&m);
}

/* Each variant is the network with its options written out. */
static void variants_are_the_tables(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        adz_activation activation;
        bool gated;
    } rows[] = { { "ReLU", ADZ_ACTIVATION_RELU, false }, { "GELU", ADZ_ACTIVATION_GELU, false },
        { "GLU", ADZ_ACTIVATION_SIGMOID, true }, { "Bilinear", ADZ_ACTIVATION_IDENTITY, true },
        { "ReGLU", ADZ_ACTIVATION_RELU, true }, { "GEGLU", ADZ_ACTIVATION_GELU, true },
        { "SwiGLU", ADZ_ACTIVATION_SILU, true } };
    adz_module *ignored = adz_tanh_new();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
        o.activation = rows[i].activation;
        o.is_gated = rows[i].gated;
        o.bias1 = o.bias2 = o.bias_gate = !rows[i].gated;
        o.dtype = ADZ_F64;
        adz_feed_forward_options given = ADZ_FEED_FORWARD_OPTIONS;
        given.is_gated = !rows[i].gated; /* ignored, because the variant decides it */
        given.activation_function = adz_sin;
        given.activation_module = ignored;
        given.dtype = ADZ_F64;
        adz_module *m = adz_feed_forward_variant_new(rows[i].name, 3, 5, &given);
        adz_module *n = adz_feed_forward_new(3, 5, &o);
        adz_state_dict *values = adz_module_state_dict(n);
        assert_int_equal(adz_module_load_state_dict(m, values, true), ADZ_OK);
        adz_module_eval(m);
        adz_module_eval(n);
        adz_tensor *x = adz_randn(ADZ_SHAPE(2, 3), ADZ_F64);
        expect_same(adz_module_forward(m, x), adz_module_forward(n, x), 0);
        adz_state_dict_free(&values);
        adz_module_release(&m);
        adz_module_release(&n);
    }
    adz_module_release(&ignored);
}

static adz_tensor *cube(adz_tensor *x)
{
    return adz_mul(x, adz_square(x));
}

static void activations_of_ones_own(void **state)
{
    (void)state;
    adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
    o.activation_function = cube;
    adz_module *m = adz_feed_forward_new(3, 4, &o), *shared = adz_leaky_relu_new(0.3);
    o.activation_function = NULL;
    o.activation_module = shared;
    adz_module *n = adz_feed_forward_new(3, 4, &o), *other = adz_feed_forward_new(3, 4, &o);
    adz_module_release(&shared); /* the networks have their own references */
    adz_module_eval(m);
    adz_module_eval(n);
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 3), ADZ_F32);
    adz_tensor *h = cube(adz_module_forward(adz_module_get_child(m, "layer1"), x));
    expect_same(
        adz_module_forward(m, x), adz_module_forward(adz_module_get_child(m, "layer2"), h), 0);
    h = adz_leaky_relu(adz_module_forward(adz_module_get_child(n, "layer1"), x), 0.3);
    expect_same(
        adz_module_forward(n, x), adz_module_forward(adz_module_get_child(n, "layer2"), h), 0);
    assert_ptr_equal(
        adz_module_get_child(n, "activation"), adz_module_get_child(other, "activation"));
    o.activation_module = adz_module_get_child(n, "activation");
    o.activation_function = cube;
    expect_no_module(adz_feed_forward_new(3, 4, &o), "both given");
    assert_null(adz_function_new(NULL));
    expect_error(ADZ_ERR_NULL, "function");
    adz_module_release(&m);
    adz_module_release(&n);
    adz_module_release(&other);
}

/* A network that is large enough for the fused pass over bias, activation, gate and dropout. It
 * gives the results of its children called one by one, with equal masks. */
static void large_networks_are_their_parts(void **state)
{
    (void)state;
    for (int gated = 0; gated < 2; ++gated) {
        adz_scope *scope = adz_scope_open();
        adz_generator *generator = adz_generator_new(9);
        adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
        o.activation = gated ? ADZ_ACTIVATION_TANH : ADZ_ACTIVATION_GELU;
        o.is_gated = gated;
        o.generator = generator;
        o.dropout = 0.5;
        o.dtype = ADZ_F64;
        adz_module *m = adz_feed_forward_new(5, 1100, &o);
        adz_tensor *x = adz_randn(ADZ_SHAPE(2, 32, 5), ADZ_F64), *inputs[7], *g[7], *expected[7];
        size_t n = 0;
        inputs[n++] = adz_requires_grad_(x, true);
        adz_tensor_list parameters = adz_module_parameters(m);
        for (size_t i = 0; i < parameters.count; ++i) {
            inputs[n++] = parameters.items[i];
        }
        adz_generator_state before = adz_generator_get_state(generator);
        adz_tensor *y = adz_square(adz_module_forward(m, x));
        adz_generator_set_state(generator, before);
        adz_tensor *h = adz_module_forward(adz_module_get_child(m, "layer1"), x);
        h = adz_module_forward(adz_module_get_child(m, "activation"), h);
        h = gated ? adz_mul(h, adz_module_forward(adz_module_get_child(m, "linear_v"), x)) : h;
        h = adz_module_forward(adz_module_get_child(m, "dropout"), h);
        h = adz_square(adz_module_forward(adz_module_get_child(m, "layer2"), h));
        expect_same(y, h, 1e-12);
        y = adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM);
        h = adz_sum(h, ADZ_ALL_DIMS, ADZ_DROPDIM);
        assert_int_equal(adz_autograd_grad(&y, NULL, 1, inputs, n, NULL, g), ADZ_OK);
        assert_int_equal(adz_autograd_grad(&h, NULL, 1, inputs, n, NULL, expected), ADZ_OK);
        for (size_t i = 0; i < n; ++i) {
            assert_true(adz_allclose(g[i], expected[i], 1e-10, 1e-10, false));
        }
        expect_refused(m, adz_ones(ADZ_SHAPE(64, 6), ADZ_F64), "layer1: linear: x[64, 6]");
        adz_generator_free(&generator);
        adz_scope_close(scope);
    }
}

static void bad_values_are_refused(void **state)
{
    (void)state;
    expect_no_module(adz_feed_forward_variant_new("Swiglu", 3, 4, NULL),
        "'Swiglu' is no variant; there are ReLU, ReGLU, GELU, GEGLU, SwiGLU, GLU, Bilinear");
    adz_module *smallest = adz_feed_forward_new(1, 1, NULL);
    assert_non_null(adz_module_forward(smallest, adz_ones(ADZ_SHAPE(2, 1), ADZ_F32)));
    adz_module_release(&smallest);
    expect_no_module(
        adz_feed_forward_variant_new("GLU", 3, 0, NULL), "d_ff is 0, but must be 1 or more");
    assert_null(adz_feed_forward_variant_new(NULL, 3, 4, NULL));
    expect_error(ADZ_ERR_NULL, "variant");
    expect_refused(adz_feed_forward_variant_new("GLU", 3, 4, NULL),
        adz_ones(ADZ_SHAPE(2, 4), ADZ_F32), "layer1: linear: x[2, 4]");
}

static adz_module *from_config(const char *reference, const json_t *config)
{
    (void)reference;
    int64_t d_model = (int64_t)config_number(config, "d_model", 0);
    int64_t d_ff = (int64_t)config_number(config, "d_ff", 0);
    adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
    o.dropout = config_number(config, "dropout", o.dropout);
    if (config_has(config, "variant")) {
        return adz_feed_forward_variant_new(config_text(config, "variant", ""), d_model, d_ff, &o);
    }
    o.activation_module = case_activation(config_text(config, "activation", "relu"));
    o.is_gated = config_flag(config, "is_gated", false);
    o.bias1 = config_flag(config, "bias1", true);
    o.bias2 = config_flag(config, "bias2", true);
    o.bias_gate = config_flag(config, "bias_gate", true);
    adz_module *m = o.activation_module != NULL ? adz_feed_forward_new(d_model, d_ff, &o) : NULL;
    adz_module_release(&o.activation_module);
    return m;
}

static const struct CMUnitTest facts[] = {
    TEST(other_children_are_not_called),
    TEST(variants_are_the_tables),
    TEST(activations_of_ones_own),
    TEST(large_networks_are_their_parts),
    TEST(bad_values_are_refused),
};

const module_case feed_forward_module = {
    .name = "feed_forward",
    .references = { "labml FeedForward" },
    .from_config = from_config,
    .samples = { { plain,
                     "FeedForward(\n"
                     "  (layer1): Linear(in_features=4, out_features=6, bias=True)\n"
                     "  (layer2): Linear(in_features=6, out_features=4, bias=True)\n"
                     "  (dropout): Dropout(p=0.1, inplace=False)\n"
                     "  (activation): GELU(approximate='none')\n"
                     ")",
                     "layer1.weight layer1.bias layer2.weight layer2.bias", { X(2, 3, 4) } },
        { gated,
            "FeedForward(\n"
            "  (layer1): Linear(in_features=4, out_features=6, bias=True)\n"
            "  (layer2): Linear(in_features=6, out_features=4, bias=False)\n"
            "  (dropout): Dropout(p=0.4, inplace=False)\n"
            "  (activation): Function()\n"
            "  (linear_v): Linear(in_features=4, out_features=6, bias=True)\n"
            ")",
            "layer1.weight layer1.bias layer2.weight linear_v.weight linear_v.bias", { X(3, 4) } },
        { swiglu,
            "FeedForward(\n"
            "  (layer1): Linear(in_features=4, out_features=6, bias=False)\n"
            "  (layer2): Linear(in_features=6, out_features=4, bias=False)\n"
            "  (dropout): Dropout(p=0.1, inplace=False)\n"
            "  (activation): SiLU()\n"
            "  (linear_v): Linear(in_features=4, out_features=6, bias=False)\n"
            ")",
            "layer1.weight layer2.weight linear_v.weight", { X(4) } } },
    FACTS(facts),
};
