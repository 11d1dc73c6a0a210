/* PyTorch's LSTM and BatchNorm1d. */
#include "nn/case.h"

static adz_module *lstm(adz_generator *g)
{
    (void)g;
    return adz_lstm_new(3, 2, NULL);
}

static adz_module *deep_lstm(adz_generator *g)
{
    adz_lstm_module_options o;
    adz_lstm_module_options_init(&o, sizeof o);
    o.num_layers = 2;
    o.bidirectional = true;
    o.batch_first = true;
    o.bias = false;
    o.dropout = 0.3;
    o.generator = g;
    return adz_lstm_new(2, 3, &o);
}

static adz_module *norm(adz_generator *g)
{
    (void)g;
    return adz_batch_norm1d_new(3, NULL);
}

static adz_module *plain_norm(adz_generator *g)
{
    (void)g;
    adz_batch_norm1d_options o;
    adz_batch_norm1d_options_init(&o, sizeof o);
    o.affine = false;
    o.track_running_stats = false;
    o.eps = 1e-3;
    return adz_batch_norm1d_new(2, &o);
}

static adz_module *averaging_norm(void)
{
    adz_batch_norm1d_options o = ADZ_BATCH_NORM1D_OPTIONS;
    o.momentum = ADZ_CUMULATIVE_MOMENTUM;
    return adz_batch_norm1d_new(1, &o);
}

/* ---- facts ---------------------------------------------------------------------------------- */

static adz_status call_lstm(
    adz_module *m, adz_tensor *x, adz_tensor *h0, adz_tensor *c0, adz_values *out)
{
    adz_values *in = adz_values_new();
    adz_values_add(in, "x", x);
    adz_values_add(in, "h0", h0);
    adz_values_add(in, "c0", c0);
    adz_status status = adz_module_call(m, in, out);
    adz_values_free(&in);
    return status;
}

/* A sequence in two calls, where the second gets the states of the first, gives the results of one
 * call. */
static void states_carry_on(void **state)
{
    (void)state;
    adz_module *m = lstm(NULL);
    adz_values *out = adz_values_new();
    adz_tensor *x = adz_randn(ADZ_SHAPE(5, 2, 3), ADZ_F32), *whole = adz_module_forward(m, x);
    assert_int_equal(call_lstm(m, adz_narrow(x, 0, 0, 3), ADZ_NONE, ADZ_NONE, out), ADZ_OK);
    adz_tensor *first = adz_values_at(out, 0), *h = adz_values_get(out, "h");
    adz_tensor *c = adz_values_get(out, "c");
    adz_values_clear(out);
    assert_int_equal(call_lstm(m, adz_narrow(x, 0, 3, 2), h, c, out), ADZ_OK);
    adz_tensor *parts[] = { first, adz_values_at(out, 0) };
    assert_true(alike(adz_cat(parts, 2, 0), whole, 1e-6));
    adz_values_clear(out);
    call_lstm(m, x, h, ADZ_NONE, out);
    expect_error(ADZ_ERR_ARGUMENT, "h0 is given without c0");
    call_lstm(m, x, adz_zeros(ADZ_SHAPE(1, 3, 2), ADZ_F32), c, out);
    expect_error(ADZ_ERR_SHAPE, "h0[1, 3, 2]");
    assert_int_equal(adz_values_count(out), 0);
    adz_values_free(&out);
    expect_refused(m, adz_ones(ADZ_SHAPE(5, 2, 4), ADZ_F32), "x[5, 2, 4] must be [T, B, 3]");
}

/* Arguments may come without names. A sequence of one batch entry may leave out its dimension. */
static void arguments_may_be_plain(void **state)
{
    (void)state;
    adz_module *m = lstm(NULL);
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_tensor *x = adz_randn(ADZ_SHAPE(5, 3), ADZ_F32), *h0 = adz_randn(ADZ_SHAPE(1, 2), ADZ_F32);
    adz_tensor *c0 = adz_randn(ADZ_SHAPE(1, 2), ADZ_F32), *given[] = { x, h0, c0 };
    for (int i = 0; i < 3; ++i) {
        adz_values_add(in, "", given[i]);
    }
    assert_int_equal(adz_module_call(m, in, out), ADZ_OK);
    adz_tensor *plain = adz_values_at(out, 0);
    adz_values_clear(out);
    assert_int_equal(call_lstm(m, x, h0, c0, out), ADZ_OK);
    assert_true(adz_tensor_rank(plain) == 2 && adz_equal(plain, adz_values_at(out, 0)));
    assert_false(adz_equal(plain, adz_module_forward(m, x)));
    adz_values_clear(in);
    assert_int_equal(adz_module_call(m, in, out), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "LSTM: x");
    adz_values_free(&in);
    adz_values_free(&out);
    assert_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(3), ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "LSTM: x[3] must be [T, B, 3] or [T, 3]");
    expect_refused(m, adz_ones(ADZ_SHAPE(1, 5, 2, 3), ADZ_F32), "LSTM: x[1, 5, 2, 3] must be");
}

/* Dropout between the layers works in training alone; the results of the first layer are dropped
 * completely if its probability is 1. */
static void layers_are_stacked(void **state)
{
    (void)state;
    adz_lstm_module_options o = ADZ_LSTM_MODULE_OPTIONS;
    o.num_layers = 2;
    o.dropout = 1;
    adz_module *m = adz_lstm_new(3, 2, &o);
    adz_tensor *second = adz_module_get_parameter(m, "weight_ih_l1");
    assert_true(adz_tensor_size(second, 0) == 8 && adz_tensor_size(second, 1) == 2);
    adz_tensor *x = adz_randn(ADZ_SHAPE(5, 2, 3), ADZ_F32), *y = adz_module_forward(m, x);
    assert_true(adz_equal(y, adz_module_forward(m, adz_zeros_like(x))));
    adz_module_eval(m);
    assert_false(adz_equal(y, adz_module_forward(m, x)));
    adz_module_release(&m);
}

static void weights_start_within_their_bound(void **state)
{
    (void)state;
    adz_module *m = adz_lstm_new(4, 16, NULL);
    adz_tensor_list all = adz_module_parameters(m);
    assert_int_equal(all.count, 4);
    for (size_t i = 0; i < all.count; ++i) {
        double most = adz_item(adz_max(adz_abs(all.items[i])));
        assert_true(most <= 0.25 && most > 0.2);
    }
    adz_module_release(&m);
}

static void statistics_follow_the_batches(void **state)
{
    (void)state;
    adz_module *m = averaging_norm();
    adz_module_forward(m, adz_reshape(adz_arange(0, 4, 1, ADZ_F32), ADZ_SHAPE(4, 1)));
    adz_module_forward(m, adz_reshape(adz_arange(4, 8, 1, ADZ_F32), ADZ_SHAPE(2, 1, 2)));
    assert_true(HOLDS(adz_module_get_buffer(m, "running_mean"), 1e-6, 3.5));
    assert_true(HOLDS(adz_module_get_buffer(m, "running_var"), 1e-6, 5.0 / 3));
    assert_true(HOLDS(adz_module_get_buffer(m, "num_batches_tracked"), 0, 2));
    adz_module_eval(m);
    adz_tensor *y = adz_module_forward(m, adz_full(ADZ_SHAPE(1, 1), 3.5, ADZ_F32));
    assert_true(HOLDS(y, 1e-6, 0));
    assert_true(HOLDS(adz_module_get_buffer(m, "num_batches_tracked"), 0, 2));
    char text[200];
    adz_module_to_string(m, text, sizeof text);
    assert_non_null(strstr(text, "momentum=None"));
    adz_module_reset_parameters(m);
    assert_true(HOLDS(adz_module_get_buffer(m, "num_batches_tracked"), 0, 0));
    assert_true(HOLDS(adz_module_get_buffer(m, "running_var"), 0, 1));
    adz_module_release(&m);
}

/* A call that fails does not change num_batches_tracked. */
static void a_failure_counts_nothing(void **state)
{
    (void)state;
    adz_module *m = norm(NULL);
    assert_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(1, 3), ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "x[1, 3]");
    assert_true(HOLDS(adz_module_get_buffer(m, "num_batches_tracked"), 0, 0));
    expect_refused(m, adz_ones(ADZ_SHAPE(4, 2), ADZ_F32), "x[4, 2] must be [N, 3] or [N, 3, L]");
}

static void bad_values_are_refused(void **state)
{
    (void)state;
    adz_lstm_module_options o = ADZ_LSTM_MODULE_OPTIONS;
    expect_no_module(adz_lstm_new(0, 3, NULL), "input_size is 0");
    o.num_layers = 0;
    expect_no_module(adz_lstm_new(2, 3, &o), "num_layers is 0");
    o.num_layers = 1;
    o.dropout = 2;
    expect_no_module(adz_lstm_new(2, 3, &o), "dropout is 2");
    adz_batch_norm1d_options b = ADZ_BATCH_NORM1D_OPTIONS;
    expect_no_module(adz_batch_norm1d_new(-1, NULL), "num_features is -1, but must be 0 or more");
    b.momentum = 2;
    expect_no_module(adz_batch_norm1d_new(1, &b), "momentum is 2");
    b.momentum = 0.1;
    b.dtype = ADZ_I64;
    assert_null(adz_batch_norm1d_new(1, &b));
    expect_error(ADZ_ERR_DTYPE, "int64");
}

static const struct CMUnitTest facts[] = {
    TEST(states_carry_on),
    TEST(arguments_may_be_plain),
    TEST(layers_are_stacked),
    TEST(weights_start_within_their_bound),
    TEST(statistics_follow_the_batches),
    TEST(a_failure_counts_nothing),
    TEST(bad_values_are_refused),
};

const module_case recurrent_module = {
    .name = "recurrent",
    .samples = { { lstm, "LSTM(3, 2)", "weight_ih_l0 weight_hh_l0 bias_ih_l0 bias_hh_l0",
                     { X(3, 2, 3), X_NAMED("h0", 1, 2, 2), X_NAMED("c0", 1, 2, 2) } },
        { deep_lstm,
            "LSTM(2, 3, num_layers=2, bias=False, batch_first=True, dropout=0.3, bidirectional=True)",
            "weight_ih_l0 weight_hh_l0 weight_ih_l0_reverse weight_hh_l0_reverse weight_ih_l1 weight_hh_l1 weight_ih_l1_reverse weight_hh_l1_reverse",
            { X(2, 3, 2) } },
        { norm, "BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)",
            "weight bias running_mean running_var num_batches_tracked", { X(4, 3) } },
        { plain_norm,
            "BatchNorm1d(2, eps=0.001, momentum=0.1, affine=False, track_running_stats=False)", "",
            { X(3, 2, 2) } } },
    FACTS(facts),
};
