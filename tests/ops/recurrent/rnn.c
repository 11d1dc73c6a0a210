#include "ops/recurrent/lengths.h"

enum { STATES = 2 }; /* the inputs x and h0 come before the weights */

/* p[0] = layers, p[1] = bias, p[2] = batch_first, p[3] = bidirectional, p[4] = number of weights,
 * where 0 means the right number, p[5] = relu; the text has a digit for each length */
static int call(const op_args *a, adz_tensor **out)
{
    adz_rnn_options o = ADZ_RNN_OPTIONS;
    o.layers = (int64_t)a->p[0];
    o.bias = a->p[1] != 0;
    o.batch_first = a->p[2] != 0;
    o.bidirectional = a->p[3] != 0;
    o.nonlinearity = a->p[5] == 0   ? ADZ_ACTIVATION_TANH
                     : a->p[5] == 1 ? ADZ_ACTIVATION_RELU
                                    : ADZ_ACTIVATION_GELU;
    o.lengths = lengths_of(a->text);
    size_t n = a->p[4] > 0 ? (size_t)a->p[4] : (size_t)(a->n - STATES);
    out[0] = adz_rnn(a->in[0], a->in[1], a->in + STATES, n, &o, &out[1]);
    return out[0] != NULL ? 2 : 0;
}

/* The file's names of weights are at fixed places of the list. Those of layers, directions and
 * biases that the file does not have are removed. */
static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "num_layers", 1);
    a->p[1] = config_flag(config, "bias", true);
    a->p[2] = config_flag(config, "batch_first", false);
    a->p[3] = config_flag(config, "bidirectional", false);
    int n = STATES;
    for (int i = STATES; i < a->n; ++i) {
        if (a->in[i] != ADZ_NONE) {
            a->in[n++] = a->in[i];
        }
    }
    a->p[4] = n - STATES;
    a->p[5] = strcmp(config_text(config, "nonlinearity", "tanh"), "relu") == 0;
    a->text = config_text(config, "lengths", NULL);
    return true;
}

#define NO_BIAS(in, h) IN(h, in), IN(h, h)
#define WEIGHTS(in, h) IN(h, in), IN(h, h), IN(h), IN(h)

/* ---- facts --------------------------------------------------------------------------------- */

static void draw_weights(adz_tensor **w, int layers, int directions, int64_t in, int64_t h)
{
    for (int i = 0; i < layers * directions; ++i) {
        w[4 * i] = adz_randn(ADZ_SHAPE(h, i < directions ? in : directions * h), ADZ_F64);
        w[4 * i + 1] = adz_randn(ADZ_SHAPE(h, h), ADZ_F64);
        w[4 * i + 2] = adz_randn(ADZ_SHAPE(h), ADZ_F64);
        w[4 * i + 3] = adz_randn(ADZ_SHAPE(h), ADZ_F64);
    }
}

FACT(states_default_to_zero_and_results_may_be_left_out)
{
    adz_tensor *w[4], *h;
    adz_manual_seed(1);
    draw_weights(w, 1, 1, 3, 2);
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 5, 3), ADZ_F64);
    adz_tensor *zero = adz_zeros(ADZ_SHAPE(1, 5, 2), ADZ_F64);
    adz_tensor *y = adz_rnn(x, ADZ_NONE, w, 4, NULL, &h);
    assert_true(adz_equal(y, adz_rnn(x, zero, w, 4, NULL, NULL)));
    assert_true(adz_equal(adz_select(y, 0, -1), adz_select(h, 0, 0)));
}

FACT(a_sequence_goes_on_from_its_state)
{
    adz_tensor *w[8], *h;
    adz_rnn_options o;
    adz_rnn_options_init(&o, sizeof o);
    o.layers = 2;
    adz_manual_seed(2);
    draw_weights(w, 2, 1, 3, 2);
    adz_tensor *x = adz_randn(ADZ_SHAPE(6, 1, 3), ADZ_F64);
    adz_tensor *whole = adz_rnn(x, ADZ_NONE, w, 8, &o, NULL);
    adz_rnn(adz_slice(x, 0, 0, 4, 1), ADZ_NONE, w, 8, &o, &h);
    adz_tensor *rest = adz_rnn(adz_slice(x, 0, 4, 6, 1), h, w, 8, &o, NULL);
    assert_true(adz_allclose(rest, adz_slice(whole, 0, 4, 6, 1), 1e-14, 1e-15, false));
}

FACT(dropout_acts_between_layers_in_training_only)
{
    adz_tensor *w[8];
    adz_rnn_options o = ADZ_RNN_OPTIONS;
    o.layers = 2;
    adz_manual_seed(4);
    draw_weights(w, 2, 1, 3, 2);
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 2, 3), ADZ_F64);
    adz_tensor *plain = adz_rnn(x, ADZ_NONE, w, 8, &o, NULL);
    o.dropout = 1;
    assert_true(adz_equal(plain, adz_rnn(x, ADZ_NONE, w, 8, &o, NULL)));
    o.training = true; /* with dropout 1 the second layer sees zeros only */
    adz_tensor *y = adz_rnn(x, ADZ_NONE, w, 8, &o, NULL);
    o.layers = 1;
    adz_tensor *zeros = adz_zeros(ADZ_SHAPE(4, 2, 2), ADZ_F64);
    assert_true(adz_equal(y, adz_rnn(zeros, ADZ_NONE, w + 4, 4, &o, NULL)));
}

/* The padding has no influence, even if it is NaN, and gets no gradient. */
FACT(the_padding_is_never_read)
{
    adz_tensor *w[4], *h;
    adz_manual_seed(5);
    draw_weights(w, 1, 1, 3, 2);
    adz_rnn_options o = ADZ_RNN_OPTIONS;
    o.lengths = adz_tensor_from((int64_t[]){ 2, 4 }, ADZ_SHAPE(2), ADZ_I64);
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 2, 3), ADZ_F64);
    adz_tensor *wanted = adz_rnn(x, ADZ_NONE, w, 4, &o, &h);
    adz_tensor *spoilt = adz_clone(x);
    adz_fill_(adz_narrow(adz_narrow(spoilt, 1, 0, 1), 0, 2, 2), NAN);
    adz_requires_grad_(spoilt, true);
    adz_requires_grad_(w[0], true);
    adz_tensor *y = adz_rnn(spoilt, ADZ_NONE, w, 4, &o, NULL);
    assert_true(adz_equal(y, wanted));
    assert_true(
        adz_equal(adz_select(adz_select(y, 0, 1), 0, 0), adz_select(adz_select(h, 0, 0), 0, 0)));
    adz_tensor *dx = gradient_of(y, spoilt), *dw = gradient_of(y, w[0]);
    assert_float_equal(adz_item(adz_sum(adz_abs(adz_narrow(adz_narrow(dx, 1, 0, 1), 0, 2, 2)),
                           ADZ_ALL_DIMS, ADZ_DROPDIM)),
        0, 0);
    assert_true(adz_item(adz_all(adz_isfinite(dw), ADZ_ALL_DIMS, ADZ_DROPDIM)) != 0);
}

FACT(lengths_are_int64_of_any_layout)
{
    adz_tensor *w[4], *h;
    draw_weights(w, 1, 1, 3, 2);
    adz_rnn_options o = ADZ_RNN_OPTIONS;
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 2, 3), ADZ_F64);
    o.lengths = adz_ones(ADZ_SHAPE(2), ADZ_I32);
    ASSERT_REFUSED(
        adz_rnn(x, ADZ_NONE, w, 4, &o, NULL), ADZ_ERR_DTYPE, "lengths is int32, but must be int64");
    adz_tensor *both = adz_tensor_from((int64_t[]){ 2, 9, 4, 9 }, ADZ_SHAPE(2, 2), ADZ_I64);
    o.lengths = adz_select(both, 1, 0);
    adz_tensor *y = adz_rnn(x, ADZ_NONE, w, 4, &o, &h);
    o.lengths = VALUES(ADZ_I64, 2, 4);
    assert_true(adz_equal(y, adz_rnn(x, ADZ_NONE, w, 4, &o, NULL)));
    o.lengths = ADZ_NONE;
    y = adz_rnn(x, ADZ_NONE, w, 4, &o, NULL);
    o.lengths = NULL;
    assert_true(adz_equal(y, adz_rnn(x, ADZ_NONE, w, 4, &o, NULL)));
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(states_default_to_zero_and_results_may_be_left_out),
    cmocka_unit_test(a_sequence_goes_on_from_its_state),
    cmocka_unit_test(dropout_acts_between_layers_in_training_only),
    cmocka_unit_test(the_padding_is_never_read),
    cmocka_unit_test(lengths_are_int64_of_any_layout),
};

#define NAMES(suffix) "weight_ih_" suffix, "weight_hh_" suffix, "bias_ih_" suffix, "bias_hh_" suffix

const op_case rnn_case = {
    .name = "rnn",
    .call = call,
    .samples = {
        { .in = { IN(3, 2, 3), IN(1, 2, 2), WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 } },
        { .in = { IN_T(2, 3, 3), IN_T(2, 2, 2), WEIGHTS(3, 2), WEIGHTS(3, 2) }, .p = { 1, 1, 1, 1 } },
        { .in = { IN(2, 2, 1), IN_NONE, WEIGHTS(1, 2), WEIGHTS(2, 2) }, .p = { 2, 1, 0, 0 } },
        { .in = { IN(2, 0, 3), IN(1, 0, 2), WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 } },
        { .in = { IN(3, 3), IN(1, 2), WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 } },
        { .in = { IN(2, 1, 2), IN(2, 1, 1), IN(1, 2), IN(1, 1), IN(1, 2), IN(1, 1) }, .p = { 1, 0, 0, 1 } },
        { .in = { IN_T(3, 4, 2), IN(4, 3, 2), NO_BIAS(2, 2), NO_BIAS(2, 2), NO_BIAS(4, 2), NO_BIAS(4, 2) }, .p = { 2, 0, 1, 1 }, .text = "241" },
        { .in = { IN(3, 2, 3), IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .text = "13" },
        { .in = { IN(3, 2, 3), IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0, 0, 1 } },
    },
    .rejects = {
        { .in = { IN(3, 2, 4), IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .status = ADZ_ERR_SHAPE, .says = "weight_ih" },
        { .in = { IN(3, 2, 3), IN(1, 3, 2), WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .status = ADZ_ERR_SHAPE, .says = "h0" },
        { .in = { IN(3, 2, 3), IN_NONE, WEIGHTS(3, 2) }, .p = { 2, 1, 0, 0 }, .status = ADZ_ERR_ARGUMENT, .says = "take 8" },
        { .in = { IN(0, 2, 3), IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .status = ADZ_ERR_SHAPE, .says = "time steps" },
        { .in = { IN(3, 3), IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .text = "3", .status = ADZ_ERR_ARGUMENT, .says = "no batch" },
        { .in = { IN(3, 2, 3), IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .text = "321", .status = ADZ_ERR_SHAPE, .says = "lengths[3] must have shape [2]" },
        { .in = { IN(3, 2, 3), IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .text = "30", .status = ADZ_ERR_INDEX, .says = "lengths[1] is 0, but must be 1 or more" },
        { .in = { IN(3, 2, 3), IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .text = "43", .status = ADZ_ERR_INDEX, .says = "lengths[0] is 4, but must be 1 or more and at most 3" },
        { .in = { IN(3, 2, 3), IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0, 0, 2 }, .status = ADZ_ERR_ARGUMENT, .says = "nonlinearity is 1" },
    },
    .vectors = { "rnn" },
    .inputs = { "x", "h0", NAMES("l0"), NAMES("l0_reverse"), NAMES("l1"), NAMES("l1_reverse") },
    .outputs = { "y", "h" },
    .config = config,
    FACTS(facts),
};
