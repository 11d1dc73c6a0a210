#include "ops/case.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_clone(a->in[0]), out);
}

const op_case clone_case = {
    .name = "clone",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) } },
        { .in = { IN_T(3, 4) } },
        { .in = { IN(1) } },
        { .in = { IN(2, 1, 3) } },
        { .in = { IN(0, 3) } },
        { .in = { IN_0 } },
    },
    .rejects = {
        { .in = { IN_NONE }, .status = ADZ_ERR_ARGUMENT, .says = "not optional" },
        { .in = { IN_NONE, IN(2) }, .status = ADZ_ERR_ARGUMENT },
    },
    .first_order_only = true,
    .vectors = { "contiguous" },
    .inputs = { "x" },
};
