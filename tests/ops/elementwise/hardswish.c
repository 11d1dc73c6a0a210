#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_hardswish(a->in[0]), out);
}

/* PyTorch 2.15 computed the expected values. */
FACT(values_and_gradients)
{
    const double inf = (double)INFINITY, nan = (double)NAN;
    const double xs[] = { -inf, -5, -1, 0, 0.5, 2.5, inf, 1000, -1000, 3, -3, nan },
                 ys[] = { nan, -0.0, -0.3333333333333333, 0.0, 0.2916666666666667,
                     2.2916666666666665, inf, 1000.0, -0.0, 3.0, -0.0, nan },
                 gs[] = { 0.0, 0.0, 0.16666666666666669, 0.5, 0.6666666666666666,
                     1.3333333333333335, 1.0, 1.0, 0.0, 1.0, 0.0, 1.0 };
    assert_function(call, (op_args){ .n = 1 }, sizeof xs / sizeof *xs, xs, ys, gs);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(values_and_gradients) };

const op_case hardswish_case = {
    .name = "hardswish",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_AWAY, 3, 4) } },
        { .in = { IN_T_OF(FILL_AWAY, 3, 4) } },
        { .in = { IN_OF(FILL_AWAY, 1) } },
        { .in = { IN_OF(FILL_AWAY, 0, 3) } },
        { .in = { IN_0_OF(FILL_AWAY) } },
        { .in = { IN_OF(FILL_AWAY, 37) } },
    },
    .rejects = {
        { .in = { IN_TYPED(ADZ_F16, 3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
        { .in = { IN_TYPED(ADZ_BF16, 2, 2) }, .status = ADZ_ERR_DTYPE, .says = "[2, 2]" },
    },
    .inputs = { "x" },
    FACTS(facts),
};
