#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    adz_tensor *x = a->p[0] == 1 ? a->in[1] : ADZ_NONE;
    return case_one(adz_trapezoid(a->in[0], x, a->p[0] == 1 ? 1 : a->p[2], (int)a->p[1]), out);
}

FACT(values)
{
    adz_tensor *y = VALUES(ADZ_F64, 1, 3, 5);
    adz_tensor *x = VALUES(ADZ_F64, 0, 1, 4);
    assert_true(adz_item(adz_trapezoid(y, ADZ_NONE, 2, 0)) == 12);
    assert_true(adz_item(adz_trapezoid(y, x, 1, 0)) == 14);
    assert_true(adz_item(adz_trapezoid(VALUES(ADZ_F64, 7), ADZ_NONE, 2, 0)) == 0);
    ASSERT_REFUSED(adz_trapezoid(y, x, 2, 0), ADZ_ERR_ARGUMENT, "dx is 2");
}

/* Neither the sum of two elements nor the distance of two positions may overflow, and no result is
 * rounded more often than the sum. */
FACT(values_at_the_ends_of_the_range)
{
    adz_tensor *y = VALUES(ADZ_F64, 0x1p1023, 0x1p1023, 0x1p1023, 0x1p1023);
    assert_true(adz_item(adz_trapezoid(y, ADZ_NONE, 0x1p-20, 0)) == 0x3p1003);
    adz_tensor *x = VALUES(ADZ_F64, 0, 0x1p-20, 0x2p-20, 0x3p-20);
    assert_true(adz_item(adz_trapezoid(y, x, 1, 0)) == 0x3p1003);
    adz_tensor *far = VALUES(ADZ_F64, -0x1p1023, 0x1p1023),
               *low = VALUES(ADZ_F64, 0x1p-30, 0x1p-30);
    assert_true(adz_item(adz_trapezoid(low, far, 1, 0)) == 0x1p994);
    assert_true(adz_item(adz_trapezoid(VALUES(ADZ_F64, 3, 5), VALUES(ADZ_I64, 2, 5), 1, 0)) == 12);
    const double odd = (0.1 + 0.7) * (0.3 / 2);
    assert_true(adz_item(adz_trapezoid(VALUES(ADZ_F64, 0.1, 0.7), ADZ_NONE, 0.3, 0)) == odd);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(values_at_the_ends_of_the_range),
    cmocka_unit_test(values),
};

const op_case trapezoid_case = {
    .name = "trapezoid",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) }, .p = { 0, 1, 0.5 } },
        { .in = { IN_T(3, 4) }, .p = { 0, 0, 2 } },
        { .in = { IN(2, 3, 2), IN(3) }, .p = { 1, 1 } },
        { .in = { IN(2, 4), IN(2, 4) }, .p = { 1, -1 } },
        { .in = { IN(2, 4), IN(4) }, .p = { 1, -1 } },
        { .in = { IN(1) }, .p = { 0, 0, 1 } },
        { .in = { IN(0, 3) }, .p = { 0, 1, 1 } },
    },
    .rejects = {
        { .in = { IN(3) }, .p = { 0, 1, 1 }, .status = ADZ_ERR_DIM },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 0, 0, 1 }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
        { .in = { IN(2, 3), IN(2, 1) }, .p = { 1, 1 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN_0 }, .p = { 0, 0, 1 }, .status = ADZ_ERR_SHAPE, .says = "scalar" },
        { .in = { IN(3), IN(4) }, .p = { 1, 0 }, .status = ADZ_ERR_SHAPE, .says = "3 positions" },
    },
    .inputs = { "y", "x" },
    FACTS(facts),
};
