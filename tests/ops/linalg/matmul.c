#include "ops/case.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_matmul(a->in[0], a->in[1]), out);
}

static bool config(const json_t *config, op_args *a)
{
    if (config_has(config, "same_tensor")) {
        a->in[1] = adz_transpose(a->in[0], -1, -2);
    }
    return true;
}

const op_case matmul_case = {
    .name = "matmul",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(4, 2) } },
        { .in = { IN_T(3, 4), IN_T(4, 2) } },
        { .in = { IN(4), IN(4) } },
        { .in = { IN(4), IN(2, 4, 3) } },
        { .in = { IN(2, 3, 4), IN(4) } },
        { .in = { IN(2, 3, 4), IN(4, 5) } },
        { .in = { IN(2, 1, 3, 4), IN(5, 4, 2) } },
        { .in = { IN(1, 1), IN(1, 1) } },
        { .in = { IN(3, 0), IN(0, 2) } },
        { .in = { IN(0, 3), IN(3, 2) } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(5, 2) }, .status = ADZ_ERR_SHAPE, .says = "inner sizes differ" },
        { .in = { IN_0, IN(2) }, .status = ADZ_ERR_SHAPE, .says = "adz_mul" },
        { .in = { IN(2, 3, 4), IN(3, 4, 2) }, .status = ADZ_ERR_SHAPE, .says = "broadcast" },
        { .in = { IN_TYPED(ADZ_BOOL, 2, 2), IN_TYPED(ADZ_BOOL, 2, 2) }, .status = ADZ_ERR_DTYPE },
    },
    .broadcasts = true,
    .vectors = { "matmul" },
    .inputs = { "a", "b" },
    .config = config,
};
