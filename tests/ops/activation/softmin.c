#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_softmin(a->in[0], (int)a->p[0]), out);
}

FACT(it_is_the_softmax_of_the_negative)
{
    adz_tensor *x =
        adz_reshape(VALUES(ADZ_F64, 1, -2, (double)INFINITY, 0, 3, 800), ADZ_SHAPE(2, 3));
    assert_true(adz_equal(adz_softmin(x, 1), adz_softmax(adz_neg(x), 1)));
    assert_true(adz_equal(adz_softmin(x, 0), adz_softmax(adz_neg(x), 0)));
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(it_is_the_softmax_of_the_negative),
};

const op_case softmin_case = {
    .name = "softmin",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) }, .p = { 1 } },
        { .in = { IN_T(3, 4) }, .p = { 0 } },
        { .in = { IN(2, 1, 3) }, .p = { -1 } },
        { .in = { IN(37) }, .p = { 0 } },
        { .in = { IN(0, 3) }, .p = { 1 } },
        { .in = { IN_0 }, .p = { 0 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 2 }, .status = ADZ_ERR_DIM },
        { .in = { IN_TYPED(ADZ_F16, 3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
    },
    .inputs = { "x" },
    FACTS(facts),
};
