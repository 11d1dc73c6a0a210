#include "ops/facts.h"

/* p[0] = n */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_polygamma((int)a->p[0], a->in[0]), out);
}

/* The expected values were computed with 200 bits. */
FACT(values)
{
    static const struct {
        int n;
        double x, y;
    } cases[] = { { 1, 0.3, 12.245364546107732 }, { 1, 1.0, 1.6449340668482264 },
        { 1, -2.7, 14.769375845132314 }, { 2, -2.7, -68.932939023263799 },
        { 2, 0.001, -2000000002.3976321 }, { 3, 25.0, 0.0001358846365082737 },
        { 5, 3.3, 0.12084171431847723 }, { 1, 10000000000.0, 1.00000000005e-10 },
        { 20, 0.75, -1.0229115768532278e+21 }, { 100, 3.3, -3.9819493087986833e+105 },
        { 3, -1000.25, 1558.5454565420434 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const double y = adz_item(adz_polygamma(cases[i].n, adz_scalar(cases[i].x, ADZ_F64)));
        if (!(fabs(y - cases[i].y) <= 4e-15 * fabs(cases[i].y))) {
            fail_msg(
                "polygamma(%d, %g): %.17g instead of %.17g", cases[i].n, cases[i].x, y, cases[i].y);
        }
    }
}

FACT(special_values)
{
    const double inf = (double)INFINITY, nan = (double)NAN;
    ASSERT_VALUES(
        adz_polygamma(1, VALUES(ADZ_F64, 0, -3, inf, -inf, nan)), ADZ_F64, inf, inf, 0, nan, nan);
    ASSERT_VALUES(adz_polygamma(2, VALUES(ADZ_F64, 0, -0.0, -3)), ADZ_F64, -inf, -inf, -inf);
    ASSERT_VALUES(adz_polygamma(0, VALUES(ADZ_F64, 0)), ADZ_F64, -inf);
    assert_int_equal(adz_tensor_dtype(adz_polygamma(1, VALUES(ADZ_I64, 1))), ADZ_F32);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(values),
    cmocka_unit_test(special_values) };

const op_case polygamma_case = {
    .name = "polygamma",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_POSITIVE, 3, 4) }, .p = { 1 } },
        { .in = { IN_T_OF(FILL_POSITIVE, 3, 4) }, .p = { 2 } },
        { .in = { IN_OF(FILL_POSITIVE, 1) }, .p = { 1 } },
        { .in = { IN_OF(FILL_POSITIVE, 0, 3) }, .p = { 3 } },
        { .in = { IN_0_OF(FILL_POSITIVE) }, .p = { 1 } },
        { .in = { IN_OF(FILL_POSITIVE, 37) }, .p = { 1 } },
    },
    .rejects = {
        { .in = { IN_OF(FILL_POSITIVE, 3) }, .p = { -1 }, .status = ADZ_ERR_ARGUMENT, .says = "from 0 to 100" },
        { .in = { IN_OF(FILL_POSITIVE, 3) }, .p = { 101 }, .status = ADZ_ERR_ARGUMENT, .says = "101" },
        { .in = { IN_TYPED(ADZ_F16, 3) }, .p = { 1 }, .status = ADZ_ERR_DTYPE },
    },
    .inputs = { "x" },
    FACTS(facts),
};
