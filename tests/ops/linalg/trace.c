#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_trace(a->in[0]), out);
}

FACT(nothing_beside_counts)
{
    adz_tensor *x = adz_reshape(VALUES(ADZ_F64, 1, NAN, 3, INFINITY, 5, 6), ADZ_SHAPE(2, 3));
    assert_true(adz_item(adz_trace(x)) == 6);
    adz_tensor *whole = adz_trace(adz_reshape(VALUES(ADZ_I32, 1, 2, 3, 4), ADZ_SHAPE(2, 2)));
    assert_true(adz_item_i64(whole) == 5 && adz_tensor_dtype(whole) == ADZ_I64);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(nothing_beside_counts),
};

const op_case trace_case = {
    .name = "trace",
    .call = call,
    .samples = {
        { .in = { IN(3, 3) } },
        { .in = { IN_T(3, 4) } },
        { .in = { IN(4, 2) } },
        { .in = { IN(1, 1) } },
        { .in = { IN(0, 3) } },
        { .in = { IN(1, 5) } },
    },
    .rejects = {
        { .in = { IN(3) }, .status = ADZ_ERR_SHAPE, .says = "no matrix" },
        { .in = { IN_TYPED(ADZ_F16, 2, 2) }, .status = ADZ_ERR_DTYPE },
    },
    .inputs = { "x" },
    .first_order_only = true,
    FACTS(facts),
};
