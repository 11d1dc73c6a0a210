#include <math.h>

#include "ops/case.h"

/* p[0] = keepdim, p[1] = p, p[2 ..] = dimensions */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_norm(a->in[0], a->p[1], case_dims(a, 2), a->p[0] != 0), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_flag(config, "keepdim", false);
    a->p[1] = config_number(config, "p", 2);
    config_dims(config, "dim", a, 2);
    return true;
}

static const double powers[] = { 0, 0.5, 1, 2, 3, INFINITY, -INFINITY };

static adz_tensor *vector(const double *values, int64_t n)
{
    return adz_requires_grad_(adz_tensor_from(values, ADZ_SHAPE(n), ADZ_F64), true);
}

static double at(adz_tensor *y, int64_t i)
{
    return adz_tensor_at(y, &i);
}

static void values_of_every_p(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = vector((double[]){ 3, -4, 0, 1 }, 4);
    double root = sqrt(3) + 2 + 1;
    double expected[] = { 3, root * root, 8, sqrt(26), cbrt(27 + 64 + 1), 4, 0 };
    for (int i = 0; i < 7; ++i) {
        double y = adz_item(adz_norm(x, powers[i], ADZ_ALL_DIMS, ADZ_DROPDIM));
        assert_true(fabs(y - expected[i]) < 1e-13);
    }
    x = vector((double[]){ 3, NAN, -4 }, 3);
    for (int i = 1; i < 7; ++i) {
        assert_true(isnan(adz_item(adz_norm(x, powers[i], ADZ_ALL_DIMS, ADZ_DROPDIM))));
    }
    adz_scope_close(scope);
}

static void zeros_have_no_gradient(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    for (int i = 0; i < 7; ++i) {
        adz_tensor *x = vector((double[]){ 0, 0 }, 2);
        assert_int_equal(adz_backward(adz_norm(x, powers[i], ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
        adz_tensor *g = adz_tensor_grad(x);
        assert_true(g == NULL || (at(g, 0) == 0 && at(g, 1) == 0));
    }
    adz_scope_close(scope);
}

static void ties_share(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = vector((double[]){ 2, -2, 1, -1 }, 4);
    assert_int_equal(adz_backward(adz_norm(x, INFINITY, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    assert_int_equal(adz_backward(adz_norm(x, -INFINITY, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    for (int64_t i = 0; i < 4; ++i) {
        assert_true(at(adz_tensor_grad(x), i) == (i % 2 == 0 ? 0.5 : -0.5));
    }
    adz_scope_close(scope);
}

static void many_elements(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_full(ADZ_SHAPE(1 << 20), 0.5, ADZ_F32);
    assert_true(adz_item(adz_norm(x, 2, ADZ_ALL_DIMS, ADZ_DROPDIM)) == 512);
    assert_true(adz_item(adz_norm(x, 1, ADZ_ALL_DIMS, ADZ_DROPDIM)) == 1 << 19);
    assert_true(adz_item(adz_norm(x, 0, ADZ_ALL_DIMS, ADZ_DROPDIM)) == 1 << 20);
    adz_tensor_data_f32(x)[700000] = -3;
    assert_true(adz_item(adz_norm(x, INFINITY, ADZ_ALL_DIMS, ADZ_DROPDIM)) == 3);
    assert_true(adz_item(adz_norm(x, -INFINITY, ADZ_ALL_DIMS, ADZ_DROPDIM)) == 0.5);
    assert_true(adz_item(adz_norm(adz_zeros(ADZ_SHAPE(0), ADZ_F32), 2, ADZ_ALL_DIMS, false)) == 0);
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(values_of_every_p),
    cmocka_unit_test(zeros_have_no_gradient), cmocka_unit_test(ties_share),
    cmocka_unit_test(many_elements) };

const op_case norm_case = {
    .name = "norm",
    .call = call,
    .samples = {
        { .in = { IN(3, 4, 2) }, .p = { 0, 2, -1 } },
        { .in = { IN(3, 4, 2) }, .p = { 1, 2, 2, 0, 2 } },
        { .in = { IN_T_OF(FILL_AWAY, 3, 4) }, .p = { 0, 1, 1, 0 } },
        { .in = { IN_T_OF(FILL_AWAY, 3, 4) }, .p = { 1, 3, 1, -1 } },
        { .in = { IN_T_OF(FILL_DISTINCT, 3, 5) }, .p = { 1, INFINITY, 1, -1 } },
        { .in = { IN_OF(FILL_POSITIVE, 3, 5) }, .p = { 0, -INFINITY, 1, 0 } },
        { .in = { IN_OF(FILL_AWAY, 3, 5) }, .p = { 0, 0.5, 1, 0 } },
        { .in = { IN_OF(FILL_AWAY, 3, 5) }, .p = { 0, 1.5, 1, 1 } },
        { .in = { IN_OF(FILL_AWAY, 4) }, .p = { 0, -2, -1 } },
        { .in = { IN_OF(FILL_AWAY, 4) }, .p = { 0, 0, -1 } },
        { .in = { IN_OF(FILL_AWAY, 2, 1, 3) }, .p = { 0, 2, 1, 1 } },
        { .in = { IN_0_OF(FILL_AWAY) }, .p = { 0, 2, -1 } },
        { .in = { IN(0, 2) }, .p = { 0, 2, 1, 1 } },
        { .in = { IN(5, 70) }, .p = { 0, 2, 1, 0 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 0, 2, 1, 2 }, .status = ADZ_ERR_DIM, .says = "[3, 4]" },
        { .in = { IN(3, 0) }, .p = { 0, INFINITY, -1 }, .status = ADZ_ERR_SHAPE, .says = "[3, 0]" },
        { .in = { IN(3) }, .p = { 0, NAN, -1 }, .status = ADZ_ERR_ARGUMENT, .says = "NaN" },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 0, 2, -1 }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
    },
    .needs_distinct = true,
    .vectors = { "norm" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
