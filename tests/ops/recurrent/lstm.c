#define STATES                 3
#define GATES                  4
#define OPTIONS                adz_lstm_options
#define DEFAULTS               ADZ_LSTM_OPTIONS
#define RUN(x, h0, w, n, o, h) adz_lstm(x, h0, ADZ_NONE, w, n, o, h, NULL)
#include "ops/recurrent/recurrent.h"

static int call(const op_args *a, adz_tensor **out)
{
    adz_lstm_options o = options_of(a);
    out[0] =
        adz_lstm(a->in[0], a->in[1], a->in[2], a->in + STATES, n_weights(a), &o, &out[1], &out[2]);
    return out[0] != NULL ? 3 : 0;
}

FACT(states_default_to_zero_and_results_may_be_left_out)
{
    adz_tensor *w[4], *h, *c;
    adz_manual_seed(1);
    draw_weights(w, 1, 1, 3, 2);
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 5, 3), ADZ_F64);
    adz_tensor *zero = adz_zeros(ADZ_SHAPE(1, 5, 2), ADZ_F64);
    adz_tensor *y = adz_lstm(x, ADZ_NONE, ADZ_NONE, w, 4, NULL, &h, &c);
    assert_true(adz_equal(y, adz_lstm(x, zero, zero, w, 4, NULL, NULL, NULL)));
    assert_true(adz_equal(adz_select(y, 0, -1), adz_select(h, 0, 0)));
    assert_true(adz_equal(y, adz_lstm(x, ADZ_NONE, zero, w, 4, NULL, NULL, &c)));
}

FACT(a_sequence_goes_on_from_its_state)
{
    adz_tensor *w[8], *h, *c;
    adz_lstm_options o;
    adz_lstm_options_init(&o, sizeof o);
    o.layers = 2;
    adz_manual_seed(2);
    draw_weights(w, 2, 1, 3, 2);
    adz_tensor *x = adz_randn(ADZ_SHAPE(6, 1, 3), ADZ_F64);
    adz_tensor *whole = adz_lstm(x, ADZ_NONE, ADZ_NONE, w, 8, &o, NULL, NULL);
    adz_lstm(adz_slice(x, 0, 0, 4, 1), ADZ_NONE, ADZ_NONE, w, 8, &o, &h, &c);
    adz_tensor *rest = adz_lstm(adz_slice(x, 0, 4, 6, 1), h, c, w, 8, &o, NULL, NULL);
    assert_true(adz_allclose(rest, adz_slice(whole, 0, 4, 6, 1), 1e-14, 1e-15, false));
}

FACT(a_sequence_without_a_batch)
{
    adz_tensor *w[8], *h, *c, *hb, *cb;
    adz_lstm_options o = ADZ_LSTM_OPTIONS;
    o.bidirectional = true;
    o.batch_first = true;
    adz_manual_seed(3);
    draw_weights(w, 1, 2, 3, 2);
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 3), ADZ_F64);
    adz_tensor *y = adz_lstm(x, ADZ_NONE, ADZ_NONE, w, 8, &o, &h, &c);
    adz_tensor *yb = adz_lstm(adz_unsqueeze(x, 0), ADZ_NONE, ADZ_NONE, w, 8, &o, &hb, &cb);
    assert_true(adz_equal(y, adz_squeeze(yb, 0)));
    assert_true(adz_equal(h, adz_squeeze(hb, 1)));
    assert_true(adz_equal(c, adz_squeeze(cb, 1)));
}

FACT(a_missing_weight_is_named)
{
    adz_tensor *w[4], *h = NULL, *c = NULL;
    draw_weights(w, 1, 1, 3, 2);
    w[2] = NULL;
    ASSERT_REFUSED(
        adz_lstm(adz_ones(ADZ_SHAPE(2, 2, 3), ADZ_F64), ADZ_NONE, ADZ_NONE, w, 4, NULL, &h, &c),
        ADZ_ERR_NULL, "bias_ih");
    w[2] = ADZ_NONE;
    ASSERT_REFUSED(
        adz_lstm(adz_ones(ADZ_SHAPE(2, 2, 3), ADZ_F64), ADZ_NONE, ADZ_NONE, w, 4, NULL, &h, &c),
        ADZ_ERR_ARGUMENT, "bias_ih is not optional");
    assert_null(h);
    assert_null(c);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(states_default_to_zero_and_results_may_be_left_out),
    cmocka_unit_test(a_sequence_goes_on_from_its_state),
    cmocka_unit_test(a_sequence_without_a_batch),
    cmocka_unit_test(a_missing_weight_is_named),
    SHARED_FACTS,
};

const op_case lstm_case = {
    .name = "lstm",
    .call = call,
    .samples = {
        { .in = { IN(3, 2, 3), IN(1, 2, 2), IN(1, 2, 2), WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 } },
        { .in = { IN_T(2, 3, 3), IN_T(2, 2, 2), IN(2, 2, 2), WEIGHTS(3, 2), WEIGHTS(3, 2) }, .p = { 1, 1, 1, 1 } },
        { .in = { IN(2, 2, 1), IN_NONE, IN_NONE, WEIGHTS(1, 2), WEIGHTS(2, 2) }, .p = { 2, 1, 0, 0 } },
        { .in = { IN(4, 2, 3), IN(1, 2, 1), IN_NONE, IN(4, 3), IN(4, 1) }, .p = { 1, 0, 0, 0 } },
        { .in = { IN(2, 0, 3), IN(1, 0, 2), IN(1, 0, 2), WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 } },
        { .in = { IN(3, 3), IN(1, 2), IN(1, 2), WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 } },
        { .in = { IN(2, 1, 2), IN(4, 1, 1), IN(4, 1, 1), IN(4, 2), IN(4, 1), IN(4, 2), IN(4, 1), IN(4, 2), IN(4, 1), IN(4, 2), IN(4, 1) }, .p = { 2, 0, 0, 1 } },
        { .in = { IN_T(3, 4, 2), IN(4, 3, 2), IN(4, 3, 2), NO_BIAS(2, 2), NO_BIAS(2, 2), NO_BIAS(4, 2), NO_BIAS(4, 2) }, .p = { 2, 0, 1, 1 }, .text = "241" },
        { .in = { IN(3, 2, 3), IN_NONE, IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .text = "13" },
    },
    .rejects = {
        { .in = { IN(3, 2, 4), IN_NONE, IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .status = ADZ_ERR_SHAPE, .says = "weight_ih" },
        { .in = { IN(3, 2, 3), IN(1, 3, 2), IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .status = ADZ_ERR_SHAPE, .says = "h0" },
        { .in = { IN(3, 2, 3), IN_NONE, IN_NONE, WEIGHTS(3, 2) }, .p = { 2, 1, 0, 0 }, .status = ADZ_ERR_ARGUMENT, .says = "take 8" },
        { .in = { IN(3, 2, 3), IN_NONE, IN_NONE, WEIGHTS(3, 2) }, .p = { 0, 1, 0, 0 }, .status = ADZ_ERR_ARGUMENT, .says = "layers" },
        { .in = { IN(0, 2, 3), IN_NONE, IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .status = ADZ_ERR_SHAPE, .says = "time steps" },
        { .in = { IN(3), IN_NONE, IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .status = ADZ_ERR_SHAPE, .says = "[time, batch, features]" },
        { .in = { IN(3, 2, 3), IN_NONE, IN_TYPED(ADZ_F32, 1, 2, 2), WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .status = ADZ_ERR_DTYPE, .says = "c0" },
        { .in = { IN_TYPED(ADZ_I64, 3, 2, 3), IN_NONE, IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .status = ADZ_ERR_DTYPE },
        { .in = { IN(3, 3), IN_NONE, IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .text = "3", .status = ADZ_ERR_ARGUMENT, .says = "no batch" },
        { .in = { IN(3, 2, 3), IN_NONE, IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .text = "321", .status = ADZ_ERR_SHAPE, .says = "lengths[3] must have shape [2]" },
        { .in = { IN(3, 2, 3), IN_NONE, IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .text = "30", .status = ADZ_ERR_INDEX, .says = "lengths[1] is 0, but must be 1 or more" },
        { .in = { IN(3, 2, 3), IN_NONE, IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .text = "43", .status = ADZ_ERR_INDEX, .says = "lengths[0] is 4, but must be 1 or more and at most 3" },
    },
    .vectors = { "lstm" },
    .inputs = { "x", "h0", "c0", NAMES("l0"), NAMES("l0_reverse"), NAMES("l1"), NAMES("l1_reverse"), NAMES("l2"), NAMES("l2_reverse"), NAMES("l3"), NAMES("l3_reverse") },
    .outputs = { "y", "h", "c" },
    .config = read_config,
    FACTS(facts),
};
