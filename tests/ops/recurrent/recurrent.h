/* What the samples and facts of lstm, gru and rnn share. A file defines these before it includes
 * the header:
 *
 *     STATES                   how many inputs come before the weights: x and the states
 *     GATES                    rows of a weight per element of the state
 *     OPTIONS, DEFAULTS        the type of the operator's options and its defaults
 *     RUN(x, h0, w, n, o, h)   calls the operator; the other states are absent
 */
#ifndef ADZE_TESTS_OPS_RECURRENT_RECURRENT_H
#define ADZE_TESTS_OPS_RECURRENT_RECURRENT_H

#include "ops/facts.h"

/* ---- samples ------------------------------------------------------------------------------- */

/** The lengths in "241" are 2, 4 and 1. NULL for NULL. */
static inline adz_tensor *lengths_of(const char *text)
{
    int64_t lengths[8], n = 0;
    for (; text != NULL && text[n] != '\0' && n < 8; ++n) {
        lengths[n] = text[n] - '0';
    }
    return text != NULL ? adz_tensor_from(lengths, ADZ_SHAPE(n), ADZ_I64) : NULL;
}

/** Options of a sample: p[0] = layers, p[1] = bias, p[2] = batch_first, p[3] = bidirectional; the
 * text has a digit for each length. */
static inline OPTIONS options_of(const op_args *a)
{
    OPTIONS o = DEFAULTS;
    o.layers = (int64_t)a->p[0];
    o.bias = a->p[1] != 0;
    o.batch_first = a->p[2] != 0;
    o.bidirectional = a->p[3] != 0;
    o.lengths = lengths_of(a->text);
    return o;
}

/** The number of weights of a sample: p[4], where 0 means all inputs after the states. */
static inline size_t n_weights(const op_args *a)
{
    return a->p[4] > 0 ? (size_t)a->p[4] : (size_t)(a->n - STATES);
}

/** Reads a vector's configuration. The file's names of weights are at fixed positions of the list.
 * Those of layers, directions and biases that the file does not have are removed. */
static inline bool read_config(const json_t *config, op_args *a)
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
    a->text = config_text(config, "lengths", NULL);
    return true;
}

#define NO_BIAS(in, h) IN(GATES *(h), in), IN(GATES *(h), h)
#define WEIGHTS(in, h) NO_BIAS(in, h), IN(GATES *(h)), IN(GATES *(h))
#define NAMES(suffix)  "weight_ih_" suffix, "weight_hh_" suffix, "bias_ih_" suffix, "bias_hh_" suffix

/* ---- facts --------------------------------------------------------------------------------- */

static inline void draw_weights(adz_tensor **w, int layers, int directions, int64_t in, int64_t h)
{
    for (int i = 0; i < layers * directions; ++i) {
        w[4 * i] = adz_randn(ADZ_SHAPE(GATES * h, i < directions ? in : directions * h), ADZ_F64);
        w[4 * i + 1] = adz_randn(ADZ_SHAPE(GATES * h, h), ADZ_F64);
        w[4 * i + 2] = adz_randn(ADZ_SHAPE(GATES * h), ADZ_F64);
        w[4 * i + 3] = adz_randn(ADZ_SHAPE(GATES * h), ADZ_F64);
    }
}

FACT(dropout_acts_between_layers_in_training_only)
{
    adz_tensor *w[8];
    OPTIONS o = DEFAULTS;
    o.layers = 2;
    adz_manual_seed(4);
    draw_weights(w, 2, 1, 3, 2);
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 2, 3), ADZ_F64);
    adz_tensor *plain = RUN(x, ADZ_NONE, w, 8, &o, NULL);
    o.dropout = 1;
    assert_true(adz_equal(plain, RUN(x, ADZ_NONE, w, 8, &o, NULL)));
    o.training = true; /* with dropout 1 the second layer sees zeros only */
    adz_tensor *y = RUN(x, ADZ_NONE, w, 8, &o, NULL);
    o.layers = 1;
    adz_tensor *zeros = adz_zeros(ADZ_SHAPE(4, 2, 2), ADZ_F64);
    assert_true(adz_equal(y, RUN(zeros, ADZ_NONE, w + 4, 4, &o, NULL)));
}

/* The padding has no influence, even if it is NaN, and gets no gradient. */
FACT(the_padding_is_never_read)
{
    adz_tensor *w[4], *h;
    adz_manual_seed(5);
    draw_weights(w, 1, 1, 3, 2);
    OPTIONS o = DEFAULTS;
    o.lengths = adz_tensor_from((int64_t[]){ 2, 4 }, ADZ_SHAPE(2), ADZ_I64);
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 2, 3), ADZ_F64);
    adz_tensor *wanted = RUN(x, ADZ_NONE, w, 4, &o, &h);
    adz_tensor *spoilt = adz_clone(x);
    adz_fill_(adz_narrow(adz_narrow(spoilt, 1, 0, 1), 0, 2, 2), NAN);
    adz_requires_grad_(spoilt, true);
    adz_requires_grad_(w[0], true);
    adz_tensor *y = RUN(spoilt, ADZ_NONE, w, 4, &o, NULL);
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
    OPTIONS o = DEFAULTS;
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 2, 3), ADZ_F64);
    o.lengths = adz_ones(ADZ_SHAPE(2), ADZ_I32);
    ASSERT_REFUSED(
        RUN(x, ADZ_NONE, w, 4, &o, NULL), ADZ_ERR_DTYPE, "lengths is int32, but must be int64");
    adz_tensor *both = adz_tensor_from((int64_t[]){ 2, 9, 4, 9 }, ADZ_SHAPE(2, 2), ADZ_I64);
    o.lengths = adz_select(both, 1, 0);
    adz_tensor *y = RUN(x, ADZ_NONE, w, 4, &o, &h);
    o.lengths = VALUES(ADZ_I64, 2, 4);
    assert_true(adz_equal(y, RUN(x, ADZ_NONE, w, 4, &o, NULL)));
    o.lengths = ADZ_NONE;
    y = RUN(x, ADZ_NONE, w, 4, &o, NULL);
    o.lengths = NULL;
    assert_true(adz_equal(y, RUN(x, ADZ_NONE, w, 4, &o, NULL)));
}

/* Bounds of options are those of the table, whose messages name the option. */
FACT(options_lie_within_their_bounds)
{
    adz_tensor *w[4];
    draw_weights(w, 1, 1, 3, 2);
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 2, 3), ADZ_F64), *h = x;
    OPTIONS o = DEFAULTS;
    o.dropout = 1.5;
    ASSERT_REFUSED(
        RUN(x, ADZ_NONE, w, 4, &o, &h), ADZ_ERR_ARGUMENT, "dropout is 1.5, but must be in [0, 1]");
    assert_null(h);
    o.dropout = NAN;
    ASSERT_REFUSED(RUN(x, ADZ_NONE, w, 4, &o, &h), ADZ_ERR_ARGUMENT, "dropout is nan");
    o.dropout = 0;
    o.layers = 65536;
    ASSERT_REFUSED(RUN(x, ADZ_NONE, w, 4, &o, &h), ADZ_ERR_ARGUMENT,
        "layers is 65536, but must be in [1, 65535]");
}

#define SHARED_FACTS                                                \
    cmocka_unit_test(dropout_acts_between_layers_in_training_only), \
        cmocka_unit_test(the_padding_is_never_read),                \
        cmocka_unit_test(options_lie_within_their_bounds),          \
        cmocka_unit_test(lengths_are_int64_of_any_layout)

#endif
