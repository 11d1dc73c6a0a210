#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_logaddexp(a->in[0], a->in[1]), out);
}

FACT(special_values)
{
    adz_tensor *a = LEAF(
                   (double)INFINITY, -(double)INFINITY, (double)INFINITY, 1, (double)NAN, 0, -1000),
               *b = LEAF((double)INFINITY, -(double)INFINITY, -(double)INFINITY, -(double)INFINITY,
                   (double)INFINITY, -800, 1000);
    adz_tensor *y = adz_logaddexp(a, b);
    ASSERT_VALUES(
        y, ADZ_F64, (double)INFINITY, -(double)INFINITY, (double)INFINITY, 1, (double)NAN, 0, 1000);
    ASSERT_VALUES(adz_logaddexp(adz_to(adz_detach(a), ADZ_F32), adz_to(adz_detach(b), ADZ_F32)),
        ADZ_F32, (double)INFINITY, -(double)INFINITY, (double)INFINITY, 1, (double)NAN, 0, 1000);
}

FACT(small_sums_are_accurate)
{
    const double y = adz_item(adz_logaddexp(adz_scalar(0, ADZ_F64), adz_scalar(-40, ADZ_F64)));
    assert_true(fabs(y / 4.248354255291589e-18 - 1) <= 1e-14);
}

/* Where a = b the second derivatives are 1/4, and between equal infinities there are none. */
FACT(second_derivatives_of_equals)
{
    const double inf = (double)INFINITY;
    adz_tensor *a = LEAF(2, -3, inf, -inf, 0, 800), *b = LEAF(2, -3, inf, -inf, 1, 0);
    adz_tensor *y = adz_logaddexp(a, b), *da = gradient_by_expression(y, a);
    const double s = 0.26894142136999512, p = s * (1 - s);
    ASSERT_VALUES(gradient_of(y, a), ADZ_F64, 0.5, 0.5, 0.5, 0.5, s, 1);
    ASSERT_VALUES(da, ADZ_F64, 0.5, 0.5, 0.5, 0.5, s, 1);
    ASSERT_VALUES(gradient_of(da, a), ADZ_F64, 0.25, 0.25, 0, 0, p, 0);
    ASSERT_VALUES(gradient_of(da, b), ADZ_F64, -0.25, -0.25, 0, 0, -p, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(special_values),
    cmocka_unit_test(second_derivatives_of_equals),
    cmocka_unit_test(small_sums_are_accurate),
};

const op_case logaddexp_case = {
    .name = "logaddexp",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_NORMAL, 3, 4), IN_OF(FILL_NORMAL, 3, 4) } },
        { .in = { IN_T_OF(FILL_NORMAL, 3, 4), IN_OF(FILL_NORMAL, 4) } },
        { .in = { IN_OF(FILL_NORMAL, 2, 1, 3), IN_OF(FILL_NORMAL, 4, 1) } },
        { .in = { IN_0_OF(FILL_NORMAL), IN_OF(FILL_NORMAL, 2, 2) } },
        { .in = { IN_OF(FILL_NORMAL, 3, 0), IN_OF(FILL_NORMAL, 1, 1) } },
        { .in = { IN_OF(FILL_NORMAL, 1), IN_OF(FILL_NORMAL, 1) } },
        { .in = { IN_OF(FILL_NORMAL, 37), IN_CONST_OF(FILL_NORMAL, 37) } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" },
        { .in = { IN_TYPED(ADZ_F16, 3), IN(3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
    },
    .broadcasts = true,
    .inputs = { "a", "b" },
    FACTS(facts),
};
