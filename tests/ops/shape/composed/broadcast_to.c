#include "ops/facts.h"

/* p[0] = rank, p[1] .. = sizes */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_broadcast_to(a->in[0], case_shape(a, 0)), out);
}

FACT(it_is_expand)
{
    adz_tensor *x = LEAF(1, 2), *y = adz_broadcast_to(x, ADZ_SHAPE(3, 2));
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(6)), ADZ_F64, 1, 2, 1, 2, 1, 2);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 3, 3);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(it_is_expand),
};

const op_case broadcast_to_case = {
    .name = "broadcast_to",
    .call = call,
    .samples = {
        { .in = { IN(1, 3) }, .p = { 2, 4, 3 } },
        { .in = { IN_T(2, 3) }, .p = { 3, 2, 2, 3 } },
        { .in = { IN(3) }, .p = { 2, 4, 3 } },
        { .in = { IN_0 }, .p = { 1, 3 } },
        { .in = { IN(1, 1) }, .p = { 2, 2, 2 } },
        { .in = { IN(0, 1) }, .p = { 2, 0, 4 } },
    },
    .rejects = {
        { .in = { IN(2, 3) }, .p = { 2, 4, 3 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(2, 3) }, .p = { 1, 3 }, .status = ADZ_ERR_SHAPE },
    },
    .first_order_only = true,
    .inputs = { "x" },
    FACTS(facts),
};
