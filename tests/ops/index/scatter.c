#include "ops/facts.h"

/* p[0] = dim */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_scatter(a->in[0], (int)a->p[0], a->in[1], a->in[2]), out);
}

FACT(the_last_of_several_stays)
{
    adz_tensor *x = LEAF(1, 2, 3, 4), *src = LEAF(5, 6, 7);
    adz_tensor *y = adz_scatter(x, 0, VALUES(ADZ_I64, 2, 0, 2), src);
    ASSERT_VALUES(y, ADZ_F64, 6, 2, 7, 4);
    adz_tensor *weighted = adz_mul(y, VALUES(ADZ_F64, 10, 20, 30, 40));
    ASSERT_VALUES(gradient_of(weighted, x), ADZ_F64, 0, 20, 0, 40);
    ASSERT_VALUES(gradient_of(weighted, src), ADZ_F64, 0, 10, 30);
    ASSERT_VALUES(gradient_by_expression(weighted, src), ADZ_F64, 0, 10, 30);
}

FACT(what_lies_beyond_the_index_is_not_written)
{
    adz_tensor *x = LEAF(1, 2), *src = LEAF(5, 6, 7);
    adz_tensor *y = adz_scatter(x, -1, VALUES(ADZ_I32, 1), src);
    ASSERT_VALUES(y, ADZ_F64, 1, 5);
    ASSERT_VALUES(gradient_of(y, src), ADZ_F64, 1, 0, 0);
    y = adz_scatter(x, 0, adz_zeros(ADZ_SHAPE(0, 4), ADZ_I64), src);
    ASSERT_VALUES(y, ADZ_F64, 1, 2);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 1, 1);
}

FACT(whole_numbers_and_bools)
{
    adz_tensor *y = adz_scatter(VALUES(ADZ_U8, 1, 2), 0, VALUES(ADZ_I64, 1), VALUES(ADZ_U8, 200));
    ASSERT_VALUES(y, ADZ_U8, 1, 200);
    y = adz_scatter(VALUES(ADZ_BOOL, 1, 1), 0, VALUES(ADZ_I64, 0), VALUES(ADZ_BOOL, 0));
    ASSERT_VALUES(y, ADZ_BOOL, 0, 1);
}

/* Nothing of src is written, so its gradient is 0 and not missing. */
FACT(an_empty_index_gives_src_zeros)
{
    adz_tensor *x = LEAF(1, 2), *src = LEAF(3);
    adz_tensor *y = adz_scatter(x, 0, adz_zeros(ADZ_SHAPE(0), ADZ_I64), src);
    ASSERT_VALUES(y, ADZ_F64, 1, 2);
    ASSERT_VALUES(gradient_of(y, src), ADZ_F64, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(the_last_of_several_stays),
    cmocka_unit_test(what_lies_beyond_the_index_is_not_written),
    cmocka_unit_test(whole_numbers_and_bools),
    cmocka_unit_test(an_empty_index_gives_src_zeros),
};

const op_case scatter_case = {
    .name = "scatter",
    .call = call,
    .samples = {
        { .in = { IN(5, 4), IN_INDEX(5, 3, 4), IN(3, 4) }, .p = { 0 } },
        { .in = { IN_T(5, 4), IN_INDEX(4, 5, 2), IN_T(5, 4) }, .p = { 1 } },
        { .in = { IN(2, 3, 4), IN_INDEX(3, 1, 20, 3), IN(2, 21, 4) }, .p = { -2 } },
        { .in = { IN_0, IN_INDEX_0(1), IN_0 }, .p = { 0 } },
        { .in = { IN(3, 1), IN_INDEX(1, 3, 2), IN(3, 2) }, .p = { 1 } },
        { .in = { IN(0, 2), IN_INDEX(2, 0, 1), IN(0, 1) }, .p = { 1 } },
        { .in = { IN(3, 2), IN_INDEX(2, 3, 0), IN(3, 2) }, .p = { 1 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN_INDEX(3, 2, 4), IN(2, 4) }, .p = { 2 }, .status = ADZ_ERR_DIM },
        { .in = { IN(3, 4), IN_INDEX(3, 2, 5), IN(2, 5) }, .p = { 0 }, .status = ADZ_ERR_SHAPE, .says = "x[3, 4]" },
        { .in = { IN(3, 4), IN_INDEX(3, 2, 4), IN(1, 4) }, .p = { 0 }, .status = ADZ_ERR_SHAPE, .says = "src[1, 4]" },
        { .in = { IN(3, 4), IN(3, 4), IN(3, 4) }, .p = { 0 }, .status = ADZ_ERR_DTYPE },
        { .in = { IN(3), IN_INDEX(3, 2), IN_TYPED(ADZ_I64, 2) }, .p = { 0 }, .status = ADZ_ERR_DTYPE, .says = "src int64" },
        { .in = { IN(0), IN_INDEX(3, 2), IN(2) }, .p = { 0 }, .status = ADZ_ERR_INDEX, .says = "scatter: index" },
    },
    .first_order_only = true,
    .inputs = { "x", "index", "src" },
    FACTS(facts),
};
