#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_bitwise_not(a->in[0]), out);
}

FACT(every_dtype)
{
    ASSERT_VALUES(
        adz_bitwise_not(VALUES(ADZ_I64, 0, -1, 5, -0x1p63)), ADZ_I64, -1, 0, -6, 0x1p63 - 1);
    ASSERT_VALUES(adz_bitwise_not(VALUES(ADZ_I32, 0, 7)), ADZ_I32, -1, -8);
    ASSERT_VALUES(adz_bitwise_not(VALUES(ADZ_U8, 0, 200)), ADZ_U8, 255, 55);
    ASSERT_VALUES(adz_bitwise_not(VALUES(ADZ_BOOL, 1, 0)), ADZ_BOOL, 0, 1);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(every_dtype),
};

const op_case bitwise_not_case = {
    .name = "bitwise_not",
    .call = call,
    .samples = {
        { .in = { IN_INDEX(9, 3, 4) } },
        { .in = { { .rank = 2, .sizes = { 3, 4 }, .given = true, .fill = FILL_INDEX, .range = 9, .layout = LAYOUT_TRANSPOSED } } },
        { .in = { IN_MASK(2, 3) } },
        { .in = { IN_TYPED(ADZ_U8, 5) } },
        { .in = { IN_TYPED(ADZ_I32, 2, 1, 3) } },
        { .in = { IN_INDEX(9, 0, 3) } },
        { .in = { IN_INDEX_0(9) } },
    },
    .rejects = {
        { .in = { IN(3) }, .status = ADZ_ERR_DTYPE, .says = "must be an integer or bool" },
        { .in = { IN_TYPED(ADZ_F16, 3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
    },
    .not_differentiable = true,
    FACTS(facts),
};
