#include "ops/facts.h"

/* p[0] = dim, p[1] = reduce, p[2] = include_self */
static int call(const op_args *a, adz_tensor **out)
{
    const adz_scatter_reduction reduce = (adz_scatter_reduction)(int)a->p[1];
    return case_one(
        adz_scatter_reduce(a->in[0], (int)a->p[0], a->in[1], a->in[2], reduce, a->p[2] != 0), out);
}

/* The results for 1, 2, 3 with 4, 5 and 6 at 1, 1 and 0. */
static adz_tensor *small(adz_scatter_reduction reduce, bool include_self, adz_dtype dtype)
{
    return adz_scatter_reduce(VALUES(dtype, 1, 2, 3), 0, VALUES(ADZ_I64, 1, 1, 0),
        VALUES(dtype, 4, 5, 6), reduce, include_self);
}

FACT(each_reduction_with_and_without_x)
{
    ASSERT_VALUES(small(ADZ_SCATTER_SUM, true, ADZ_F32), ADZ_F32, 7, 11, 3);
    ASSERT_VALUES(small(ADZ_SCATTER_SUM, false, ADZ_I32), ADZ_I32, 6, 9, 3);
    ASSERT_VALUES(small(ADZ_SCATTER_PROD, true, ADZ_I64), ADZ_I64, 6, 40, 3);
    ASSERT_VALUES(small(ADZ_SCATTER_PROD, false, ADZ_F64), ADZ_F64, 6, 20, 3);
    ASSERT_VALUES(small(ADZ_SCATTER_MEAN, true, ADZ_F64), ADZ_F64, 3.5, 11.0 / 3, 3);
    ASSERT_VALUES(small(ADZ_SCATTER_MEAN, false, ADZ_F64), ADZ_F64, 6, 4.5, 3);
    ASSERT_VALUES(small(ADZ_SCATTER_AMAX, true, ADZ_U8), ADZ_U8, 6, 5, 3);
    ASSERT_VALUES(small(ADZ_SCATTER_AMAX, false, ADZ_I64), ADZ_I64, 6, 5, 3);
    ASSERT_VALUES(small(ADZ_SCATTER_AMIN, true, ADZ_F32), ADZ_F32, 1, 2, 3);
    ASSERT_VALUES(small(ADZ_SCATTER_AMIN, false, ADZ_F32), ADZ_F32, 6, 4, 3);
    ASSERT_VALUES(small(ADZ_SCATTER_AMIN, false, ADZ_I32), ADZ_I32, 6, 4, 3);
}

FACT(ends_of_whole_numbers_are_right)
{
    const int64_t most = INT64_MAX;
    adz_tensor *src = adz_tensor_from(&most, ADZ_SHAPE(1), ADZ_I64);
    adz_tensor *y =
        adz_scatter_reduce(VALUES(ADZ_I64, 3), 0, VALUES(ADZ_I64, 0), src, ADZ_SCATTER_AMIN, false);
    assert_true(adz_item_i64(y) == INT64_MAX);
    y = adz_scatter_reduce(VALUES(ADZ_BOOL, 1, 0), 0, VALUES(ADZ_I64, 0, 1), VALUES(ADZ_BOOL, 0, 1),
        ADZ_SCATTER_PROD, true);
    ASSERT_VALUES(y, ADZ_BOOL, 0, 0);
}

FACT(nan_wins_and_stays)
{
    adz_tensor *y = adz_scatter_reduce(VALUES(ADZ_F64, NAN, 1, 1), 0, VALUES(ADZ_I64, 0, 1, 1),
        VALUES(ADZ_F64, 5, NAN, 7), ADZ_SCATTER_AMAX, true);
    ASSERT_VALUES(y, ADZ_F64, NAN, NAN, 1);
    y = adz_scatter_reduce(VALUES(ADZ_F64, 0, 1, 1), 0, VALUES(ADZ_I64, 0, 1, 1),
        VALUES(ADZ_F64, 5, NAN, 7), ADZ_SCATTER_AMIN, false);
    ASSERT_VALUES(y, ADZ_F64, 5, NAN, 1);
}

FACT(ties_share)
{
    adz_tensor *x = LEAF(3, 1), *src = LEAF(3, 3, 2);
    adz_tensor *y = adz_scatter_reduce(x, 0, VALUES(ADZ_I64, 0, 0, 1), src, ADZ_SCATTER_AMAX, true);
    adz_tensor *weighted = adz_mul(y, VALUES(ADZ_F64, 9, 5));
    ASSERT_VALUES(gradient_of(weighted, x), ADZ_F64, 3, 0);
    ASSERT_VALUES(gradient_of(weighted, src), ADZ_F64, 3, 3, 5);
}

FACT(an_infinite_extreme_shares_with_src_alone)
{
    adz_tensor *index = VALUES(ADZ_I64, 0, 1, 2, 2);
    for (int i = 0; i < 2; ++i) {
        const adz_scatter_reduction reduce = i == 0 ? ADZ_SCATTER_AMAX : ADZ_SCATTER_AMIN;
        const double start = i == 0 ? -(double)INFINITY : (double)INFINITY;
        adz_tensor *x = LEAF(0, 0, 0, 0), *src = LEAF(start, 1, start, start);
        adz_tensor *y = adz_scatter_reduce(x, 0, index, src, reduce, false);
        ASSERT_VALUES(gradient_of(y, src), ADZ_F64, 1, 1, 0.5, 0.5);
        ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 0, 0, 0, 1);
    }
}

FACT(products_with_zeros_have_both_derivatives)
{
    adz_tensor *x = LEAF(2, 0, 0, 3), *src = LEAF(0, 5, 0, 7);
    adz_tensor *index = VALUES(ADZ_I64, 0, 0, 1, 2);
    adz_tensor *y = adz_scatter_reduce(x, 0, index, src, ADZ_SCATTER_PROD, true);
    ASSERT_VALUES(y, ADZ_F64, 0, 0, 0, 3);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 0, 0, 7, 1);
    adz_tensor *g = gradient_by_expression(y, src);
    ASSERT_VALUES(g, ADZ_F64, 10, 0, 0, 0);
    /* g of element 0 is x_0 src_1, g of element 1 is x_0 src_0, and so on. */
    ASSERT_VALUES(gradient_of(g, x), ADZ_F64, 5, 1, 1, 0);
    ASSERT_VALUES(gradient_of(g, src), ADZ_F64, 2, 2, 0, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(each_reduction_with_and_without_x),
    cmocka_unit_test(ends_of_whole_numbers_are_right),
    cmocka_unit_test(nan_wins_and_stays),
    cmocka_unit_test(ties_share),
    cmocka_unit_test(an_infinite_extreme_shares_with_src_alone),
    cmocka_unit_test(products_with_zeros_have_both_derivatives),
};

const op_case scatter_reduce_case = {
    .name = "scatter_reduce",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_DISTINCT, 5, 4), IN_INDEX(5, 3, 4), IN_OF(FILL_DISTINCT, 3, 4) }, .p = { 0, 0, 1 } },
        { .in = { IN_T_OF(FILL_DISTINCT, 5, 4), IN_INDEX(4, 5, 2), IN_T_OF(FILL_DISTINCT, 5, 4) }, .p = { 1, 1, 1 } },
        { .in = { IN_OF(FILL_DISTINCT, 2, 3, 4), IN_INDEX(3, 1, 20, 3), IN_OF(FILL_DISTINCT, 2, 21, 4) }, .p = { -2, 2, 1 } },
        { .in = { IN_OF(FILL_DISTINCT, 3, 2), IN_INDEX(3, 6, 2), IN_OF(FILL_DISTINCT, 6, 2) }, .p = { 0, 3, 1 } },
        { .in = { IN_OF(FILL_DISTINCT, 3, 2), IN_INDEX(3, 6, 2), IN_OF(FILL_DISTINCT, 6, 2) }, .p = { 0, 4, 1 } },
        { .in = { IN_OF(FILL_DISTINCT, 3, 2), IN_INDEX(3, 6, 2), IN_OF(FILL_DISTINCT, 6, 2) }, .p = { 0, 0, 0 } },
        { .in = { IN_OF(FILL_DISTINCT, 3, 2), IN_INDEX(3, 6, 2), IN_OF(FILL_DISTINCT, 6, 2) }, .p = { 0, 1, 0 } },
        { .in = { IN_OF(FILL_DISTINCT, 3, 2), IN_INDEX(3, 6, 2), IN_OF(FILL_DISTINCT, 6, 2) }, .p = { 0, 2, 0 } },
        { .in = { IN_OF(FILL_DISTINCT, 3, 2), IN_INDEX(3, 6, 2), IN_OF(FILL_DISTINCT, 6, 2) }, .p = { 0, 3, 0 } },
        { .in = { IN_OF(FILL_DISTINCT, 3, 2), IN_INDEX(3, 6, 2), IN_OF(FILL_DISTINCT, 6, 2) }, .p = { 0, 4, 0 } },
        { .in = { IN_0, IN_INDEX_0(1), IN_0 }, .p = { 0, 1, 1 } },
        { .in = { IN(0, 2), IN_INDEX(2, 0, 1), IN(0, 1) }, .p = { 1, 3, 1 } },
        { .in = { IN(3, 1), IN_INDEX(1, 3, 2), IN(3, 2) }, .p = { 1, 2, 1 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN_INDEX(3, 2, 4), IN(2, 4) }, .p = { 2, 1, 1 }, .status = ADZ_ERR_DIM },
        { .in = { IN(3, 4), IN_INDEX(3, 2, 4), IN(2, 4) }, .p = { 0, 5, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "reduce is 5" },
        { .in = { IN(3, 4), IN_INDEX(3, 2, 5), IN(2, 5) }, .p = { 0, 1, 1 }, .status = ADZ_ERR_SHAPE, .says = "x[3, 4]" },
        { .in = { IN_TYPED(ADZ_I64, 3), IN_INDEX(3, 2), IN_TYPED(ADZ_I64, 2) }, .p = { 0, 2, 1 }, .status = ADZ_ERR_DTYPE, .says = "a mean needs" },
        { .in = { IN(3), IN_INDEX(3, 2), IN_TYPED(ADZ_I64, 2) }, .p = { 0, 1, 1 }, .status = ADZ_ERR_DTYPE, .says = "src int64" },
        { .in = { IN(2), IN_INDEX(3, 40), IN(40) }, .p = { 0, 3, 1 }, .status = ADZ_ERR_INDEX, .says = "scatter_reduce: index" },
    },
    .needs_distinct = true,
    .inputs = { "x", "index", "src" },
    FACTS(facts),
};
