#include "ops/facts.h"

/* p[0] = p */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_cdist(a->in[0], a->in[1], a->p[0]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "p", 2);
    return true;
}

FACT(equal_rows_have_no_gradient)
{
    adz_tensor *x = LEAF(1, 2), *a = adz_reshape(x, ADZ_SHAPE(1, 2));
    adz_tensor *b = adz_reshape(VALUES(ADZ_F64, 1, 2, 4, 6), ADZ_SHAPE(2, 2));
    adz_tensor *y = adz_cdist(a, b, 2);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(2)), ADZ_F64, 0, 5);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, -0.6, -0.8);
    y = adz_cdist(a, b, INFINITY);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(2)), ADZ_F64, 0, 4);
}

FACT(rows_without_elements_are_equal)
{
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 0), ADZ_F32);
    ASSERT_VALUES(adz_reshape(adz_cdist(x, x, INFINITY), ADZ_SHAPE(4)), ADZ_F32, 0, 0, 0, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(equal_rows_have_no_gradient),
    cmocka_unit_test(rows_without_elements_are_equal),
};

const op_case cdist_case = {
    .name = "cdist",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(5, 4) }, .p = { 2 } },
        { .in = { IN_T(3, 2), IN(4, 2) }, .p = { 1 } },
        { .in = { IN(2, 3, 2), IN(1, 2, 2) }, .p = { 2 } },
        { .in = { IN(2, 3), IN(2, 3) }, .p = { 3 } },
        { .in = { IN(1, 3), IN(2, 3) }, .p = { INFINITY } },
        { .in = { IN(0, 3), IN(2, 3) }, .p = { 2 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3, 5) }, .p = { 2 }, .status = ADZ_ERR_SHAPE, .says = "[..., N, D]" },
        { .in = { IN(4), IN(3, 4) }, .p = { 2 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(2, 3, 4), IN(3, 3, 4) }, .p = { 2 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3, 4), IN(3, 4) }, .p = { -1 }, .status = ADZ_ERR_ARGUMENT, .says = "p is -1" },
    },
    .needs_distinct = true,
    .vectors = { "cdist" },
    .inputs = { "a", "b" },
    .config = config,
    FACTS(facts),
};
