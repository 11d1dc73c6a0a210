#include "ops/recurrent/recurrent_layer.h"

#include "ops/facts.h"

static adzi_recurrent_states layer(
    adz_tensor *x, adz_tensor *h, adz_tensor *c, const adzi_recurrent_weights *w, bool reverse)
{
    return adzi_recurrent_layer(&adzi_lstm_cell,
        &(adzi_recurrent_input){
            .x = x, .h0 = h, .c0 = c, .lengths = ADZ_NONE, .w = *w, .reverse = reverse });
}

/* p[0] = reverse. The sample's lengths are one too small, because indices begin at 0. */
static int call(const op_args *a, adz_tensor **out)
{
    adzi_recurrent_input in = { .x = a->in[0],
        .h0 = a->in[1],
        .c0 = a->in[2],
        .w = { a->in[3], a->in[4], a->in[5], a->in[6] },
        .reverse = a->p[0] != 0 };
    in.lengths = a->n > 7 ? adz_add_number(a->in[7], 1) : ADZ_NONE;
    adzi_recurrent_states s = adzi_recurrent_layer(&adzi_lstm_cell, &in);
    out[0] = s.y;
    out[1] = s.h;
    out[2] = s.c;
    return s.y != NULL ? 3 : 0;
}

/* With an open forget gate and a closed input gate the cell does not change. With the gates
 * reversed the input replaces it. */
FACT(gates_keep_or_replace_the_cell)
{
    const double big = 1000;
    double keep[] = { -big, big, 5, big }, take[] = { big, -big, big, big };
    adz_tensor *zero = adz_zeros(ADZ_SHAPE(1, 1), ADZ_F64),
               *c0 = adz_full(ADZ_SHAPE(1, 1), 0.5, ADZ_F64);
    adz_tensor *x = adz_ones(ADZ_SHAPE(1, 1, 1), ADZ_F64);
    adzi_recurrent_weights w = { adz_tensor_from(keep, ADZ_SHAPE(4, 1), ADZ_F64),
        adz_zeros(ADZ_SHAPE(4, 1), ADZ_F64), ADZ_NONE, ADZ_NONE };
    adzi_recurrent_states s = layer(x, zero, c0, &w, false);
    assert_float_equal(adz_item(s.c), 0.5, 0);
    assert_float_equal(adz_item(s.h), tanh(0.5), 1e-15);
    w.ih = adz_tensor_from(take, ADZ_SHAPE(4, 1), ADZ_F64);
    s = layer(x, zero, c0, &w, false);
    assert_float_equal(adz_item(s.c), 1, 0);
}

static adzi_recurrent_weights draw_weights(int64_t in, int64_t h)
{
    return (adzi_recurrent_weights){ adz_randn(ADZ_SHAPE(4 * h, in), ADZ_F64),
        adz_randn(ADZ_SHAPE(4 * h, h), ADZ_F64), adz_randn(ADZ_SHAPE(4 * h), ADZ_F64),
        adz_randn(ADZ_SHAPE(4 * h), ADZ_F64) };
}

FACT(reverse_is_the_sequence_turned_round)
{
    adz_manual_seed(4);
    adz_tensor *first = adz_randn(ADZ_SHAPE(1, 2, 5), ADZ_F64);
    adz_tensor *second = adz_randn(ADZ_SHAPE(1, 2, 5), ADZ_F64);
    adz_tensor *h = adz_randn(ADZ_SHAPE(2, 3), ADZ_F64), *c = adz_randn(ADZ_SHAPE(2, 3), ADZ_F64);
    adzi_recurrent_weights w = draw_weights(5, 3);
    adz_tensor *ab = adz_cat((adz_tensor *[]){ first, second }, 2, 0);
    adz_tensor *ba = adz_cat((adz_tensor *[]){ second, first }, 2, 0);
    adzi_recurrent_states there = layer(ab, h, c, &w, false);
    adzi_recurrent_states back = layer(ba, h, c, &w, true);
    assert_true(adz_equal(adz_select(there.y, 0, 0), adz_select(back.y, 0, 1)));
    assert_true(adz_equal(adz_select(there.y, 0, 1), adz_select(back.y, 0, 0)));
    assert_true(adz_equal(there.h, back.h));
    assert_true(adz_equal(there.c, back.c));
}

/* One step of the operator as plain loops, with which every group of rows and every panel of
 * columns is compared. */
static adz_tensor *by_hand(
    adz_tensor *x, adz_tensor *h, adz_tensor *c, const adzi_recurrent_weights *w)
{
    adz_tensor *gate[4], *steps[3];
    for (int t = 0; t < 3; ++t) {
        adz_tensor *sums = adz_add(
            adz_linear(adz_select(x, 0, t), w->ih, w->bias_ih), adz_linear(h, w->hh, w->bias_hh));
        adz_chunk(sums, 4, 1, gate, NULL);
        c = adz_add(
            adz_mul(adz_sigmoid(gate[1]), c), adz_mul(adz_sigmoid(gate[0]), adz_tanh(gate[2])));
        steps[t] = h = adz_mul(adz_sigmoid(gate[3]), adz_tanh(c));
    }
    return adz_stack(steps, 3, 0);
}

FACT(any_batch_and_any_width_are_the_steps_written_out)
{
    adz_manual_seed(6);
    const int64_t batches[] = { 1, 3, 7, 16, 29 }, widths[] = { 1, 8, 13, 37 };
    for (int i = 0; i < 20; ++i) {
        int64_t b = batches[i / 4], n = widths[i % 4];
        adz_tensor *x = adz_randn(ADZ_SHAPE(3, b, 5), ADZ_F64);
        adz_tensor *h = adz_randn(ADZ_SHAPE(b, n), ADZ_F64),
                   *c = adz_randn(ADZ_SHAPE(b, n), ADZ_F64);
        adzi_recurrent_weights w = draw_weights(5, n);
        adz_tensor *leaves[] = { x, h, c, w.ih, w.hh, w.bias_ih, w.bias_hh };
        for (int k = 0; k < 7; ++k) {
            adz_requires_grad_(leaves[k], true);
        }
        adz_tensor *y = layer(x, h, c, &w, false).y, *same = by_hand(x, h, c, &w);
        assert_true(adz_allclose(y, same, 1e-12, 1e-13, false));
        for (int k = 0; k < 7; ++k) {
            adz_tensor *g = gradient_of(adz_square(same), leaves[k]);
            assert_true(
                adz_allclose(gradient_of(adz_square(y), leaves[k]), g, 1e-11, 1e-12, false));
        }
    }
}

/* A path from one input to another, outside the operator, must not count twice in second
 * gradients. */
static int related(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    adz_tensor *x = adz_mul(in[0], in[0]);
    adz_tensor *h0 = adz_slice(adz_select(x, 0, 0), 1, 0, 1, 1);
    adzi_recurrent_weights w = { in[1], adz_slice(in[1], 1, 0, 1, 1), ADZ_NONE, ADZ_NONE };
    adzi_recurrent_states s = layer(x, h0, adz_mul(h0, h0), &w, false);
    out[0] = s.y;
    return s.y != NULL;
}

FACT(inputs_that_depend_on_each_other)
{
    adz_manual_seed(5);
    adz_tensor *in[] = { adz_requires_grad_(adz_randn(ADZ_SHAPE(2, 2, 4), ADZ_F64), true),
        adz_requires_grad_(adz_randn(ADZ_SHAPE(4, 4), ADZ_F64), true) };
    adz_gradcheck_function f = { related, NULL };
    if (adz_gradcheck(&f, in, 2, NULL, NULL) != ADZ_OK ||
        adz_gradgradcheck(&f, in, 2, NULL, NULL) != ADZ_OK) {
        fail_msg("%s", adz_error_message());
    }
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(gates_keep_or_replace_the_cell),
    cmocka_unit_test(reverse_is_the_sequence_turned_round),
    cmocka_unit_test(any_batch_and_any_width_are_the_steps_written_out),
    cmocka_unit_test(inputs_that_depend_on_each_other),
};

const op_case lstm_layer_case = {
    .name = "lstm_layer",
    .call = call,
    .samples = {
        { .in = { IN(3, 2, 3), IN(2, 2), IN(2, 2), IN(8, 3), IN(8, 2), IN(8), IN(8) }, .p = { 0 } },
        { .in = { IN(3, 2, 3), IN(2, 2), IN(2, 2), IN(8, 3), IN(8, 2), IN(8), IN(8) }, .p = { 1 } },
        { .in = { IN_T(2, 3, 2), IN_T(3, 1), IN(3, 1), IN_T(4, 2), IN_T(4, 1), IN_NONE, IN_NONE }, .p = { 0 } },
        { .in = { IN(1, 2, 1), IN(2, 3), IN(2, 3), IN(12, 1), IN(12, 3), IN_NONE, IN(12) }, .p = { 1 } },
        { .in = { IN(2, 0, 3), IN(0, 2), IN(0, 2), IN(8, 3), IN(8, 2), IN(8), IN_NONE }, .p = { 0 } },
        { .in = { IN(2, 1, 3), IN_CONST(1, 2), IN_CONST(1, 2), IN(8, 3), IN(8, 2), IN_NONE, IN_NONE }, .p = { 0 } },
        { .in = { IN_CONST(4, 2, 3), IN(2, 2), IN(2, 2), IN_CONST(8, 3), IN_CONST(8, 2), IN_CONST(8), IN(8) }, .p = { 0 } },
        { .in = { IN(1, 5, 2), IN(5, 1), IN(5, 1), IN(4, 2), IN_CONST(4, 1), IN(4), IN_CONST(4) }, .p = { 0 } },
        { .in = { IN(3, 4, 2), IN(4, 2), IN(4, 2), IN(8, 2), IN(8, 2), IN(8), IN(8), IN_INDEX(3, 4) }, .p = { 0 } },
        { .in = { IN(3, 4, 2), IN(4, 2), IN(4, 2), IN(8, 2), IN(8, 2), IN(8), IN_NONE, IN_INDEX(3, 4) }, .p = { 1 } },
        { .in = { IN(6, 29, 3), IN(29, 17), IN(29, 17), IN(68, 3), IN(68, 17), IN(68), IN(68), IN_INDEX(6, 29) }, .p = { 1 }, .large = true },
        /* Groups of every width, more columns than are multiplied at a time, parts of a vector. */
        { .in = { IN(2, 29, 3), IN(29, 131), IN(29, 131), IN(524, 3), IN(524, 131), IN(524), IN(524) }, .p = { 0 }, .large = true },
        { .in = { IN(3, 15, 2), IN(15, 33), IN(15, 33), IN(132, 2), IN(132, 33), IN_NONE, IN(132) }, .p = { 1 }, .large = true },
        { .in = { IN(2, 5, 2), IN(5, 15), IN(5, 15), IN(60, 2), IN(60, 15), IN(60), IN_NONE }, .p = { 1 }, .large = true },
    },
    .rejects = {
        { .in = { IN(3, 2, 3), IN(2, 3), IN(2, 2), IN(8, 3), IN(8, 2), IN(8), IN(8) }, .status = ADZ_ERR_SHAPE, .says = "[B, H]" },
        { .in = { IN(3, 2, 3), IN(2, 2), IN(2, 2), IN(8, 2), IN(8, 2), IN(8), IN(8) }, .status = ADZ_ERR_SHAPE, .says = "weight_ih[8, 2]" },
        { .in = { IN(0, 2, 3), IN(2, 2), IN(2, 2), IN(8, 3), IN(8, 2), IN(8), IN(8) }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3, 2, 3), IN(2, 2), IN(2, 2), IN(8, 3), IN_TYPED(ADZ_F32, 8, 2), IN(8), IN(8) }, .status = ADZ_ERR_DTYPE },
        { .in = { IN(3, 2, 3), IN(2, 2), IN(2, 2), IN(8, 3), IN(8, 2), IN(8), IN(8), IN_INDEX(3, 3) }, .status = ADZ_ERR_SHAPE, .says = "lengths [B]" },
        { .in = { IN(3, 2, 3), IN(2, 2), IN(2, 2), IN(8, 3), IN(8, 2), IN(8), IN(8), IN(2) }, .status = ADZ_ERR_DTYPE, .says = "int64" },
        { .in = { IN_TYPED(ADZ_I64, 3, 2, 3), IN(2, 2), IN(2, 2), IN(8, 3), IN(8, 2), IN(8), IN(8) }, .status = ADZ_ERR_DTYPE },
    },
    FACTS(facts),
};
