#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_corrcoef(a->in[0]), out);
}

FACT(from_minus_one_to_one)
{
    adz_tensor *x = adz_reshape(VALUES(ADZ_F64, 0, 1, 2, 4, 2, 0), ADZ_SHAPE(2, 3));
    static const double wanted[] = { 1, -1, -1, 1 };
    adz_tensor *y = adz_reshape(adz_corrcoef(x), ADZ_SHAPE(4));
    for (int64_t i = 0; i < 4; ++i) {
        assert_true(fabs(adz_tensor_at(y, &i) - wanted[i]) < 1e-15);
    }
    assert_true(fabs(adz_item(adz_corrcoef(VALUES(ADZ_F64, 1, 5))) - 1) < 1e-15);
    assert_true(isnan(adz_item(adz_corrcoef(VALUES(ADZ_F64, 1, 1)))));
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(from_minus_one_to_one),
};

const op_case corrcoef_case = {
    .name = "corrcoef",
    .call = call,
    .samples = {
        { .in = { IN(3, 5) } },
        { .in = { IN_T(2, 4) } },
        { .in = { IN(3, 40) } },
        { .in = { IN(1, 3) } },
        { .in = { IN(0, 3) } },
        { .in = { IN(4, 6) } },
    },
    .rejects = {
        { .in = { IN(3, 4, 2) }, .status = ADZ_ERR_SHAPE },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .status = ADZ_ERR_DTYPE },
    },
    .needs_distinct = true,
    .inputs = { "x" },
    FACTS(facts),
};
