#include "ops/case.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_transpose(a->in[0], (int)a->p[0], (int)a->p[1]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "dim0", 0);
    a->p[1] = config_number(config, "dim1", 0);
    return true;
}

const op_case transpose_case = {
    .name = "transpose",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) }, .p = { 0, 1 } },
        { .in = { IN_T(3, 4) }, .p = { 0, 1 } },
        { .in = { IN(2, 3, 4) }, .p = { -1, 0 } },
        { .in = { IN(1, 3) }, .p = { 0, 1 } },
        { .in = { IN(0, 3) }, .p = { 0, 1 } },
        { .in = { IN(3) }, .p = { 0, 0 } },
        { .in = { IN_0 }, .p = { 0, -1 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 0, 2 }, .status = ADZ_ERR_DIM, .says = "[3, 4]" },
        { .in = { IN(3, 4) }, .p = { -3, 0 }, .status = ADZ_ERR_DIM },
    },
    .first_order_only = true,
    .vectors = { "transpose" },
    .inputs = { "x" },
    .config = config,
};
