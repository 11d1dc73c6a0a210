/* PyTorch's GRU, RNN and the cells of recurrent networks, and sequences of different lengths. */
#include "nn/case.h"

static adz_module *gru(adz_generator *g)
{
    (void)g;
    return adz_gru_new(3, 2, NULL);
}

static adz_module *deep_gru(adz_generator *g)
{
    adz_gru_module_options o;
    adz_gru_module_options_init(&o, sizeof o);
    o.num_layers = 2;
    o.bidirectional = true;
    o.batch_first = true;
    o.bias = false;
    o.dropout = 0.3;
    o.generator = g;
    return adz_gru_new(2, 3, &o);
}

static adz_module *rnn(adz_generator *g)
{
    (void)g;
    return adz_rnn_new(3, 2, NULL);
}

static adz_module *relu_rnn(adz_generator *g)
{
    adz_rnn_module_options o;
    adz_rnn_module_options_init(&o, sizeof o);
    o.num_layers = 2;
    o.dropout = 0.5;
    o.generator = g;
    o.nonlinearity = ADZ_ACTIVATION_RELU;
    return adz_rnn_new(2, 3, &o);
}

static adz_module *lstm_cell(adz_generator *g)
{
    (void)g;
    return adz_lstm_cell_new(3, 2, NULL);
}

static adz_module *gru_cell(adz_generator *g)
{
    (void)g;
    return adz_gru_cell_new(3, 2, NULL);
}

static adz_module *relu_cell(adz_generator *g)
{
    (void)g;
    adz_recurrent_cell_options o;
    adz_recurrent_cell_options_init(&o, sizeof o);
    o.bias = false;
    o.nonlinearity = ADZ_ACTIVATION_RELU;
    return adz_rnn_cell_new(3, 2, &o);
}

/* ---- facts ---------------------------------------------------------------------------------- */

/* Calls a module with arguments by name, up to the first name that is NULL. */
static adz_status call_named(
    adz_module *m, const char *const *names, adz_tensor *const *given, adz_values *out)
{
    adz_values *in = adz_values_new();
    for (int i = 0; names[i] != NULL; ++i) {
        adz_values_add(in, names[i], given[i]);
    }
    adz_status status = adz_module_call(m, in, out);
    adz_values_free(&in);
    return status;
}

static const char *const with_state[] = { "x", "h0", NULL };
static const char *const with_states[] = { "x", "h0", "c0", NULL };
static const char *const with_lengths[] = { "x", "lengths", NULL };

/* A cell that goes through time by itself computes what the network with its parameters does. */
static void cells_are_steps(void **state)
{
    (void)state;
    adz_module *cells[] = { lstm_cell(NULL), gru_cell(NULL), relu_cell(NULL) };
    adz_rnn_module_options o = ADZ_RNN_MODULE_OPTIONS;
    o.bias = false;
    o.nonlinearity = ADZ_ACTIVATION_RELU;
    adz_module *nets[] = { adz_lstm_new(3, 2, NULL), adz_gru_new(3, 2, NULL),
        adz_rnn_new(3, 2, &o) };
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 5, 3), ADZ_F32);
    adz_values *out = adz_values_new();
    for (int k = 0; k < 3; ++k) {
        adz_tensor_list from = adz_module_parameters(nets[k]), to = adz_module_parameters(cells[k]);
        assert_int_equal(from.count, to.count);
        adz_set_grad_enabled(false);
        for (size_t i = 0; i < from.count; ++i) {
            adz_copy_(to.items[i], from.items[i]);
        }
        adz_set_grad_enabled(true);
        adz_tensor *y = adz_module_forward(nets[k], x), *h = ADZ_NONE, *c = ADZ_NONE;
        for (int t = 0; t < 4; ++t) {
            adz_tensor *given[] = { adz_select(x, 0, t), h, c };
            adz_values_clear(out);
            assert_int_equal(
                call_named(cells[k], k == 0 ? with_states : with_state, given, out), ADZ_OK);
            h = adz_values_at(out, 0);
            c = k == 0 ? adz_values_get(out, "c") : ADZ_NONE;
            expect_same(h, adz_select(y, 0, t), 1e-6);
        }
        adz_tensor *alone = adz_module_forward(cells[k], adz_select(adz_select(x, 0, 0), 0, 1));
        expect_same(alone, adz_select(adz_select(y, 0, 0), 0, 1), 1e-6);
        adz_module_release(&cells[k]);
        adz_module_release(&nets[k]);
    }
    adz_values_free(&out);
}

/* Each sequence gives what it gives alone, cut to its length, in all layers and directions. */
static void lengths_cut_sequences(void **state)
{
    (void)state;
    adz_lstm_module_options l = ADZ_LSTM_MODULE_OPTIONS;
    adz_gru_module_options g = ADZ_GRU_MODULE_OPTIONS;
    adz_rnn_module_options r = ADZ_RNN_MODULE_OPTIONS;
    l.num_layers = g.num_layers = r.num_layers = 2;
    l.bidirectional = g.bidirectional = r.bidirectional = true;
    l.batch_first = g.batch_first = r.batch_first = true;
    adz_module *nets[] = { adz_lstm_new(3, 2, &l), adz_gru_new(3, 2, &g), adz_rnn_new(3, 2, &r) };
    const int64_t lengths[] = { 2, 5, 1, 4 };
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 5, 3), ADZ_F32);
    adz_tensor *given[] = { x, adz_tensor_from(lengths, ADZ_SHAPE(4), ADZ_I64) };
    adz_values *out = adz_values_new(), *alone = adz_values_new(), *in = adz_values_new();
    for (int k = 0; k < 3; ++k) {
        adz_values_clear(out);
        assert_int_equal(call_named(nets[k], with_lengths, given, out), ADZ_OK);
        for (int64_t b = 0; b < 4; ++b) {
            adz_values_clear(in);
            adz_values_clear(alone);
            adz_values_add(in, "x", adz_narrow(adz_narrow(x, 0, b, 1), 1, 0, lengths[b]));
            assert_int_equal(adz_module_call(nets[k], in, alone), ADZ_OK);
            adz_tensor *y = adz_narrow(adz_values_at(out, 0), 0, b, 1);
            expect_same(adz_narrow(y, 1, 0, lengths[b]), adz_values_at(alone, 0), 1e-6);
            adz_tensor *rest = adz_narrow(y, 1, lengths[b], 5 - lengths[b]);
            assert_true(adz_equal(rest, adz_zeros_like(rest)));
            expect_same(
                adz_narrow(adz_values_get(out, "h"), 1, b, 1), adz_values_get(alone, "h"), 1e-6);
            if (k == 0) {
                expect_same(adz_narrow(adz_values_get(out, "c"), 1, b, 1),
                    adz_values_get(alone, "c"), 1e-6);
            }
        }
        adz_module_release(&nets[k]);
    }
    adz_values_free(&in);
    adz_values_free(&out);
    adz_values_free(&alone);
}

static void wrong_lengths_are_refused(void **state)
{
    (void)state;
    adz_module *m = gru(NULL);
    adz_values *out = adz_values_new();
    adz_tensor *given[] = { adz_ones(ADZ_SHAPE(4, 2, 3), ADZ_F32),
        adz_tensor_from((int64_t[]){ 4, 5 }, ADZ_SHAPE(2), ADZ_I64) };
    call_named(m, with_lengths, given, out);
    expect_error(ADZ_ERR_INDEX, "lengths[1] is 5, but must be 1 or more and at most 4");
    given[1] = adz_ones(ADZ_SHAPE(3), ADZ_I64);
    call_named(m, with_lengths, given, out);
    expect_error(ADZ_ERR_SHAPE, "lengths[3] must have shape [2]");
    given[1] = adz_ones(ADZ_SHAPE(2), ADZ_F32);
    call_named(m, with_lengths, given, out);
    expect_error(ADZ_ERR_DTYPE, "lengths is float32, but must be int64");
    assert_int_equal(adz_values_count(out), 0);
    adz_values_free(&out);
    adz_module_release(&m);
}

static void weights_start_within_their_bound(void **state)
{
    (void)state;
    adz_module *made[] = { adz_gru_new(4, 16, NULL), adz_rnn_cell_new(4, 16, NULL) };
    for (int k = 0; k < 2; ++k) {
        adz_tensor_list all = adz_module_parameters(made[k]);
        assert_int_equal(all.count, 4);
        for (size_t i = 0; i < all.count; ++i) {
            double most = adz_item(adz_max(adz_abs(all.items[i])));
            assert_true(most <= 0.25 && most > 0.15);
        }
        adz_module_release(&made[k]);
    }
}

static void bad_values_are_refused(void **state)
{
    (void)state;
    adz_gru_module_options g = ADZ_GRU_MODULE_OPTIONS;
    expect_no_module(adz_gru_new(2, 0, NULL), "adz_gru_new: hidden_size is 0");
    g.dropout = -1;
    expect_no_module(adz_gru_new(2, 3, &g), "dropout is -1");
    adz_rnn_module_options r = ADZ_RNN_MODULE_OPTIONS;
    r.num_layers = -2;
    expect_no_module(adz_rnn_new(2, 3, &r), "num_layers is -2");
    r.num_layers = 1;
    r.nonlinearity = ADZ_ACTIVATION_GELU;
    expect_no_module(adz_rnn_new(2, 3, &r), "nonlinearity is 1");
    adz_recurrent_cell_options c = ADZ_RECURRENT_CELL_OPTIONS;
    expect_no_module(adz_lstm_cell_new(0, 3, NULL), "adz_lstm_cell_new: input_size is 0");
    c.nonlinearity = ADZ_ACTIVATION_SIGMOID;
    expect_no_module(adz_rnn_cell_new(2, 3, &c), "nonlinearity is 4");
    c.dtype = ADZ_I64;
    assert_null(adz_gru_cell_new(2, 3, &c));
    expect_error(ADZ_ERR_DTYPE, "int64");
    expect_refused(
        gru(NULL), adz_ones(ADZ_SHAPE(5, 2, 4), ADZ_F32), "x[5, 2, 4] must be [T, B, 3]");
    expect_refused(gru_cell(NULL), adz_ones(ADZ_SHAPE(2, 4), ADZ_F32), "x[2, 4] must be [B, 3]");
}

static void wrong_states_of_cells_are_refused(void **state)
{
    (void)state;
    adz_module *m = lstm_cell(NULL);
    adz_values *out = adz_values_new();
    adz_tensor *x = adz_ones(ADZ_SHAPE(4, 3), ADZ_F32), *fits = adz_ones(ADZ_SHAPE(4, 2), ADZ_F32);
    call_named(
        m, with_states, (adz_tensor *[]){ x, adz_ones(ADZ_SHAPE(3, 2), ADZ_F32), fits }, out);
    expect_error(ADZ_ERR_SHAPE, "h0[3, 2] does not fit x[4, 3]; it must be [B, 2]");
    call_named(m, with_states, (adz_tensor *[]){ x, fits, adz_ones(ADZ_SHAPE(2), ADZ_F32) }, out);
    expect_error(ADZ_ERR_SHAPE, "c0[2] does not fit x[4, 3]");
    call_named(m, with_states, (adz_tensor *[]){ x, fits, ADZ_NONE }, out);
    expect_error(ADZ_ERR_ARGUMENT, "h0 is given without c0");
    adz_values_free(&out);
    adz_module_release(&m);
}

static const struct CMUnitTest facts[] = {
    TEST(cells_are_steps),
    TEST(lengths_cut_sequences),
    TEST(wrong_lengths_are_refused),
    TEST(weights_start_within_their_bound),
    TEST(bad_values_are_refused),
    TEST(wrong_states_of_cells_are_refused),
};

#define CELL "weight_ih weight_hh bias_ih bias_hh"

const module_case gru_rnn_module = {
    .name = "gru_rnn",
    .samples = { { gru, "GRU(3, 2)", "weight_ih_l0 weight_hh_l0 bias_ih_l0 bias_hh_l0",
                     { X(3, 2, 3), X_NAMED("h0", 1, 2, 2) } },
        { deep_gru,
            "GRU(2, 3, num_layers=2, bias=False, batch_first=True, dropout=0.3, bidirectional=True)",
            "weight_ih_l0 weight_hh_l0 weight_ih_l0_reverse weight_hh_l0_reverse weight_ih_l1 weight_hh_l1 weight_ih_l1_reverse weight_hh_l1_reverse",
            { X(2, 3, 2) } },
        { rnn, "RNN(3, 2)", "weight_ih_l0 weight_hh_l0 bias_ih_l0 bias_hh_l0", { X(4, 3) } },
        { relu_rnn, "RNN(2, 3, num_layers=2, dropout=0.5, nonlinearity=relu)",
            "weight_ih_l0 weight_hh_l0 bias_ih_l0 bias_hh_l0 weight_ih_l1 weight_hh_l1 bias_ih_l1 bias_hh_l1",
            { X(3, 2, 2), X_NAMED("h0", 2, 2, 3) } },
        { lstm_cell, "LSTMCell(3, 2)", CELL,
            { X(4, 3), X_NAMED("h0", 4, 2), X_NAMED("c0", 4, 2) } },
        { gru_cell, "GRUCell(3, 2)", CELL, { X(4, 3), X_NAMED("h0", 4, 2) } },
        { relu_cell, "RNNCell(3, 2, bias=False, nonlinearity=relu)", "weight_ih weight_hh",
            { X(3), X_NAMED("h0", 2) } } },
    FACTS(facts),
};
