#include "ops/linalg/decomposition/matrices.h"

static int call(const op_args *a, adz_tensor **out)
{
    return adz_lu(a->in[0], &out[0], &out[1], &out[2]) == ADZ_OK ? 3 : 0;
}

FACT(the_product_is_the_matrix)
{
    adz_tensor *a = MATRIX(3, 0, 1, 2, 4, 5, 6, 7, 8, 10), *p, *l, *u;
    assert_int_equal(adz_lu(a, &p, &l, &u), ADZ_OK);
    assert_true(farthest(adz_matmul(p, adz_matmul(l, u)), a) < 1e-15);
    ASSERT_VALUES(adz_reshape(p, ADZ_SHAPE(9)), ADZ_F64, 0, 1, 0, 0, 0, 1, 1, 0, 0);
    ASSERT_VALUES(adz_diagonal(l, 0, 0, 1), ADZ_F64, 1, 1, 1);
    assert_int_equal(adz_lu(a, NULL, NULL, &u), ADZ_OK);
    assert_int_equal(adz_lu(adz_ones(ADZ_SHAPE(3), ADZ_F32), &p, &l, &u), ADZ_ERR_SHAPE);
    assert_true(p == NULL && l == NULL && u == NULL);
    adz_error_clear();
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(the_product_is_the_matrix),
};

const op_case lu_case = {
    .name = "lu",
    .call = call,
    .samples = {
        { .in = { IN(3, 3) } },
        { .in = { IN_T(4, 4) } },
        { .in = { IN(4, 2) } },
        { .in = { IN(2, 2, 3) } },
        { .in = { IN(1, 1) } },
        { .in = { IN(2, 1, 2, 2) } },
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
