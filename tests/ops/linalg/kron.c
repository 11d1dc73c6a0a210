#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_kron(a->in[0], a->in[1]), out);
}

FACT(blocks)
{
    ASSERT_VALUES(
        adz_kron(VALUES(ADZ_I64, 1, 2), VALUES(ADZ_I64, 3, 4, 5)), ADZ_I64, 3, 4, 5, 6, 8, 10);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(blocks),
};

const op_case kron_case = {
    .name = "kron",
    .call = call,
    .samples = {
        { .in = { IN(2, 3), IN(2, 2) } },
        { .in = { IN_T(3, 2), IN(2) } },
        { .in = { IN(1), IN(1) } },
        { .in = { IN_0, IN(2, 2) } },
        { .in = { IN(0, 3), IN(1, 2) } },
        { .in = { IN(2, 1, 2), IN(3, 1) } },
    },
    .rejects = {
        { .in = { IN(1, 1, 1, 1, 1), IN(1) }, .status = ADZ_ERR_SHAPE, .says = "at most 4" },
        { .in = { IN_TYPED(ADZ_F16, 2), IN(2) }, .status = ADZ_ERR_DTYPE },
    },
    .inputs = { "a", "b" },
    .broadcasts = true,
    FACTS(facts),
};
