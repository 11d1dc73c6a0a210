#include "ops/facts.h"

/* p[0] = count, p[1] .. = dims */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_flip(a->in[0], case_dims(a, 0)), out);
}

static bool config(const json_t *config, op_args *a)
{
    config_dims(config, "dims", a, 0);
    return true;
}

FACT(every_dtype_is_reversed)
{
    ASSERT_VALUES(adz_flip(VALUES(ADZ_I64, 1, 2, 3), ADZ_DIMS(0)), ADZ_I64, 3, 2, 1);
    ASSERT_VALUES(adz_flip(VALUES(ADZ_BOOL, 1, 0, 0), ADZ_ALL_DIMS), ADZ_BOOL, 0, 0, 1);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(every_dtype_is_reversed) };

const op_case flip_case = {
    .name = "flip",
    .call = call,
    .samples = {
        { .in = { IN(5, 4) }, .p = { 1, 0 } },
        { .in = { IN_T(5, 4) }, .p = { 2, 1, 0 } },
        { .in = { IN(2, 6, 3) }, .p = { 2, -1, 0 } },
        { .in = { IN(6) }, .p = { 1, 0 } },
        { .in = { IN_0 }, .p = { 0 } },
        { .in = { IN(1, 3) }, .p = { 1, 1 } },
        { .in = { IN(3, 0) }, .p = { 1, 0 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 1, 2 }, .status = ADZ_ERR_DIM },
        { .in = { IN(3, 4) }, .p = { 2, 0, -2 }, .status = ADZ_ERR_DIM, .says = "twice" },
    },
    .first_order_only = true,
    .vectors = { "flip" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
