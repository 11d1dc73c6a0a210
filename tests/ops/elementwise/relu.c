#include <math.h>

#include "ops/case.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_relu(a->in[0]), out);
}

static void in_position_and_nan(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    double values[] = { -1, 0, 2, NAN };
    adz_tensor *leaf = adz_requires_grad_(adz_tensor_from(values, ADZ_SHAPE(4), ADZ_F64), true);
    adz_tensor *y = adz_relu_(adz_mul_number(leaf, 1));
    assert_float_equal(adz_tensor_at(y, (int64_t[]){ 0 }), 0, 0);
    assert_true(isnan(adz_tensor_at(y, (int64_t[]){ 3 })));
    assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    adz_tensor *g = adz_tensor_grad(leaf);
    assert_float_equal(adz_tensor_at(g, (int64_t[]){ 0 }), 0, 0);
    assert_float_equal(adz_tensor_at(g, (int64_t[]){ 1 }), 0, 0);
    assert_float_equal(adz_tensor_at(g, (int64_t[]){ 2 }), 1, 0);
    assert_float_equal(adz_tensor_at(g, (int64_t[]){ 3 }), 1, 0); /* as in PyTorch */
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(in_position_and_nan) };

const op_case relu_case = {
    .name = "relu",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_AWAY, 3, 4) } },
        { .in = { IN_T_OF(FILL_AWAY, 3, 4) } },
        { .in = { IN_OF(FILL_AWAY, 1) } },
        { .in = { IN_OF(FILL_AWAY, 2, 1, 3) } },
        { .in = { IN_OF(FILL_AWAY, 0, 3) } },
        { .in = { IN_0_OF(FILL_POSITIVE) } },
        { .in = { IN_OF(FILL_AWAY, 37) } },
    },
    .rejects = {
        { .in = { IN_TYPED(ADZ_BOOL, 3) }, .status = ADZ_ERR_DTYPE, .says = "bool" },
        { .in = { IN_TYPED(ADZ_F16, 3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
    },
    .vectors = { "relu" },
    .inputs = { "x" },
    FACTS(facts),
};
