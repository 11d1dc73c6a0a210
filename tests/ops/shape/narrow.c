#include "ops/case.h"

/* p[0] = dim, p[1] = start, p[2] = length */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_narrow(a->in[0], (int)a->p[0], (int64_t)a->p[1], (int64_t)a->p[2]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "dim", 0);
    a->p[1] = config_number(config, "start", 0);
    a->p[2] = config_number(config, "length", 0);
    return true;
}

const op_case narrow_case = {
    .name = "narrow",
    .call = call,
    .samples = {
        { .in = { IN(5, 4) }, .p = { 0, 1, 3 } },
        { .in = { IN_T(5, 4) }, .p = { 1, -2, 2 } },
        { .in = { IN(2, 3, 4) }, .p = { -2, 0, 3 } },
        { .in = { IN(7) }, .p = { 0, 7, 0 } },
        { .in = { IN(1, 3) }, .p = { 0, 0, 1 } },
        { .in = { IN(3, 0) }, .p = { 0, 1, 2 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 2, 0, 1 }, .status = ADZ_ERR_DIM },
        { .in = { IN(3, 4) }, .p = { 0, 2, 2 }, .status = ADZ_ERR_INDEX, .says = "2 positions from 2 on" },
        { .in = { IN(3, 4) }, .p = { 0, -4, 1 }, .status = ADZ_ERR_INDEX },
        { .in = { IN(3, 4) }, .p = { 0, 4, 0 }, .status = ADZ_ERR_INDEX },
        { .in = { IN(3, 4) }, .p = { 0, 0, -1 }, .status = ADZ_ERR_INDEX },
        { .in = { IN_0 }, .p = { 0, 0, 0 }, .status = ADZ_ERR_DIM },
    },
    .first_order_only = true,
    .vectors = { "narrow" },
    .inputs = { "x" },
    .config = config,
};
