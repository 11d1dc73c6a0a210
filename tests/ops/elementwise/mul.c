#include "ops/case.h"

/* p[0] = 1: in place */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(
        a->p[0] == 1 ? adz_mul_(adz_clone(a->in[0]), a->in[1]) : adz_mul(a->in[0], a->in[1]), out);
}

static bool config(const json_t *config, op_args *a)
{
    if (config_has(config, "scalar")) {
        a->in[1] = adz_scalar(config_number(config, "scalar", 0), adz_tensor_dtype(a->in[0]));
    }
    if (config_flag(config, "same_tensor", false)) {
        a->in[1] = a->in[0];
    }
    return true;
}

static void integers_wrap(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    int64_t a[] = { 5, -3, INT64_MAX }, b[] = { 2, 4, 2 }, product[] = { 10, -12, -2 };
    adz_tensor *ia = adz_tensor_from(a, ADZ_SHAPE(3), ADZ_I64);
    adz_tensor *ib = adz_tensor_from(b, ADZ_SHAPE(3), ADZ_I64);
    adz_tensor *wanted = adz_tensor_from(product, ADZ_SHAPE(3), ADZ_I64);
    assert_true(adz_equal(adz_mul(ia, ib), wanted));
    adz_scope_close(scope);
}

static void in_position_keeps_the_old_value(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_requires_grad_(adz_full(ADZ_SHAPE(2), 3, ADZ_F64), true);
    adz_tensor *w = adz_requires_grad_(adz_full(ADZ_SHAPE(2), 5, ADZ_F64), true);
    adz_tensor *y = adz_mul_number(x, 2);
    assert_non_null(adz_mul_(y, w));
    assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    assert_float_equal(adz_tensor_at(adz_tensor_grad(x), (int64_t[]){ 0 }), 10, 0);
    assert_float_equal(adz_tensor_at(adz_tensor_grad(w), (int64_t[]){ 0 }), 6, 0);
    adz_scope_close(scope);
}

static void a_saved_value_changed_in_position_is_named(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_requires_grad_(adz_full(ADZ_SHAPE(2), 3, ADZ_F64), true);
    adz_tensor *y = adz_mul_number(x, 2), *z = adz_mul(y, y);
    assert_non_null(adz_add_(y, x));
    assert_int_equal(adz_backward(adz_sum(z, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_ERR_VERSION);
    assert_non_null(strstr(adz_error_message(), "mul"));
    assert_non_null(strstr(adz_error_message(), "add"));
    assert_null(adz_tensor_grad(x));
    adz_error_clear();
    adz_scope_close(scope);
}

/* x with a number and with a tensor of rank 0 has the same bits. */
static void expect_number(adz_tensor *x, double number)
{
    adz_tensor *t = adz_scalar(number, adz_tensor_dtype(x));
    adz_tensor *const pairs[][2] = {
        { adz_mul_number(x, number), adz_mul(x, t) },
        { adz_add_number(x, number), adz_add(x, t) },
        { adz_sub_number(x, number), adz_sub(x, t) },
        { adz_number_sub(number, x), adz_sub(t, x) },
        { adz_div_number(x, number), adz_div(x, t) },
        { adz_number_div(number, x), adz_div(t, x) },
    };
    for (int i = 0; i < 6; ++i) {
        assert_non_null(pairs[i][0]);
        assert_memory_equal(adz_tensor_data(pairs[i][0]), adz_tensor_data(pairs[i][1]),
            (size_t)adz_tensor_numel(x) * adz_dtype_size(adz_tensor_dtype(x)));
    }
}

/* With a graph, without one, and where x is strided. */
static void numbers_have_the_bits_of_tensors(void **state)
{
    (void)state;
    const double numbers[] = { 0.1, -3, 1e30, 1e300, 0, -0.0, INFINITY };
    adz_scope *scope = adz_scope_open();
    for (int i = 0; i < 2 * 7; ++i) {
        const adz_dtype dtype = i % 2 == 0 ? ADZ_F32 : ADZ_F64;
        adz_tensor *x = adz_randn(ADZ_SHAPE(19, 3), dtype);
        assert_non_null(adz_fill_(adz_narrow(x, 0, 4, 1), -0.0));
        assert_non_null(adz_fill_(adz_narrow(x, 0, 5, 1), INFINITY));
        expect_number(x, numbers[i / 2]);
        expect_number(adz_transpose(x, 0, 1), numbers[i / 2]);
        expect_number(adz_requires_grad_(x, true), numbers[i / 2]);
    }
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(numbers_have_the_bits_of_tensors),
    cmocka_unit_test(integers_wrap),
    cmocka_unit_test(in_position_keeps_the_old_value),
    cmocka_unit_test(a_saved_value_changed_in_position_is_named),
};

const op_case mul_case = {
    .name = "mul",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(3, 4) } },
        { .in = { IN_T(3, 4), IN(4) } },
        { .in = { IN(2, 1, 3), IN(4, 1) } },
        { .in = { IN_0, IN(2, 2) } },
        { .in = { IN(3, 0), IN(1, 1) } },
        { .in = { IN(1), IN(1) } },
        { .in = { IN(2, 3), IN_CONST(2, 3) } },
        { .in = { IN(3, 4), IN(4) }, .p = { 1 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "broadcast" },
        { .in = { IN_TYPED(ADZ_BF16, 3), IN(3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
    },
    .broadcasts = true,
    .vectors = { "mul" },
    .inputs = { "a", "b" },
    .config = config,
    FACTS(facts),
};
