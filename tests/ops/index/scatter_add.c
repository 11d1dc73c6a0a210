#include "ops/facts.h"

/* p[0] = dim */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_scatter_add(a->in[0], (int)a->p[0], a->in[1], a->in[2]), out);
}

FACT(integers_add_and_masks_join)
{
    adz_tensor *index = VALUES(ADZ_I32, 2, 0, 2);
    ASSERT_VALUES(adz_scatter_add(VALUES(ADZ_I64, 5, 6, 7), 0, index, VALUES(ADZ_I64, 1, 2, 3)),
        ADZ_I64, 7, 6, 11);
    ASSERT_VALUES(adz_scatter_add(VALUES(ADZ_BOOL, 0, 1, 0), 0, index, VALUES(ADZ_BOOL, 1, 0, 1)),
        ADZ_BOOL, 0, 1, 1);
    ASSERT_VALUES(adz_scatter_add(VALUES(ADZ_U8, 255, 0, 1), 0, index, VALUES(ADZ_U8, 1, 2, 3)),
        ADZ_U8, 1, 0, 5);
}

FACT(in_position_it_changes_x_and_nothing_when_refused)
{
    adz_tensor *x = VALUES(ADZ_F32, 1, 2, 3), *src = VALUES(ADZ_F32, 10, 20);
    ASSERT_REFUSED(adz_scatter_add_(x, 0, VALUES(ADZ_I64, 0, 3), src), ADZ_ERR_INDEX,
        "index 3 at position [1]");
    ASSERT_VALUES(x, ADZ_F32, 1, 2, 3);
    assert_ptr_equal(adz_scatter_add_(x, 0, VALUES(ADZ_I64, 0, 0), src), x);
    ASSERT_VALUES(x, ADZ_F32, 31, 2, 3);
}

FACT(in_position_it_is_differentiable)
{
    adz_tensor *a = LEAF(1, 2, 3), *src = LEAF(1, 2);
    adz_tensor *y = adz_scatter_add_(adz_mul_number(a, 2), 0, VALUES(ADZ_I64, 2, 2), src);
    adz_tensor *weighted = adz_mul(y, VALUES(ADZ_F64, 5, 6, 7));
    ASSERT_VALUES(gradient_of(weighted, src), ADZ_F64, 7, 7);
    y = adz_scatter_add_(adz_mul_number(a, 2), 0, VALUES(ADZ_I64, 2, 2), src);
    ASSERT_VALUES(gradient_of(adz_mul(y, VALUES(ADZ_F64, 5, 6, 7)), a), ADZ_F64, 10, 12, 14);
    ASSERT_REFUSED(
        adz_scatter_add_(a, 0, VALUES(ADZ_I64, 2, 2), src), ADZ_ERR_INPLACE, "adz_scatter_add");
}

FACT(long_sums_are_exact)
{
    const int64_t n = 1 << 25;
    adz_tensor *y = adz_scatter_add(adz_zeros(ADZ_SHAPE(1), ADZ_F32), 0,
        adz_zeros(ADZ_SHAPE(n), ADZ_I64), adz_ones(ADZ_SHAPE(n), ADZ_F32));
    assert_true(adz_item(y) == (double)n);
}

FACT(an_empty_index_changes_nothing)
{
    adz_tensor *x = LEAF(1, 2), *src = LEAF(3);
    adz_tensor *y = adz_scatter_add(x, 0, adz_zeros(ADZ_SHAPE(0, 4), ADZ_I64), src);
    ASSERT_VALUES(y, ADZ_F64, 1, 2);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 1, 1);
    y = adz_scatter_add(x, 0, adz_zeros(ADZ_SHAPE(0, 4), ADZ_I64), src);
    ASSERT_VALUES(gradient_of(y, src), ADZ_F64, 0);
}

/* The elements of src behind the index get zeros. */
FACT(an_expanded_index_may_be_smaller_than_src)
{
    adz_tensor *src = adz_requires_grad_(adz_ones(ADZ_SHAPE(2, 3), ADZ_F64), true);
    adz_tensor *list = adz_reshape(VALUES(ADZ_I64, 2, 0), ADZ_SHAPE(2, 1));
    adz_tensor *y = adz_scatter_add(
        adz_zeros(ADZ_SHAPE(3, 3), ADZ_F64), 0, adz_expand(list, ADZ_SHAPE(2, 2)), src);
    adz_tensor *weights = adz_reshape(VALUES(ADZ_F64, 1, 2, 3, 4, 5, 6, 7, 8, 9), ADZ_SHAPE(3, 3));
    ASSERT_VALUES(adz_flatten(y, 0, -1), ADZ_F64, 1, 1, 0, 0, 0, 0, 1, 1, 0);
    adz_tensor *dsrc = gradient_of(adz_mul(y, weights), src);
    ASSERT_VALUES(adz_flatten(dsrc, 0, -1), ADZ_F64, 7, 8, 0, 1, 2, 0);
}

FACT(an_expanded_index_is_checked)
{
    adz_tensor *list = adz_reshape(VALUES(ADZ_I64, 2, 3), ADZ_SHAPE(2, 1));
    adz_tensor *x = adz_zeros(ADZ_SHAPE(3, 4), ADZ_F64), *src = adz_ones(ADZ_SHAPE(2, 4), ADZ_F64);
    ASSERT_REFUSED(
        adz_scatter_add(x, 0, adz_expand(list, ADZ_SHAPE(2, 4)), src), ADZ_ERR_INDEX, "3");
}

/* The result takes as much memory as an index with a number for each element would. */
FACT(an_expanded_index_is_not_copied)
{
    const int64_t n = 1 << 12, width = 64;
    adz_memory_info before, after;
    adz_tensor *list = adz_reshape(adz_arange(0, (double)n, 1, ADZ_I64), ADZ_SHAPE(n, 1));
    adz_tensor *x = adz_zeros(ADZ_SHAPE(n, width), ADZ_F64);
    adz_tensor *index = adz_expand(list, ADZ_SHAPE(n, width));
    adz_reset_peak_memory();
    adz_get_memory_info(&before, sizeof before);
    adz_scatter_add(x, 0, index, x);
    adz_get_memory_info(&after, sizeof after);
    const size_t result = sizeof(double) * (size_t)(n * width);
    assert_true(after.peak_bytes - before.live_bytes < result + result / 2);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(integers_add_and_masks_join),
    cmocka_unit_test(in_position_it_changes_x_and_nothing_when_refused),
    cmocka_unit_test(in_position_it_is_differentiable),
    cmocka_unit_test(long_sums_are_exact),
    cmocka_unit_test(an_empty_index_changes_nothing),
    cmocka_unit_test(an_expanded_index_may_be_smaller_than_src),
    cmocka_unit_test(an_expanded_index_is_checked),
    cmocka_unit_test(an_expanded_index_is_not_copied),
};

const op_case scatter_add_case = {
    .name = "scatter_add",
    .call = call,
    .samples = {
        { .in = { IN(5, 4), IN_INDEX(5, 3, 4), IN(3, 4) }, .p = { 0 } },
        { .in = { IN_T(5, 4), IN_INDEX(4, 5, 2), IN_T(5, 4) }, .p = { 1 } },
        { .in = { IN(2, 3, 4), IN_INDEX(3, 1, 20, 3), IN(2, 21, 4) }, .p = { -2 } },
        { .in = { IN(6), IN_INDEX(6, 9), IN(9) }, .p = { 0 } },
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
        { .in = { IN(0), IN_INDEX(3, 2), IN(2) }, .p = { 0 }, .status = ADZ_ERR_INDEX, .says = "none of the 0" },
    },
    .first_order_only = true,
    FACTS(facts),
};
