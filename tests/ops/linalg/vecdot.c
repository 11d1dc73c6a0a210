#include "ops/facts.h"

/* p[0] = dim */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_vecdot(a->in[0], a->in[1], (int)a->p[0]), out);
}

FACT(whole_numbers_keep_their_dtype)
{
    adz_tensor *y = adz_vecdot(VALUES(ADZ_I32, 1, 2), VALUES(ADZ_I32, 3, 4), -1);
    assert_true(adz_item(y) == 11 && adz_tensor_dtype(y) == ADZ_I32);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(whole_numbers_keep_their_dtype),
};

const op_case vecdot_case = {
    .name = "vecdot",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(3, 4) }, .p = { -1 } },
        { .in = { IN_T(3, 4), IN(4) }, .p = { 1 } },
        { .in = { IN(3, 4), IN(1, 4) }, .p = { 0 } },
        { .in = { IN(1), IN(5) }, .p = { -1 } },
        { .in = { IN(0, 3), IN(3) }, .p = { -1 } },
        { .in = { IN(2, 0), IN(2, 0) }, .p = { -1 } },
    },
    .rejects = {
        { .in = { IN(3), IN(4) }, .p = { -1 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3), IN(3) }, .p = { 1 }, .status = ADZ_ERR_DIM, .says = "vecdot" },
        { .in = { IN_0, IN_0 }, .p = { 0 }, .status = ADZ_ERR_DIM, .says = "adz_mul" },
    },
    .broadcasts = true,
    .inputs = { "a", "b" },
    FACTS(facts),
};
