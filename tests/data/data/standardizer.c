/* The standardizer: its results, its errors and refused memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <math.h>

#include "adze/autograd.h"
#include "adze/data.h"
#include "adze/nn.h"
#include "adze/ops.h"
#include "tensor/tensor.h"
#include "../../errors.h"
#include "../../temporary.h"
#include "tests.h"

static void standardizes_and_returns(void **state)
{
    (void)state;
    static const adz_dtype dtypes[] = { ADZ_F64, ADZ_F32 };
    for (int i = 0; i < 2; ++i) {
        adz_scope *scope = adz_scope_open();
        /* Columns: small numbers, a constant whose mean is rounded, and numbers far from 0. */
        static const double values[] = { 1, 0.1, 1e9 + 1, 2, 0.1, 1e9 + 2, 6, 0.1, 1e9 + 6 };
        adz_tensor *x = adz_tensor_from(values, ADZ_SHAPE(3, 3), ADZ_F64);
        adz_module *standardizer = adz_standardizer_new(3, dtypes[i]);
        assert_int_equal(adz_standardizer_fit(standardizer, x), ADZ_OK);
        adz_tensor *mean = adz_module_get_buffer(standardizer, "mean");
        adz_tensor *std = adz_module_get_buffer(standardizer, "std");
        assert_int_equal(adz_tensor_dtype(mean), dtypes[i]);
        double tolerance = i == 0 ? 1e-12 : 1e-6, deviation = sqrt(14.0 / 3);
        assert_true(fabs(adz_tensor_at(mean, (int64_t[]){ 0 }) - 3) < tolerance);
        assert_true(fabs(adz_tensor_at(mean, (int64_t[]){ 1 }) - 0.1) < tolerance);
        assert_true(fabs(adz_tensor_at(std, (int64_t[]){ 0 }) - deviation) < tolerance);
        assert_true(adz_tensor_at(std, (int64_t[]){ 1 }) == 1);
        assert_true(fabs(adz_tensor_at(std, (int64_t[]){ 2 }) - deviation) < tolerance);
        adz_tensor *y = adz_module_forward(standardizer, x);
        assert_non_null(y);
        assert_true(fabs(adz_tensor_at(y, (int64_t[]){ 2, 0 }) - 3 / deviation) < tolerance);
        assert_true(fabs(adz_tensor_at(y, (int64_t[]){ 2, 1 })) < 1e-8);
        adz_tensor *back = adz_standardizer_inverse(standardizer, y);
        assert_true(adz_allclose(back, x, 1e-12, 1e-7, false));
        assert_int_equal(adz_standardizer_fit(standardizer, y),
            ADZ_OK); /* its columns have mean 0 and deviation 1 */
        assert_true(fabs(adz_tensor_at(mean, (int64_t[]){ 0 })) < tolerance);
        assert_true(fabs(adz_tensor_at(std, (int64_t[]){ 0 }) - 1) < tolerance);
        adz_state_dict *saved = adz_module_state_dict(standardizer);
        assert_int_equal(adz_state_dict_count(saved), 2);
        assert_string_equal(adz_state_dict_name_at(saved, 0), "mean");
        assert_string_equal(adz_state_dict_name_at(saved, 1), "std");
        adz_state_dict_free(&saved);
        char text[64];
        adz_module_to_string(standardizer, text, sizeof text);
        assert_string_equal(text, "Standardizer(3)");
        adz_module_release(&standardizer);
        adz_scope_close(scope);
    }
}

/* The digits 1, 2, 6 and the constant 3 are scaled. The standardized numbers do not depend on the
 * scale, even if the squares overflow or underflow to 0. */
static void values_of_any_size_are_standardized(void **state)
{
    (void)state;
    static const double scales[] = { 1, 1e160, 2e307, 1e-160, 1e-308, 5e-324 };
    const double deviation = sqrt(14.0 / 3);
    for (int i = 0; i < 6; ++i) {
        adz_scope *scope = adz_scope_open();
        const double values[] = { 1, 3, 2, 3, 6, 3 };
        adz_tensor *x = adz_tensor_from(values, ADZ_SHAPE(3, 2), ADZ_F64);
        x = adz_mul_number(x, scales[i]);
        adz_module *standardizer = adz_standardizer_new(2, ADZ_F64);
        assert_int_equal(adz_standardizer_fit(standardizer, x), ADZ_OK);
        adz_tensor *y = adz_module_forward(standardizer, x);
        /* For multiples of the smallest double, the deviation is rounded to such a multiple too. */
        double wanted = scales[i] == 5e-324 ? 3.0 / 2 : 3 / deviation;
        assert_true(fabs(adz_tensor_at(y, (int64_t[]){ 2, 0 }) - wanted) < 1e-12);
        assert_true(adz_tensor_at(y, (int64_t[]){ 2, 1 }) == 0);
        assert_true(adz_allclose(adz_standardizer_inverse(standardizer, y), x, 1e-12, 0, false));
        adz_module_release(&standardizer);
        adz_scope_close(scope);
    }
}

/* A column whose numbers do not fit the dtype is an error; it never becomes zeros. */
static void columns_beyond_the_dtype_are_refused(void **state)
{
    (void)state;
    static const struct {
        double low, high;
        adz_dtype dtype;
        const char *says;
    } cases[] = {
        { 1e160, 2e160, ADZ_F32, "column 1 lies between 1e+160 and 2e+160" },
        { 1e160, 1e160, ADZ_F32, "does not fit float32" },
        { -3e38, 3e39, ADZ_F32, "ADZ_F64" },
        { 0, 1e-50, ADZ_F32, "its deviation 5e-51" },
        { -1.7e308, 1.7e308, ADZ_F32, "multiply the column" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        adz_scope *scope = adz_scope_open();
        const double values[] = { 1, cases[i].low, 2, cases[i].high };
        adz_tensor *x = adz_tensor_from(values, ADZ_SHAPE(2, 2), ADZ_F64);
        adz_module *standardizer = adz_standardizer_new(2, cases[i].dtype);
        assert_int_equal(adz_standardizer_fit(standardizer, x), ADZ_ERR_NUMERIC);
        if (strstr(adz_error_message(), cases[i].says) == NULL) {
            fail_msg("%s", adz_error_message());
        }
        adz_error_clear();
        adz_tensor *std = adz_module_get_buffer(standardizer, "std");
        assert_true(adz_tensor_at(std, (int64_t[]){ 0 }) == 1);
        adz_module_release(&standardizer);
        adz_scope_close(scope);
    }
}

/* One of many rows differs by the smallest double: the deviation is rounded up, not to 0. */
static void the_smallest_deviation_is_kept(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_zeros(ADZ_SHAPE(100, 1), ADZ_F64);
    adz_tensor_data_f64(x)[7] = 5e-324;
    adz_module *standardizer = adz_standardizer_new(1, ADZ_F64);
    assert_int_equal(adz_standardizer_fit(standardizer, x), ADZ_OK);
    adz_tensor *y = adz_module_forward(standardizer, x);
    assert_true(adz_tensor_at(y, (int64_t[]){ 7, 0 }) == 1);
    adz_module_release(&standardizer);
    adz_scope_close(scope);
}

/* A standardizer passes gradients on to its input. */
static void gradients_pass(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *standardizer = adz_standardizer_new(1, ADZ_F64);
    adz_tensor *rows = adz_tensor_from((double[]){ 0, 8 }, ADZ_SHAPE(2, 1), ADZ_F64);
    assert_int_equal(adz_standardizer_fit(standardizer, rows), ADZ_OK); /* mean 4, deviation 4 */
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(5, 1), ADZ_F64), true);
    assert_int_equal(
        adz_backward(adz_sum(adz_module_forward(standardizer, x), ADZ_ALL_DIMS, false)), ADZ_OK);
    assert_true(adz_tensor_data_f64(adz_tensor_grad(x))[4] == 0.25);
    adz_module_release(&standardizer);
    adz_scope_close(scope);
}

static void wrong_columns_are_refused(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    assert_null(adz_standardizer_new(0, ADZ_F64));
    assert_int_equal(adz_error_code(), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    assert_null(adz_standardizer_new(2, ADZ_I64));
    assert_int_equal(adz_error_code(), ADZ_ERR_DTYPE);
    adz_error_clear();
    adz_module *standardizer = adz_standardizer_new(2, ADZ_F64), *other = adz_relu_new();
    adz_tensor *x = adz_ones(ADZ_SHAPE(4, 3), ADZ_F64);
    assert_int_equal(adz_standardizer_fit(standardizer, x), ADZ_ERR_SHAPE);
    expect_error(ADZ_ERR_SHAPE, "x[4, 3] must have 2 columns");
    assert_null(adz_module_forward(standardizer, x));
    assert_int_equal(adz_error_code(), ADZ_ERR_SHAPE);
    adz_error_clear();
    assert_null(adz_standardizer_inverse(standardizer, x));
    assert_int_equal(adz_error_code(), ADZ_ERR_SHAPE);
    adz_error_clear();
    assert_int_equal(adz_standardizer_fit(other, x), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "the module is a ReLU, not a Standardizer");
    static const double odd[] = { 1, 2, NAN, 4 };
    x = adz_tensor_from(odd, ADZ_SHAPE(2, 2), ADZ_F64);
    assert_int_equal(adz_standardizer_fit(standardizer, x), ADZ_ERR_NUMERIC);
    expect_error(ADZ_ERR_NUMERIC, "row 1 of column 0 is nan");
    static const double ends[] = { 1, INFINITY, 3, 4 };
    adz_tensor *endless = adz_tensor_from(ends, ADZ_SHAPE(2, 2), ADZ_F64);
    assert_int_equal(adz_standardizer_fit(standardizer, endless), ADZ_ERR_NUMERIC);
    expect_error(ADZ_ERR_NUMERIC, "row 0 of column 1 is inf");
    assert_int_equal(
        adz_standardizer_fit(standardizer, adz_ones(ADZ_SHAPE(4, 2), ADZ_I64)), ADZ_ERR_DTYPE);
    expect_error(ADZ_ERR_DTYPE, "x is int64, not float32 or float64");
    assert_true(adz_tensor_at(adz_module_get_buffer(standardizer, "mean"), (int64_t[]){ 1 }) == 0);
    assert_int_equal(
        adz_standardizer_fit(standardizer, adz_ones(ADZ_SHAPE(0, 2), ADZ_F64)), ADZ_ERR_SHAPE);
    adz_error_clear();
    assert_int_equal(adz_standardizer_fit(NULL, x), ADZ_ERR_NULL);
    adz_error_clear();
    adz_module_release(&standardizer);
    adz_module_release(&other);
    adz_scope_close(scope);
}

/* The lowest value may come last. A single row has the deviation 1, as a constant has. */
static void columns_need_no_order(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *standardizer = adz_standardizer_new(1, ADZ_F64);
    adz_tensor *mean = adz_module_get_buffer(standardizer, "mean");
    adz_tensor *std = adz_module_get_buffer(standardizer, "std");
    adz_tensor *falling = adz_tensor_from((double[]){ 8, 0 }, ADZ_SHAPE(2, 1), ADZ_F64);
    assert_int_equal(adz_standardizer_fit(standardizer, falling), ADZ_OK);
    assert_true(adz_item(mean) == 4 && adz_item(std) == 4);
    adz_tensor *single = adz_tensor_from((double[]){ 7 }, ADZ_SHAPE(1, 1), ADZ_F64);
    assert_int_equal(adz_standardizer_fit(standardizer, single), ADZ_OK);
    assert_true(adz_item(mean) == 7 && adz_item(std) == 1);
    adz_module_release(&standardizer);
    adz_scope_close(scope);
}

/* A graph that needs the mean or the deviation cannot run backward after another fit. */
static void a_fit_counts_as_a_change(void **state)
{
    (void)state;
    for (int i = 0; i < 2; ++i) {
        adz_scope *scope = adz_scope_open();
        adz_module *standardizer = adz_standardizer_new(1, ADZ_F64);
        adz_tensor *rows = adz_tensor_from((double[]){ 0, 8 }, ADZ_SHAPE(2, 1), ADZ_F64);
        adz_tensor *w = adz_requires_grad_(adz_ones(ADZ_SHAPE(1), ADZ_F64), true);
        adz_tensor *loss =
            adz_sum(adz_mul(w, adz_module_get_buffer(standardizer, i == 0 ? "mean" : "std")),
                ADZ_ALL_DIMS, false);
        assert_int_equal(adz_standardizer_fit(standardizer, rows), ADZ_OK);
        assert_int_equal(adz_backward(loss), ADZ_ERR_VERSION);
        adz_error_clear();
        adz_module_release(&standardizer);
        adz_scope_close(scope);
    }
}

static adz_status make_and_fit(void *user)
{
    adz_module *standardizer = adz_standardizer_new(2, ADZ_F32);
    adz_status status =
        standardizer != NULL ? adz_standardizer_fit(standardizer, user) : adz_error_code();
    adz_module_release(&standardizer);
    return status;
}

typedef struct fitted {
    adz_module *standardizer;
    adz_tensor *rows;
} fitted;

static adz_status fit_again(void *user)
{
    const fitted *f = user;
    return adz_standardizer_fit(f->standardizer, f->rows);
}

static void refused_memory_harms_no_standardizer(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_arange(0, 6, 1, ADZ_F32);
    x = adz_transpose(adz_reshape(x, ADZ_SHAPE(2, 3)), 0, 1);
    assert_int_equal(make_and_fit(x), ADZ_OK);
    int points = refuse_each(make_and_fit, NULL, x);
    assert_true(points >= 6);
    print_message("refused: %d standardising\n", points);
    fitted f = { adz_standardizer_new(2, ADZ_F32), x };
    assert_true(refuse_scope(fit_again, &f));
    adz_module_release(&f.standardizer);
    adz_scope_close(scope);
}

int standardizer_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(standardizes_and_returns),
        cmocka_unit_test(values_of_any_size_are_standardized),
        cmocka_unit_test(columns_beyond_the_dtype_are_refused),
        cmocka_unit_test(the_smallest_deviation_is_kept),
        cmocka_unit_test(gradients_pass),
        cmocka_unit_test(wrong_columns_are_refused),
        cmocka_unit_test(columns_need_no_order),
        cmocka_unit_test(a_fit_counts_as_a_change),
        cmocka_unit_test(refused_memory_harms_no_standardizer),
    };
    return cmocka_run_group_tests_name("data: standardizer", tests, NULL, NULL);
}
