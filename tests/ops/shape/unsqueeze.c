#include "ops/case.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_unsqueeze(a->in[0], (int)a->p[0]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "dim", 0);
    return true;
}

const op_case unsqueeze_case = {
    .name = "unsqueeze",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) }, .p = { 0 } },
        { .in = { IN_T(3, 4) }, .p = { 1 } },
        { .in = { IN(3, 4) }, .p = { -1 } },
        { .in = { IN(1) }, .p = { 1 } },
        { .in = { IN(0, 2) }, .p = { 1 } },
        { .in = { IN_0 }, .p = { 0 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 3 }, .status = ADZ_ERR_DIM, .says = "[3, 4]" },
        { .in = { IN(1, 1, 1, 1, 1, 1, 1, 1) }, .p = { 0 }, .status = ADZ_ERR_SHAPE },
    },
    .first_order_only = true,
    .vectors = { "unsqueeze" },
    .inputs = { "x" },
    .config = config,
};
