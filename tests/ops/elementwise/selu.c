#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_selu(a->in[0]), out);
}

/* PyTorch 2.15 computed the expected values. */
FACT(values_and_gradients)
{
    const double inf = (double)INFINITY;
    const double xs[] = { -inf, -5, -1, 0, 0.5, 2.5, inf, 1000, -1000 },
                 ys[] = { -1.7580993408473766, -1.7462533606696198, -1.1113307378125625, 0.0,
                     0.5253504936777402, 2.626752468388701, inf, 1050.7009873554805,
                     -1.7580993408473766 },
                 gs[] = { 0.0, 0.011845980177756718, 0.646768603034814, 1.7580993408473766,
                     1.0507009873554805, 1.0507009873554805, 1.0507009873554805, 1.0507009873554805,
                     0.0 };
    assert_function(call, (op_args){ .n = 1 }, sizeof xs / sizeof *xs, xs, ys, gs);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(values_and_gradients) };

const op_case selu_case = {
    .name = "selu",
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
