#include "ops/case.h"

/* p[0] = alpha, p[1] = 1: in place */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(
        a->p[0] == 1 ? adz_add(a->in[0], a->in[1]) : adz_add_scaled(a->in[0], a->in[1], a->p[0]),
        out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "alpha", 1);
    if (config_has(config, "scalar")) {
        a->in[1] = adz_scalar(config_number(config, "scalar", 0), adz_tensor_dtype(a->in[0]));
    }
    if (config_flag(config, "same_tensor", false)) {
        a->in[1] = a->in[0];
    }
    return true;
}

static void integers_wrap_and_promote(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    int32_t most = INT32_MAX;
    adz_tensor *i4 = adz_tensor_from(&most, ADZ_SHAPE(1), ADZ_I32);
    assert_int_equal(adz_item_i64(adz_add_number(i4, 1)), INT32_MIN);
    assert_int_equal(adz_tensor_dtype(adz_add(i4, adz_ones(ADZ_SHAPE(1), ADZ_I64))), ADZ_I64);
    assert_int_equal(adz_tensor_dtype(adz_add_number(i4, 0.5)), ADZ_F32);
    assert_int_equal(adz_tensor_dtype(adz_add_number(i4, 2)), ADZ_I32);
    int64_t a[] = { 5, -3, INT64_MAX }, b[] = { 2, 4, 1 }, sum[] = { 7, 1, INT64_MIN };
    adz_tensor *ia = adz_tensor_from(a, ADZ_SHAPE(3), ADZ_I64);
    adz_tensor *ib = adz_tensor_from(b, ADZ_SHAPE(3), ADZ_I64);
    adz_tensor *wanted = adz_tensor_from(sum, ADZ_SHAPE(3), ADZ_I64);
    assert_true(adz_equal(adz_add(ia, ib), wanted));
    adz_tensor *yes = adz_ones(ADZ_SHAPE(1), ADZ_BOOL);
    assert_int_equal(adz_tensor_dtype(adz_add(yes, yes)), ADZ_BOOL);
    assert_int_equal(adz_item_i64(adz_add(yes, yes)), 1);
    adz_scope_close(scope);
}

static void in_position_adds_and_records(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_requires_grad_(adz_full(ADZ_SHAPE(2), 3, ADZ_F64), true);
    assert_null(adz_add_(x, x));
    assert_int_equal(adz_error_code(), ADZ_ERR_INPLACE);
    assert_non_null(strstr(adz_error_message(), "adz_add"));
    adz_error_clear();
    adz_tensor *y = adz_mul_number(x, 2), *z = adz_add_scaled_(y, x, 5);
    assert_ptr_equal(y, z);
    assert_int_equal(adz_backward(adz_sum(z, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    assert_float_equal(adz_tensor_at(adz_tensor_grad(x), (int64_t[]){ 1 }), 7, 0);
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(integers_wrap_and_promote),
    cmocka_unit_test(in_position_adds_and_records),
};

const op_case add_case = {
    .name = "add",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(3, 4) }, .p = { 1 } },
        { .in = { IN_T(3, 4), IN(4) }, .p = { 1 } },
        { .in = { IN(2, 1, 3), IN(4, 1) }, .p = { -0.5 } },
        { .in = { IN_0, IN(2, 2) }, .p = { 2 } },
        { .in = { IN(3, 0), IN(1, 1) }, .p = { 1 } },
        { .in = { IN(1), IN(1) }, .p = { 1 } },
        { .in = { IN(5, 7), IN(5, 1) }, .p = { 1 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3) }, .p = { 1 }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" },
        { .in = { IN_TYPED(ADZ_F16, 3), IN(3) }, .p = { 1 }, .status = ADZ_ERR_DTYPE },
        { .in = { IN_TYPED(ADZ_I64, 3), IN_TYPED(ADZ_I64, 3) }, .p = { 0.5 },
            .status = ADZ_ERR_ARGUMENT, .says = "alpha" },
    },
    .broadcasts = true,
    .first_order_only = true,
    .vectors = { "add" },
    .inputs = { "a", "b" },
    .config = config,
    FACTS(facts),
};
