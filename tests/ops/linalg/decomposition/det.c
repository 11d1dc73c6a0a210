#include "ops/linalg/decomposition/scales.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_det(a->in[0]), out);
}

FACT(signs_follow_exchanges)
{
    ASSERT_VALUES(adz_det(MATRIX(2, 0, 2, 4, 0)), ADZ_F64, -8);
    ASSERT_VALUES(adz_det(MATRIX(3, 0, 1, 0, 0, 0, 1, 1, 0, 0)), ADZ_F64, 1);
    ASSERT_VALUES(adz_det(MATRIX(2, 1, 2, 2, 4)), ADZ_F64, 0);
    ASSERT_VALUES(adz_det(adz_zeros(ADZ_SHAPE(0, 0), ADZ_F32)), ADZ_F32, 1);
}

/* The gradient of a determinant is the matrix of cofactors, which exists at a singular matrix. */
FACT(singular_matrices_have_gradients)
{
    adz_tensor *a = MATRIX_LEAF(2, 1, 2, 2, 4);
    adz_tensor *g = gradient_of(adz_det(a), a), *wanted = MATRIX(2, 4, -2, -2, 1);
    assert_true(farthest(g, wanted) < 1e-12);
    assert_true(farthest(gradient_by_expression(adz_det(a), a), wanted) < 1e-12);
    a = MATRIX_LEAF(2, 0, 0, 0, 0);
    assert_true(farthest(gradient_of(adz_det(a), a), MATRIX(2, 0, 0, 0, 0)) < 1e-12);
}

FACT(items_do_not_mix)
{
    assert_items_do_not_mix(adz_det, true);
    /* a pivot of 0 takes nothing from other rows, however large its row is */
    adz_tensor *a = MATRIX(2, 0, INFINITY, 0, 1);
    ASSERT_VALUES(adz_det(a), ADZ_F64, 0);
    ASSERT_VALUES(adz_det(adz_expand(a, ADZ_SHAPE(3, 2, 2))), ADZ_F64, 0, 0, 0);
}

FACT(the_same_bits_without_a_gradient)
{
    assert_same_bits_without_gradient(adz_det);
}

SCALE_FACT(gradients_keep_the_scale, adz_det(a), 6, MATRIX(3, 2, 1, 0.5, -1, 3, 1, 0.25, 1, -2))

FACT(the_product_of_pivots_may_leave_the_range_on_the_way)
{
    adz_tensor *d = adz_to(VALUES(ADZ_F64, 1e30, 1e30, 3e-30, 1e-30), ADZ_F32);
    adz_tensor *a = adz_mul(adz_eye(4, 4, ADZ_F32), d);
    assert_true(fabs(adz_tensor_at(adz_det(a), NULL) - 3) < 1e-5);
    a = adz_mul(adz_eye(4, 4, ADZ_F64), VALUES(ADZ_F64, 1e-200, 1e-200, -1e200, 1e200));
    assert_true(fabs(adz_tensor_at(adz_det(a), NULL) + 1) < 1e-15);
    assert_true(isinf(adz_tensor_at(adz_det(adz_mul_number(adz_eye(2, 2, ADZ_F64), 1e200)), NULL)));
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(gradients_keep_the_scale),
    cmocka_unit_test(the_product_of_pivots_may_leave_the_range_on_the_way),
    cmocka_unit_test(signs_follow_exchanges),
    cmocka_unit_test(singular_matrices_have_gradients),
    cmocka_unit_test(items_do_not_mix),
    cmocka_unit_test(the_same_bits_without_a_gradient),
};

const op_case det_case = {
    .name = "det",
    .call = call,
    .samples = {
        { .in = { IN(3, 3) } },
        { .in = { IN_T(4, 4) } },
        { .in = { IN(1, 1) } },
        { .in = { IN(2, 1, 2, 2) } },
        { .in = { IN(0, 0) } },
        { .in = { IN(0, 3, 3) } },
        { .in = { IN(5, 20, 20) }, .large = true },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .status = ADZ_ERR_SHAPE, .says = "not square" },
        { .in = { IN(3) }, .status = ADZ_ERR_SHAPE, .says = "no matrix" },
        { .in = { IN_TYPED(ADZ_I64, 3, 3) }, .status = ADZ_ERR_DTYPE },
    },
    .needs_distinct = true,
    FACTS(facts),
};
