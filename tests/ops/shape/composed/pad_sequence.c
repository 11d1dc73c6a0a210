#include "ops/facts.h"

/* p[0] = batch_first, p[1] = value, p[2] = left */
static int call(const op_args *a, adz_tensor **out)
{
    const double value = a->p[1] != 0 ? a->p[1] * case_units[0] : 0;
    return case_one(adz_pad_sequence(a->in, (size_t)a->n, a->p[0] != 0, value, a->p[2] != 0), out);
}

FACT(the_rest_is_filled)
{
    adz_tensor *in[] = { VALUES(ADZ_I64, 1, 2), VALUES(ADZ_I64, 3) };
    adz_tensor *y = adz_pad_sequence(in, 2, true, -1, false);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(4)), ADZ_I64, 1, 2, 3, -1);
    y = adz_pad_sequence(in, 2, false, -1, true);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(4)), ADZ_I64, 1, -1, 2, 3);
    ASSERT_REFUSED(adz_pad_sequence(in, 0, true, 0, false), ADZ_ERR_ARGUMENT, "");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(the_rest_is_filled),
};

const op_case pad_sequence_case = {
    .name = "pad_sequence",
    .call = call,
    .samples = {
        { .in = { IN(2, 3), IN(4, 3) }, .p = { 0, 0.5 } },
        { .in = { IN_T(2, 3), IN_T(1, 3), IN(3, 3) }, .p = { 1, 0 } },
        { .in = { IN(2), IN(3) }, .p = { 1, -1, 1 } },
        { .in = { IN(1) }, .p = { 1 } },
        { .in = { IN(0, 2), IN(2, 2) }, .p = { 1 } },
        { .in = { IN(3, 1, 2), IN(2, 1, 2) }, .p = { 0, 1, 1 } },
    },
    .rejects = {
        { .in = { IN(2, 3), IN(2, 4) }, .status = ADZ_ERR_SHAPE, .says = "sequence 1[2, 4]" },
        { .in = { IN_0 }, .status = ADZ_ERR_SHAPE, .says = "sequence 0" },
        { .in = { IN(2), IN_TYPED(ADZ_I64, 2) }, .status = ADZ_ERR_DTYPE, .says = "sequence 1 is int64" },
    },
    .first_order_only = true,
    .inputs = { LISTED("x") },
    FACTS(facts),
};
