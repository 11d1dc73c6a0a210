#include "ops/facts.h"

/* p[0] = offset */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_diag(a->in[0], (int64_t)a->p[0]), out);
}

FACT(a_vector_becomes_a_matrix)
{
    adz_tensor *y = adz_diag(VALUES(ADZ_I64, 1, 2), 0);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(4)), ADZ_I64, 1, 0, 0, 2);
    y = adz_diag(VALUES(ADZ_BOOL, 1, 1), -1);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(9)), ADZ_BOOL, 0, 0, 0, 1, 0, 0, 0, 1, 0);
    y = adz_diag(adz_zeros(ADZ_SHAPE(0), ADZ_F32), 2);
    assert_int_equal(adz_tensor_size(y, 0), 2);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(4)), ADZ_F32, 0, 0, 0, 0);
}

FACT(the_diagonal_of_a_matrix_is_a_copy)
{
    adz_tensor *x = adz_reshape(VALUES(ADZ_F64, 1, 2, 3, 4), ADZ_SHAPE(2, 2));
    adz_tensor *y = adz_diag(x, 0);
    assert_non_null(adz_zero_(x));
    ASSERT_VALUES(y, ADZ_F64, 1, 4);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(a_vector_becomes_a_matrix),
    cmocka_unit_test(the_diagonal_of_a_matrix_is_a_copy),
};

const op_case diag_case = {
    .name = "diag",
    .call = call,
    .samples = {
        { .in = { IN(4) }, .p = { 0 } },
        { .in = { IN(3) }, .p = { 2 } },
        { .in = { IN(3) }, .p = { -1 } },
        { .in = { IN_T(5, 3) }, .p = { -2 } },
        { .in = { IN(3, 4) }, .p = { 1 } },
        { .in = { IN(1) }, .p = { 0 } },
        { .in = { IN(0) }, .p = { 1 } },
        { .in = { IN(2, 2) }, .p = { 9 } },
    },
    .rejects = {
        { .in = { IN(2, 3, 4) }, .status = ADZ_ERR_SHAPE, .says = "use adz_diagonal" },
        { .in = { IN_0 }, .status = ADZ_ERR_SHAPE, .says = "neither a vector nor a matrix" },
        { .in = { IN(2) }, .p = { 1e18 }, .status = ADZ_ERR_SHAPE, .says = "more elements" },
        { .in = { IN(2) }, .p = { -4e9 }, .status = ADZ_ERR_SHAPE, .says = "more elements" },
    },
    .first_order_only = true,
    .inputs = { "x" },
    FACTS(facts),
};
