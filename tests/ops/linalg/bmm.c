#include "ops/case.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_bmm(a->in[0], a->in[1]), out);
}

const op_case bmm_case = {
    .name = "bmm",
    .call = call,
    .samples = {
        { .in = { IN(2, 3, 4), IN(2, 4, 2) } },
        { .in = { IN_T(2, 3, 4), IN(2, 4, 2) } },
        { .in = { IN(2, 3, 4), IN_T(2, 4, 2) } },
        { .in = { IN(1, 1, 3), IN(1, 3, 1) } },
        { .in = { IN(0, 3, 4), IN(0, 4, 2) } },
        { .in = { IN(2, 3, 0), IN(2, 0, 2) } },
    },
    .rejects = {
        { .in = { IN(2, 3, 4), IN(1, 4, 2) }, .status = ADZ_ERR_SHAPE, .says = "adz_matmul" },
        { .in = { IN(2, 3, 4), IN(2, 5, 2) }, .status = ADZ_ERR_SHAPE, .says = "b[2, 5, 2]" },
        { .in = { IN(3, 4), IN(4, 2) }, .status = ADZ_ERR_SHAPE },
    },
    .vectors = { "bmm" },
    .inputs = { "a", "b" },
};
