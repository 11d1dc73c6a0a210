#include "autograd/ops/lstm_layer.h"

#include "ops/facts.h"

/* p[0] = reverse */
static int call(const op_args *a, adz_tensor **out)
{
    adzi_lstm_states s =
        adzi_lstm_layer(a->in[0], a->in[1], a->in[2], a->in[3], a->in[4], a->p[0] != 0);
    out[0] = s.y;
    out[1] = s.h;
    out[2] = s.c;
    return s.y != NULL ? 3 : 0;
}

/* Closed gates keep the cell, whatever the input says; open ones replace it. */
FACT(gates_keep_or_replace_the_cell)
{
    const double big = 1000;
    double keep[] = { -big, big, 5, big }, take[] = { big, -big, big, big };
    adz_tensor *zero = adz_zeros(ADZ_SHAPE(1, 1), ADZ_F64),
               *c0 = adz_full(ADZ_SHAPE(1, 1), 0.5, ADZ_F64);
    adz_tensor *w = adz_zeros(ADZ_SHAPE(4, 1), ADZ_F64);
    adzi_lstm_states s = adzi_lstm_layer(
        adz_tensor_from(keep, ADZ_SHAPE(1, 1, 4), ADZ_F64), zero, c0, w, ADZ_NONE, false);
    assert_float_equal(adz_item(s.c), 0.5, 0);
    assert_float_equal(adz_item(s.h), tanh(0.5), 1e-15);
    s = adzi_lstm_layer(
        adz_tensor_from(take, ADZ_SHAPE(1, 1, 4), ADZ_F64), zero, c0, w, ADZ_NONE, false);
    assert_float_equal(adz_item(s.c), 1, 0);
}

FACT(reverse_is_the_sequence_turned_round)
{
    adz_manual_seed(4);
    adz_tensor *first = adz_randn(ADZ_SHAPE(1, 2, 12), ADZ_F64);
    adz_tensor *second = adz_randn(ADZ_SHAPE(1, 2, 12), ADZ_F64);
    adz_tensor *h = adz_randn(ADZ_SHAPE(2, 3), ADZ_F64), *c = adz_randn(ADZ_SHAPE(2, 3), ADZ_F64);
    adz_tensor *w = adz_randn(ADZ_SHAPE(12, 3), ADZ_F64);
    adz_tensor *ab = adz_cat((adz_tensor *[]){ first, second }, 2, 0);
    adz_tensor *ba = adz_cat((adz_tensor *[]){ second, first }, 2, 0);
    adzi_lstm_states there = adzi_lstm_layer(ab, h, c, w, ADZ_NONE, false);
    adzi_lstm_states back = adzi_lstm_layer(ba, h, c, w, ADZ_NONE, true);
    assert_true(adz_equal(adz_select(there.y, 0, 0), adz_select(back.y, 0, 1)));
    assert_true(adz_equal(adz_select(there.y, 0, 1), adz_select(back.y, 0, 0)));
    assert_true(adz_equal(there.h, back.h));
    assert_true(adz_equal(there.c, back.c));
}

/* A path from one input to another, outside the operator, must not count twice in second
 * gradients. */
static int related(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    adz_tensor *gates = adz_mul(in[0], in[0]);
    adz_tensor *h0 = adz_slice(adz_select(gates, 0, 0), 1, 0, 1, 1);
    adzi_lstm_states s = adzi_lstm_layer(gates, h0, adz_mul(h0, h0), in[1], ADZ_NONE, false);
    out[0] = s.y;
    return s.y != NULL;
}

FACT(inputs_that_depend_on_each_other)
{
    adz_manual_seed(5);
    adz_tensor *in[] = { adz_requires_grad_(adz_randn(ADZ_SHAPE(2, 2, 4), ADZ_F64), true),
        adz_requires_grad_(adz_randn(ADZ_SHAPE(4, 1), ADZ_F64), true) };
    adz_gradcheck_function f = { related, NULL };
    if (adz_gradcheck(&f, in, 2, NULL, NULL) != ADZ_OK ||
        adz_gradgradcheck(&f, in, 2, NULL, NULL) != ADZ_OK) {
        fail_msg("%s", adz_error_message());
    }
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(gates_keep_or_replace_the_cell),
    cmocka_unit_test(reverse_is_the_sequence_turned_round),
    cmocka_unit_test(inputs_that_depend_on_each_other),
};

const op_case lstm_layer_case = {
    .name = "lstm_layer",
    .call = call,
    .samples = {
        { .in = { IN(3, 2, 8), IN(2, 2), IN(2, 2), IN(8, 2), IN(8) }, .p = { 0 } },
        { .in = { IN(3, 2, 8), IN(2, 2), IN(2, 2), IN(8, 2), IN(8) }, .p = { 1 } },
        { .in = { IN_T(2, 3, 4), IN_T(3, 1), IN(3, 1), IN_T(4, 1), IN_NONE }, .p = { 0 } },
        { .in = { IN(1, 2, 12), IN(2, 3), IN(2, 3), IN(12, 3), IN(12) }, .p = { 1 } },
        { .in = { IN(2, 0, 8), IN(0, 2), IN(0, 2), IN(8, 2), IN_NONE }, .p = { 0 } },
        { .in = { IN(2, 1, 8), IN_CONST(1, 2), IN_CONST(1, 2), IN(8, 2), IN_NONE }, .p = { 0 } },
        { .in = { IN_CONST(4, 2, 8), IN(2, 2), IN(2, 2), IN_CONST(8, 2), IN(8) }, .p = { 0 } },
    },
    .rejects = {
        { .in = { IN(3, 2, 8), IN(2, 3), IN(2, 2), IN(8, 2), IN(8) }, .status = ADZ_ERR_SHAPE, .says = "[B, H]" },
        { .in = { IN(0, 2, 8), IN(2, 2), IN(2, 2), IN(8, 2), IN(8) }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3, 2, 8), IN(2, 2), IN(2, 2), IN_TYPED(ADZ_F32, 8, 2), IN(8) }, .status = ADZ_ERR_DTYPE },
        { .in = { IN_TYPED(ADZ_I64, 3, 2, 8), IN(2, 2), IN(2, 2), IN(8, 2), IN(8) }, .status = ADZ_ERR_DTYPE },
    },
    FACTS(facts),
};
