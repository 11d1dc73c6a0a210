#include <math.h>

#include "ops/case.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_to(a->in[0], ADZ_F32), out);
}

static void gradients_are_converted_back(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_requires_grad_(adz_full(ADZ_SHAPE(2), 3, ADZ_F64), true);
    adz_tensor *y = adz_mul_number(adz_to(x, ADZ_F32), 5);
    assert_int_equal(adz_tensor_dtype(y), ADZ_F32);
    assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    assert_int_equal(adz_tensor_dtype(adz_tensor_grad(x)), ADZ_F64);
    assert_float_equal(adz_tensor_at(adz_tensor_grad(x), (int64_t[]){ 1 }), 5, 0);
    assert_false(adz_tensor_requires_grad(adz_to(x, ADZ_I64)));
    adz_scope_close(scope);
}

static void halves_round_to_even(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    const float in[] = { 1, 65504, 65520, 6e-8f, 1.0009765625f, 1.00048828125f };
    const float f16[] = { 1, 65504, (float)INFINITY, 5.9604644775390625e-8f, 1.0009765625f, 1 };
    adz_tensor *x = adz_tensor_from(in, ADZ_SHAPE(6), ADZ_F32);
    adz_tensor *y = adz_to(adz_to(x, ADZ_F16), ADZ_F32);
    assert_memory_equal(adz_tensor_data(y), f16, sizeof f16);
    const float bf[] = { 1, 65536, 65536, 6.00703060626983643e-8f, 1, 1 };
    y = adz_to(adz_to(x, ADZ_BF16), ADZ_F32);
    assert_memory_equal(adz_tensor_data(y), bf, sizeof bf);
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(gradients_are_converted_back),
    cmocka_unit_test(halves_round_to_even),
};

const op_case to_case = {
    .name = "to",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) } },
        { .in = { IN_T(3, 4) } },
        { .in = { IN(1) } },
        { .in = { IN(2, 1, 3) } },
        { .in = { IN(0, 3) } },
        { .in = { IN_0 } },
    },
    .rejects = {
        { .in = { IN_NONE }, .status = ADZ_ERR_ARGUMENT, .says = "not optional" },
        { .in = { IN_NONE, IN(2) }, .status = ADZ_ERR_ARGUMENT },
    },
    .not_differentiable = true, /* f32 rounds the differences away; a fact checks the gradient */
    FACTS(facts),
};
