#include "ops/facts.h"

/* p[0] = right. The order of the slices is found here. */
static int call(const op_args *a, adz_tensor **out)
{
    adz_tensor *sorter = adz_argsort(a->in[0], -1, false);
    return case_one(adz_searchsorted_by(a->in[0], sorter, a->in[1], a->p[0] != 0), out);
}

FACT(positions_are_those_of_the_sorted_slice)
{
    adz_tensor *x = VALUES(ADZ_I64, 3, 5, 1, 3), *sorter = VALUES(ADZ_I32, 2, 0, 3, 1);
    adz_tensor *values = VALUES(ADZ_I64, 0, 3, 4, 9);
    ASSERT_VALUES(adz_searchsorted_by(x, sorter, values, false), ADZ_I64, 0, 1, 3, 4);
    ASSERT_VALUES(adz_searchsorted_by(x, sorter, values, true), ADZ_I64, 0, 3, 3, 4);
}

FACT(each_slice_has_its_order)
{
    adz_tensor *x = adz_reshape(VALUES(ADZ_F64, 2, 1, 3, 9, 8, 7), ADZ_SHAPE(2, 3));
    adz_tensor *values = adz_reshape(VALUES(ADZ_F64, 2, 8), ADZ_SHAPE(2, 1));
    adz_tensor *y = adz_searchsorted_by(x, adz_argsort(x, 1, false), values, true);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(2)), ADZ_I64, 2, 2);
}

/* PyTorch finds some position. */
FACT(an_order_that_does_not_sort_is_refused)
{
    adz_tensor *x = VALUES(ADZ_F32, 2, 1, 3);
    ASSERT_REFUSED(adz_searchsorted_by(x, VALUES(ADZ_I64, 0, 1, 2), x, false), ADZ_ERR_ARGUMENT,
        "their indices with adz_argsort");
    ASSERT_REFUSED(
        adz_searchsorted_by(x, VALUES(ADZ_I64, 1, 0, 3), x, false), ADZ_ERR_INDEX, "index 3");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(positions_are_those_of_the_sorted_slice),
    cmocka_unit_test(each_slice_has_its_order),
    cmocka_unit_test(an_order_that_does_not_sort_is_refused),
};

static int call_given(const op_args *a, adz_tensor **out)
{
    return a->n > 2 ? case_one(adz_searchsorted_by(a->in[0], a->in[1], a->in[2], false), out)
                    : call(a, out);
}

const op_case searchsorted_by_case = {
    .name = "searchsorted_by",
    .call = call_given,
    .samples = {
        { .in = { IN(7), IN(3, 4) } },
        { .in = { IN(7), IN_T(3, 4) }, .p = { 1 } },
        { .in = { IN_T(2, 3, 5), IN_T(2, 3, 4) }, .p = { 1 } },
        { .in = { IN(3, 1), IN(3, 2) } },
        { .in = { IN(4), IN_0 } },
        { .in = { IN(0), IN(3) } },
        { .in = { IN(2, 3), IN(2, 0) } },
    },
    .rejects = {
        { .in = { IN(3), IN_INDEX(1, 2), IN(2) }, .status = ADZ_ERR_SHAPE, .says = "sorter[2]" },
        { .in = { IN(1), IN(1), IN(2) }, .status = ADZ_ERR_DTYPE },
        { .in = { IN(1), IN_INDEX(1, 1), IN_TYPED(ADZ_I64, 2) }, .status = ADZ_ERR_DTYPE },
        { .in = { IN_0, IN_INDEX_0(1), IN_0 }, .status = ADZ_ERR_SHAPE, .says = "adz_argsort" },
    },
    .not_differentiable = true,
    FACTS(facts),
};
