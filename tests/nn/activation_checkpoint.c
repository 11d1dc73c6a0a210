/* Activations that are computed again. */
#include "nn/case.h"
#include "nn/layers/dropout.h"

/* ---- samples -------------------------------------------------------------------------------- */

static adz_module *dropout(adz_generator *g, double p)
{
    adz_dropout_options o = ADZ_DROPOUT_OPTIONS;
    o.generator = g;
    return adz_dropout_new(p, &o);
}

/* Linear, tanh, dropout, linear. */
static adz_module *network(adz_generator *g)
{
    return ADZ_SEQUENTIAL(
        adz_linear_new(4, 6, NULL), adz_tanh_new(), dropout(g, 0.4), adz_linear_new(6, 4, NULL));
}

static adz_module *checkpoint(adz_generator *g)
{
    return adz_activation_checkpoint_new(network(g));
}

static adz_module *nested(adz_generator *g)
{
    return adz_activation_checkpoint_new(
        ADZ_SEQUENTIAL(checkpoint(g), dropout(g, 0.2), checkpoint(g)));
}

static adz_module *gpt2_block(adz_generator *g)
{
    (void)g;
    adz_gpt2_options o = ADZ_GPT2_OPTIONS;
    o.n_embd = 4;
    o.n_head = 2;
    return adz_gpt2_block_new(5, true, &o);
}

static adz_module *recurrent(adz_generator *g)
{
    (void)g;
    return adz_activation_checkpoint_new(adz_lstm_new(3, 2, NULL));
}

/* ---- facts ---------------------------------------------------------------------------------- */

enum { MOST = 24 };

/* Everything that a training step leaves behind. */
typedef struct step {
    adz_tensor *results[MOST];
    size_t n;
    adz_generator_state state;
} step;

static void keep(step *s, adz_tensor *t)
{
    assert_true(s->n < MOST);
    s->results[s->n++] = t;
}

/* Two calls, the second of which takes the first one's result, under one loss; twice, so that
 * gradients accumulate. */
static step train(adz_module *m, adz_generator *g, adz_tensor *x)
{
    step s = { .n = 0 };
    adz_module_zero_grad(m);
    if (adz_tensor_requires_grad(x)) {
        adz_tensor_set_grad(x, ADZ_NONE);
    }
    adz_generator_set_state(g, (adz_generator_state){ 5, 0 });
    for (int pass = 0; pass < 2; ++pass) {
        adz_tensor *h = adz_module_forward(m, x);
        adz_tensor *y = adz_add(adz_module_forward(m, adz_add(h, x)), adz_mul(h, x));
        keep(&s, y);
        assert_int_equal(adz_backward(adz_sum(adz_square(y), ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    }
    adz_tensor_list parameters = adz_module_parameters(m);
    for (size_t i = 0; i < parameters.count; ++i) {
        keep(&s, adz_clone(adz_tensor_grad(parameters.items[i])));
    }
    if (adz_tensor_requires_grad(x)) {
        keep(&s, adz_clone(adz_tensor_grad(x)));
    }
    s.state = adz_generator_get_state(g);
    return s;
}

static void expect_same_steps(const step *a, const step *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; ++i) {
        assert_true(adz_equal(a->results[i], b->results[i]));
    }
    assert_int_equal(a->state.offset, b->state.offset);
}

/* The module, and a checkpoint of a copy. */
static void check_bits(adz_module *m, adz_generator *g, adz_tensor *x)
{
    adz_module *wrapped = adz_activation_checkpoint_new(adz_module_copy(m));
    assert_non_null(wrapped);
    step plain = train(m, g, x), again = train(wrapped, g, x);
    expect_same_steps(&plain, &again);
    adz_module_free(&wrapped);
}

static void bits_are_the_same(void **state)
{
    (void)state;
    adz_manual_seed(1);
    adz_generator *g = adz_generator_new(5);
    adz_module *m = network(g), *deep = nested(g);
    adz_tensor *x = adz_randn(ADZ_SHAPE(7, 4), ADZ_F32);
    check_bits(m, g, x); /* whose argument wants no gradient */
    adz_requires_grad_(x, true);
    check_bits(m, g, x);
    check_bits(deep, g, x);
    adz_module_eval(m);
    check_bits(m, g, x);
    adz_module_free(&m);
    adz_module_free(&deep);
    adz_generator_free(&g);
}

/* One module in a checkpoint twice and once outside: the order of the sum must not change. */
static void tied_weights_sum_in_the_same_order(void **state)
{
    (void)state;
    adz_manual_seed(2);
    adz_generator *g = adz_generator_new(5);
    adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(9, 4), ADZ_F32), true);
    step steps[2];
    for (int i = 0; i < 2; ++i) {
        adz_manual_seed(3);
        adz_module *tied = adz_linear_new(4, 4, NULL);
        adz_module *inner =
            ADZ_SEQUENTIAL(adz_module_keep(tied), adz_tanh_new(), adz_module_keep(tied));
        inner = i == 0 ? inner : adz_activation_checkpoint_new(inner);
        adz_module *m = ADZ_SEQUENTIAL(inner, adz_tanh_new(), tied);
        steps[i] = train(m, g, x);
        adz_module_free(&m);
    }
    expect_same_steps(&steps[0], &steps[1]);
    adz_generator_free(&g);
}

/* All gradients of gradients, as without. */
static void gradients_of_gradients(void **state)
{
    (void)state;
    adz_manual_seed(1);
    adz_generator *g = adz_generator_new(5);
    adz_module *m = network(g), *wrapped = adz_activation_checkpoint_new(adz_module_copy(m));
    adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(3, 4), ADZ_F32), true), *second[2];
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.create_graph = true;
    for (int i = 0; i < 2; ++i) {
        adz_generator_set_state(g, (adz_generator_state){ 5, 0 });
        adz_tensor *y = adz_module_forward(i == 0 ? m : wrapped, x), *first;
        y = adz_sum(adz_square(y), ADZ_ALL_DIMS, ADZ_DROPDIM);
        assert_int_equal(adz_autograd_grad(&y, NULL, 1, &x, &first, 1, &o), ADZ_OK);
        first = adz_sum(adz_square(first), ADZ_ALL_DIMS, ADZ_DROPDIM);
        assert_int_equal(adz_autograd_grad(&first, NULL, 1, &x, &second[i], 1, NULL), ADZ_OK);
    }
    assert_true(alike(second[0], second[1], 1e-5));
    adz_module_free(&m);
    adz_module_free(&wrapped);
    adz_generator_free(&g);
}

/* Backward over and over, with other draws in between. */
static void a_graph_that_is_retained(void **state)
{
    (void)state;
    adz_manual_seed(1);
    adz_generator *g = adz_generator_new(5);
    adz_module *m = checkpoint(g);
    adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(3, 4), ADZ_F32), true), *first[2];
    adz_tensor *y = adz_sum(adz_module_forward(m, x), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.retain_graph = true;
    for (int i = 0; i < 2; ++i) {
        adz_generator_rand(g, ADZ_SHAPE(70), ADZ_F32);
        adz_generator_state before = adz_generator_get_state(g);
        assert_int_equal(adz_autograd_grad(&y, NULL, 1, &x, &first[i], 1, &o), ADZ_OK);
        assert_int_equal(adz_generator_get_state(g).offset, before.offset);
    }
    assert_true(adz_equal(first[0], first[1]));
    adz_module_free(&m);
    adz_generator_free(&g);
}

/* Several arguments, one of them absent in the first call, and several results. */
static void several_arguments_and_results(void **state)
{
    (void)state;
    adz_manual_seed(1);
    adz_module *m = gpt2_block(NULL);
    adz_module *wrapped = adz_activation_checkpoint_new(adz_module_copy(m));
    adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(2, 2, 4), ADZ_F32), true);
    adz_tensor *grads[2], *weights[2];
    for (int i = 0; i < 2; ++i) {
        adz_module *now = i == 0 ? m : wrapped;
        adz_values *in = adz_values_new(), *out = adz_values_new();
        assert_int_equal(adz_values_add(in, "x", x), ADZ_OK);
        assert_int_equal(adz_values_add(in, "past", ADZ_NONE), ADZ_OK);
        assert_int_equal(adz_module_call(now, in, out), ADZ_OK);
        adz_tensor *present = adz_values_find(out, "present");
        adz_values_clear(in);
        adz_values_add(in, "past", present);
        adz_values_add(in, "x", adz_values_at(out, 0));
        adz_values_clear(out);
        assert_int_equal(adz_module_call(now, in, out), ADZ_OK);
        assert_int_equal(adz_values_count(out), 2);
        adz_tensor *y = adz_values_at(out, 0);
        assert_int_equal(adz_backward_with(&y, &y, 1, NULL), ADZ_OK);
        grads[i] = adz_clone(adz_tensor_grad(x));
        adz_tensor_set_grad(x, ADZ_NONE);
        weights[i] = adz_tensor_grad(adz_module_parameters(now).items[2]);
        adz_values_free(&in);
        adz_values_free(&out);
    }
    assert_true(adz_equal(grads[0], grads[1]));
    assert_true(adz_equal(weights[0], weights[1]));
    adz_module_free(&m);
    adz_module_free(&wrapped);
}

/* What a recurrent module carries is what it was in the first call, and stays what it is. */
static void what_is_carried(void **state)
{
    (void)state;
    adz_manual_seed(1);
    adz_generator *g = adz_generator_new(5);
    adz_fastai_awd_lstm_options o = ADZ_FASTAI_AWD_LSTM_OPTIONS;
    o.generator = g;
    adz_module *m = adz_fastai_awd_lstm_new(11, 4, 5, 2, &o);
    adz_module *wrapped = adz_activation_checkpoint_new(adz_module_copy(m));
    adz_tensor *ids = adz_randint(0, 11, ADZ_SHAPE(2, 6), ADZ_I64), *last[2];
    assert_non_null(wrapped);
    for (int i = 0; i < 2; ++i) {
        adz_module *now = i == 0 ? m : wrapped;
        adz_generator_set_state(g, (adz_generator_state){ 5, 0 });
        adz_tensor *a = adz_module_forward(now, ids), *b = adz_module_forward(now, ids);
        adz_tensor *y = adz_add(a, adz_square(b));
        assert_int_equal(adz_backward_with(&y, &y, 1, NULL), ADZ_OK);
        last[i] = adz_module_forward(now, ids);
    }
    assert_true(adz_equal(last[0], last[1]));
    adz_tensor_list of = adz_module_parameters(m), again = adz_module_parameters(wrapped);
    assert_int_equal(of.count, again.count);
    for (size_t i = 0; i < of.count; ++i) {
        assert_true(adz_equal(adz_tensor_grad(of.items[i]), adz_tensor_grad(again.items[i])));
    }
    adz_module_free(&m);
    adz_module_free(&wrapped);
    adz_generator_free(&g);
}

/* Running statistics move once, and stay where they are. */
static void statistics_move_once(void **state)
{
    (void)state;
    adz_manual_seed(1);
    adz_module *m = adz_batch_norm1d_new(4, NULL);
    adz_module *wrapped = adz_activation_checkpoint_new(adz_module_copy(m));
    adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(6, 4), ADZ_F32), true), *grads[2];
    for (int i = 0; i < 2; ++i) {
        adz_tensor *y = adz_module_forward(i == 0 ? m : wrapped, x);
        y = adz_mul(y, adz_square(y));
        assert_int_equal(adz_backward_with(&y, &y, 1, NULL), ADZ_OK);
        grads[i] = adz_clone(adz_tensor_grad(x));
        adz_tensor_set_grad(x, ADZ_NONE);
    }
    assert_true(adz_equal(grads[0], grads[1]));
    assert_true(adz_equal(
        adz_module_buffer(m, "running_mean"), adz_module_buffer(wrapped, "module.running_mean")));
    adz_module_free(&m);
    adz_module_free(&wrapped);
}

static void masks_are_replayed(void **state)
{
    (void)state;
    adz_manual_seed(1);
    adz_module *m = network(NULL), *wrapped = adz_activation_checkpoint_new(adz_module_copy(m));
    adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(3, 4), ADZ_F32), true), *grads[2];
    adz_tensor *items[] = { adz_bernoulli(0.6, ADZ_SHAPE(3, 6), ADZ_F32),
        adz_bernoulli(0.6, ADZ_SHAPE(3, 6), ADZ_F32) };
    for (int i = 0; i < 2; ++i) {
        adzi_masks masks = { items, 2, 0 };
        adzi_module_replay(i == 0 ? m : wrapped, &masks);
        adz_tensor *y = adz_module_forward(i == 0 ? m : wrapped, x);
        y = adz_module_forward(i == 0 ? m : wrapped, y);
        assert_int_equal(adz_backward_with(&y, &y, 1, NULL), ADZ_OK);
        assert_int_equal(masks.next, 2);
        adzi_module_replay(i == 0 ? m : wrapped, NULL);
        grads[i] = adz_clone(adz_tensor_grad(x));
        adz_tensor_set_grad(x, ADZ_NONE);
    }
    assert_true(adz_equal(grads[0], grads[1]));
    adz_module_free(&m);
    adz_module_free(&wrapped);
}

static size_t peak_of(adz_module *m)
{
    adz_memory_info before, after;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_ones(ADZ_SHAPE(512, 16), ADZ_F32);
    adz_memory_reset_peak();
    adz_memory_info_get(&before, sizeof before);
    adz_tensor *y = adz_sum(adz_module_forward(m, x), ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_int_equal(adz_backward(y), ADZ_OK);
    adz_memory_info_get(&after, sizeof after);
    adz_scope_close(scope);
    return after.peak_bytes - before.live_bytes;
}

/* Eight parts, each of which would keep three activations, the layers' arguments and results. */
static void less_memory(void **state)
{
    (void)state;
    adz_module *parts[8], *plain = adz_sequential_new(NULL, 0);
    for (int i = 0; i < 8; ++i) {
        adz_module *part = adz_sequential_new(NULL, 0);
        for (int k = 0; k < 5; ++k) {
            adz_sequential_append(part, k % 2 ? adz_tanh_new() : adz_linear_new(16, 16, NULL));
        }
        adz_sequential_append(plain, adz_module_copy(part));
        parts[i] = adz_activation_checkpoint_new(part);
    }
    adz_module *saving = adz_sequential_new(parts, 8);
    assert_true(3 * peak_of(saving) < 2 * peak_of(plain));
    adz_module_free(&plain);
    adz_module_free(&saving);
}

/* Where nothing is recorded, and where nothing wants a gradient. */
static void nothing_to_record(void **state)
{
    (void)state;
    adz_module *m = checkpoint(NULL);
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(3, 4), ADZ_F32), true);
    ADZ_NO_GRAD
    {
        assert_false(adz_tensor_requires_grad(adz_module_forward(m, x)));
    }
    adz_module_requires_grad(m, false);
    assert_true(adz_tensor_requires_grad(adz_module_forward(m, x)));
    assert_false(adz_tensor_requires_grad(adz_module_forward(m, adz_ones_like(x))));
    adz_module_free(&m);
}

/* What the module hands through unchanged is no alias of the argument. */
static void an_argument_handed_through(void **state)
{
    (void)state;
    adz_module *m = adz_activation_checkpoint_new(adz_identity_new());
    adz_tensor *x = adz_requires_grad_(adz_full(ADZ_SHAPE(3), 2, ADZ_F32), true);
    adz_tensor *y = adz_square(adz_module_forward(m, x));
    assert_int_equal(adz_backward_with(&y, &y, 1, NULL), ADZ_OK);
    assert_true(all_are(adz_tensor_grad(x), 16));
    adz_module_free(&m);
}

static void what_has_changed_is_refused(void **state)
{
    (void)state;
    adz_module *m = checkpoint(NULL);
    adz_tensor *x = adz_ones(ADZ_SHAPE(3, 4), ADZ_F32);
    adz_tensor *y = adz_sum(adz_module_forward(m, x), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_module_eval(m);
    assert_int_equal(adz_backward(y), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "the forward was called in training mode");
    y = adz_sum(adz_module_forward(m, x), ADZ_ALL_DIMS, ADZ_DROPDIM);
    fill(adz_module_parameter(m, "module.0.weight"), 1);
    assert_int_equal(adz_backward(y), ADZ_ERR_VERSION);
    expect_error(ADZ_ERR_VERSION, "copy");
    y = adz_sum(adz_module_forward(m, x), ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_int_equal(adz_backward(y), ADZ_OK);
    assert_int_equal(adz_backward(y), ADZ_ERR_GRAPH);
    expect_error(ADZ_ERR_GRAPH, "released");
    adz_module_free(&m);
    assert_null(adz_activation_checkpoint_new(NULL));
    expect_error(ADZ_ERR_NULL, "module");
    m = checkpoint(NULL);
    assert_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(3, 5), ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "module.0: linear: ");
    adz_module_free(&m);
}

/* x is 1e30, so that the gradient of the linear layer's weight is infinite where that of y is 1e20.
 */
static adz_status overflow(adz_module *m, adz_tensor *x)
{
    adz_tensor *y = adz_mul_number(adz_module_forward(m, x), 1);
    adz_tensor *up = adz_full(ADZ_SHAPE(3, 1), 1e20, ADZ_F32);
    return adz_backward_with(&y, &up, 1, NULL);
}

static adz_module *of_numbers(adz_generator *g)
{
    adz_linear_options o = ADZ_LINEAR_OPTIONS;
    o.bias = false;
    return ADZ_SEQUENTIAL(dropout(g, 0), adz_linear_new(1, 1, &o), adz_identity_new());
}

static size_t live_bytes(void)
{
    adz_memory_info now;
    adz_memory_info_get(&now, sizeof now);
    return now.live_bytes;
}

/* The message is that without a checkpoint; nothing is left behind, and the module goes on. */
static void anomaly_mode_sees_what_is_inside(void **state)
{
    (void)state;
    adz_generator *g = adz_generator_new(5);
    adz_module *inner = of_numbers(g);
    adz_module *modules[] = { adz_module_keep(inner),
        adz_activation_checkpoint_new(adz_module_keep(inner)),
        adz_activation_checkpoint_new(
            ADZ_SEQUENTIAL(adz_activation_checkpoint_new(adz_module_keep(inner)))) };
    adz_tensor *weight = adz_module_parameter(inner, "1.weight");
    size_t before = 0;
    for (int k = 0; k < 6; ++k) { /* the second time nothing is to be made any more */
        int i = k / 2;
        adz_scope *scope = adz_scope_open();
        fill(weight, 1e-30);
        adz_tensor *x = adz_requires_grad_(adz_full(ADZ_SHAPE(3, 1), 1e30, ADZ_F32), true);
        adz_generator_state drawn = adz_generator_get_state(g);
        adz_set_anomaly_enabled(true);
        assert_int_equal(overflow(modules[i], x), ADZ_ERR_NUMERIC);
        expect_error(ADZ_ERR_NUMERIC, "linear: the backward of linear made NaN or infinity");
        assert_true(adz_is_anomaly_enabled());
        assert_true(adz_is_grad_enabled());
        assert_int_equal(adz_generator_get_state(g).offset, drawn.offset);
        assert_null(adz_tensor_grad(weight));
        assert_null(adz_tensor_grad(x));
        adz_set_anomaly_enabled(false);
        assert_int_equal(overflow(modules[i], x), ADZ_OK); /* who does not ask is not told */
        assert_true(isinf(adz_item(adz_tensor_grad(weight))));
        adz_module_zero_grad(modules[i]);
        adz_scope_close(scope);
        assert_true(k % 2 == 0 || live_bytes() == before);
        before = live_bytes();
    }
    for (int i = 0; i < 3; ++i) {
        adz_module_free(&modules[i]);
    }
    adz_module_free(&inner);
    adz_generator_free(&g);
}

/* The operator that makes the first infinity is named, not one further down that hands it on. */
static void anomaly_mode_names_the_first(void **state)
{
    (void)state;
    adz_module *m = adz_activation_checkpoint_new(
        ADZ_SEQUENTIAL(adz_tanh_new(), of_numbers(NULL), adz_tanh_new()));
    adz_tensor *x = adz_requires_grad_(adz_full(ADZ_SHAPE(3, 1), 1, ADZ_F32), true);
    fill(adz_module_parameter(m, "module.1.1.weight"), 1e30);
    adz_tensor *y = adz_module_forward(m, adz_mul_number(x, 1e-30)); /* tanh(1) */
    adz_tensor *up = adz_full(ADZ_SHAPE(3, 1), 1e20, ADZ_F32);
    adz_set_anomaly_enabled(true);
    assert_int_equal(adz_backward_with(&y, &up, 1, NULL), ADZ_ERR_NUMERIC);
    adz_set_anomaly_enabled(false);
    expect_error(ADZ_ERR_NUMERIC, "the backward of linear made");
    adz_module_free(&m);
}

static const struct CMUnitTest facts[] = {
    TEST(bits_are_the_same),
    TEST(tied_weights_sum_in_the_same_order),
    TEST(gradients_of_gradients),
    TEST(a_graph_that_is_retained),
    TEST(several_arguments_and_results),
    TEST(what_is_carried),
    TEST(statistics_move_once),
    TEST(masks_are_replayed),
    TEST(less_memory),
    TEST(nothing_to_record),
    TEST(an_argument_handed_through),
    TEST(what_has_changed_is_refused),
    TEST(anomaly_mode_sees_what_is_inside),
    TEST(anomaly_mode_names_the_first),
};

#define NETWORK(indent)                                                                            \
    indent "(0): Linear(in_features=4, out_features=6, bias=True)\n" indent "(1): Tanh()\n" indent \
           "(2): Dropout(p=0.4, inplace=False)\n" indent                                           \
           "(3): Linear(in_features=6, out_features=4, bias=True)\n"
#define INNER(name)                                                                 \
    "    (" name "): ActivationCheckpoint(\n      (module): Sequential(\n" NETWORK( \
        "        ") "      )\n    )\n"
#define WEIGHTS(at) at "0.weight " at "0.bias " at "3.weight " at "3.bias"

const module_case activation_checkpoint_module = {
    .name = "activation_checkpoint",
    .samples = { { checkpoint,
                     "ActivationCheckpoint(\n  (module): Sequential(\n" NETWORK("    ") "  )\n)",
                     WEIGHTS("module."), { X(2, 4) } },
        { nested,
            "ActivationCheckpoint(\n  (module): Sequential(\n" INNER(
                "0") "    (1): Dropout(p=0.2, inplace=False)\n" INNER("2") "  )\n)",
            WEIGHTS("module.0.module.") " " WEIGHTS("module.2.module."), { X(2, 4) } },
        { recurrent, "ActivationCheckpoint(\n  (module): LSTM(3, 2)\n)",
            "module.weight_ih_l0 module.weight_hh_l0 module.bias_ih_l0 module.bias_hh_l0",
            { X(3, 2, 3) } } },
    FACTS(facts),
};
