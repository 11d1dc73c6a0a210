#include "ops/facts.h"

/* p[0] = count of dims, p[1] .. the dims, p[5] = keepdim */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_nansum(a->in[0], case_dims(a, 0), a->p[5] != 0), out);
}

FACT(nan_counts_as_nothing)
{
    adz_tensor *x = LEAF(1, NAN, 3), *y = adz_nansum(x, ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_true(adz_item(y) == 4);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 1, 0, 1);
    y = adz_nansum(VALUES(ADZ_I32, 1, 2), ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_true(adz_item_i64(y) == 3 && adz_tensor_dtype(y) == ADZ_I64);
    y = adz_nansum(VALUES(ADZ_F32, INFINITY, NAN), ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_true(isinf(adz_item(y)));
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(nan_counts_as_nothing),
};

const op_case nansum_case = {
    .name = "nansum",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) }, .p = { 1, 1 } },
        { .in = { IN_T(3, 4) }, .p = { -1 } },
        { .in = { IN(2, 3, 2) }, .p = { 2, 0, -1, 0, 0, 1 } },
        { .in = { IN_0 }, .p = { -1 } },
        { .in = { IN(0, 3) }, .p = { 1, 0 } },
        { .in = { IN(1, 2) }, .p = { 1, 0 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 1, 2 }, .status = ADZ_ERR_DIM },
        { .in = { IN_TYPED(ADZ_F16, 3) }, .p = { -1 }, .status = ADZ_ERR_DTYPE },
    },
    .first_order_only = true,
    .inputs = { "x" },
    FACTS(facts),
};
