/* Facts about activation checkpoints that the sweep cannot check. */
#include "adze/zoo.h"
#include "nn/activation_checkpoint.h"
#include "nn/layers/dropout.h"

enum { MOST = 24 };

/* The results of a training step: outputs, gradients, buffers. */
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

/* Calls the module on its own result, and runs backward; twice, so that gradients accumulate. */
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

/* A module and a checkpoint of its copy give the same bits. */
static void check_bits(adz_module *m, adz_generator *g, adz_tensor *x)
{
    adz_module *wrapped = adz_activation_checkpoint_new(adz_module_copy(m));
    assert_non_null(wrapped);
    step plain = train(m, g, x), again = train(wrapped, g, x);
    expect_same_steps(&plain, &again);
    adz_module_release(&wrapped);
}

static void bits_are_the_same(void **state)
{
    (void)state;
    adz_manual_seed(1);
    adz_generator *g = adz_generator_new(5);
    adz_module *m = network(g), *deep = nested(g);
    adz_tensor *x = adz_randn(ADZ_SHAPE(7, 4), ADZ_F32);
    check_bits(m, g, x); /* The argument of the module requires no gradient. */
    adz_requires_grad_(x, true);
    check_bits(m, g, x);
    check_bits(deep, g, x);
    adz_module_eval(m);
    check_bits(m, g, x);
    adz_module_release(&m);
    adz_module_release(&deep);
    adz_generator_free(&g);
}

/* One module runs in a checkpoint twice, and once outside. Its gradients keep the order of the
 * sum. */
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
        adz_module_release(&m);
    }
    expect_same_steps(&steps[0], &steps[1]);
    adz_generator_free(&g);
}

/* Second derivatives are those without a checkpoint. */
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
        assert_int_equal(adz_autograd_grad(&y, NULL, 1, &x, 1, &o, &first), ADZ_OK);
        first = adz_sum(adz_square(first), ADZ_ALL_DIMS, ADZ_DROPDIM);
        assert_int_equal(adz_autograd_grad(&first, NULL, 1, &x, 1, NULL, &second[i]), ADZ_OK);
    }
    assert_true(alike(second[0], second[1], 1e-5));
    adz_module_release(&m);
    adz_module_release(&wrapped);
    adz_generator_free(&g);
}

/* Several backwards of one graph, with other random numbers drawn in between. */
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
        assert_int_equal(adz_autograd_grad(&y, NULL, 1, &x, 1, &o, &first[i]), ADZ_OK);
        assert_int_equal(adz_generator_get_state(g).offset, before.offset);
    }
    assert_true(adz_equal(first[0], first[1]));
    adz_module_release(&m);
    adz_generator_free(&g);
}

/* A module with several arguments, one of them absent in the first call, and several results. */
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
        adz_tensor *present = adz_values_get(out, "present");
        adz_values_clear(in);
        adz_values_add(in, "past", present);
        adz_values_add(in, "x", adz_values_at(out, 0));
        adz_values_clear(out);
        assert_int_equal(adz_module_call(now, in, out), ADZ_OK);
        assert_int_equal(adz_values_count(out), 2);
        adz_tensor *y = adz_values_at(out, 0);
        assert_int_equal(adz_autograd_backward(&y, &y, 1, NULL), ADZ_OK);
        grads[i] = adz_clone(adz_tensor_grad(x));
        adz_tensor_set_grad(x, ADZ_NONE);
        weights[i] = adz_tensor_grad(adz_module_parameters(now).items[2]);
        adz_values_free(&in);
        adz_values_free(&out);
    }
    assert_true(adz_equal(grads[0], grads[1]));
    assert_true(adz_equal(weights[0], weights[1]));
    adz_module_release(&m);
    adz_module_release(&wrapped);
}

/* The second run gets the hidden state of the first, and does not change the present one. */
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
        assert_int_equal(adz_autograd_backward(&y, &y, 1, NULL), ADZ_OK);
        last[i] = adz_module_forward(now, ids);
    }
    assert_true(adz_equal(last[0], last[1]));
    adz_tensor_list of = adz_module_parameters(m), again = adz_module_parameters(wrapped);
    assert_int_equal(of.count, again.count);
    for (size_t i = 0; i < of.count; ++i) {
        assert_true(adz_equal(adz_tensor_grad(of.items[i]), adz_tensor_grad(again.items[i])));
    }
    adz_module_release(&m);
    adz_module_release(&wrapped);
    adz_generator_free(&g);
}

/* The running statistics are updated once, not again in backward. */
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
        assert_int_equal(adz_autograd_backward(&y, &y, 1, NULL), ADZ_OK);
        grads[i] = adz_clone(adz_tensor_grad(x));
        adz_tensor_set_grad(x, ADZ_NONE);
    }
    assert_true(adz_equal(grads[0], grads[1]));
    assert_true(adz_equal(adz_module_get_buffer(m, "running_mean"),
        adz_module_get_buffer(wrapped, "module.running_mean")));
    adz_module_release(&m);
    adz_module_release(&wrapped);
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
        assert_int_equal(adz_autograd_backward(&y, &y, 1, NULL), ADZ_OK);
        assert_int_equal(masks.next, 2);
        adzi_module_replay(i == 0 ? m : wrapped, NULL);
        grads[i] = adz_clone(adz_tensor_grad(x));
        adz_tensor_set_grad(x, ADZ_NONE);
    }
    assert_true(adz_equal(grads[0], grads[1]));
    adz_module_release(&m);
    adz_module_release(&wrapped);
}

static size_t peak_of(adz_module *m)
{
    adz_memory_info before, after;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_ones(ADZ_SHAPE(8192, 16), ADZ_F32);
    adz_reset_peak_memory();
    adz_get_memory_info(&before, sizeof before);
    adz_tensor *y = adz_sum(adz_module_forward(m, x), ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_int_equal(adz_backward(y), ADZ_OK);
    adz_get_memory_info(&after, sizeof after);
    adz_scope_close(scope);
    return after.peak_bytes - before.live_bytes;
}

/* Without checkpoints, each of the eight parts would keep three activations. They are large
 * compared with the working memory of a product, which each thread has. */
static void less_memory(void **state)
{
    (void)state;
    adz_set_num_threads(1);
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
    adz_set_num_threads(0);
    adz_module_release(&plain);
    adz_module_release(&saving);
}

/* Nothing is recorded in no-grad mode, or if nothing requires a gradient. */
static void nothing_to_record(void **state)
{
    (void)state;
    adz_module *m = checkpoint(NULL);
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(3, 4), ADZ_F32), true);
    ADZ_NO_GRAD
    {
        assert_false(adz_tensor_requires_grad(adz_module_forward(m, x)));
    }
    adz_module_requires_grad_(m, false);
    assert_true(adz_tensor_requires_grad(adz_module_forward(m, x)));
    assert_false(adz_tensor_requires_grad(adz_module_forward(m, adz_ones_like(x))));
    adz_module_release(&m);
}

/* A module that returns its argument unchanged gives a result that is no alias of it. */
static void an_argument_handed_through(void **state)
{
    (void)state;
    adz_module *m = adz_activation_checkpoint_new(adz_identity_new());
    adz_tensor *x = adz_requires_grad_(adz_full(ADZ_SHAPE(3), 2, ADZ_F32), true);
    adz_tensor *y = adz_square(adz_module_forward(m, x));
    assert_int_equal(adz_autograd_backward(&y, &y, 1, NULL), ADZ_OK);
    assert_true(all_are(adz_tensor_grad(x), 16));
    adz_module_release(&m);
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
    fill(adz_module_get_parameter(m, "module.0.weight"), 1);
    assert_int_equal(adz_backward(y), ADZ_ERR_VERSION);
    expect_error(ADZ_ERR_VERSION, "copy");
    y = adz_sum(adz_module_forward(m, x), ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_int_equal(adz_backward(y), ADZ_OK);
    assert_int_equal(adz_backward(y), ADZ_ERR_GRAPH);
    expect_error(ADZ_ERR_GRAPH, "released");
    adz_module_release(&m);
    expect_null(
        adz_activation_checkpoint_new(NULL) == NULL, "adz_activation_checkpoint_new", "module");
    m = checkpoint(NULL);
    assert_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(3, 5), ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "module.0: linear: ");
    adz_module_release(&m);
}

const struct CMUnitTest activation_checkpoint_facts[25] = {
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
    TEST(an_argument_alone_wants_a_gradient),
    TEST(results_may_be_left_out_or_given_twice),
    TEST(another_number_of_results_is_refused),
    TEST(whole_numbers_are_no_part_of_a_graph),
    TEST(many_values_leave_no_memory_behind),
    TEST(refused_memory_is_an_error),
    TEST(other_buffers_are_refused),
    TEST(buffers_are_listed_as_they_are),
    TEST(other_masks_are_refused),
    TEST(generators_have_a_limit),
    TEST(recording_ends_with_the_second_call),
    TEST(anomaly_mode_sees_what_is_inside),
    TEST(anomaly_mode_names_the_first),
};
