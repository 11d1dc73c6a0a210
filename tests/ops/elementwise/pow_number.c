#include "ops/facts.h"

/* p[0] = the exponent */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_pow_number(a->in[0], a->p[0]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "exponent", NAN);
    return true;
}

FACT(integers)
{
    adz_tensor *i = VALUES(ADZ_I32, -3, 2, 65536);
    ASSERT_VALUES(adz_pow_number(i, 2), ADZ_I32, 9, 4, 0);
    ASSERT_VALUES(adz_pow_number(i, 0), ADZ_I32, 1, 1, 1);
    ASSERT_VALUES(adz_pow_number(VALUES(ADZ_U8, 4, 9), 0.5), ADZ_F32, 2, 3);
    ASSERT_VALUES(adz_pow_number(VALUES(ADZ_U8, 4, 8), -0.5), ADZ_F32, 0.5, 1 / sqrtf(8));
    ASSERT_VALUES(adz_pow_number(VALUES(ADZ_BOOL, 1, 0), 3), ADZ_I64, 1, 0);
}

FACT(exponent_zero_has_no_slope)
{
    adz_tensor *x = LEAF(0, -2, NAN);
    ASSERT_VALUES(adz_pow_number(x, 0), ADZ_F64, 1, 1, 1);
    ASSERT_VALUES(gradient_of(adz_pow_number(x, 0), x), ADZ_F64, 0, 0, 0);
}

/* The fast paths for special exponents give the results of the general path. */
FACT(short_ways)
{
    static const double exponents[] = { 2, 3, 0.5, -0.5, -1, 1, -2, 4 };
    for (size_t i = 0; i < sizeof exponents / sizeof *exponents; ++i) {
        adz_tensor *y = adz_pow_number(VALUES(ADZ_F64, 1.7), exponents[i]);
        assert_float_equal(adz_item(y), pow(1.7, exponents[i]), 1e-14);
        y = adz_pow_number(VALUES(ADZ_F32, 1.5), exponents[i]);
        assert_float_equal(adz_item(y), pow(1.5, exponents[i]), 1e-6);
    }
    ASSERT_VALUES(adz_pow_number(VALUES(ADZ_F64, -2, 0), -1), ADZ_F64, -0.5, INFINITY);
    ASSERT_VALUES(adz_pow_number(VALUES(ADZ_F64, -2), 3), ADZ_F64, -8);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(integers),
    cmocka_unit_test(exponent_zero_has_no_slope),
    cmocka_unit_test(short_ways),
};

const op_case pow_number_case = {
    .name = "pow_number",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) }, .p = { 2 } },
        { .in = { IN_T(3, 4) }, .p = { 3 } },
        { .in = { IN_OF(FILL_POSITIVE, 1) }, .p = { 0.5 } },
        { .in = { IN_OF(FILL_POSITIVE, 2, 1, 3) }, .p = { -1 } },
        { .in = { IN_OF(FILL_POSITIVE, 0, 3) }, .p = { 2.5 } },
        { .in = { IN_0_OF(FILL_POSITIVE) }, .p = { -0.5 } },
        { .in = { IN_OF(FILL_POSITIVE, 37) }, .p = { 1.3 } },
        { .in = { IN(5) }, .p = { 1 } },
        { .in = { IN(5) }, .p = { 4 } },
    },
    .rejects = {
        { .in = { IN_TYPED(ADZ_F16, 3) }, .p = { 2 }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { -1 }, .status = ADZ_ERR_ARGUMENT,
            .says = "negative" },
    },
    .vectors = { "pow" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
