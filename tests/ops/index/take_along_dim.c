#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_take_along_dim(a->in[0], a->in[1], (int)a->p[0]), out);
}

FACT(broadcasts)
{
    adz_tensor *x = adz_reshape(VALUES(ADZ_F64, 1, 2, 3, 4), ADZ_SHAPE(2, 2));
    adz_tensor *at = adz_reshape(VALUES(ADZ_I64, 1), ADZ_SHAPE(1, 1));
    ASSERT_VALUES(adz_reshape(adz_take_along_dim(x, at, 1), ADZ_SHAPE(2)), ADZ_F64, 2, 4);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(broadcasts),
};

const op_case take_along_dim_case = {
    .name = "take_along_dim",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN_INDEX(4, 3, 2) }, .p = { 1 } },
        { .in = { IN_T(3, 4), IN_INDEX(3, 2, 4) }, .p = { 0 } },
        { .in = { IN(2, 3), IN_INDEX(3, 1, 2) }, .p = { 1 } },
        { .in = { IN(1, 3), IN_INDEX(3, 4, 2) }, .p = { 1 } },
        { .in = { IN(1), IN_INDEX(1, 1) }, .p = { 0 } },
        { .in = { IN(0, 3), IN_INDEX(3, 0, 2) }, .p = { 1 } },
    },
    .rejects = {
        { .in = { IN(3), IN_INDEX(3, 1, 1) }, .p = { 0 }, .status = ADZ_ERR_SHAPE, .says = "same number" },
        { .in = { IN(2, 3), IN_INDEX(2, 4, 3) }, .p = { 1 }, .status = ADZ_ERR_SHAPE, .says = "does not broadcast" },
        { .in = { IN(2, 3), IN(2, 3) }, .p = { 1 }, .status = ADZ_ERR_DTYPE },
    },
    .inputs = { "x", "indices" },
    .broadcasts = true,
    .first_order_only = true,
    FACTS(facts),
};
