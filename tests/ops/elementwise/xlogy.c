#include "ops/binary.h"

static adz_tensor *(*const tested)(adz_tensor *, adz_tensor *) = adz_xlogy;

/* PyTorch 2.15 computed the expected values. */
FACT(values_and_gradients)
{
    const double as[] = { 0, 0, 0, 2, -1, 0, (double)INFINITY },
                 bs[] = { 0, -1, (double)NAN, 0, 2, 5, 2 },
                 ys[] = { 0.0, 0.0, (double)NAN, -(double)INFINITY, -0.6931471805599453, 0.0,
                     (double)INFINITY },
                 das[] = { 0.0, 0.0, (double)NAN, -(double)INFINITY, 0.6931471805599453,
                     1.6094379124341003, 0.6931471805599453 },
                 dbs[] = { (double)NAN, 0.0, (double)NAN, (double)INFINITY, -0.5, 0.0,
                     (double)INFINITY };
    assert_two(sizeof as / sizeof *as, as, bs, ys, das, dbs);
}

FACT(integers)
{
    ASSERT_VALUES(adz_xlogy(VALUES(ADZ_I64, 0, 0), VALUES(ADZ_I64, 0, 3)), ADZ_F32, 0, 0);
}

/* PyTorch gives NaN, the derivative of the logarithm times 0. */
FACT(second_derivatives_where_a_is_0)
{
    adz_tensor *a = LEAF(0, 0, 0), *b = LEAF(0, -2, 2);
    adz_tensor *da = gradient_by_expression(adz_xlogy(a, b), a);
    ASSERT_VALUES(gradient_of(da, b), ADZ_F64, 0, 0, 0.5);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(values_and_gradients),
    cmocka_unit_test(integers),
    cmocka_unit_test(second_derivatives_where_a_is_0),
};

const op_case xlogy_case = { BINARY_CASE("xlogy", FILL_POSITIVE, FILL_POSITIVE) };
