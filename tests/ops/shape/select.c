#include "ops/facts.h"

/* p[0] = dim, p[1] = index */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_select(a->in[0], (int)a->p[0], (int64_t)a->p[1]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "dim", 0);
    a->p[1] = config_number(config, "index", 0);
    return true;
}

FACT(it_is_a_view_of_rank_one_less)
{
    adz_tensor *x = adz_zeros(ADZ_SHAPE(2, 3), ADZ_I32);
    adz_fill_(adz_select(x, 1, -1), 4);
    ASSERT_VALUES(adz_reshape(x, ADZ_SHAPE(6)), ADZ_I32, 0, 0, 4, 0, 0, 4);
    assert_int_equal(adz_tensor_rank(adz_select(adz_select(x, 0, 0), 0, 0)), 0);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(it_is_a_view_of_rank_one_less) };

const op_case select_case = {
    .name = "select",
    .call = call,
    .samples = {
        { .in = { IN(5, 4) }, .p = { 0, 1 } },
        { .in = { IN_T(5, 4) }, .p = { 1, -1 } },
        { .in = { IN(2, 3, 4) }, .p = { -2, 2 } },
        { .in = { IN(7) }, .p = { 0, 6 } },
        { .in = { IN(1, 3) }, .p = { 0, -1 } },
        { .in = { IN(3, 0) }, .p = { 0, 2 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 2, 0 }, .status = ADZ_ERR_DIM },
        { .in = { IN(3, 4) }, .p = { 0, 3 }, .status = ADZ_ERR_INDEX, .says = "index 3 is outside -3 .. 2" },
        { .in = { IN(3, 0) }, .p = { 1, 0 }, .status = ADZ_ERR_INDEX },
        { .in = { IN_0 }, .p = { 0, 0 }, .status = ADZ_ERR_DIM },
    },
    .first_order_only = true,
    .vectors = { "select" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
