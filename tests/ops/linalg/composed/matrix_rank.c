#include "ops/linalg/decomposition/matrices.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_matrix_rank(a->in[0], a->p[0]), out);
}

FACT(small_values_do_not_count)
{
    adz_tensor *a =
        adz_reshape(VALUES(ADZ_F64, 1, 2, 2, 4, 0, 0, 0, 0, 1, 0, 0, 1e-9), ADZ_SHAPE(3, 2, 2));
    ASSERT_VALUES(adz_matrix_rank(a, -1), ADZ_I64, 1, 0, 2);
    ASSERT_VALUES(adz_matrix_rank(a, 1e-6), ADZ_I64, 1, 0, 1);
    ASSERT_VALUES(adz_matrix_rank(adz_zeros(ADZ_SHAPE(2, 0), ADZ_F64), -1), ADZ_I64, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(small_values_do_not_count),
};

const op_case matrix_rank_case = {
    .name = "matrix_rank",
    .call = call,
    .samples = {
        { .in = { IN(3, 3) }, .p = { -1 } },
        { .in = { IN_T(4, 2) }, .p = { 0 } },
        { .in = { IN(1, 1) }, .p = { -1 } },
        { .in = { IN(2, 1, 3, 2) }, .p = { 0.1 } },
        { .in = { IN(0, 0) }, .p = { -1 } },
        { .in = { IN(0, 3, 3) }, .p = { -1 } },
    },
    .rejects = {
        { .in = { IN(3) }, .p = { -1 }, .status = ADZ_ERR_SHAPE, .says = "no matrix" },
        { .in = { IN(3, 3) }, .p = { INFINITY }, .status = ADZ_ERR_ARGUMENT, .says = "rtol" },
    },
    .not_differentiable = true,
    .needs_distinct = true,
    FACTS(facts),
};
