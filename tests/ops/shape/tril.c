#include "ops/facts.h"

/* p[0] = diagonal */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_tril(a->in[0], (int64_t)a->p[0]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "diagonal", 0);
    return true;
}

FACT(diagonals_are_counted_from_the_main_one_upwards)
{
    adz_tensor *x = adz_reshape(VALUES(ADZ_I64, 1, 2, 3, 4, 5, 6), ADZ_SHAPE(2, 3));
    ASSERT_VALUES(adz_reshape(adz_tril(x, 0), ADZ_SHAPE(6)), ADZ_I64, 1, 0, 0, 4, 5, 0);
    ASSERT_VALUES(adz_reshape(adz_tril(x, 1), ADZ_SHAPE(6)), ADZ_I64, 1, 2, 0, 4, 5, 6);
    ASSERT_VALUES(adz_reshape(adz_tril(x, INT64_MAX), ADZ_SHAPE(6)), ADZ_I64, 1, 2, 3, 4, 5, 6);
}

FACT(nan_outside_the_triangle_goes)
{
    adz_tensor *y = adz_tril(adz_full(ADZ_SHAPE(1, 1), NAN, ADZ_F32), -1);
    assert_true(adz_item(y) == 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(diagonals_are_counted_from_the_main_one_upwards),
    cmocka_unit_test(nan_outside_the_triangle_goes),
};

const op_case tril_case = {
    .name = "tril",
    .call = call,
    .samples = {
        { .in = { IN(4, 3) }, .p = { 0 } },
        { .in = { IN_T(4, 3) }, .p = { 1 } },
        { .in = { IN(2, 3, 4) }, .p = { -1 } },
        { .in = { IN(3, 3) }, .p = { -2 } },
        { .in = { IN(1, 3) }, .p = { 0 } },
        { .in = { IN(3, 0) }, .p = { 0 } },
        { .in = { IN(0, 3, 2) }, .p = { 5 } },
    },
    .rejects = {
        { .in = { IN(3) }, .p = { 0 }, .status = ADZ_ERR_SHAPE, .says = "two dimensions" },
        { .in = { IN_0 }, .p = { 0 }, .status = ADZ_ERR_SHAPE, .says = "tril" },
    },
    .first_order_only = true,
    .vectors = { "tril" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
