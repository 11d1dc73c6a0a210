#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_mish(a->in[0]), out);
}

/* PyTorch 2.15 computed the expected values. */
FACT(values_and_gradients)
{
    const double inf = (double)INFINITY, nan = (double)NAN;
    const double xs[] = { -inf, -5, -1, 0, 0.5, 2.5, inf, 1000, -1000 },
                 ys[] = { nan, -0.033576237730161704, -0.30340146137410895, 0.0, 0.3752452113048951,
                     2.471392304557881, inf, 1000.0, -0.0 },
                 gs[] = { nan, -0.026747498019901936, 0.059216755877395014, 0.6, 0.8864243753577272,
                     1.041129530131353, nan, 1.0, 0.0 };
    assert_function(call, (op_args){ .n = 1 }, sizeof xs / sizeof *xs, xs, ys, gs);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(values_and_gradients) };

const op_case mish_case = {
    .name = "mish",
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
