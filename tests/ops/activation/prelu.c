#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_prelu(a->in[0], a->in[1]), out);
}

/* At 0 the slope decides, as in PyTorch. */
FACT(the_kink_and_nan)
{
    adz_tensor *x = LEAF(-2, 0, 3), *w = LEAF(0.25), *y = adz_prelu(x, w);
    ASSERT_VALUES(y, ADZ_F64, -0.5, 0, 3);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 0.25, 0.25, 1);
    ASSERT_VALUES(gradient_of(y, w), ADZ_F64, -2);
    ASSERT_VALUES(adz_prelu(VALUES(ADZ_F64, 1, (double)NAN), w), ADZ_F64, 1, (double)NAN);
}

FACT(infinite_slopes_do_not_reach_positive_elements)
{
    const double inf = (double)INFINITY;
    adz_tensor *x = LEAF(-2, inf, 3), *w = LEAF(inf), *y = adz_prelu(x, w);
    ASSERT_VALUES(y, ADZ_F64, -inf, inf, 3);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, inf, 1, 1);
    ASSERT_VALUES(gradient_of(y, w), ADZ_F64, -2);
}

FACT(channels_are_the_second_dimension)
{
    adz_tensor *x = adz_full(ADZ_SHAPE(1, 2, 2), -1, ADZ_F32);
    adz_tensor *y = adz_prelu(x, VALUES(ADZ_F32, 0.5, 2));
    ASSERT_VALUES(adz_flatten(y, 0, -1), ADZ_F32, -0.5, -0.5, -2, -2);
    /* A vector has one channel. */
    ASSERT_REFUSED(adz_prelu(VALUES(ADZ_F32, 1, 2), VALUES(ADZ_F32, 1, 2)), ADZ_ERR_SHAPE,
        "each of the 1 channels");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(the_kink_and_nan),
    cmocka_unit_test(infinite_slopes_do_not_reach_positive_elements),
    cmocka_unit_test(channels_are_the_second_dimension),
};

const op_case prelu_case = {
    .name = "prelu",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_AWAY, 3, 4), IN(4) } },
        { .in = { IN_T_OF(FILL_AWAY, 3, 2, 5), IN(2) } },
        { .in = { IN_OF(FILL_AWAY, 2, 3), IN(1) } },
        { .in = { IN_OF(FILL_AWAY, 6), IN_0 } },
        { .in = { IN_OF(FILL_AWAY, 0, 3), IN(3) } },
        { .in = { IN_OF(FILL_AWAY, 2, 3, 2, 2), IN(3) } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "weight[3] must have one" },
        { .in = { IN(3, 4), IN(1, 4) }, .status = ADZ_ERR_SHAPE },
        { .in = { IN_TYPED(ADZ_I64, 3), IN(1) }, .status = ADZ_ERR_DTYPE },
    },
    .inputs = { "x", "weight" },
    FACTS(facts),
};
