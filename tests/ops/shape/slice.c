#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(
        adz_slice(a->in[0], (int)a->p[0], (int64_t)a->p[1], (int64_t)a->p[2], (int64_t)a->p[3]),
        out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "dim", 0);
    a->p[1] = config_number(config, "start", 0);
    a->p[2] = config_number(config, "end", 1e9);
    a->p[3] = config_number(config, "step", 1);
    return true;
}

FACT(every_step_th_up_to_the_end)
{
    adz_tensor *x = VALUES(ADZ_I64, 0, 1, 2, 3, 4, 5, 6);
    ASSERT_VALUES(adz_slice(x, 0, 1, 4, 1), ADZ_I64, 1, 2, 3);
    ASSERT_VALUES(adz_slice(x, 0, 1, 6, 2), ADZ_I64, 1, 3, 5);
    ASSERT_VALUES(adz_slice(x, 0, 1, 7, 2), ADZ_I64, 1, 3, 5);
    ASSERT_VALUES(adz_slice(x, 0, -3, 100, 5), ADZ_I64, 4);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(every_step_th_up_to_the_end) };

const op_case slice_case = {
    .name = "slice",
    .call = call,
    .samples = {
        { .in = { IN(5, 4) }, .p = { 0, 1, 4, 1 } },
        { .in = { IN_T(5, 4) }, .p = { 1, 0, 4, 2 } },
        { .in = { IN(5, 4) }, .p = { -2, -3, -1, 1 } },
        { .in = { IN(7) }, .p = { 0, 1, 100, 3 } },
        { .in = { IN(1) }, .p = { 0, 0, 1, 1 } },
        { .in = { IN(3, 2) }, .p = { 0, 2, 2, 1 } },
        { .in = { IN(0, 2) }, .p = { 1, 0, 1, 1 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 2, 0, 1, 1 }, .status = ADZ_ERR_DIM },
        { .in = { IN(3, 4) }, .p = { 0, 0, 1, 0 }, .status = ADZ_ERR_ARGUMENT, .says = "step" },
        { .in = { IN_0 }, .p = { 0, 0, 1, 1 }, .status = ADZ_ERR_DIM },
    },
    .first_order_only = true,
    .vectors = { "slice" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
