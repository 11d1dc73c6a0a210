#include "ops/linalg/decomposition/scales.h"

static int call(const op_args *a, adz_tensor **out)
{
    return adz_slogdet(a->in[0], &out[1], &out[0]) == ADZ_OK ? 2 : 0;
}

static adz_tensor *logarithms(adz_tensor *a)
{
    adz_tensor *y;
    adz_slogdet(a, NULL, &y);
    return y;
}

FACT(logarithms_do_not_overflow)
{
    adz_tensor *sign, *y;
    assert_int_equal(
        adz_slogdet(adz_mul_number(adz_eye(400, 400, ADZ_F64), -10), &sign, &y), ADZ_OK);
    assert_true(fabs(adz_tensor_at(y, NULL) - 400 * log(10)) < 1e-10);
    ASSERT_VALUES(sign, ADZ_F64, 1);
    assert_int_equal(adz_slogdet(MATRIX(2, 1, 2, 2, 4), &sign, &y), ADZ_OK);
    ASSERT_VALUES(y, ADZ_F64, -INFINITY);
    ASSERT_VALUES(sign, ADZ_F64, 0);
    ASSERT_VALUES(logarithms(MATRIX(2, 0, 1, 1, 0)), ADZ_F64, 0);
    assert_int_equal(adz_slogdet(adz_ones(ADZ_SHAPE(2), ADZ_F64), &sign, &y), ADZ_ERR_SHAPE);
    assert_null(sign);
    assert_null(y);
    adz_error_clear();
}

FACT(items_do_not_mix)
{
    assert_items_do_not_mix(logarithms, true);
}

/* Products of pivots that leave the range are logarithms before they do. */
FACT(products_out_of_range_have_logarithms)
{
    static const double pivots[] = { 1e-300, 1e300, 1e-100, 1e308, 1e308, 5e-324, 1 };
    double sum = 0;
    for (int i = 0; i < 7; ++i) {
        sum += log(pivots[i]);
    }
    adz_tensor *a = adz_diag(adz_tensor_from(pivots, ADZ_SHAPE(7), ADZ_F64), 0);
    assert_true(fabs(adz_tensor_at(logarithms(a), NULL) - sum) < 1e-12 * fabs(sum));
    assert_true(adz_tensor_at(logarithms(MATRIX(2, 0, 1, 0, 2)), NULL) == -(double)INFINITY);
    assert_true(adz_tensor_at(logarithms(MATRIX(1, INFINITY)), NULL) == (double)INFINITY);
}

static adz_tensor *sign_of(adz_tensor *a)
{
    adz_tensor *sign;
    adz_slogdet(a, &sign, NULL);
    return sign;
}

FACT(the_same_bits_without_a_gradient)
{
    assert_same_bits_without_gradient(logarithms);
    assert_same_bits_without_gradient(sign_of);
}

SCALE_FACT(gradients_keep_the_scale, logarithms(a), 0, MATRIX(3, 2, 1, 0.5, -1, 3, 1, 0.25, 1, -2))

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(gradients_keep_the_scale),
    cmocka_unit_test(logarithms_do_not_overflow),
    cmocka_unit_test(items_do_not_mix),
    cmocka_unit_test(the_same_bits_without_a_gradient),
    cmocka_unit_test(products_out_of_range_have_logarithms),
};

const op_case slogdet_case = {
    .name = "slogdet",
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
