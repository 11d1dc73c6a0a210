#include "ops/facts.h"

/* p[0] = eps, p[1] = rank of the normalized shape, p[2 ..] its sizes */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_rms_norm(a->in[0], case_shape(a, 1), a->in[1], a->p[0]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "eps", ADZ_EPS_OF_DTYPE);
    config_shape(config, "normalized_shape", a, 1);
    return true;
}

FACT(rows_are_scaled_and_not_shifted)
{
    adz_tensor *x = LEAF(1, 7), *y = adz_rms_norm(x, ADZ_SHAPE(2), ADZ_NONE, 0);
    ASSERT_VALUES(y, ADZ_F64, 1 / 5.0, 7 * (1 / 5.0));
    ASSERT_VALUES(adz_rms_norm(VALUES(ADZ_F32, 0, 0), ADZ_SHAPE(2), ADZ_NONE, 1e-6), ADZ_F32, 0, 0);
}

/* The default eps is the machine epsilon of x. */
FACT(the_default_eps_follows_the_dtype)
{
    adz_tensor *x = VALUES(ADZ_F32, 1e-5), *w = ADZ_NONE;
    adz_tensor *y = adz_rms_norm(x, ADZ_SHAPE(1), w, ADZ_EPS_OF_DTYPE);
    assert_true(adz_equal(y, adz_rms_norm(x, ADZ_SHAPE(1), w, 1.1920928955078125e-7)));
    x = VALUES(ADZ_F64, 1e-9);
    y = adz_rms_norm(x, ADZ_SHAPE(1), w, ADZ_EPS_OF_DTYPE);
    assert_true(adz_equal(y, adz_rms_norm(x, ADZ_SHAPE(1), w, 2.220446049250313e-16)));
}

/* The root of the mean square is infinite, so finite elements become 0. Finite elements whose
 * squares overflow are another matter: their root is an ordinary number. */
FACT(an_infinite_element_leaves_0_for_others)
{
    const double inf = (double)INFINITY, nan = (double)NAN;
    adz_tensor *x = LEAF(1, inf, -2, -inf), *w = VALUES(ADZ_F64, 2, 2, 2, 2);
    ASSERT_VALUES(adz_rms_norm(x, ADZ_SHAPE(4), w, 1e-6), ADZ_F64, 0, nan, 0, nan);
    adz_tensor *f = adz_to(x, ADZ_F32);
    ASSERT_VALUES(adz_rms_norm(f, ADZ_SHAPE(4), ADZ_NONE, 1e-6), ADZ_F32, 0, nan, 0, nan);
    adz_tensor *big = VALUES(ADZ_F64, 1e200, 1);
    adz_tensor *y = adz_rms_norm(big, ADZ_SHAPE(2), ADZ_NONE, 1e-6);
    assert_true(adz_allclose(y, VALUES(ADZ_F64, sqrt(2), 1e-200 * sqrt(2)), 1e-15, 0, false));
    adz_tensor *lost = VALUES(ADZ_F64, nan, 1);
    ASSERT_VALUES(adz_rms_norm(lost, ADZ_SHAPE(2), ADZ_NONE, 1e-6), ADZ_F64, nan, nan);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(an_infinite_element_leaves_0_for_others),
    cmocka_unit_test(rows_are_scaled_and_not_shifted),
    cmocka_unit_test(the_default_eps_follows_the_dtype),
};

const op_case rms_norm_case = {
    .name = "rms_norm",
    .call = call,
    .samples = {
        { .in = { IN(3, 5), IN(5) }, .p = { 1e-5, 1, 5 } },
        { .in = { IN_T(3, 5), IN_NONE }, .p = { 1e-3, 1, 5 } },
        { .in = { IN(2, 3, 4), IN_T(3, 4) }, .p = { 1e-5, 2, 3, 4 } },
        { .in = { IN(2, 1), IN(1) }, .p = { 0.1, 1, 1 } },
        { .in = { IN(7), IN(7) }, .p = { -1, 1, 7 } },
        { .in = { IN(0, 3), IN(3) }, .p = { 1e-5, 1, 3 } },
        { .in = { IN(3, 0), IN_NONE }, .p = { 1e-5, 1, 0 } },
        { .in = { IN(70, 1100), IN(1100) }, .p = { 1e-6, 1, 1100 }, .large = true },
    },
    .rejects = {
        { .in = { IN(3, 5), IN_NONE }, .p = { 1e-5, 1, 4 }, .status = ADZ_ERR_SHAPE, .says = "rms_norm: x[3, 5] does not end" },
        { .in = { IN(3, 5), IN(3) }, .p = { 1e-5, 1, 5 }, .status = ADZ_ERR_SHAPE, .says = "weight[3]" },
        { .in = { IN(3, 5), IN_NONE }, .p = { -2, 1, 5 }, .status = ADZ_ERR_ARGUMENT, .says = "eps is -2" },
        { .in = { IN_TYPED(ADZ_I64, 3, 5), IN_NONE }, .p = { 1e-5, 1, 5 }, .status = ADZ_ERR_DTYPE },
    },
    .vectors = { "rms_norm" },
    .inputs = { "x", "weight" },
    .config = config,
    FACTS(facts),
};
