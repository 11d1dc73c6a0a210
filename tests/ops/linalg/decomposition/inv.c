#include "ops/linalg/decomposition/scales.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_inv(a->p[0] != 0 ? a->in[0] : regular_of(a->in[0], case_units[0])), out);
}

FACT(singular_items_are_named)
{
    adz_tensor *a = adz_reshape(VALUES(ADZ_F64, 1, 2, 2, 4, 1, 0, 0, 1), ADZ_SHAPE(2, 2, 2));
    ASSERT_REFUSED(adz_inv(a), ADZ_ERR_NUMERIC, "a[2, 2, 2], item [0] is singular: pivot 1 is 0");
    ASSERT_VALUES(
        adz_reshape(adz_inv(MATRIX(2, 0, 2, 4, 0)), ADZ_SHAPE(4)), ADZ_F64, 0, 0.25, 0.5, 0);
}

FACT(products_with_the_matrix_are_the_identity)
{
    for (int64_t n = 1; n <= 130; n += 43) {
        adz_tensor *a = regular(adz_mul_number(normal_matrices(ADZ_SHAPE(2, n, n)), 0.2));
        assert_true(farthest(adz_matmul(adz_inv(a), a), identity_like(a)) < 1e-11);
    }
}

SCALE_FACT(gradients_keep_the_scale, adz_inv(a), -2, MATRIX(3, 2, 1, 0.5, -1, 3, 1, 0.25, 1, -2))

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(gradients_keep_the_scale),
    cmocka_unit_test(singular_items_are_named),
    cmocka_unit_test(products_with_the_matrix_are_the_identity),
};

const op_case inv_case = {
    .name = "inv",
    .call = call,
    .samples = {
        { .in = { IN(3, 3) } },
        { .in = { IN_T(4, 4) } },
        { .in = { IN(1, 1) } },
        { .in = { IN(2, 1, 2, 2) } },
        { .in = { IN(0, 0) } },
        { .in = { IN(0, 3, 3) } },
        { .in = { IN(2, 70, 70) }, .large = true },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .status = ADZ_ERR_SHAPE, .says = "not square" },
        { .in = { IN(3) }, .status = ADZ_ERR_SHAPE, .says = "no matrix" },
        { .in = { IN_TYPED(ADZ_I64, 3, 3) }, .p = { 1 }, .status = ADZ_ERR_DTYPE },
    },
    FACTS(facts),
};
