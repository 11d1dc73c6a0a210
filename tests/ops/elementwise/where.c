#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_where(a->in[0], a->in[1], a->in[2]), out);
}

FACT(dtypes_promote)
{
    adz_tensor *c = VALUES(ADZ_BOOL, 1, 0, 1), *i = VALUES(ADZ_I32, 1, 2, 3);
    ASSERT_VALUES(adz_where(c, i, VALUES(ADZ_I64, 7, 8, 9)), ADZ_I64, 1, 8, 3);
    ASSERT_VALUES(adz_where(c, i, VALUES(ADZ_F32, 0.5, 0.5, 0.5)), ADZ_F32, 1, 0.5, 3);
    ASSERT_VALUES(adz_where(c, i, adz_scalar(4, ADZ_I64)), ADZ_I32, 1, 4, 3);
    ASSERT_VALUES(adz_where(c, c, VALUES(ADZ_BOOL, 0, 0, 0)), ADZ_BOOL, 1, 0, 1);
    ASSERT_VALUES(adz_where(c, VALUES(ADZ_U8, 1, 2, 3), VALUES(ADZ_U8, 4, 5, 6)), ADZ_U8, 1, 5, 3);
}

/* The gradient of the side that is not chosen is 0, and not NaN from 0 times infinity. */
FACT(the_other_side_may_be_nan)
{
    adz_tensor *c = VALUES(ADZ_BOOL, 1, 0), *a = LEAF(1, NAN), *b = LEAF(INFINITY, 2);
    adz_tensor *y = adz_where(c, a, b), *up = VALUES(ADZ_F64, INFINITY, NAN), *g = NULL;
    ASSERT_VALUES(y, ADZ_F64, 1, 2);
    assert_int_equal(adz_autograd_grad(&y, &up, 1, &a, 1, NULL, &g), ADZ_OK);
    ASSERT_VALUES(g, ADZ_F64, INFINITY, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(dtypes_promote),
    cmocka_unit_test(the_other_side_may_be_nan),
};

const op_case where_case = {
    .name = "where",
    .call = call,
    .samples = {
        { .in = { IN_MASK(3, 4), IN(3, 4), IN(3, 4) } },
        { .in = { IN_MASK(3, 4), IN_T(3, 4), IN(4) } },
        { .in = { IN_MASK(3), IN(2, 1, 3), IN(4, 1) } },
        { .in = { IN_MASK(2, 5), IN_0, IN(2, 5) } },
        { .in = { IN_MASK(1, 1), IN(3, 0), IN(1) } },
        { .in = { IN_MASK(1), IN(1), IN(1) } },
        { .in = { IN_MASK(7), IN_CONST(7), IN(7) } },
    },
    .rejects = {
        { .in = { IN_MASK(3), IN(3, 4), IN(4) }, .status = ADZ_ERR_SHAPE, .says = "[3]" },
        { .in = { IN_TYPED(ADZ_U8, 3), IN(3), IN(3) }, .status = ADZ_ERR_DTYPE, .says = "bool" },
        { .in = { IN_MASK(3), IN_TYPED(ADZ_F16, 3), IN(3) }, .status = ADZ_ERR_DTYPE,
            .says = "adz_to" },
    },
    .broadcasts = true,
    .first_order_only = true,
    .vectors = { "where" },
    .inputs = { "cond", "a", "b" },
    FACTS(facts),
};
