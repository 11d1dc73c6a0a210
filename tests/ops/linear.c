#include "ops/case.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_linear(a->in[0], a->in[1], a->in[2]), out);
}

const op_case linear_case = {
    .name = "linear",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(2, 4), IN(2) } },
        { .in = { IN_T(3, 4), IN_T(2, 4), IN_NONE } },
        { .in = { IN(4), IN(2, 4), IN(2) } },
        { .in = { IN(2, 3, 4), IN(5, 4), IN(5) } },
        { .in = { IN(1, 1), IN(1, 1), IN(1) } },
        { .in = { IN(0, 4), IN(2, 4), IN(2) } },
        { .in = { IN(3, 0), IN(2, 0), IN(2) } },
        { .in = { IN_CONST(3, 4), IN(2, 4), IN(2) } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(2, 5), IN(2) }, .status = ADZ_ERR_SHAPE, .says = "[out, in]" },
        { .in = { IN(3, 4), IN(2, 4), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "bias[3]" },
        { .in = { IN_TYPED(ADZ_I64, 3, 4), IN(2, 4), IN(2) }, .status = ADZ_ERR_DTYPE },
    },
    .vectors = { "linear" },
    .inputs = { "x", "weight", "bias" },
};
