/* Factories of sequences: arange, linspace, logspace, eye. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "adze/adze.h"
#include "errors.h"

static void ranges_and_identities(void **state)
{
    (void)state;
    adz_tensor *a = adz_arange(0, 1, 0.1, ADZ_F64), *l = adz_linspace(-1, 1, 5, ADZ_F32);
    assert_int_equal(adz_tensor_numel(a), 10);
    assert_float_equal(adz_tensor_at(a, (int64_t[]){ 7 }), 0.7, 1e-15);
    assert_int_equal(adz_tensor_numel(adz_arange(5, 0, -2, ADZ_I64)), 3);
    assert_null(adz_arange(0, 5, -1, ADZ_F32));
    adz_error_clear();
    assert_float_equal(adz_tensor_at(l, (int64_t[]){ 4 }), 1, 0);
    assert_float_equal(adz_tensor_at(l, (int64_t[]){ 1 }), -0.5, 0);
    assert_int_equal(adz_tensor_numel(adz_linspace(0, 1, 0, ADZ_F32)), 0);
    adz_tensor *e = adz_eye(2, 3, ADZ_I64);
    int64_t expected[] = { 1, 0, 0, 0, 1, 0 };
    assert_memory_equal(adz_tensor_data_i64(e), expected, sizeof expected);
}

static void powers(void **state)
{
    (void)state;
    const double tens[] = { 0.01, 0.1, 1, 10, 100 };
    adz_tensor *y = adz_logspace(-2, 2, 5, 10, ADZ_F64);
    for (int64_t i = 0; i < 5; ++i) {
        assert_float_equal(adz_tensor_at(y, &i), tens[i], 1e-15);
    }
    const int64_t twos[] = { 1, 2, 4, 8, 16 };
    y = adz_logspace(0, 4, 5, 2, ADZ_I64);
    assert_memory_equal(adz_tensor_data_i64(y), twos, sizeof twos);
    y = adz_logspace(3, 1, 3, -2, ADZ_F32);
    assert_float_equal(adz_tensor_at(y, (int64_t[]){ 0 }), -8, 0);
    assert_float_equal(adz_tensor_at(y, (int64_t[]){ 1 }), 4, 0);
    assert_float_equal(adz_item(adz_logspace(3, 9, 1, 10, ADZ_F64)), 1000, 0);
    assert_int_equal(adz_tensor_numel(adz_logspace(0, 1, 0, 10, ADZ_F32)), 0);
    assert_true(isinf(adz_item(adz_logspace(400, 0, 1, 10, ADZ_F64))));
}

static void refused_powers(void **state)
{
    (void)state;
    static const struct {
        double end;
        int64_t steps;
        double base;
        adz_dtype dtype;
        adz_status status;
        const char *says;
    } cases[] = {
        { 1, -1, 10, ADZ_F32, ADZ_ERR_ARGUMENT, "logspace: -1 steps" },
        { INFINITY, 3, 10, ADZ_F32, ADZ_ERR_ARGUMENT, "both ends finite" },
        { 1, 3, NAN, ADZ_F32, ADZ_ERR_ARGUMENT, "base is nan, but must be finite" },
        { 2, 3, -2, ADZ_I64, ADZ_ERR_ARGUMENT, "must be positive for int64" },
        { 10, 3, 10, ADZ_I32, ADZ_ERR_ARGUMENT, "int32 does not hold" },
        { 1, 3, 10, ADZ_BOOL, ADZ_ERR_DTYPE, "bool" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        assert_null(adz_logspace(0, cases[i].end, cases[i].steps, cases[i].base, cases[i].dtype));
        expect_error(cases[i].status, cases[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_and_identities),
        cmocka_unit_test(powers),
        cmocka_unit_test(refused_powers),
    };
    return cmocka_run_group_tests_name("sequences", tests, NULL, NULL);
}
