#include "ops/facts.h"

/* p[0] = offset, p[1] = dim1, p[2] = dim2 */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_diagonal(a->in[0], (int64_t)a->p[0], (int)a->p[1], (int)a->p[2]), out);
}

static adz_tensor *three_by_four(void)
{
    return adz_reshape(adz_arange(0, 12, 1, ADZ_F64), ADZ_SHAPE(3, 4));
}

FACT(diagonals_of_a_matrix)
{
    adz_tensor *x = three_by_four();
    ASSERT_VALUES(adz_diagonal(x, 0, 0, 1), ADZ_F64, 0, 5, 10);
    ASSERT_VALUES(adz_diagonal(x, 2, 0, 1), ADZ_F64, 2, 7);
    ASSERT_VALUES(adz_diagonal(x, 1, 0, 1), ADZ_F64, 1, 6, 11);
    ASSERT_VALUES(adz_diagonal(x, -2, 0, 1), ADZ_F64, 8);
    ASSERT_VALUES(adz_diagonal(x, -2, 1, 0), ADZ_F64, 2, 7);
    assert_int_equal(adz_tensor_numel(adz_diagonal(x, 4, 0, 1)), 0);
    assert_int_equal(adz_tensor_numel(adz_diagonal(x, INT64_MIN, 0, 1)), 0);
    assert_int_equal(adz_tensor_numel(adz_diagonal(x, INT64_MAX, 0, 1)), 0);
}

/* The dimensions of the matrix go, and the diagonal comes last. */
FACT(the_diagonal_is_the_last_dimension)
{
    adz_tensor *x = adz_reshape(adz_arange(0, 24, 1, ADZ_I64), ADZ_SHAPE(2, 3, 4));
    adz_tensor *y = adz_diagonal(x, 1, 2, 0);
    assert_int_equal(adz_tensor_rank(y), 2);
    assert_int_equal(adz_tensor_size(y, 0), 3);
    assert_int_equal(adz_tensor_size(y, 1), 1);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(3)), ADZ_I64, 12, 16, 20);
}

FACT(what_is_written_to_the_view_is_in_x)
{
    adz_tensor *x = three_by_four(), *y = adz_diagonal(x, 1, 0, 1);
    assert_non_null(adz_mul_number_(y, 10));
    ASSERT_VALUES(adz_reshape(x, ADZ_SHAPE(12)), ADZ_F64, 0, 10, 2, 3, 4, 5, 60, 7, 8, 9, 10, 110);
    assert_non_null(adz_zero_(x));
    ASSERT_VALUES(y, ADZ_F64, 0, 0, 0);
}

/* A backward must not read what has been overwritten through a view. */
FACT(a_change_through_the_view_is_noticed)
{
    adz_tensor *a = LEAF(1, 2, 3, 4), *x = adz_reshape(adz_mul_number(a, 1), ADZ_SHAPE(2, 2));
    adz_tensor *y = adz_sum(adz_mul(x, x), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_tensor *view = adz_diagonal(adz_detach(x), 0, 0, 1);
    assert_non_null(adz_mul_number_(view, 10));
    assert_int_equal(adz_backward(y), ADZ_ERR_VERSION);
    adz_error_clear();
    ASSERT_REFUSED(
        adz_mul_number_(adz_diagonal(x, 0, 0, 1), 2), ADZ_ERR_INPLACE, "a view inside a graph");
}

FACT(the_gradient_is_on_the_diagonal)
{
    adz_tensor *x = adz_requires_grad_(three_by_four(), true);
    adz_tensor *y = adz_mul(adz_diagonal(x, -1, 0, 1), VALUES(ADZ_F64, 7, 8));
    adz_tensor *g = adz_reshape(gradient_of(y, x), ADZ_SHAPE(12));
    ASSERT_VALUES(g, ADZ_F64, 0, 0, 0, 0, 7, 0, 0, 0, 0, 8, 0, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(diagonals_of_a_matrix),
    cmocka_unit_test(the_diagonal_is_the_last_dimension),
    cmocka_unit_test(what_is_written_to_the_view_is_in_x),
    cmocka_unit_test(a_change_through_the_view_is_noticed),
    cmocka_unit_test(the_gradient_is_on_the_diagonal),
};

const op_case diagonal_case = {
    .name = "diagonal",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) }, .p = { 0, 0, 1 } },
        { .in = { IN_T(5, 3) }, .p = { -2, 0, 1 } },
        { .in = { IN(4, 3) }, .p = { 1, 1, 0 } },
        { .in = { IN(2, 3, 4) }, .p = { 1, -1, 0 } },
        { .in = { IN_T(2, 3, 4, 3) }, .p = { -1, 1, 3 } },
        { .in = { IN(1, 3) }, .p = { 2, 0, 1 } },
        { .in = { IN(3, 3) }, .p = { 5, 0, 1 } },
        { .in = { IN(3, 0) }, .p = { 0, 0, 1 } },
        { .in = { IN(0, 3, 2) }, .p = { 0, 1, 2 } },
    },
    .rejects = {
        { .in = { IN(3) }, .p = { 0, 0, 1 }, .status = ADZ_ERR_SHAPE, .says = "adz_diag makes" },
        { .in = { IN(3, 4) }, .p = { 0, 0, 2 }, .status = ADZ_ERR_DIM, .says = "[3, 4]" },
        { .in = { IN(3, 4) }, .p = { 0, 1, -1 }, .status = ADZ_ERR_DIM, .says = "the same dimension" },
    },
    .first_order_only = true,
    .inputs = { "x" },
    FACTS(facts),
};
