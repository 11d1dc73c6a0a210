#include "ops/recurrent/recurrent_layer.h"

#include "ops/facts.h"

/* p[0] = reverse. The sample's lengths are one too small, because indices begin at 0. */
static int call(const op_args *a, adz_tensor **out)
{
    adzi_recurrent_input in = { .x = a->in[0],
        .h0 = a->in[1],
        .w = { a->in[2], a->in[3], a->in[4], a->in[5] },
        .reverse = a->p[0] != 0 };
    in.lengths = a->n > 6 ? adz_add_number(a->in[6], 1) : ADZ_NONE;
    adzi_recurrent_states s = adzi_recurrent_layer(&adzi_gru_cell, &in);
    out[0] = s.y;
    out[1] = s.h;
    return s.y != NULL ? 2 : 0;
}

/* With the update gate open the state stays. With both gates closed the new state is tanh of the
 * part of x. With the reset gate open, the part of h counts as well. */
FACT(gates_keep_or_replace_the_state)
{
    const double big = 1000;
    const double rows[3][3] = { { 0, big, 5 }, { -big, -big, 0.25 }, { big, -big, 0.25 } };
    const double wanted[3] = { 0.5, tanh(0.25), tanh(0.25 + 3 * 0.5) };
    adz_tensor *h0 = adz_full(ADZ_SHAPE(1, 1), 0.5, ADZ_F64);
    adz_tensor *x = adz_ones(ADZ_SHAPE(1, 1, 1), ADZ_F64);
    double of_h[] = { 0, 0, 3 };
    adz_tensor *hh = adz_tensor_from(of_h, ADZ_SHAPE(3, 1), ADZ_F64);
    for (int i = 0; i < 3; ++i) {
        adzi_recurrent_input in = { .x = x,
            .h0 = h0,
            .lengths = ADZ_NONE,
            .w = { adz_tensor_from(rows[i], ADZ_SHAPE(3, 1), ADZ_F64), hh, ADZ_NONE, ADZ_NONE } };
        assert_float_equal(adz_item(adzi_recurrent_layer(&adzi_gru_cell, &in).h), wanted[i], 1e-15);
    }
}

/* Each row's results are those of the row alone, cut to its length, and 0 after it. */
FACT(rows_end_at_their_lengths)
{
    adz_manual_seed(3);
    const int64_t lengths[] = { 4, 1, 5, 2, 5, 3 };
    adz_tensor *x = adz_randn(ADZ_SHAPE(5, 6, 3), ADZ_F64),
               *h0 = adz_randn(ADZ_SHAPE(6, 2), ADZ_F64);
    for (int reverse = 0; reverse < 2; ++reverse) {
        adzi_recurrent_input in = { .x = x,
            .h0 = h0,
            .lengths = adz_tensor_from(lengths, ADZ_SHAPE(6), ADZ_I64),
            .w = { adz_randn(ADZ_SHAPE(6, 3), ADZ_F64), adz_randn(ADZ_SHAPE(6, 2), ADZ_F64),
                adz_randn(ADZ_SHAPE(6), ADZ_F64), adz_randn(ADZ_SHAPE(6), ADZ_F64) },
            .reverse = reverse != 0 };
        adzi_recurrent_states all = adzi_recurrent_layer(&adzi_gru_cell, &in);
        for (int64_t b = 0; b < 6; ++b) {
            adzi_recurrent_input one = in;
            one.x = adz_narrow(adz_narrow(x, 1, b, 1), 0, 0, lengths[b]);
            one.h0 = adz_narrow(h0, 0, b, 1);
            one.lengths = ADZ_NONE;
            adzi_recurrent_states alone = adzi_recurrent_layer(&adzi_gru_cell, &one);
            adz_tensor *y = adz_narrow(all.y, 1, b, 1);
            assert_true(
                adz_allclose(adz_narrow(y, 0, 0, lengths[b]), alone.y, 1e-13, 1e-14, false));
            assert_true(adz_allclose(adz_narrow(all.h, 0, b, 1), alone.h, 1e-13, 1e-14, false));
            adz_tensor *rest = adz_narrow(y, 0, lengths[b], 5 - lengths[b]);
            assert_true(adz_equal(rest, adz_zeros_like(rest)));
        }
    }
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(gates_keep_or_replace_the_state),
    cmocka_unit_test(rows_end_at_their_lengths),
};

const op_case gru_layer_case = {
    .name = "gru_layer",
    .call = call,
    .samples = {
        { .in = { IN(3, 2, 3), IN(2, 2), IN(6, 3), IN(6, 2), IN(6), IN(6) }, .p = { 0 } },
        { .in = { IN(3, 2, 3), IN(2, 2), IN(6, 3), IN(6, 2), IN(6), IN(6) }, .p = { 1 } },
        { .in = { IN_T(2, 3, 2), IN_T(3, 1), IN_T(3, 2), IN_T(3, 1), IN_NONE, IN_NONE }, .p = { 0 } },
        { .in = { IN(1, 2, 1), IN(2, 3), IN(9, 1), IN(9, 3), IN_NONE, IN(9) }, .p = { 1 } },
        { .in = { IN(2, 0, 3), IN(0, 2), IN(6, 3), IN(6, 2), IN(6), IN_NONE }, .p = { 0 } },
        { .in = { IN_CONST(4, 2, 3), IN(2, 2), IN_CONST(6, 3), IN_CONST(6, 2), IN_CONST(6), IN(6) }, .p = { 0 } },
        { .in = { IN(2, 5, 2), IN_CONST(5, 1), IN(3, 2), IN_CONST(3, 1), IN(3), IN_CONST(3) }, .p = { 0 } },
        { .in = { IN(3, 4, 2), IN(4, 2), IN(6, 2), IN(6, 2), IN(6), IN(6), IN_INDEX(3, 4) }, .p = { 0 } },
        { .in = { IN(3, 4, 2), IN(4, 2), IN(6, 2), IN(6, 2), IN(6), IN_NONE, IN_INDEX(3, 4) }, .p = { 1 } },
        /* Groups of every width, more columns than are multiplied at a time, parts of a vector. */
        { .in = { IN(2, 29, 3), IN(29, 131), IN(393, 3), IN(393, 131), IN(393), IN(393) }, .p = { 0 }, .large = true },
        { .in = { IN(3, 15, 2), IN(15, 33), IN(99, 2), IN(99, 33), IN_NONE, IN(99) }, .p = { 1 }, .large = true },
        { .in = { IN(2, 5, 2), IN(5, 15), IN(45, 2), IN(45, 15), IN(45), IN_NONE }, .p = { 1 }, .large = true },
        { .in = { IN(6, 29, 3), IN(29, 17), IN(51, 3), IN(51, 17), IN(51), IN(51), IN_INDEX(6, 29) }, .p = { 1 }, .large = true },
    },
    .rejects = {
        { .in = { IN(3, 2, 3), IN(3, 2), IN(6, 3), IN(6, 2), IN(6), IN(6) }, .status = ADZ_ERR_SHAPE, .says = "[B, H]" },
        { .in = { IN(3, 2, 3), IN(2, 2), IN(6, 2), IN(6, 2), IN(6), IN(6) }, .status = ADZ_ERR_SHAPE, .says = "weight_ih[6, 2]" },
        { .in = { IN(3, 2, 3), IN(2, 2), IN(6, 3), IN(7, 2), IN(6), IN(6) }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3, 2, 3), IN(2, 2), IN(6, 3), IN(6, 2), IN(7), IN(6) }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3, 2, 3), IN(2, 2), IN(6, 3), IN(6, 2), IN(6), IN(7) }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(0, 2, 3), IN(2, 2), IN(6, 3), IN(6, 2), IN(6), IN(6) }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3, 2, 3), IN(2, 2), IN(6, 3), IN(6, 2), IN(6), IN(6), IN_INDEX(3, 3) }, .status = ADZ_ERR_SHAPE, .says = "lengths [B]" },
        { .in = { IN(3, 2, 3), IN(2, 2), IN(6, 3), IN(6, 2), IN(6), IN(6), IN(2) }, .status = ADZ_ERR_DTYPE, .says = "int64" },
        { .in = { IN(3, 2, 3), IN(2, 2), IN(6, 3), IN_TYPED(ADZ_F32, 6, 2), IN(6), IN(6) }, .status = ADZ_ERR_DTYPE },
        { .in = { IN_TYPED(ADZ_I64, 3, 2, 3), IN(2, 2), IN(6, 3), IN(6, 2), IN(6), IN(6) }, .status = ADZ_ERR_DTYPE },
    },
    FACTS(facts),
};
