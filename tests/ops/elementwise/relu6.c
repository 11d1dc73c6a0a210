#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_relu6(a->in[0]), out);
}

/* PyTorch 2.15 computed the expected values. */
FACT(values_and_gradients)
{
    const double inf = (double)INFINITY;
    const double xs[] = { -inf, -5, -1, 0, 0.5, 2.5, inf, 1000, -1000, 6, 3 },
                 ys[] = { 0.0, 0.0, 0.0, 0.0, 0.5, 2.5, 6.0, 6.0, 0.0, 6.0, 3.0 },
                 gs[] = { 0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0 };
    assert_function(call, (op_args){ .n = 1 }, sizeof xs / sizeof *xs, xs, ys, gs);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(values_and_gradients) };

const op_case relu6_case = {
    .name = "relu6",
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
        { .in = { IN_TYPED(ADZ_BF16, 2, 2) }, .status = ADZ_ERR_DTYPE },
    },
    .inputs = { "x" },
    FACTS(facts),
};
