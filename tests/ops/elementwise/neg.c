#include "ops/facts.h"

/* p[0] = 1: in place */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(a->p[0] == 1 ? adz_neg_(adz_clone(a->in[0])) : adz_neg(a->in[0]), out);
}

FACT(integers_wrap)
{
    ASSERT_VALUES(adz_neg(VALUES(ADZ_I32, 3, INT32_MIN)), ADZ_I32, -3, INT32_MIN);
    ASSERT_VALUES(adz_neg(VALUES(ADZ_U8, 1, 0)), ADZ_U8, 255, 0);
    assert_true(signbit(adz_item(adz_neg(VALUES(ADZ_F32, 0)))));
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(integers_wrap) };

const op_case neg_case = {
    .name = "neg",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) } },
        { .in = { IN_T(3, 4) } },
        { .in = { IN(1) } },
        { .in = { IN(2, 1, 3) } },
        { .in = { IN(0, 3) } },
        { .in = { IN_0 } },
        { .in = { IN(37) }, .p = { 1 } },
    },
    .rejects = {
        { .in = { IN_TYPED(ADZ_BOOL, 3) }, .status = ADZ_ERR_DTYPE, .says = "logical_not" },
        { .in = { IN_TYPED(ADZ_F16, 3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
    },
    .first_order_only = true,
    .vectors = { "neg" },
    .inputs = { "x" },
    FACTS(facts),
};
