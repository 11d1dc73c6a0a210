#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_celu(a->in[0], a->p[0]), out);
}

/* PyTorch 2.15 computed the expected values. */
FACT(values_and_gradients)
{
    const double inf = (double)INFINITY;
    const double xs[] = { -inf, -5, -1, 0, 0.5, 2.5, inf, 1000, -1000 },
                 ys[] = { -0.5, -0.49997730003511875, -0.43233235838169365, 0.0, 0.5, 2.5, inf,
                     1000.0, -0.5 },
                 gs[] = { 0.0, 4.5399929762484854e-05, 0.1353352832366127, 1.0, 1.0, 1.0, 1.0, 1.0,
                     0.0 };
    assert_function(call, (op_args){ .p = { 0.5 } }, sizeof xs / sizeof *xs, xs, ys, gs);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(values_and_gradients) };

const op_case celu_case = {
    .name = "celu",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_AWAY, 3, 4) }, .p = { 0.5 } },
        { .in = { IN_T_OF(FILL_AWAY, 3, 4) }, .p = { 0.5 } },
        { .in = { IN_OF(FILL_AWAY, 1) }, .p = { 0.5 } },
        { .in = { IN_OF(FILL_AWAY, 0, 3) }, .p = { 0.5 } },
        { .in = { IN_0_OF(FILL_AWAY) }, .p = { 0.5 } },
        { .in = { IN_OF(FILL_AWAY, 37) }, .p = { 0.5 } },
    },
    .rejects = {
        { .in = { IN_TYPED(ADZ_F16, 3) }, .p = { 0.5 }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 0.5 }, .status = ADZ_ERR_DTYPE, .says = "int64" },
        { .in = { IN(3) }, .p = { 0 }, .status = ADZ_ERR_ARGUMENT, .says = "other than 0" },
    },
    .inputs = { "x" },
    FACTS(facts),
};
