#include "ops/facts.h"

#include <float.h>

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_nan_to_num(a->in[0], a->p[0], a->p[1], a->p[2]), out);
}

/* PyTorch 2.15 computed the expected values. */
FACT(values_and_gradients)
{
    const double xs[] = { -(double)INFINITY, -2, 0.5, (double)INFINITY, (double)NAN },
                 ys[] = { 9.0, -2.0, 0.5, 8.0, 7.0 }, gs[] = { 0.0, 1.0, 1.0, 0.0, 0.0 };
    assert_function(call, (op_args){ .p = { 7, 8, 9 } }, sizeof xs / sizeof *xs, xs, ys, gs);
}

FACT(the_ends_of_each_dtype)
{
    const double inf = (double)INFINITY, nan = (double)NAN;
    ASSERT_VALUES(adz_nan_to_num(VALUES(ADZ_F32, nan, inf, -inf), 0, nan, nan), ADZ_F32, 0,
        (double)FLT_MAX, -(double)FLT_MAX);
    ASSERT_VALUES(
        adz_nan_to_num(VALUES(ADZ_F64, nan, inf, -inf), 0, nan, inf), ADZ_F64, 0, DBL_MAX, inf);
    ASSERT_VALUES(adz_nan_to_num(VALUES(ADZ_I64, -3, 4), 0.5, nan, nan), ADZ_I64, -3, 4);
    ASSERT_VALUES(adz_nan_to_num(VALUES(ADZ_BOOL, 1, 0), 1, nan, nan), ADZ_BOOL, 1, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(values_and_gradients),
    cmocka_unit_test(the_ends_of_each_dtype),
};

const op_case nan_to_num_case = {
    .name = "nan_to_num",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_AWAY, 3, 4) }, .p = { 0, NAN, NAN } },
        { .in = { IN_T_OF(FILL_AWAY, 3, 4) }, .p = { 1, 2, 3 } },
        { .in = { IN_OF(FILL_AWAY, 2, 1, 3) }, .p = { 0, NAN, NAN } },
        { .in = { IN_OF(FILL_AWAY, 0, 3) }, .p = { 1, 2, 3 } },
        { .in = { IN_0_OF(FILL_AWAY) }, .p = { 0, NAN, NAN } },
        { .in = { IN_OF(FILL_AWAY, 37) }, .p = { 1, 2, 3 } },
    },
    .rejects = {
        { .in = { IN_TYPED(ADZ_BF16, 2, 2) }, .status = ADZ_ERR_DTYPE, .says = "[2, 2]" },
        { .in = { IN_TYPED(ADZ_F16, 3) }, .p = { 0 }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
    },
    .inputs = { "x" },
    .first_order_only = true,
    FACTS(facts),
};
