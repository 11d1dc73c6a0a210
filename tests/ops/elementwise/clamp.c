#include "ops/facts.h"

/* p[0] = min, p[1] = max, p[2] = 1: in place */
static int call(const op_args *a, adz_tensor **out)
{
    adz_tensor *x = a->in[0];
    return case_one(
        a->p[2] == 1 ? adz_clamp_(adz_clone(x), a->p[0], a->p[1]) : adz_clamp(x, a->p[0], a->p[1]),
        out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "min", -INFINITY);
    a->p[1] = config_number(config, "max", INFINITY);
    return true;
}

FACT(nan_stays_and_max_wins)
{
    adz_tensor *x = VALUES(ADZ_F32, -2, 0.5, 2, NAN);
    ASSERT_VALUES(adz_clamp(x, -1, 1), ADZ_F32, -1, 0.5, 1, NAN);
    ASSERT_VALUES(adz_clamp(x, 1, -1), ADZ_F32, -1, -1, -1, NAN);
    ASSERT_VALUES(adz_clamp(x, NAN, 1), ADZ_F32, NAN, NAN, NAN, NAN);
    ASSERT_VALUES(adz_clamp(x, -INFINITY, NAN), ADZ_F32, NAN, NAN, NAN, NAN);
}

FACT(the_bounds_pass_the_gradient)
{
    adz_tensor *x = LEAF(-2, -1, 0, 1, 2, NAN);
    ASSERT_VALUES(gradient_of(adz_clamp(x, -1, 1), x), ADZ_F64, 0, 1, 1, 1, 0, 0);
    ASSERT_VALUES(gradient_of(adz_clamp(x, 0, INFINITY), x), ADZ_F64, 0, 0, 1, 1, 1, 0);
    adz_tensor *y = adz_clamp_(adz_mul_number(x, 1), -INFINITY, 0);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 1, 1, 1, 0, 0, 0);
}

FACT(an_infinite_gradient_outside_is_dropped)
{
    adz_tensor *x = LEAF(-4, 2), *up = VALUES(ADZ_F64, INFINITY, 3), *g = NULL;
    adz_tensor *y = adz_clamp(x, 0, INFINITY);
    assert_int_equal(adz_autograd_grad(&y, &up, 1, &x, 1, NULL, &g), ADZ_OK);
    ASSERT_VALUES(g, ADZ_F64, 0, 3);
}

FACT(integers)
{
    adz_tensor *i = VALUES(ADZ_I32, -5, 0, 5), *u = VALUES(ADZ_U8, 0, 100, 255);
    ASSERT_VALUES(adz_clamp(i, -2, 3), ADZ_I32, -2, 0, 3);
    ASSERT_VALUES(adz_clamp(i, -INFINITY, 3), ADZ_I32, -5, 0, 3);
    ASSERT_VALUES(adz_clamp(i, -1e12, 1e12), ADZ_I32, -5, 0, 5);
    ASSERT_VALUES(adz_clamp(i, 0.5, INFINITY), ADZ_F32, 0.5, 0.5, 5);
    ASSERT_VALUES(adz_clamp(u, -3, 200), ADZ_U8, 0, 100, 200);
    ASSERT_VALUES(adz_clamp(VALUES(ADZ_BOOL, 0, 1), 1, 7), ADZ_I64, 1, 1);
    ASSERT_REFUSED(adz_clamp(u, 300, INFINITY), ADZ_ERR_ARGUMENT, "300");
    ASSERT_REFUSED(adz_clamp(u, 0, -1), ADZ_ERR_ARGUMENT, "uint8");
    ASSERT_REFUSED(adz_clamp_(i, 0.5, 1), ADZ_ERR_DTYPE, "adz_clamp");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(nan_stays_and_max_wins),
    cmocka_unit_test(the_bounds_pass_the_gradient),
    cmocka_unit_test(an_infinite_gradient_outside_is_dropped),
    cmocka_unit_test(integers),
};

/* FILL_DISTINCT draws values in 0.15 k .. 0.15 k + 0.04. The bounds lie between these intervals, so
 * that no element is at a kink. */
const op_case clamp_case = {
    .name = "clamp",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_DISTINCT, 3, 4) }, .p = { -0.2, 0.4 } },
        { .in = { IN_T_OF(FILL_DISTINCT, 3, 4) }, .p = { -INFINITY, 0.25 } },
        { .in = { IN_OF(FILL_DISTINCT, 1) }, .p = { -1, 1 } },
        { .in = { IN_OF(FILL_DISTINCT, 2, 1, 3) }, .p = { -0.05, INFINITY } },
        { .in = { IN_OF(FILL_DISTINCT, 0, 3) }, .p = { -1, 1 } },
        { .in = { IN_0_OF(FILL_DISTINCT) }, .p = { -1, 1 } },
        { .in = { IN_OF(FILL_DISTINCT, 37) }, .p = { -1.4, 1.6 } },
        { .in = { IN_OF(FILL_DISTINCT, 5, 3) }, .p = { -0.35, 0.55, 1 } },
    },
    .rejects = {
        { .in = { IN_TYPED(ADZ_F16, 3) }, .p = { -1, 1 }, .status = ADZ_ERR_DTYPE,
            .says = "adz_to" },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { -1, 0.5, 1 }, .status = ADZ_ERR_DTYPE,
            .says = "float32" },
        { .in = { IN_TYPED(ADZ_I32, 3) }, .p = { 1e10, INFINITY }, .status = ADZ_ERR_ARGUMENT,
            .says = "min" },
    },
    .first_order_only = true,
    .vectors = { "clamp" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
