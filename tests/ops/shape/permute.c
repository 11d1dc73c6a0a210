#include "ops/case.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_permute(a->in[0], case_dims(a, 0)), out);
}

static bool config(const json_t *config, op_args *a)
{
    config_dims(config, "dims", a, 0);
    return true;
}

const op_case permute_case = {
    .name = "permute",
    .call = call,
    .samples = {
        { .in = { IN(2, 3, 4) }, .p = { 3, 2, 0, 1 } },
        { .in = { IN_T(2, 3, 4) }, .p = { 3, 1, 2, 0 } },
        { .in = { IN(3, 4) }, .p = { 2, -1, 0 } },
        { .in = { IN(1, 3) }, .p = { 2, 1, 0 } },
        { .in = { IN(0, 3) }, .p = { 2, 1, 0 } },
        { .in = { IN(3) }, .p = { 1, 0 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 2, 0, 0 }, .status = ADZ_ERR_DIM, .says = "twice" },
        { .in = { IN(3, 4) }, .p = { 1, 0 }, .status = ADZ_ERR_DIM, .says = "1 dimensions are listed" },
    },
    .first_order_only = true,
    .vectors = { "permute" },
    .inputs = { "x" },
    .config = config,
};
