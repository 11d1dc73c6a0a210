#include "ops/case.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_copy_(adz_mul_number(a->in[0], 1), a->in[1]), out);
}

const op_case copy_case = {
    .name = "copy",
    .call = call,
    .samples = {
        { .in = { IN_CONST(3, 4), IN(3, 4) } },
        { .in = { IN_CONST(3, 4), IN_T(3, 4) } },
        { .in = { IN_CONST(3, 4), IN(4) } },
        { .in = { IN_CONST(1), IN(1) } },
        { .in = { IN_CONST(0, 3), IN(3) } },
        { .in = { IN_CONST(2, 2), IN_0 } },
    },
    .rejects = {
        { .in = { IN_CONST(3, 4), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "broadcast" },
        { .in = { IN_CONST(3), IN(2, 3) }, .status = ADZ_ERR_SHAPE, .says = "in place" },
    },
    .broadcasts = true,
    .first_order_only = true,
};
