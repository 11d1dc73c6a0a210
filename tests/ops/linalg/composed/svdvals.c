#include "ops/linalg/decomposition/matrices.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_svdvals(a->in[0]), out);
}

FACT(they_are_those_of_svd)
{
    adz_tensor *a = normal_matrices(ADZ_SHAPE(2, 4, 3)), *s;
    assert_int_equal(adz_svd(a, NULL, &s, NULL), ADZ_OK);
    assert_true(same_bits(adz_svdvals(a), s));
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(they_are_those_of_svd),
};

const op_case svdvals_case = {
    .name = "svdvals",
    .call = call,
    .samples = {
        { .in = { IN(3, 3) } },
        { .in = { IN_T(4, 2) } },
        { .in = { IN(1, 1) } },
        { .in = { IN(2, 1, 3, 2) } },
        { .in = { IN(0, 0) } },
        { .in = { IN(0, 3, 3) } },
    },
    .rejects = {
        { .in = { IN(3) }, .status = ADZ_ERR_SHAPE, .says = "no matrix" },
        { .in = { IN_TYPED(ADZ_I64, 3, 3) }, .status = ADZ_ERR_DTYPE },
    },
    .needs_distinct = true,
    .inputs = { "a" },
    FACTS(facts),
};
