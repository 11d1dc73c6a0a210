#include <math.h>

#include "ops/case.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_silu(a->in[0]), out);
}

static double at(adz_tensor *y, int64_t i)
{
    return adz_tensor_at(y, &i);
}

/* The gradient of the sum of y = f(x), where x is f32 or f64. *y receives f(x). */
static adz_tensor *slope(adz_tensor *x, adz_tensor *(*f)(adz_tensor *), adz_tensor **y)
{
    adz_requires_grad_(x, true);
    *y = f(x);
    assert_int_equal(adz_backward(adz_sum(*y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    return adz_tensor_grad(x);
}

static void far_from_zero_and_nan(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    float values[] = { -3e38f, -200, 0, 200, 3e38f, NAN };
    adz_tensor *y, *g = slope(adz_tensor_from(values, ADZ_SHAPE(6), ADZ_F32), adz_silu, &y);
    for (int64_t i = 0; i < 5; ++i) {
        assert_true(at(y, i) == (i < 3 ? 0 : (double)values[i]));
        assert_true(at(g, i) == (i < 2 ? 0 : i == 2 ? 0.5 : 1));
    }
    assert_true(isnan(at(y, 5)) && isnan(at(g, 5)));
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(far_from_zero_and_nan) };

const op_case silu_case = {
    .name = "silu",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) }, .p = { 0 } },
        { .in = { IN_T(3, 4) }, .p = { 0 } },
        { .in = { IN(1) }, .p = { 0 } },
        { .in = { IN(2, 1, 3) }, .p = { 0 } },
        { .in = { IN(0, 3) }, .p = { 0 } },
        { .in = { IN_0 }, .p = { 0 } },
        { .in = { IN(37) }, .p = { 0 } },
    },
    .rejects = {
        { .in = { IN_TYPED(ADZ_F16, 3) }, .p = { 0 }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 0 }, .status = ADZ_ERR_DTYPE },
    },
    .vectors = { "silu" },
    .inputs = { "x" },
    FACTS(facts),
};
