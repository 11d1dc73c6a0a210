#include "ops/facts.h"

/* p[0] = 1: with the number p[1] as weight */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(a->p[0] == 1 ? adz_lerp_number(a->in[0], a->in[1], a->p[1])
                                 : adz_lerp(a->in[0], a->in[1], a->in[2]),
        out);
}

FACT(both_ends_are_exact)
{
    adz_tensor *a = LEAF(0.1, 0.1, 0.1), *b = LEAF(1e17, 1e17, 3), *w = LEAF(0, 1, 2);
    ASSERT_VALUES(adz_lerp(a, b, w), ADZ_F64, 0.1, 1e17, 3 + (3 - 0.1));
    ASSERT_VALUES(adz_lerp_number(a, b, 1), ADZ_F64, 1e17, 1e17, 3);
    ASSERT_VALUES(adz_lerp_number(a, b, 0), ADZ_F64, 0.1, 0.1, 0.1);
}

FACT(infinite_ends)
{
    const double inf = (double)INFINITY;
    adz_tensor *a = LEAF(0, 0), *b = LEAF(inf, inf), *w = LEAF(0.25, 0.75), *y = adz_lerp(a, b, w);
    ASSERT_VALUES(gradient_of(y, w), ADZ_F64, inf, inf);
    ASSERT_VALUES(gradient_of(y, a), ADZ_F64, 0.75, 0.25);
    ASSERT_VALUES(gradient_of(y, b), ADZ_F64, 0.25, 0.75);
    const double most = 0x1p1023, nan = (double)NAN;
    a = LEAF(2, -inf, most, most, inf, nan, -inf), b = LEAF(inf, 5, -most, -most, inf, 1, inf);
    w = LEAF(0, 1, 0.5, 0, 0.25, 0, 0.5);
    ASSERT_VALUES(adz_lerp(a, b, w), ADZ_F64, 2, 5, 0, most, inf, nan, nan);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(both_ends_are_exact),
    cmocka_unit_test(infinite_ends),
};

const op_case lerp_case = {
    .name = "lerp",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(3, 4), IN(3, 4) } },
        { .in = { IN_T(3, 4), IN(4), IN_0 } },
        { .in = { IN(2, 1, 3), IN(4, 1), IN(3) } },
        { .in = { IN(0, 3), IN(1, 3), IN(1) } },
        { .in = { IN(3, 4), IN(4) }, .p = { 1, 0.3 } },
        { .in = { IN(1), IN(1) }, .p = { 1, 0.8 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3), IN(1) }, .status = ADZ_ERR_SHAPE },
        { .in = { IN_TYPED(ADZ_F16, 3), IN(3), IN(1) }, .status = ADZ_ERR_DTYPE },
        { .in = { IN_TYPED(ADZ_I64, 3), IN(3), IN(1) }, .status = ADZ_ERR_DTYPE, .says = "int64" },
    },
    .broadcasts = true,
    .inputs = { "start", "end", "weight" },
    FACTS(facts),
};
