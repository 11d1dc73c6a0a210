#include "ops/linalg/decomposition/scales.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_matrix_exp(a->in[0]), out);
}

FACT(known_exponentials)
{
    adz_tensor *turn = MATRIX(2, 0, -2, 2, 0);
    assert_true(farthest(adz_matrix_exp(turn), MATRIX(2, cos(2), -sin(2), sin(2), cos(2))) < 1e-15);
    turn = adz_mul_number(turn, 50);
    adz_tensor *wanted = MATRIX(2, cos(100), -sin(100), sin(100), cos(100));
    assert_true(farthest(adz_matrix_exp(turn), wanted) < 1e-13);
    assert_true(farthest(adz_matrix_exp(MATRIX(2, 0, 1e6, 0, 0)), MATRIX(2, 1, 1e6, 0, 1)) < 1e-8);
    ASSERT_VALUES(
        adz_reshape(adz_matrix_exp(adz_zeros(ADZ_SHAPE(1, 1), ADZ_F64)), ADZ_SHAPE(1)), ADZ_F64, 1);
    adz_tensor *a = adz_mul_number(normal_matrices(ADZ_SHAPE(40, 40)), 0.5);
    adz_tensor *both = adz_matmul(adz_matrix_exp(a), adz_matrix_exp(adz_neg(a)));
    assert_true(farthest(both, identity_like(a)) < 1e-10);
}

static int exponential(adz_tensor *a, adz_tensor **y)
{
    y[0] = adz_matrix_exp(a);
    return y[0] != NULL;
}

FACT(gradients_keep_the_scale)
{
    const scaled_case c = { .call = exponential, .n_results = 1, .halves = { 2 }, .fixed = true };
    assert_gradient_keeps_scale(&c, MATRIX(3, 2, 1, 0.5, -1, 3, 1, 0.25, 1, -2));
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(gradients_keep_the_scale),
    cmocka_unit_test(known_exponentials),
};

const op_case matrix_exp_case = {
    .name = "matrix_exp",
    .call = call,
    .samples = {
        { .in = { IN(3, 3) } },
        { .in = { IN_T(2, 2) } },
        { .in = { IN(1, 1) } },
        { .in = { IN(2, 1, 2, 2) } },
        { .in = { IN(0, 0) } },
        { .in = { IN(0, 3, 3) } },
        { .in = { IN(5, 5) }, .large = true },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .status = ADZ_ERR_SHAPE, .says = "not square" },
        { .in = { IN(3) }, .status = ADZ_ERR_SHAPE, .says = "no matrix" },
        { .in = { IN_TYPED(ADZ_I64, 3, 3) }, .status = ADZ_ERR_DTYPE },
    },
    .f32_tolerance = 1e-3,
    FACTS(facts),
};
