#include "ops/facts.h"

/* p[0] = batch_first, p[1] = n, p[2] .. = lengths */
static int call(const op_args *a, adz_tensor **out)
{
    int64_t lengths[4];
    const size_t n = (size_t)a->p[1];
    for (size_t i = 0; i < n; ++i) {
        lengths[i] = (int64_t)a->p[2 + i];
    }
    return adz_unpad_sequence(a->in[0], lengths, n, a->p[0] != 0, out) == ADZ_OK ? (int)n : 0;
}

FACT(it_reverses_pad_sequence)
{
    adz_tensor *in[] = { VALUES(ADZ_I64, 1, 2), VALUES(ADZ_I64, 3) }, *out[2];
    const int64_t lengths[] = { 2, 1 };
    for (int first = 0; first < 2; ++first) {
        adz_tensor *padded = adz_pad_sequence(in, 2, first != 0, -1, false);
        assert_int_equal(adz_unpad_sequence(padded, lengths, 2, first != 0, out), ADZ_OK);
        ASSERT_VALUES(out[0], ADZ_I64, 1, 2);
        ASSERT_VALUES(out[1], ADZ_I64, 3);
    }
    out[0] = out[1] = in[0];
    assert_int_equal(adz_unpad_sequence(in[0], lengths, 2, true, out), ADZ_ERR_SHAPE);
    assert_true(out[0] == NULL && out[1] == NULL);
    adz_error_clear();
    assert_int_equal(adz_unpad_sequence(in[0], NULL, 2, true, out), ADZ_ERR_NULL);
    adz_error_clear();
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(it_reverses_pad_sequence),
};

const op_case unpad_sequence_case = {
    .name = "unpad_sequence",
    .call = call,
    .samples = {
        { .in = { IN(2, 4, 3) }, .p = { 1, 2, 4, 2 } },
        { .in = { IN_T(4, 3) }, .p = { 0, 3, 4, 0, 1 } },
        { .in = { IN(2, 2) }, .p = { 1, 2, 1, 2 } },
        { .in = { IN(1, 3) }, .p = { 1, 1, 2 } },
        { .in = { IN(2, 0) }, .p = { 1, 2, 0, 0 } },
        { .in = { IN(3, 2, 1, 2) }, .p = { 0, 2, 3, 1 } },
    },
    .rejects = {
        { .in = { IN(2, 3) }, .p = { 1, 3, 1, 1, 1 }, .status = ADZ_ERR_SHAPE, .says = "3 sequences" },
        { .in = { IN(2, 3) }, .p = { 1, 2, 1, 4 }, .status = ADZ_ERR_ARGUMENT, .says = "length 1 is 4" },
        { .in = { IN(2, 3) }, .p = { 1, 2, -1, 2 }, .status = ADZ_ERR_ARGUMENT },
    },
    .first_order_only = true,
    .inputs = { "x" },
    FACTS(facts),
};
