#include "ops/case.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_glu(a->in[0], (int)a->p[0]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "dim", -1);
    return true;
}

const op_case glu_case = {
    .name = "glu",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) }, .p = { -1 } },
        { .in = { IN_T(4, 3) }, .p = { 0 } },
        { .in = { IN(2, 6, 3) }, .p = { 1 } },
        { .in = { IN(2) }, .p = { 0 } },
        { .in = { IN(1, 2) }, .p = { 1 } },
        { .in = { IN(0, 4) }, .p = { 1 } },
        { .in = { IN(3, 0) }, .p = { 1 } },
    },
    .rejects = {
        { .in = { IN(3, 5) }, .p = { 1 }, .status = ADZ_ERR_SHAPE, .says = "even" },
        { .in = { IN(3, 4) }, .p = { 2 }, .status = ADZ_ERR_DIM },
        { .in = { IN_TYPED(ADZ_I64, 4) }, .p = { 0 }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
    },
    .vectors = { "glu" },
    .inputs = { "x" },
    .config = config,
};
