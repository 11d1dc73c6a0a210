#include "ops/facts.h"

/* p[0] = rank, p[1] .. = dims */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_tile(a->in[0], case_shape(a, 0)), out);
}

FACT(missing_numbers_count_as_one)
{
    adz_tensor *x = adz_reshape(VALUES(ADZ_I32, 1, 2, 3, 4), ADZ_SHAPE(2, 2));
    adz_tensor *y = adz_tile(x, ADZ_SHAPE(2));
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(8)), ADZ_I32, 1, 2, 1, 2, 3, 4, 3, 4);
    y = adz_tile(VALUES(ADZ_I32, 1, 2), ADZ_SHAPE(2, 1));
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(4)), ADZ_I32, 1, 2, 1, 2);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(missing_numbers_count_as_one),
};

const op_case tile_case = {
    .name = "tile",
    .call = call,
    .samples = {
        { .in = { IN(2, 3) }, .p = { 1, 2 } },
        { .in = { IN_T(2, 3) }, .p = { 2, 2, 3 } },
        { .in = { IN(3) }, .p = { 3, 2, 1, 2 } },
        { .in = { IN_0 }, .p = { 1, 3 } },
        { .in = { IN(1, 2) }, .p = { 1, 0 } },
        { .in = { IN(0, 2) }, .p = { 1, 2 } },
    },
    .rejects = {
        { .in = { IN(2, 3) }, .p = { 1, -1 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3) }, .p = { 1, 1e18 }, .status = ADZ_ERR_SHAPE },
    },
    .first_order_only = true,
    .inputs = { "x" },
    FACTS(facts),
};
