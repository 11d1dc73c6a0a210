#include <math.h>

#include "ops/case.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_leaky_relu(a->in[0], a->p[0]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "negative_slope", 0.01);
    return true;
}

static void the_kink_and_nan(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    double values[] = { -2, 0, 3, NAN };
    adz_tensor *x = adz_requires_grad_(adz_tensor_from(values, ADZ_SHAPE(4), ADZ_F64), true);
    adz_tensor *y = adz_leaky_relu(x, 0.25);
    assert_true(adz_tensor_at(y, (int64_t[]){ 0 }) == -0.5);
    assert_true(isnan(adz_tensor_at(y, (int64_t[]){ 3 })));
    assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    adz_tensor *g = adz_tensor_grad(x);
    assert_true(adz_tensor_at(g, (int64_t[]){ 0 }) == 0.25);
    assert_true(adz_tensor_at(g, (int64_t[]){ 1 }) == 0.25);
    assert_true(adz_tensor_at(g, (int64_t[]){ 2 }) == 1);
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(the_kink_and_nan) };

const op_case leaky_relu_case = {
    .name = "leaky_relu",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_AWAY, 3, 4) }, .p = { 0.01 } },
        { .in = { IN_T_OF(FILL_AWAY, 3, 4) }, .p = { 0.2 } },
        { .in = { IN_OF(FILL_AWAY, 1) }, .p = { 0.2 } },
        { .in = { IN_OF(FILL_AWAY, 2, 1, 3) }, .p = { -0.5 } },
        { .in = { IN_OF(FILL_AWAY, 0, 3) }, .p = { 0.2 } },
        { .in = { IN_0_OF(FILL_AWAY) }, .p = { 2 } },
        { .in = { IN_OF(FILL_AWAY, 37) }, .p = { 0.2 } },
    },
    .rejects = {
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 0.2 }, .status = ADZ_ERR_DTYPE },
        { .in = { IN_TYPED(ADZ_F16, 3) }, .p = { 0.2 }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
    },
    .vectors = { "leaky_relu" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
