#include "ops/case.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_reshape(a->in[0], case_shape(a, 0)), out);
}

static bool config(const json_t *config, op_args *a)
{
    config_shape(config, "shape", a, 0);
    return true;
}

const op_case reshape_case = {
    .name = "reshape",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) }, .p = { 1, 12 } },
        { .in = { IN_T(3, 4) }, .p = { 1, 12 } },
        { .in = { IN(2, 3, 4) }, .p = { 2, 6, -1 } },
        { .in = { IN(6) }, .p = { 3, 2, 1, 3 } },
        { .in = { IN(1) }, .p = { 0 } },
        { .in = { IN_0 }, .p = { 2, 1, 1 } },
        { .in = { IN(0, 3) }, .p = { 2, 3, 0 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 1, 11 }, .status = ADZ_ERR_SHAPE, .says = "12 elements" },
        { .in = { IN(3, 4) }, .p = { 2, -1, 5 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3, 4) }, .p = { 2, -1, -1 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(0, 3) }, .p = { 3, 0, 1e12, 1e12 }, .status = ADZ_ERR_SHAPE, .says = "more elements than fit" },
    },
    .first_order_only = true,
    .vectors = { "reshape" },
    .inputs = { "x" },
    .config = config,
};
