#include "ops/facts.h"

/* p[0] = dim, p[1] = alpha */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_index_add(a->in[0], (int)a->p[0], a->in[1], a->in[2], a->p[1]), out);
}

FACT(subtensors_are_added_where_the_index_points)
{
    adz_tensor *x = adz_reshape(VALUES(ADZ_F64, 1, 2, 3, 4, 5, 6), ADZ_SHAPE(3, 2));
    adz_tensor *source = adz_reshape(VALUES(ADZ_F64, 10, 20, 30, 40), ADZ_SHAPE(2, 2));
    adz_tensor *y = adz_index_add(x, 0, VALUES(ADZ_I64, 2, 2), source, 2);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(6)), ADZ_F64, 1, 2, 3, 4, 85, 126);
    y = adz_index_add(VALUES(ADZ_I64, 1, 2), 0, VALUES(ADZ_I32, 1), VALUES(ADZ_I64, 5), -1);
    ASSERT_VALUES(y, ADZ_I64, 1, -3);
    ASSERT_REFUSED(
        adz_index_add(VALUES(ADZ_I64, 1, 2), 0, VALUES(ADZ_I32, 1), VALUES(ADZ_I64, 5), 0.5),
        ADZ_ERR_ARGUMENT, "alpha is 0.5");
    ASSERT_REFUSED(adz_index_add(x, 0, VALUES(ADZ_I64, 2), NULL, 1), ADZ_ERR_NULL, "source");
}

/* The gradient of what an empty index adds is empty or 0, and not missing. */
FACT(an_empty_index_gives_gradients)
{
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(3, 2), ADZ_F64), true);
    adz_tensor *source = adz_requires_grad_(adz_ones(ADZ_SHAPE(0, 2), ADZ_F64), true);
    adz_tensor *none = adz_zeros(ADZ_SHAPE(0), ADZ_I64), *in[] = { x, source }, *dx[2];
    adz_tensor *y = adz_index_add(x, 0, none, source, 1), *dy = adz_ones(ADZ_SHAPE(3, 2), ADZ_F64);
    assert_int_equal(adz_autograd_grad(&y, &dy, 1, in, 2, NULL, dx), ADZ_OK);
    assert_int_equal(adz_tensor_numel(dx[1]), 0);
    y = adz_index_copy(x, 0, none, source);
    assert_int_equal(adz_autograd_grad(&y, &dy, 1, in, 2, NULL, dx), ADZ_OK);
    assert_int_equal(adz_tensor_numel(dx[1]), 0);
    adz_tensor *src = in[1] = adz_requires_grad_(adz_ones(ADZ_SHAPE(2), ADZ_F64), true);
    y = adz_scatter_reduce(x, 0, none, src, ADZ_SCATTER_SUM, false);
    assert_int_equal(adz_autograd_grad(&y, &dy, 1, in, 2, NULL, dx), ADZ_OK);
    ASSERT_VALUES(dx[1], ADZ_F64, 0, 0);
}

/* Messages have the position in the list that was given. */
FACT(positions_are_those_of_the_list)
{
    adz_tensor *x = adz_ones(ADZ_SHAPE(3, 2), ADZ_F64),
               *source = adz_ones(ADZ_SHAPE(2, 2), ADZ_F64);
    ASSERT_REFUSED(adz_index_add(x, 0, VALUES(ADZ_I32, 0, 7), source, 1), ADZ_ERR_INDEX,
        "index_add: index 7 at position [1] is none of the 3 positions of a dimension of x[3, 2]");
    ASSERT_REFUSED(adz_index_copy(x, 0, VALUES(ADZ_I64, 0, 7), source), ADZ_ERR_INDEX,
        "index_copy: index 7 at position [1]");
    ASSERT_REFUSED(adz_take(x, adz_reshape(VALUES(ADZ_I64, 0, 7), ADZ_SHAPE(2, 1))), ADZ_ERR_INDEX,
        "take: index 7 at position [1, 0] is none of the 6 elements of x[3, 2]");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(an_empty_index_gives_gradients),
    cmocka_unit_test(positions_are_those_of_the_list),
    cmocka_unit_test(subtensors_are_added_where_the_index_points),
};

const op_case index_add_case = {
    .name = "index_add",
    .call = call,
    .samples = {
        { .in = { IN(5, 4), IN_INDEX(5, 3), IN(3, 4) }, .p = { 0, 1 } },
        { .in = { IN_T(3, 4), IN_INDEX(4, 6), IN_T(3, 6) }, .p = { 1, -0.5 } },
        { .in = { IN(2, 3, 4), IN_INDEX(3, 2), IN(2, 2, 4) }, .p = { -2, 2 } },
        { .in = { IN(6), IN_INDEX_0(6), IN(1) }, .p = { 0, 1 } },
        { .in = { IN(3, 2), IN_INDEX(3, 0), IN(0, 2) }, .p = { 0, 1 } },
        { .in = { IN(1, 0), IN_INDEX(1, 2), IN(2, 0) }, .p = { 0, 1 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN_INDEX(3, 2), IN(2, 4) }, .p = { 2, 1 }, .status = ADZ_ERR_DIM },
        { .in = { IN(3, 4), IN_INDEX(3, 2), IN(2, 3) }, .p = { 0, 1 }, .status = ADZ_ERR_SHAPE, .says = "it must be [2, 4]" },
        { .in = { IN(3, 4), IN_INDEX(3, 2, 1), IN(2, 4) }, .p = { 0, 1 }, .status = ADZ_ERR_SHAPE, .says = "adz_scatter" },
        { .in = { IN(3), IN(2), IN(2) }, .p = { 0, 1 }, .status = ADZ_ERR_DTYPE, .says = "index is" },
        { .in = { IN(3), IN_INDEX(3, 2), IN_TYPED(ADZ_I64, 2) }, .p = { 0, 1 }, .status = ADZ_ERR_DTYPE, .says = "source int64" },
        { .in = { IN(2), IN_INDEX(9, 30), IN(30) }, .p = { 0, 1 }, .status = ADZ_ERR_INDEX, .says = "index" },
    },
    .first_order_only = true,
    .inputs = { "x", "index", "source" },
    FACTS(facts),
};
