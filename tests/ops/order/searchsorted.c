#include "ops/facts.h"

/* p[0] = right. The slices are sorted here. */
static int call(const op_args *a, adz_tensor **out)
{
    adz_tensor *sorted = adz_sort(a->in[0], -1, false, NULL);
    return case_one(adz_searchsorted(sorted, a->in[1], a->p[0] != 0), out);
}

FACT(before_or_behind_equal_elements)
{
    adz_tensor *sorted = VALUES(ADZ_I64, 1, 3, 3, 5), *values = VALUES(ADZ_I64, 0, 3, 4, 9);
    ASSERT_VALUES(adz_searchsorted(sorted, values, false), ADZ_I64, 0, 1, 3, 4);
    ASSERT_VALUES(adz_searchsorted(sorted, values, true), ADZ_I64, 0, 3, 3, 4);
    adz_tensor *y = adz_searchsorted(sorted, adz_scalar(3, ADZ_I64), true);
    assert_true(adz_tensor_rank(y) == 0 && adz_item(y) == 3);
    sorted = VALUES(ADZ_U8, 0, 200, 255);
    ASSERT_VALUES(adz_searchsorted(sorted, VALUES(ADZ_U8, 201, 255), false), ADZ_I64, 2, 2);
}

/* Whole numbers above 2^53 are compared as such. */
FACT(integers_are_not_rounded)
{
    const int64_t slice[] = { INT64_MAX - 2, INT64_MAX - 1, INT64_MAX };
    adz_tensor *sorted = adz_tensor_from(slice, ADZ_SHAPE(3), ADZ_I64);
    adz_tensor *value = adz_tensor_from(slice + 1, ADZ_SHAPE(1), ADZ_I64);
    ASSERT_VALUES(adz_searchsorted(sorted, value, false), ADZ_I64, 1);
    ASSERT_VALUES(adz_searchsorted(sorted, value, true), ADZ_I64, 2);
}

FACT(nan_is_the_largest)
{
    adz_tensor *sorted = VALUES(ADZ_F32, -INFINITY, 1, INFINITY, NAN, NAN);
    adz_tensor *values = VALUES(ADZ_F32, 1.5, INFINITY, NAN, -INFINITY);
    ASSERT_VALUES(adz_searchsorted(sorted, values, false), ADZ_I64, 2, 2, 3, 0);
    ASSERT_VALUES(adz_searchsorted(sorted, values, true), ADZ_I64, 2, 3, 5, 1);
}

FACT(a_slice_that_is_not_sorted_is_refused)
{
    adz_tensor *slices = adz_reshape(VALUES(ADZ_F64, 1, 2, 3, 4, 6, 5), ADZ_SHAPE(2, 3));
    ASSERT_REFUSED(adz_searchsorted(slices, slices, false), ADZ_ERR_ARGUMENT,
        "element 2 of slice 1 of sorted is less");
    ASSERT_REFUSED(adz_searchsorted(VALUES(ADZ_F32, NAN, 1), VALUES(ADZ_F32, 1), false),
        ADZ_ERR_ARGUMENT, "sort the slices with adz_sort");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(before_or_behind_equal_elements),
    cmocka_unit_test(integers_are_not_rounded),
    cmocka_unit_test(nan_is_the_largest),
    cmocka_unit_test(a_slice_that_is_not_sorted_is_refused),
};

const op_case searchsorted_case = {
    .name = "searchsorted",
    .call = call,
    .samples = {
        { .in = { IN(7), IN(3, 4) } },
        { .in = { IN(7), IN_T(3, 4) }, .p = { 1 } },
        { .in = { IN_T(2, 3, 5), IN_T(2, 3, 4) }, .p = { 1 } },
        { .in = { IN(3, 1), IN(3, 2) } },
        { .in = { IN(4), IN_0 } },
        { .in = { IN(0), IN(3) } },
        { .in = { IN(2, 3), IN(2, 0) } },
        { .in = { IN(300), IN(900) }, .large = true },
    },
    .rejects = {
        { .in = { IN(3), IN_TYPED(ADZ_I64, 2) }, .status = ADZ_ERR_DTYPE, .says = "convert one" },
        { .in = { IN(2, 3), IN(3, 3) }, .status = ADZ_ERR_SHAPE, .says = "sorted[2, 3]" },
        { .in = { IN(2, 3), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "does not fit values[3]" },
        { .in = { IN_0, IN_0 }, .status = ADZ_ERR_SHAPE },
    },
    .not_differentiable = true,
    FACTS(facts),
};
