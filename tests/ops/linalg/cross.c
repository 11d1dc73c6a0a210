#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_cross(a->in[0], a->in[1], (int)a->p[0]), out);
}

FACT(axes)
{
    ASSERT_VALUES(
        adz_cross(VALUES(ADZ_I64, 1, 0, 0), VALUES(ADZ_I64, 0, 1, 0), 0), ADZ_I64, 0, 0, 1);
    ASSERT_VALUES(
        adz_cross(VALUES(ADZ_F64, 1, 2, 3), VALUES(ADZ_F64, 4, 5, 6), -1), ADZ_F64, -3, 6, -3);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(axes),
};

const op_case cross_case = {
    .name = "cross",
    .call = call,
    .samples = {
        { .in = { IN(4, 3), IN(4, 3) }, .p = { 1 } },
        { .in = { IN_T(3, 4), IN(3, 1) }, .p = { 0 } },
        { .in = { IN(3), IN(3) }, .p = { -1 } },
        { .in = { IN(0, 3), IN(1, 3) }, .p = { 1 } },
        { .in = { IN(2, 3, 1), IN(1, 3, 2) }, .p = { 1 } },
        { .in = { IN(1, 3), IN(1, 3) }, .p = { 1 } },
    },
    .rejects = {
        { .in = { IN(4), IN(4) }, .p = { 0 }, .status = ADZ_ERR_SHAPE, .says = "3 elements" },
        { .in = { IN(2, 3), IN(3) }, .p = { 0 }, .status = ADZ_ERR_SHAPE, .says = "same number" },
        { .in = { IN(3), IN(3) }, .p = { 1 }, .status = ADZ_ERR_DIM },
    },
    .inputs = { "a", "b" },
    .broadcasts = true,
    FACTS(facts),
};
