#include "ops/case.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_outer(a->in[0], a->in[1]), out);
}

const op_case outer_case = {
    .name = "outer",
    .call = call,
    .samples = {
        { .in = { IN(3), IN(4) } },
        { .in = { IN_T(4), IN_T(4) } },
        { .in = { IN(1), IN(4) } },
        { .in = { IN(3), IN(1) } },
        { .in = { IN(0), IN(4) } },
        { .in = { IN(2), IN(0) } },
    },
    .rejects = {
        { .in = { IN(2, 3), IN(4) }, .status = ADZ_ERR_SHAPE, .says = "two vectors" },
        { .in = { IN(3), IN_0 }, .status = ADZ_ERR_SHAPE },
    },
    .vectors = { "outer" },
    .inputs = { "a", "b" },
};
