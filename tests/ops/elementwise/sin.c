#include "ops/unary.h"

static adz_tensor *(*const tested)(adz_tensor *) = adz_sin;

FACT(special_values)
{
    ASSERT_VALUES(adz_sin(VALUES(ADZ_F32, 0, INFINITY, NAN)), ADZ_F32, 0, NAN, NAN);
    ASSERT_VALUES(adz_sin(VALUES(ADZ_I64, 0, 0)), ADZ_F32, 0, 0);
}

FACT(large_arguments_are_reduced)
{
    adz_tensor *y = adz_sin(VALUES(ADZ_F64, 1e22));
    assert_float_equal(adz_item(y), -0.8522008497671888018, 1e-15);
}

/* A block with an argument that is too large for the vector code, or is NaN, takes another path.
 * Every element must have the result that it has alone, correct to the last digit. */
FACT(neighbours_do_not_matter)
{
    enum { N = 300 };
    adz_tensor *x = adz_mul_number(adz_randn(ADZ_SHAPE(N), ADZ_F32), 1000);
    float *at = adz_tensor_data_f32(x);
    const float odd[] = { 1048576.0f, 1048577.0f, -3e9f, 1e38f, INFINITY, NAN, -0.0f, 1e-40f };
    for (int i = 0; i < 8; ++i) {
        at[i < 6 ? 5 * i : 40 * i] = odd[i];
    }
    adz_tensor *y = adz_sin(x), *z = adz_cos(x);
    const float *sines = adz_tensor_data_f32(y), *cosines = adz_tensor_data_f32(z);
    for (int64_t i = 0; i < N; ++i) {
        adz_tensor *one = adz_slice(x, 0, i, i + 1, 1);
        assert_true(adz_allclose(adz_sin(one), adz_slice(y, 0, i, i + 1, 1), 0, 0, true));
        assert_true(adz_allclose(adz_cos(one), adz_slice(z, 0, i, i + 1, 1), 0, 0, true));
        if (isfinite(at[i])) {
            assert_true(fabs((double)sines[i] - sin((double)at[i])) <= 4e-8);
            assert_true(fabs((double)cosines[i] - cos((double)at[i])) <= 4e-8);
        }
    }
    assert_true(signbit(sines[240]) && sines[280] == at[280]);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(special_values),
    cmocka_unit_test(large_arguments_are_reduced),
    cmocka_unit_test(neighbours_do_not_matter),
};

const op_case sin_case = { UNARY_CASE("sin", FILL_NORMAL) };
