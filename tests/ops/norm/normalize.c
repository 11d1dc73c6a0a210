#include "ops/facts.h"

/* p[0] = p, p[1] = dim, p[2] = eps */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_normalize(a->in[0], a->p[0], (int)a->p[1], a->p[2]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "p", 2);
    a->p[1] = config_number(config, "dim", 1);
    a->p[2] = config_number(config, "eps", 1e-12);
    return true;
}

FACT(zeros_stay_zeros)
{
    adz_tensor *x = LEAF(0, 0), *y = adz_normalize(x, 2, 0, 1e-12);
    ASSERT_VALUES(y, ADZ_F64, 0, 0);
    ASSERT_VALUES(adz_normalize(VALUES(ADZ_F32, 3, -4), 2, 0, 0), ADZ_F32, 0.6, -0.8);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(zeros_stay_zeros) };

const op_case normalize_case = {
    .name = "normalize",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) }, .p = { 2, 1, 1e-12 } },
        { .in = { IN_T(3, 4) }, .p = { 2, 0, 1e-12 } },
        { .in = { IN_OF(FILL_AWAY, 2, 3, 2) }, .p = { 1, -2, 1e-12 } },
        { .in = { IN_OF(FILL_AWAY, 5) }, .p = { 3, 0, 0.1 } },
        { .in = { IN_OF(FILL_AWAY, 1, 3) }, .p = { 2, 1, 1e-12 } },
        { .in = { IN(0, 3) }, .p = { 2, 1, 1e-12 } },
        { .in = { IN(2, 3) }, .p = { 2, 1, 10 } },
    },
    .rejects = {
        { .in = { IN_0 }, .p = { 2, 0, 1e-12 }, .status = ADZ_ERR_DIM, .says = "scalar" },
        { .in = { IN(3) }, .p = { 2, 1, 1e-12 }, .status = ADZ_ERR_DIM, .says = "normalize: " },
        { .in = { IN(3) }, .p = { 2, 0, -1 }, .status = ADZ_ERR_ARGUMENT, .says = "eps is -1" },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 2, 0, 0 }, .status = ADZ_ERR_DTYPE },
    },
    .vectors = { "normalize" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
