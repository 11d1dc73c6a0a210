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

/* The distances between a row and others, as a vector. */
static adz_tensor *distances(adz_tensor *row, adz_tensor *others, double p)
{
    adz_tensor *a = adz_reshape(row, ADZ_SHAPE(1, 2));
    adz_tensor *b = adz_reshape(others, ADZ_SHAPE(adz_tensor_numel(others) / 2, 2));
    return adz_reshape(adz_cdist(a, b, p), ADZ_SHAPE(adz_tensor_numel(others) / 2));
}

/* Values of PyTorch 2.15, but for NaN elements and p INFINITY, where it passes over them. */
FACT(infinite_elements_are_far_from_others)
{
    const double inf = (double)INFINITY, nan = (double)NAN;
    adz_tensor *row = LEAF(inf, 1), *others = VALUES(ADZ_F64, 0, 0, inf, 0, inf, inf, -inf, 1);
    ASSERT_VALUES(distances(row, others, 2), ADZ_F64, inf, nan, nan, inf);
    ASSERT_VALUES(distances(row, others, 1), ADZ_F64, inf, nan, nan, inf);
    ASSERT_VALUES(distances(row, others, 0), ADZ_F64, 2, nan, nan, 1);
    adz_tensor *y = distances(row, others, INFINITY);
    ASSERT_VALUES(y, ADZ_F64, inf, 1, inf, inf);
    ASSERT_VALUES(
        gradient_of(distances(row, VALUES(ADZ_F64, inf, 0), INFINITY), row), ADZ_F64, 0, 1);
    adz_tensor *lost = VALUES(ADZ_F64, nan, 1);
    ASSERT_VALUES(distances(lost, others, INFINITY), ADZ_F64, nan, nan, nan, nan);
    ASSERT_VALUES(distances(lost, others, 0), ADZ_F64, nan, nan, nan, nan);
    adz_tensor *same = VALUES(ADZ_F64, -inf, inf);
    ASSERT_VALUES(distances(same, same, INFINITY), ADZ_F64, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(infinite_elements_are_far_from_others),
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
        { .in = { IN(2, 2, 3), IN_T(4, 3) }, .p = { INFINITY } },
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
