#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_softsign(a->in[0]), out);
}

/* PyTorch 2.15 computed the expected values, except for the gradients at infinity, which are 0 and
 * not NaN. */
FACT(values_and_gradients)
{
    const double inf = (double)INFINITY, nan = (double)NAN;
    const double xs[] = { -inf, -5, -1, 0, 0.5, 2.5, inf, 1000, -1000 },
                 ys[] = { nan, -0.8333333333333334, -0.5, 0.0, 0.3333333333333333,
                     0.7142857142857143, nan, 0.999000999000999, -0.999000999000999 },
                 gs[] = { 0, 0.027777777777777762, 0.25, 1.0, 0.4444444444444444,
                     0.08163265306122447, 0, 9.98002996005021e-07, 9.98002996005021e-07 };
    assert_function(call, (op_args){ .n = 1 }, sizeof xs / sizeof *xs, xs, ys, gs);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(values_and_gradients) };

const op_case softsign_case = {
    .name = "softsign",
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
