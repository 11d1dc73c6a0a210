#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_hardshrink(a->in[0], a->p[0]), out);
}

/* PyTorch 2.15 computed the expected values, except for the gradient of
 * NaN, which is dy or 0 there, as the processor's loop has it. */
FACT(values_and_gradients)
{
    const double xs[] = { -(double)INFINITY, -2, -0.5, 0, 0.25, 0.5, 3, (double)NAN },
                 ys[] = { -(double)INFINITY, -2.0, 0.0, 0.0, 0.0, 0.0, 3.0, (double)NAN },
                 gs[] = { 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1 };
    assert_function(call, (op_args){ .p = { 0.5 } }, sizeof xs / sizeof *xs, xs, ys, gs);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(values_and_gradients),
};

const op_case hardshrink_case = {
    .name = "hardshrink",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_AWAY, 3, 4) }, .p = { 0.01 } },
        { .in = { IN_T_OF(FILL_AWAY, 3, 4) }, .p = { -1 } },
        { .in = { IN_OF(FILL_AWAY, 2, 1, 3) }, .p = { 0.05 } },
        { .in = { IN_OF(FILL_AWAY, 0, 3) }, .p = { 0.01 } },
        { .in = { IN_0_OF(FILL_AWAY) }, .p = { -1 } },
        { .in = { IN_OF(FILL_AWAY, 37) }, .p = { 0.05 } },
    },
    .rejects = {
        { .in = { IN_TYPED(ADZ_F16, 3) }, .p = { 0.5 }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 0.5 }, .status = ADZ_ERR_DTYPE },
    },
    .inputs = { "x" },
    .first_order_only = true,
    FACTS(facts),
};
