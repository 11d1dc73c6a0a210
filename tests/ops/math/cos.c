#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_cos(a->in[0]), out);
}

FACT(special_values)
{
    ASSERT_VALUES(adz_cos(VALUES(ADZ_F32, 0, INFINITY, NAN)), ADZ_F32, 1, NAN, NAN);
    ASSERT_VALUES(adz_cos(VALUES(ADZ_I64, 0, 0)), ADZ_F32, 1, 1);
}

FACT(large_arguments_are_reduced)
{
    adz_tensor *y = adz_cos(VALUES(ADZ_F64, 1e22));
    assert_float_equal(adz_item(y), 0.52321478539513894549, 1e-15);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(special_values),
    cmocka_unit_test(large_arguments_are_reduced),
};

const op_case cos_case = {
    .name = "cos",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) } },
        { .in = { IN_T(3, 4) } },
        { .in = { IN(1) } },
        { .in = { IN(2, 1, 3) } },
        { .in = { IN(0, 3) } },
        { .in = { IN_0 } },
        { .in = { IN(37) } },
    },
    .rejects = {
        { .in = { IN_TYPED(ADZ_F16, 3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
        { .in = { IN_TYPED(ADZ_BF16, 2, 2) }, .status = ADZ_ERR_DTYPE, .says = "[2, 2]" },
    },
    .vectors = { "cos" },
    .inputs = { "x" },
    FACTS(facts),
};
