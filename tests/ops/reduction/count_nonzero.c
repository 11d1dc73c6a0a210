#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_count_nonzero(a->in[0], case_dims(a, 0), a->p[9] != 0), out);
}

FACT(nan_counts)
{
    adz_tensor *y = adz_count_nonzero(VALUES(ADZ_F32, 0, -0.0, 2, NAN), ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_true(adz_item_i64(y) == 2 && adz_tensor_dtype(y) == ADZ_I64);
    assert_int_equal(
        adz_item_i64(adz_count_nonzero(VALUES(ADZ_BOOL, 1, 0, 1), ADZ_ALL_DIMS, ADZ_DROPDIM)), 2);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(nan_counts),
};

const op_case count_nonzero_case = {
    .name = "count_nonzero",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) }, .p = { -1 } },
        { .in = { IN_T(3, 4) }, .p = { 1, 0 } },
        { .in = { IN(2, 3, 4) }, .p = { 2, 0, 2 } },
        { .in = { IN(1) }, .p = { 1, 0 } },
        { .in = { IN(0, 3) }, .p = { 1, 0 } },
        { .in = { IN_0 }, .p = { -1 } },
    },
    .rejects = {
        { .in = { IN(3) }, .p = { 1, 1 }, .status = ADZ_ERR_DIM },
        { .in = { IN_TYPED(ADZ_F16, 3) }, .p = { -1 }, .status = ADZ_ERR_DTYPE },
    },
    .inputs = { "x" },
    .not_differentiable = true,
    FACTS(facts),
};
