#include "ops/facts.h"

/* p[0] = bins, p[1] = min, p[2] = max */
static int call(const op_args *a, adz_tensor **out)
{
    const double min = a->p[1] * case_units[0], max = a->p[2] * case_units[0];
    return case_one(adz_histc(a->in[0], (int64_t)a->p[0], min, max), out);
}

FACT(elements_outside_and_nan_are_not_counted)
{
    adz_tensor *x = VALUES(ADZ_F64, -1, 0, 0.5, 1, 1.5, 2, 2.5, NAN, INFINITY);
    ASSERT_VALUES(adz_histc(x, 2, 0, 2), ADZ_F64, 2, 3);
    ASSERT_VALUES(adz_histc(VALUES(ADZ_F32, 1, 2, 4), 3, 0, 0), ADZ_F32, 1, 1, 1);
    ASSERT_VALUES(adz_histc(VALUES(ADZ_F32, 4, 4), 4, 0, 0), ADZ_F32, 0, 0, 2, 0);
    ASSERT_VALUES(adz_histc(adz_zeros(ADZ_SHAPE(0), ADZ_F32), 2, 3, 3), ADZ_F32, 0, 0);
    ASSERT_REFUSED(adz_histc(x, 2, 1, 1), ADZ_ERR_NUMERIC, "not finite; give min and max");
}

FACT(ranges_near_the_largest_number_have_their_bins)
{
    adz_tensor *x = VALUES(ADZ_F32, 3e38, 1e38, 2.2e38);
    ASSERT_VALUES(adz_histc(x, 4, 0, 3.4e38), ADZ_F32, 0, 1, 1, 1);
    ASSERT_VALUES(adz_histc(x, 4, 0, 0), ADZ_F32, 1, 0, 1, 1);
    adz_tensor *wide = VALUES(ADZ_F32, -3e38, 3e38, 1.5e38, 1);
    ASSERT_VALUES(adz_histc(wide, 2, 0, 0), ADZ_F32, 1, 3);
    ASSERT_VALUES(adz_histc(wide, 3, -3e38, 3e38), ADZ_F32, 1, 1, 2);
    ASSERT_VALUES(adz_histc(VALUES(ADZ_F64, -1.5e308, 1.5e308, 1), 2, 0, 0), ADZ_F64, 1, 2);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(ranges_near_the_largest_number_have_their_bins),
    cmocka_unit_test(elements_outside_and_nan_are_not_counted),
};

const op_case histc_case = {
    .name = "histc",
    .call = call,
    .samples = {
        { .in = { IN(7) }, .p = { 4, -1, 1 } },
        { .in = { IN_T(3, 5) }, .p = { 3, 0, 0 } },
        { .in = { IN_0 }, .p = { 1, 0, 0 } },
        { .in = { IN(1, 2) }, .p = { 1, -2, 3 } },
        { .in = { IN(0, 3) }, .p = { 2, 0, 0 } },
        { .in = { IN(40, 30) }, .p = { 100, 0, 0 } },
    },
    .rejects = {
        { .in = { IN(3) }, .p = { 0, 0, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "bins is 0" },
        { .in = { IN(3) }, .p = { 2, 1, 0 }, .status = ADZ_ERR_ARGUMENT, .says = "min is 1" },
        { .in = { IN(3) }, .p = { 2, 0, INFINITY }, .status = ADZ_ERR_ARGUMENT },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 2, 0, 1 }, .status = ADZ_ERR_DTYPE },
    },
    .not_differentiable = true,
    .inputs = { "x" },
    FACTS(facts),
};
