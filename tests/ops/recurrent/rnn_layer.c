#include "ops/recurrent/recurrent_layer.h"

#include "ops/facts.h"

/* p[0] = reverse, p[1] = relu. The sample's lengths are one too small, because indices begin at 0.
 */
static int call(const op_args *a, adz_tensor **out)
{
    adzi_recurrent_input in = { .x = a->in[0],
        .h0 = a->in[1],
        .w = { a->in[2], a->in[3], a->in[4], a->in[5] },
        .reverse = a->p[0] != 0 };
    in.relu = a->p[1] != 0;
    in.lengths = a->n > 6 ? adz_add_number(a->in[6], 1) : ADZ_NONE;
    adzi_recurrent_states s = adzi_recurrent_layer(&adzi_rnn_cell, &in);
    out[0] = s.y;
    out[1] = s.h;
    return s.y != NULL ? 2 : 0;
}

/* relu cuts negative sums, tanh does not. */
FACT(both_functions)
{
    adz_tensor *x = adz_tensor_from((double[]){ 2, -3 }, ADZ_SHAPE(2, 1, 1), ADZ_F64);
    adz_tensor *one = adz_ones(ADZ_SHAPE(1, 1), ADZ_F64),
               *zero = adz_zeros(ADZ_SHAPE(1, 1), ADZ_F64);
    adzi_recurrent_input in = {
        .x = x, .h0 = zero, .lengths = ADZ_NONE, .w = { one, one, ADZ_NONE, ADZ_NONE }, .relu = true
    };
    ASSERT_VALUES(
        adz_reshape(adzi_recurrent_layer(&adzi_rnn_cell, &in).y, ADZ_SHAPE(-1)), ADZ_F64, 2, 0);
    in.relu = false;
    assert_float_equal(
        adz_item(adzi_recurrent_layer(&adzi_rnn_cell, &in).h), tanh(tanh(2.0) - 3), 1e-15);
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
            .w = { adz_randn(ADZ_SHAPE(2, 3), ADZ_F64), adz_randn(ADZ_SHAPE(2, 2), ADZ_F64),
                adz_randn(ADZ_SHAPE(2), ADZ_F64), adz_randn(ADZ_SHAPE(2), ADZ_F64) },
            .reverse = reverse != 0 };
        adzi_recurrent_states all = adzi_recurrent_layer(&adzi_rnn_cell, &in);
        for (int64_t b = 0; b < 6; ++b) {
            adzi_recurrent_input one = in;
            one.x = adz_narrow(adz_narrow(x, 1, b, 1), 0, 0, lengths[b]);
            one.h0 = adz_narrow(h0, 0, b, 1);
            one.lengths = ADZ_NONE;
            adzi_recurrent_states alone = adzi_recurrent_layer(&adzi_rnn_cell, &one);
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
    cmocka_unit_test(both_functions),
    cmocka_unit_test(rows_end_at_their_lengths),
};

const op_case rnn_layer_case = {
    .name = "rnn_layer",
    .call = call,
    .samples = {
        { .in = { IN(3, 2, 3), IN(2, 2), IN(2, 3), IN(2, 2), IN(2), IN(2) }, .p = { 0 } },
        { .in = { IN(3, 2, 3), IN(2, 2), IN(2, 3), IN(2, 2), IN(2), IN(2) }, .p = { 1 } },
        { .in = { IN_T(2, 3, 2), IN_T(3, 1), IN_T(1, 2), IN_T(1, 1), IN_NONE, IN_NONE }, .p = { 0 } },
        { .in = { IN(1, 2, 1), IN(2, 3), IN(3, 1), IN(3, 3), IN_NONE, IN(3) }, .p = { 1 } },
        { .in = { IN(2, 0, 3), IN(0, 2), IN(2, 3), IN(2, 2), IN(2), IN_NONE }, .p = { 0 } },
        { .in = { IN_CONST(4, 2, 3), IN(2, 2), IN_CONST(2, 3), IN_CONST(2, 2), IN_CONST(2), IN(2) }, .p = { 0 } },
        { .in = { IN(2, 5, 2), IN_CONST(5, 1), IN(1, 2), IN_CONST(1, 1), IN(1), IN_CONST(1) }, .p = { 0 } },
        { .in = { IN(3, 4, 2), IN(4, 2), IN(2, 2), IN(2, 2), IN(2), IN(2), IN_INDEX(3, 4) }, .p = { 0 } },
        { .in = { IN(3, 4, 2), IN(4, 2), IN(2, 2), IN(2, 2), IN(2), IN_NONE, IN_INDEX(3, 4) }, .p = { 1 } },
        { .in = { IN(3, 2, 3), IN(2, 2), IN(2, 3), IN(2, 2), IN(2), IN(2) }, .p = { 0, 1 } },
        { .in = { IN(5, 29, 2), IN(29, 33), IN(33, 2), IN(33, 33), IN(33), IN(33) }, .p = { 1, 1 }, .large = true },
        /* Groups of every width, more columns than are multiplied at a time, parts of a vector. */
        { .in = { IN(2, 29, 3), IN(29, 131), IN(131, 3), IN(131, 131), IN(131), IN(131) }, .p = { 0 }, .large = true },
        { .in = { IN(3, 15, 2), IN(15, 33), IN(33, 2), IN(33, 33), IN_NONE, IN(33) }, .p = { 1 }, .large = true },
        { .in = { IN(2, 5, 2), IN(5, 15), IN(15, 2), IN(15, 15), IN(15), IN_NONE }, .p = { 1 }, .large = true },
        { .in = { IN(6, 29, 3), IN(29, 17), IN(17, 3), IN(17, 17), IN(17), IN(17), IN_INDEX(6, 29) }, .p = { 1 }, .large = true },
    },
    .rejects = {
        { .in = { IN(3, 2, 3), IN(3, 2), IN(2, 3), IN(2, 2), IN(2), IN(2) }, .status = ADZ_ERR_SHAPE, .says = "[B, H]" },
        { .in = { IN(3, 2, 3), IN(2, 2), IN(2, 2), IN(2, 2), IN(2), IN(2) }, .status = ADZ_ERR_SHAPE, .says = "weight_ih[2, 2]" },
        { .in = { IN(3, 2, 3), IN(2, 2), IN(2, 3), IN(3, 2), IN(2), IN(2) }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3, 2, 3), IN(2, 2), IN(2, 3), IN(2, 2), IN(3), IN(2) }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3, 2, 3), IN(2, 2), IN(2, 3), IN(2, 2), IN(2), IN(3) }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(0, 2, 3), IN(2, 2), IN(2, 3), IN(2, 2), IN(2), IN(2) }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3, 2, 3), IN(2, 2), IN(2, 3), IN(2, 2), IN(2), IN(2), IN_INDEX(3, 3) }, .status = ADZ_ERR_SHAPE, .says = "lengths [B]" },
        { .in = { IN(3, 2, 3), IN(2, 2), IN(2, 3), IN(2, 2), IN(2), IN(2), IN(2) }, .status = ADZ_ERR_DTYPE, .says = "int64" },
        { .in = { IN(3, 2, 3), IN(2, 2), IN(2, 3), IN_TYPED(ADZ_F32, 2, 2), IN(2), IN(2) }, .status = ADZ_ERR_DTYPE },
        { .in = { IN_TYPED(ADZ_I64, 3, 2, 3), IN(2, 2), IN(2, 3), IN(2, 2), IN(2), IN(2) }, .status = ADZ_ERR_DTYPE },
    },
    FACTS(facts),
};
