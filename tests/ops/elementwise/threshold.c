#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_threshold(a->in[0], a->p[0], a->p[1]), out);
}

/* PyTorch 2.15 computed the expected values. */
FACT(values_and_gradients)
{
    const double xs[] = { -(double)INFINITY, -2, 0.5, 0.75, (double)INFINITY, (double)NAN },
                 ys[] = { 7.0, 7.0, 7.0, 0.75, (double)INFINITY, (double)NAN },
                 gs[] = { 0.0, 0.0, 0.0, 1.0, 1.0, 1.0 };
    assert_function(call, (op_args){ .p = { 0.5, 7 } }, sizeof xs / sizeof *xs, xs, ys, gs);
}

FACT(integers)
{
    ASSERT_VALUES(adz_threshold(VALUES(ADZ_I64, 1, 5), 2, 3), ADZ_I64, 3, 5);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(values_and_gradients),
    cmocka_unit_test(integers),
};

const op_case threshold_case = {
    .name = "threshold",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_AWAY, 3, 4) }, .p = { 0.01, 3 } },
        { .in = { IN_T_OF(FILL_AWAY, 3, 4) }, .p = { -0.02, 0 } },
        { .in = { IN_OF(FILL_AWAY, 2, 1, 3) }, .p = { 0.05, -1 } },
        { .in = { IN_OF(FILL_AWAY, 0, 3) }, .p = { 0.01, 3 } },
        { .in = { IN_0_OF(FILL_AWAY) }, .p = { -0.02, 0 } },
        { .in = { IN_OF(FILL_AWAY, 37) }, .p = { 0.05, -1 } },
    },
    .rejects = {
        { .in = { IN_TYPED(ADZ_F16, 3) }, .p = { 0.5 }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 9, 0.5 }, .status = ADZ_ERR_ARGUMENT, .says = "value" },
    },
    .inputs = { "x" },
    .first_order_only = true,
    FACTS(facts),
};
