/* Facts about the operators with one state, gru and rnn. It needs what recurrent.h needs. */
#ifndef ADZE_TESTS_OPS_RECURRENT_ONE_STATE_H
#define ADZE_TESTS_OPS_RECURRENT_ONE_STATE_H

#include "ops/recurrent/recurrent.h"

FACT(states_default_to_zero_and_results_may_be_left_out)
{
    adz_tensor *w[4], *h;
    adz_manual_seed(1);
    draw_weights(w, 1, 1, 3, 2);
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 5, 3), ADZ_F64);
    adz_tensor *zero = adz_zeros(ADZ_SHAPE(1, 5, 2), ADZ_F64);
    adz_tensor *y = RUN(x, ADZ_NONE, w, 4, NULL, &h);
    assert_true(adz_equal(y, RUN(x, zero, w, 4, NULL, NULL)));
    assert_true(adz_equal(adz_select(y, 0, -1), adz_select(h, 0, 0)));
}

FACT(a_sequence_goes_on_from_its_state)
{
    adz_tensor *w[8], *h;
    OPTIONS o = DEFAULTS;
    o.layers = 2;
    adz_manual_seed(2);
    draw_weights(w, 2, 1, 3, 2);
    adz_tensor *x = adz_randn(ADZ_SHAPE(6, 1, 3), ADZ_F64);
    adz_tensor *whole = RUN(x, ADZ_NONE, w, 8, &o, NULL);
    RUN(adz_slice(x, 0, 0, 4, 1), ADZ_NONE, w, 8, &o, &h);
    adz_tensor *rest = RUN(adz_slice(x, 0, 4, 6, 1), h, w, 8, &o, NULL);
    assert_true(adz_allclose(rest, adz_slice(whole, 0, 4, 6, 1), 1e-14, 1e-15, false));
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(states_default_to_zero_and_results_may_be_left_out),
    cmocka_unit_test(a_sequence_goes_on_from_its_state),
    SHARED_FACTS,
};

#endif
