/* Anomaly mode in the forward: which NaN and which infinity is an error, and what the message
 * names.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "adze/adze.h"
#include "errors.h"

/* x[2, 3], in which only [1, 2] is not an ordinary number. */
static adz_tensor *with(double value)
{
    double x[] = { 1, 2, 3, 4, 5, value };
    return adz_tensor_from(x, ADZ_SHAPE(2, 3), ADZ_F64);
}

static int begin(void **state)
{
    *state = adz_scope_open();
    adz_set_anomaly_enabled(true);
    return 0;
}

static int end(void **state)
{
    adz_set_anomaly_enabled(false);
    adz_scope_close(*state);
    return 0;
}

static void nan_enters_by_an_input(void **state)
{
    (void)state;
    adz_tensor *x = with(NAN), *good = with(0);
    assert_null(adz_exp(x));
    expect_error(ADZ_ERR_NUMERIC, "exp: NaN enters by input 0, x[2, 3], which has it at [1, 2]");
    assert_null(adz_mul(good, x));
    expect_error(ADZ_ERR_NUMERIC, "mul: NaN enters by input 1, b[2, 3], which has it at [1, 2]");
    adz_tensor *parts[] = { good, good, x };
    assert_null(adz_cat(parts, 3, 0));
    expect_error(ADZ_ERR_NUMERIC, "cat: NaN enters by input 2, tensors[2, 3], which has it at");
    adz_tensor *turned = adz_transpose(x, 0, 1);
    assert_null(adz_exp(turned));
    expect_error(ADZ_ERR_NUMERIC, "input 0, x[3, 2], which has it at [2, 1]");
    assert_null(adz_exp(adz_scalar(NAN, ADZ_F32)));
    expect_error(ADZ_ERR_NUMERIC, "input 0, x[], which has it at []");
}

/* A weight is an input, too, and a module's name stands before. */
static void nan_enters_by_a_weight(void **state)
{
    (void)state;
    adz_module *net = ADZ_SEQUENTIAL(adz_relu_new(), adz_linear_new(3, 4, NULL));
    adz_module_to(net, ADZ_F64);
    adz_init_constant_(adz_module_get_parameter(net, "1.weight"), 0);
    adz_tensor_data_f64(adz_module_get_parameter(net, "1.weight"))[7] = NAN;
    assert_null(adz_module_forward(net, with(0)));
    expect_error(
        ADZ_ERR_NUMERIC, "1: linear: NaN enters by input 1, weight[4, 3], which has it at [2, 1]");
    adz_module_release(&net);
}

static void numbers_become_nan_or_infinite(void **state)
{
    (void)state;
    assert_null(adz_log(with(-1)));
    expect_error(ADZ_ERR_NUMERIC, "log: NaN at [1, 2] of the result [2, 3], from finite arguments");
    assert_null(adz_exp(with(1000)));
    expect_error(
        ADZ_ERR_NUMERIC, "exp: infinity at [1, 2] of the result [2, 3], from finite arguments");
    assert_null(adz_to(with(1e6), ADZ_F16));
    expect_error(ADZ_ERR_NUMERIC, "infinity at [1, 2] of the result [2, 3], from finite arguments");
}

/* Masks hold infinities. Sums with them pass; what becomes NaN of them does not. */
static void infinities_may_pass(void **state)
{
    (void)state;
    adz_tensor *mask = with(-INFINITY);
    assert_non_null(adz_add(with(7), mask));
    assert_non_null(adz_softmax(mask, 1));
    assert_null(adz_sub(mask, mask));
    expect_error(ADZ_ERR_NUMERIC,
        "sub: NaN at [1, 2] of the result [2, 3], from input 0, a[2, 3], which is infinite at [1, 2]");
    assert_null(adz_softmax(adz_full(ADZ_SHAPE(1, 2), -INFINITY, ADZ_F32), 1));
    expect_error(ADZ_ERR_NUMERIC, "softmax: NaN at [0, 0] of the result [1, 2], from input 0");
}

/* A program may look for missing values by itself. */
static void missing_values_can_be_replaced(void **state)
{
    (void)state;
    adz_tensor *x = adz_reshape(with(NAN), ADZ_SHAPE(3, 2));
    adz_tensor *missing = adz_isnan(x);
    assert_non_null(missing);
    assert_non_null(adz_sum(adz_where(missing, adz_zeros_like(x), x), ADZ_ALL_DIMS, ADZ_DROPDIM));
    assert_int_equal(adz_error_code(), ADZ_OK);
}

static void a_change_in_place_is_seen(void **state)
{
    (void)state;
    assert_null(adz_div_(with(0), adz_zeros(ADZ_SHAPE(2, 3), ADZ_F64)));
    expect_error(ADZ_ERR_NUMERIC, "NaN at [1, 2] of the result [2, 3], which was changed in place");
    assert_null(adz_add_(with(0), with(NAN)));
    expect_error(ADZ_ERR_NUMERIC, "NaN enters by input 1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nan_enters_by_an_input, begin, end),
        cmocka_unit_test_setup_teardown(nan_enters_by_a_weight, begin, end),
        cmocka_unit_test_setup_teardown(numbers_become_nan_or_infinite, begin, end),
        cmocka_unit_test_setup_teardown(infinities_may_pass, begin, end),
        cmocka_unit_test_setup_teardown(missing_values_can_be_replaced, begin, end),
        cmocka_unit_test_setup_teardown(a_change_in_place_is_seen, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
