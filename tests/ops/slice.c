#include "ops/case.h"

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
};
