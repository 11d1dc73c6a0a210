/* What a Sequential and a FeedForward compute in one operator: Linear, ReLU and Dropout; and in
 * which order a Sequential computes a ReLU and a pooling. */
#include "../nn.h"
#include "nn/layers/dropout.h"

enum { MOST = 16 };

/* The result of the children of m, called one after the other. */
static adz_tensor *by_children(adz_module *m, adz_tensor *x)
{
    for (size_t i = 0; i < adz_module_child_count(m); ++i) {
        x = adz_module_forward(adz_module_child_at(m, i), x);
    }
    return x;
}

/* The picture of the graph of y, which the caller frees. */
static char *graph_of(adz_tensor *y)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_int_equal(adz_graph_dot(y, stream), ADZ_OK);
    fclose(stream);
    return text;
}

/* The number of nodes in the graph of y whose operator has this name. */
static int count_nodes(adz_tensor *y, const char *name)
{
    char *text = graph_of(y);
    int count = 0;
    char label[64];
    const size_t length = (size_t)snprintf(label, sizeof label, "label=\"%s", name);
    for (const char *at = text; (at = strstr(at, label)) != NULL; ++at) {
        count +=
            at[length] == '(' || at[length] == '\\'; /* attributes or the shape follow the name */
    }
    free(text);
    return count;
}

/* Compares result, random numbers and gradients of the module with those of its children called one
 * by one; they must have equal bits. Frees the module. */
static void expect_parts(adz_module *m, int fused, adz_generator *generator)
{
    adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(3, 6, 5), ADZ_F32), true);
    adz_tensor *inputs[MOST] = { x }, *g[MOST], *expected[MOST];
    adz_tensor_list parameters = adz_module_parameters(m);
    size_t n = 1 + parameters.count;
    memcpy(inputs + 1, parameters.items, parameters.count * sizeof *inputs);
    adz_generator_state before = adz_generator_get_state(generator), after;
    adz_tensor *parts = by_children(m, x);
    after = adz_generator_get_state(generator);
    adz_generator_set_state(generator, before);
    adz_tensor *y = adz_module_forward(m, x);
    assert_int_equal(count_nodes(y, "linear_relu"), fused);
    assert_int_equal(adz_generator_get_state(generator).offset, after.offset);
    assert_true(adz_equal(y, parts));
    adz_tensor *weight = adz_randn_like(y);
    assert_int_equal(adz_autograd_grad(&y, &weight, 1, inputs, n, NULL, g), ADZ_OK);
    assert_int_equal(adz_autograd_grad(&parts, &weight, 1, inputs, n, NULL, expected), ADZ_OK);
    for (size_t i = 0; i < n; ++i) {
        assert_true(adz_equal(g[i], expected[i]));
    }
    adz_module_release(&m);
}

static adz_module *linear(int64_t in, int64_t out)
{
    return adz_linear_new(in, out, NULL);
}

static void sequential_is_its_parts(void **state)
{
    (void)state;
    adz_manual_seed(4);
    adz_generator *g = adz_generator_new(2);
    adz_dropout_options d = { sizeof d, g };
    adz_linear_options bare = ADZ_LINEAR_OPTIONS;
    bare.bias = false;
#define DROPOUT adz_dropout_new(0.3, &d)
    expect_parts(ADZ_SEQUENTIAL(linear(5, 4), adz_relu_new()), 1, g);
    expect_parts(ADZ_SEQUENTIAL(linear(5, 4), adz_relu_new(), linear(4, 2)), 1, g);
    expect_parts(ADZ_SEQUENTIAL(linear(5, 40), adz_relu_new(), DROPOUT, linear(40, 3),
                     adz_relu_inplace_new(), DROPOUT, DROPOUT),
        2, g);
    expect_parts(ADZ_SEQUENTIAL(adz_linear_new(5, 7, &bare), adz_relu_inplace_new()), 1, g);
    expect_parts(ADZ_SEQUENTIAL(linear(5, 7), adz_dropout_new(0, &d), adz_relu_new()), 1, g);
    expect_parts(ADZ_SEQUENTIAL(adz_relu_new(), linear(5, 7)), 0, g);
    expect_parts(ADZ_SEQUENTIAL(linear(5, 7), DROPOUT, adz_relu_new()), 0, g);
    expect_parts(ADZ_SEQUENTIAL(linear(5, 7), adz_tanh_new(), DROPOUT), 0, g);
    adz_module *m = ADZ_SEQUENTIAL(linear(5, 7), adz_relu_new(), DROPOUT);
    adz_module_eval(m);
    expect_parts(m, 1, g);
#undef DROPOUT
    adz_generator_free(&g);
}

static void feed_forward_is_its_parts(void **state)
{
    (void)state;
    adz_manual_seed(4);
    adz_generator *g = adz_generator_new(2);
    adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
    o.generator = g;
    o.dropout = 0.5;
    adz_module *m = adz_feed_forward_new(5, 9, &o);
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 5), ADZ_F32);
    adz_generator_state before = adz_generator_get_state(g);
    adz_tensor *y = adz_module_forward(m, x);
    assert_int_equal(count_nodes(y, "linear_relu"), 1);
    adz_generator_set_state(g, before);
    adz_tensor *h = adz_module_forward(adz_module_get_child(m, "layer1"), x);
    h = adz_module_forward(adz_module_get_child(m, "activation"), h);
    h = adz_module_forward(adz_module_get_child(m, "dropout"), h);
    assert_true(adz_equal(y, adz_module_forward(adz_module_get_child(m, "layer2"), h)));
    adz_module_release(&m);
    adz_generator_free(&g);
}

/* A gated network computes activation, gate and dropout in one operator from 65536 hidden values
 * on. */
static void large_gated_networks_are_one_operator(void **state)
{
    (void)state;
    adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
    o.is_gated = true;
    adz_module *m = adz_feed_forward_new(4, 64, &o);
    adz_tensor *x = adz_randn(ADZ_SHAPE(1024, 4), ADZ_F32);
    adz_tensor *shorter = adz_narrow(x, 0, 0, 1023);
    assert_int_equal(count_nodes(adz_module_forward(m, x), "bias_activation"), 1);
    assert_int_equal(count_nodes(adz_module_forward(m, shorter), "bias_activation"), 0);
    /* If the gate does not fit, its error is that of the separate modules. */
    adz_module_to(adz_module_get_child(m, "linear_v"), ADZ_F64);
    assert_null(adz_module_forward(m, x));
    expect_error(ADZ_ERR_DTYPE, "linear_v: linear: x is float32");
    adz_module_release(&m);
}

/* A user's layer and a user's step, whose types declare what they compute. */
static adz_tensor *own_forward(adz_module *self, adz_tensor *x)
{
    return adz_linear(x, adz_module_parameter_at(self, 0), ADZ_NONE);
}

static void own_parts(adz_module *self, adz_tensor **weight, adz_tensor **bias)
{
    const bool *hidden = adz_module_data(self);
    *weight = *hidden ? NULL : adz_module_parameter_at(self, 0);
    *bias = ADZ_NONE;
}

static bool own_step(adz_module *self, adz_bias_activation_options *step)
{
    (void)self;
    step->activation = ADZ_ACTIVATION_RELU;
    return true;
}

static adz_tensor *own_relu(adz_module *self, adz_tensor *x)
{
    (void)self;
    return adz_relu(x);
}

static void types_of_users_declare_what_they_compute(void **state)
{
    (void)state;
    static const adz_module_type layer_type = { .size = sizeof(adz_module_type),
        .name = "Layer",
        .forward = own_forward,
        .linear_parts = own_parts };
    static const adz_module_type step_type = { .size = sizeof(adz_module_type),
        .name = "Step",
        .forward = own_relu,
        .elementwise_step = own_step };
    adz_generator *g = adz_generator_new(2);
    for (int hidden = 0; hidden < 2; ++hidden) {
        adz_module *layer = adz_module_new(&layer_type, sizeof(bool));
        *(bool *)adz_module_data(layer) = hidden;
        adz_module_add_parameter(layer, "weight", adz_randn(ADZ_SHAPE(7, 5), ADZ_F32));
        expect_parts(ADZ_SEQUENTIAL(
                         layer, adz_identity_new(), adz_module_new(&step_type, 0), adz_relu_new()),
            1 - hidden, g);
    }
    adz_generator_free(&g);
}

/* During a replay the fused operator must not draw a mask: the Dropout takes the given one. */
static void masks_are_replayed(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(linear(5, 4), adz_relu_new(), adz_dropout_new(0.5, NULL));
    adz_tensor *x = adz_randn(ADZ_SHAPE(3, 5), ADZ_F32);
    adz_tensor *mask = adz_gt(adz_randn(ADZ_SHAPE(3, 4), ADZ_F32), adz_scalar(0, ADZ_F32));
    adzi_masks masks = { &mask, 1, 0 };
    adzi_module_replay(m, &masks);
    adz_tensor *y = adz_module_forward(m, x);
    assert_int_equal(masks.next, 1);
    adzi_module_replay(m, NULL);
    adz_tensor *h = adz_relu(adz_module_forward(adz_module_get_child(m, "0"), x));
    assert_true(adz_equal(y, adz_mul(h, adz_mul_number(adz_to(mask, ADZ_F32), 2))));
    adz_module_release(&m);
}

/* Errors name the child, as they do when the children are called one by one. */
static void errors_name_the_child(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(linear(5, 4), adz_relu_new());
    assert_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(2, 6), ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "0: linear: x[2, 6] and weight[4, 5] do not fit");
    assert_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(2, 5), ADZ_F64)));
    expect_error(ADZ_ERR_DTYPE, "0: linear: x is float64");
    assert_null(adz_module_forward(m, adz_scalar(1, ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "0: linear: x[] and weight");
    assert_null(adz_module_forward(m, ADZ_NONE));
    expect_error(ADZ_ERR_ARGUMENT, "x");
    adz_tensor *row = adz_requires_grad_(adz_ones(ADZ_SHAPE(5), ADZ_F32), true);
    assert_int_equal(count_nodes(adz_module_forward(m, row), "linear_relu"), 1);
    adz_set_debug(true); /* so that the header of a tensor that ended is not used again */
    adz_scope *scope = adz_scope_open();
    adz_tensor *ended = adz_ones(ADZ_SHAPE(2, 5), ADZ_F32);
    adz_scope_close(scope);
    assert_null(adz_module_forward(m, ended));
    adz_set_debug(false);
    expect_error(ADZ_ERR_OWNERSHIP, "0: linear: x");
    adz_init_constant_(adz_module_get_parameter(m, "0.weight"), 1);
    adz_tensor *x = adz_full(ADZ_SHAPE(2, 5), 3e38, ADZ_F32);
    adz_set_anomaly_enabled(true);
    assert_null(adz_module_forward(m, x));
    adz_set_anomaly_enabled(false);
    expect_error(ADZ_ERR_NUMERIC, "0: linear");
    adz_module_release(&m);
}

/* Appends one more value to its arguments. */
static adz_status longer_call(adz_module *self, const adz_values *in, adz_values *out)
{
    (void)self;
    adz_status status = ADZ_OK;
    const size_t n = adz_values_count(in);
    for (size_t i = 0; i <= n && status == ADZ_OK; ++i) {
        char name[16];
        snprintf(name, sizeof name, "v%d", (int)i);
        adz_tensor *last = adz_values_at(in, i < n ? i : n - 1);
        status = adz_values_add(out, name, i < n ? last : adz_mul_number(last, 2));
    }
    return status;
}

static size_t values_after_nine(adz_module *m)
{
    adz_memory_info after;
    adz_scope *scope = adz_scope_open();
    adz_values *in = adz_values_new(), *out = adz_values_new();
    assert_int_equal(adz_values_add(in, "x", adz_ones(ADZ_SHAPE(1), ADZ_F32)), ADZ_OK);
    assert_int_equal(adz_module_call(m, in, out), ADZ_OK);
    assert_int_equal(adz_values_count(out), 10);
    assert_true(adz_item(adz_values_at(out, 9)) == 512);
    adz_values_free(&in);
    adz_values_free(&out);
    adz_scope_close(scope);
    adz_get_memory_info(&after, sizeof after);
    return after.live_bytes;
}

/* Each child gets exactly the results of the one before it, and no memory stays behind. */
static void results_pass_from_child_to_child(void **state)
{
    (void)state;
    static const adz_module_type longer_type = {
        .size = sizeof(adz_module_type), .name = "Longer", .call = longer_call
    };
    adz_module *m = adz_sequential_new(NULL, 0);
    for (int i = 0; i < 9; ++i) {
        adz_sequential_append(m, adz_module_new(&longer_type, 0));
    }
    const size_t first = values_after_nine(m);
    assert_int_equal(values_after_nine(m), first);
    adz_module_release(&m);
}

/* By how much the peak of live bytes grows during a call with x. */
static size_t growth_of_call(adz_module *m, adz_tensor *x)
{
    adz_memory_info before, after;
    adz_scope *scope = adz_scope_open();
    adz_reset_peak_memory();
    adz_get_memory_info(&before, sizeof before);
    assert_non_null(adz_module_forward(m, x));
    adz_get_memory_info(&after, sizeof after);
    adz_scope_close(scope);
    return after.peak_bytes - before.live_bytes;
}

/* A result ends when the next child has used it and no backward needs it: while the third child
 * computes, the first one's result is gone. */
static void results_end_early(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(adz_tanh_new(), adz_tanh_new(), adz_tanh_new(), adz_tanh_new(),
        adz_identity_new(), adz_tanh_new());
    adz_tensor *x = adz_ones(ADZ_SHAPE(1 << 16), ADZ_F32);
    const size_t one = 4u << 16;
    assert_true(growth_of_call(m, x) < 3 * one);
    adz_requires_grad_(x, true);
    assert_true(growth_of_call(m, x) >= 5 * one); /* each tanh saves its result */
    assert_true(adz_module_forward(m, ADZ_NONE) == NULL);
    adz_error_clear();
    adz_module_release(&m);
}

/* Whether the operator of this name comes after the pooling of y. The picture ends with the last
 * operator. */
static bool comes_last(adz_tensor *y, const char *name)
{
    char *text = graph_of(y);
    const char *other = strstr(text, name), *pool = strstr(text, "max_pool");
    assert_true(other != NULL && pool != NULL);
    const bool last = other > pool;
    free(text);
    return last;
}

/* Compares a Sequential with its children called one by one. `waits`: its ReLU is computed after
 * the maximum. Frees the module. */
static void expect_maximum(adz_module *m, bool waits)
{
    adz_tensor *x = adz_to(adz_randint(-3, 4, ADZ_SHAPE(2, 3, 12), ADZ_I64), ADZ_F32);
    adz_requires_grad_(x, true);
    adz_tensor *y = adz_module_forward(m, x), *parts = by_children(m, x), *dx, *wanted;
    assert_true(comes_last(y, "label=\"relu") == waits);
    assert_true(adz_equal(y, parts));
    adz_tensor *dy = adz_randn_like(y);
    assert_int_equal(adz_autograd_grad(&y, &dy, 1, &x, 1, NULL, &dx), ADZ_OK);
    assert_int_equal(adz_autograd_grad(&parts, &dy, 1, &x, 1, NULL, &wanted), ADZ_OK);
    assert_true(adz_equal(dx, wanted));
    adz_module_release(&m);
}

static adz_tensor *twice(adz_tensor *x)
{
    return adz_mul_number(x, 2);
}

/* The larger one of each two neighbours. */
static adz_tensor *larger_of_two(adz_module *self, adz_tensor *x)
{
    (void)self;
    return adz_max_pool1d(x, 2, NULL, NULL);
}

static void a_relu_waits_for_a_maximum(void **state)
{
    (void)state;
    static const adz_module_type own = { .size = sizeof(adz_module_type),
        .name = "Larger",
        .forward = larger_of_two,
        .takes_maximum = true };
#define TWICE adz_function_new(twice)
    expect_maximum(ADZ_SEQUENTIAL(TWICE, adz_relu_new(), adz_max_pool1d_new(2, NULL)), true);
    expect_maximum(
        ADZ_SEQUENTIAL(TWICE, adz_relu_inplace_new(), adz_max_pool1d_new(3, NULL), TWICE), true);
    expect_maximum(ADZ_SEQUENTIAL(TWICE, adz_relu_new(), adz_adaptive_max_pool1d_new(5)), true);
    expect_maximum(ADZ_SEQUENTIAL(TWICE, adz_relu_new(), adz_module_new(&own, 0)), true);
    /* Others may see the argument of the ReLU: the caller, or a node that has saved it. */
    expect_maximum(ADZ_SEQUENTIAL(adz_relu_new(), adz_max_pool1d_new(2, NULL)), false);
    expect_maximum(
        ADZ_SEQUENTIAL(adz_tanh_new(), adz_relu_new(), adz_max_pool1d_new(2, NULL)), false);
    adz_module *m = ADZ_SEQUENTIAL(TWICE, adz_relu_new(), adz_max_pool1d_new(2, NULL));
    adz_set_anomaly_enabled(true);
    expect_maximum(m, false);
    adz_set_anomaly_enabled(false);
    m = ADZ_SEQUENTIAL(adz_relu_inplace_new(), adz_max_pool1d_new(2, NULL));
    adz_tensor *x = adz_full(ADZ_SHAPE(1, 4), -1, ADZ_F32);
    assert_non_null(adz_module_forward(m, x)); /* x is 0 after this */
    assert_true(adz_equal(x, adz_zeros(ADZ_SHAPE(1, 4), ADZ_F32)));
    adz_module_release(&m);
    m = ADZ_SEQUENTIAL(TWICE, adz_relu_new(), adz_max_pool1d_new(9, NULL));
    assert_null(adz_module_forward(m, x));
    expect_error(ADZ_ERR_SHAPE, "2: max_pool1d");
    adz_module_release(&m);
    /* No other function waits. */
    m = ADZ_SEQUENTIAL(TWICE, adz_tanh_new(), adz_max_pool1d_new(2, NULL));
    assert_false(comes_last(adz_module_forward(m, adz_requires_grad_(x, true)), "label=\"tanh"));
    adz_module_release(&m);
#undef TWICE
}

/* Neither the argument of the ReLU nor its result before the pooling is kept. */
static void a_relu_that_waits_saves_memory(void **state)
{
    (void)state;
    adz_module *m =
        ADZ_SEQUENTIAL(adz_function_new(twice), adz_relu_new(), adz_max_pool1d_new(4, NULL));
    adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(1, 1 << 18), ADZ_F32), true);
    const size_t one = 4u << 18;
    adz_memory_info before, after;
    adz_get_memory_info(&before, sizeof before);
    assert_non_null(adz_module_forward(m, x));
    adz_get_memory_info(&after, sizeof after);
    assert_true(after.live_bytes - before.live_bytes < one / 2);
    adz_module_release(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sequential_is_its_parts),
        TEST(feed_forward_is_its_parts),
        TEST(large_gated_networks_are_one_operator),
        TEST(types_of_users_declare_what_they_compute),
        TEST(masks_are_replayed),
        TEST(errors_name_the_child),
        TEST(results_pass_from_child_to_child),
        TEST(results_end_early),
        TEST(a_relu_waits_for_a_maximum),
        TEST(a_relu_that_waits_saves_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
