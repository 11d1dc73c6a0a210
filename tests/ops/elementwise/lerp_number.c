#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_lerp_number(a->in[0], a->in[1], a->p[0]), out);
}

FACT(both_ends_are_exact)
{
    adz_tensor *a = LEAF(0.1, 0.1, 0.1), *b = LEAF(1e17, 1e17, 3);
    ASSERT_VALUES(adz_lerp_number(a, b, 1), ADZ_F64, 1e17, 1e17, 3);
    ASSERT_VALUES(adz_lerp_number(a, b, 0), ADZ_F64, 0.1, 0.1, 0.1);
}

FACT(infinite_and_opposite_ends)
{
    const double inf = (double)INFINITY, nan = (double)NAN, most = 0x1p1023;
    adz_tensor *a = LEAF(2, -inf, most, inf, nan, -inf), *b = LEAF(inf, 5, -most, inf, 1, inf);
    ASSERT_VALUES(adz_lerp_number(a, b, 0), ADZ_F64, 2, -inf, most, inf, nan, -inf);
    ASSERT_VALUES(adz_lerp_number(a, b, 1), ADZ_F64, inf, 5, -most, inf, nan, inf);
    ASSERT_VALUES(adz_lerp_number(a, b, 0.5), ADZ_F64, inf, -inf, 0, inf, nan, nan);
    adz_tensor *y = adz_lerp_number(a, b, 0.25);
    ASSERT_VALUES(y, ADZ_F64, inf, -inf, most / 2, inf, nan, nan);
    ASSERT_VALUES(gradient_of(y, a), ADZ_F64, 0.75, 0.75, 0.75, 0.75, 0.75, 0.75);
    ASSERT_VALUES(gradient_of(y, b), ADZ_F64, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(both_ends_are_exact),
    cmocka_unit_test(infinite_and_opposite_ends),
};

const op_case lerp_number_case = {
    .name = "lerp_number",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(3, 4) }, .p = { 0.3 } },
        { .in = { IN_T(3, 4), IN(4) }, .p = { 0.8 } },
        { .in = { IN(2, 1, 3), IN(4, 1) }, .p = { -2 } },
        { .in = { IN(0, 3), IN(1, 3) }, .p = { 0.5 } },
        { .in = { IN_0, IN(2, 2) }, .p = { 0 } },
        { .in = { IN(1), IN(1) }, .p = { 1 } },
        { .in = { IN(37), IN_CONST(37) }, .p = { 0.6 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" },
        { .in = { IN_TYPED(ADZ_F16, 3), IN(3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
        { .in = { IN_TYPED(ADZ_I64, 3), IN(3) }, .status = ADZ_ERR_DTYPE, .says = "int64" },
    },
    .broadcasts = true,
    .inputs = { "start", "end" },
    FACTS(facts),
};
