#include "ops/facts.h"

/* p[0] = repeats, p[1] = dim */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_repeat_interleave(a->in[0], (int64_t)a->p[0], (int)a->p[1]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "repeats", 1);
    a->p[1] = config_number(config, "dim", 0);
    return true;
}

FACT(each_element_is_repeated)
{
    adz_tensor *x = LEAF(3, 1), *y = adz_repeat_interleave(x, 3, 0);
    ASSERT_VALUES(y, ADZ_F64, 3, 3, 3, 1, 1, 1);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 3, 3);
}

/* Even one repeat is memory of its own. */
FACT(the_result_is_no_view)
{
    adz_tensor *x = VALUES(ADZ_I64, 1, 2), *y = adz_repeat_interleave(x, 1, 0);
    adz_fill_(y, 7);
    ASSERT_VALUES(x, ADZ_I64, 1, 2);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(each_element_is_repeated),
    cmocka_unit_test(the_result_is_no_view),
};

const op_case repeat_interleave_case = {
    .name = "repeat_interleave",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) }, .p = { 2, 0 } },
        { .in = { IN_T(3, 4) }, .p = { 3, 1 } },
        { .in = { IN(2, 3, 2) }, .p = { 2, -2 } },
        { .in = { IN(5) }, .p = { 1, 0 } },
        { .in = { IN(1, 3) }, .p = { 4, 0 } },
        { .in = { IN(0, 3) }, .p = { 2, 1 } },
        { .in = { IN(2, 3) }, .p = { 0, 1 } },
    },
    .rejects = {
        { .in = { IN_0 }, .p = { 2, 0 }, .status = ADZ_ERR_DIM, .says = "1 to 7 dimensions" },
        { .in = { IN(3, 4) }, .p = { 2, 2 }, .status = ADZ_ERR_DIM },
        { .in = { IN(3, 4) }, .p = { -1, 0 }, .status = ADZ_ERR_ARGUMENT, .says = "repeats is -1" },
        { .in = { IN(3, 4) }, .p = { 4e18, 0 }, .status = ADZ_ERR_ARGUMENT, .says = "overflow" },
        { .in = { IN(3, 4) }, .p = { 2e18, 0 }, .status = ADZ_ERR_SHAPE },
    },
    .vectors = { "repeat_interleave" },
    .inputs = { "x" },
    .config = config,
    .first_order_only = true,
    FACTS(facts),
};
