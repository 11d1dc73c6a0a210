#include "ops/facts.h"

/* p[0] = dim */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_stack(a->in, (size_t)a->n, (int)a->p[0]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "dim", 0);
    return true;
}

FACT(scalars_make_a_vector_and_dtypes_promote)
{
    adz_tensor *list[] = { adz_scalar(1, ADZ_I64), adz_scalar(2.5, ADZ_F32) };
    ASSERT_VALUES(adz_stack(list, 2, 0), ADZ_F32, 1, 2.5);
    ASSERT_REFUSED(adz_stack(list, 0, 0), ADZ_ERR_ARGUMENT, "stack: 0 tensors");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(scalars_make_a_vector_and_dtypes_promote),
};

const op_case stack_case = {
    .name = "stack",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(3, 4) }, .p = { 0 } },
        { .in = { IN_T(3, 4), IN(3, 4), IN_T(3, 4) }, .p = { 1 } },
        { .in = { IN(3, 4), IN_T(3, 4) }, .p = { -1 } },
        { .in = { IN(5) }, .p = { 0 } },
        { .in = { IN_0, IN_0 }, .p = { -1 } },
        { .in = { IN(1, 1), IN(1, 1) }, .p = { 1 } },
        { .in = { IN(0, 2), IN(0, 2) }, .p = { 1 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3, 1) }, .p = { 0 }, .status = ADZ_ERR_SHAPE, .says = "tensor 1[3, 1]" },
        { .in = { IN(3, 4), IN(3, 4) }, .p = { 3 }, .status = ADZ_ERR_DIM },
        { .in = { IN(1, 1, 1, 1, 1, 1, 1, 1) }, .p = { 0 }, .status = ADZ_ERR_SHAPE },
    },
    .first_order_only = true,
    .vectors = { "stack" },
    .inputs = { LISTED("x") },
    .config = config,
    FACTS(facts),
};
