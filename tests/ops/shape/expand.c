#include "ops/case.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_expand(a->in[0], case_shape(a, 0)), out);
}

static bool config(const json_t *config, op_args *a)
{
    config_shape(config, "shape", a, 0);
    return true;
}

const op_case expand_case = {
    .name = "expand",
    .call = call,
    .samples = {
        { .in = { IN(3, 1) }, .p = { 2, 3, 4 } },
        { .in = { IN_T(3, 1) }, .p = { 2, 3, 4 } },
        { .in = { IN(3, 1) }, .p = { 3, 2, -1, 4 } },
        { .in = { IN_0 }, .p = { 2, 2, 3 } },
        { .in = { IN(1) }, .p = { 1, 0 } },
        { .in = { IN(3) }, .p = { 1, 3 } },
        { .in = { IN(0, 1) }, .p = { 2, 0, 2 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 2, 6, 4 }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" },
        { .in = { IN(3, 4) }, .p = { 1, 4 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3) }, .p = { 2, -1, 3 }, .status = ADZ_ERR_SHAPE },
    },
    .first_order_only = true,
    .vectors = { "expand" },
    .inputs = { "x" },
    .config = config,
};
