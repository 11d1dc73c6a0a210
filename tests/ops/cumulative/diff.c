#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_diff(a->in[0], (int64_t)a->p[0], (int)a->p[1]), out);
}

FACT(integers_and_bools)
{
    ASSERT_VALUES(adz_diff(VALUES(ADZ_I64, 1, 4, 9, 16), 2, 0), ADZ_I64, 2, 2);
    ASSERT_VALUES(adz_diff(VALUES(ADZ_BOOL, 1, 1, 0), 1, 0), ADZ_BOOL, 0, 1);
    assert_int_equal(adz_tensor_numel(adz_diff(VALUES(ADZ_F32, 1, 4), 5, 0)), 0);
    ASSERT_REFUSED(adz_diff(VALUES(ADZ_F32, 1, 4), -1, 0), ADZ_ERR_ARGUMENT, "0 or more");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(integers_and_bools),
};

const op_case diff_case = {
    .name = "diff",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) }, .p = { 1, 1 } },
        { .in = { IN_T(5, 3) }, .p = { 2, 0 } },
        { .in = { IN(2, 3, 2) }, .p = { 1, -2 } },
        { .in = { IN(1) }, .p = { 1, 0 } },
        { .in = { IN(0, 3) }, .p = { 1, 1 } },
        { .in = { IN(4) }, .p = { 0, 0 } },
    },
    .rejects = {
        { .in = { IN(3) }, .p = { 1, 1 }, .status = ADZ_ERR_DIM },
        { .in = { IN_0 }, .p = { 1, 0 }, .status = ADZ_ERR_SHAPE, .says = "scalar" },
    },
    .inputs = { "x" },
    .first_order_only = true,
    FACTS(facts),
};
