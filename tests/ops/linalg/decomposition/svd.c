#include "ops/linalg/decomposition/scales.h"

/* p[0]: the matrices are taken as they are. Others get singular values far from each other. */
static int call(const op_args *a, adz_tensor **out)
{
    adz_tensor *x = a->in[0];
    if (a->p[0] == 0 && x != NULL && adz_tensor_rank(x) >= 2) {
        const int64_t m = adz_tensor_size(x, -2), n = adz_tensor_size(x, -1);
        adz_tensor *far = adz_to(adz_arange(1, (double)m + 1, 1, ADZ_I64), adz_tensor_dtype(x));
        adz_tensor *eye = adz_eye(m, n, adz_tensor_dtype(x));
        far = adz_mul(adz_mul_number(adz_unsqueeze(far, -1), 2), eye);
        x = adz_add(adz_mul_number(x, 0.2), adz_mul_number(far, case_units[0]));
    }
    return adz_svd(x, &out[1], &out[0], &out[2]) == ADZ_OK ? 3 : 0;
}

/* The singular values alone. */
static adz_tensor *singular_values(adz_tensor *a)
{
    adz_tensor *s;
    adz_svd(a, NULL, &s, NULL);
    return s;
}

FACT(values_descend_and_signs_are_fixed)
{
    adz_tensor *u, *s, *vh;
    assert_int_equal(adz_svd(MATRIX(2, 0, -2, 3, 0), &u, &s, &vh), ADZ_OK);
    ASSERT_VALUES(s, ADZ_F64, 3, 2);
    ASSERT_VALUES(adz_reshape(u, ADZ_SHAPE(4)), ADZ_F64, 0, 1, 1, 0);
    assert_true(farthest(vh, MATRIX(2, 1, 0, 0, -1)) == 0);
    ASSERT_REFUSED(singular_values(MATRIX(1, INFINITY)), ADZ_ERR_NUMERIC, "a[1, 1] has no");
    ASSERT_VALUES(singular_values(MATRIX(2, 1e300, 0, 0, 1e290)), ADZ_F64, 1e300, 1e290);
}

static void check(adz_tensor *a)
{
    adz_tensor *u, *s, *vh;
    assert_int_equal(adz_svd(a, &u, &s, &vh), ADZ_OK);
    const double size = 1 + farthest(a, adz_zeros(ADZ_SHAPE(1), ADZ_F64)) * 10;
    const double off = farthest(adz_matmul(adz_mul(u, adz_unsqueeze(s, -2)), vh), a) / size;
    const double left = farthest(adz_matmul(adz_transpose(u, -2, -1), u), identity_like(u));
    adz_tensor *right = adz_matmul(vh, adz_transpose(vh, -2, -1));
    const double turned = farthest(right, identity_like(right));
    if (!(off < 1e-14 && left < 1e-13 && turned < 1e-13)) {
        fail_msg("%d x %d: off by %g, %g and %g", (int)adz_tensor_size(a, -2),
            (int)adz_tensor_size(a, -1), off, left, turned);
    }
}

FACT(residuals_are_small)
{
    static const int64_t sizes[][2] = { { 1, 1 }, { 3, 2 }, { 2, 3 }, { 8, 8 }, { 21, 30 },
        { 31, 31 }, { 32, 200 }, { 200, 32 }, { 33, 33 }, { 35, 60 }, { 60, 35 }, { 48, 48 },
        { 49, 49 }, { 50, 50 }, { 99, 100 }, { 130, 101 } };
    const size_t count = sizeof sizes / sizeof *sizes;
    for (size_t i = 0; i < count; ++i) {
        adz_tensor *a = normal_matrices(ADZ_SHAPE(11, sizes[i][0], sizes[i][1]));
        check(a);
        adz_tensor *u, *s, *one, *values;
        assert_int_equal(adz_svd(a, &u, &s, NULL), ADZ_OK);
        assert_int_equal(adz_svd(adz_select(a, 0, 3), &one, &values, NULL), ADZ_OK);
        assert_true(farthest(values, adz_select(s, 0, 3)) == 0);
        assert_true(farthest(one, adz_select(u, 0, 3)) == 0);
    }
}

/* Vectors of singular values that are 0 are orthonormal, too. */
FACT(singular_matrices_have_all_vectors)
{
    check(adz_zeros(ADZ_SHAPE(3, 5, 3), ADZ_F64));
    check(adz_ones(ADZ_SHAPE(3, 6), ADZ_F64));
    adz_tensor *a = normal_matrices(ADZ_SHAPE(12, 2));
    check(adz_matmul(a, adz_transpose(normal_matrices(ADZ_SHAPE(9, 2)), 0, 1)));
    check(adz_mul(adz_eye(4, 4, ADZ_F64), VALUES(ADZ_F64, 1, 0, 2, 0)));
    /* by divide and conquer */
    check(adz_zeros(ADZ_SHAPE(2, 40, 50), ADZ_F64));
    check(adz_eye(70, 60, ADZ_F64));
    check(adz_ones(ADZ_SHAPE(50, 60), ADZ_F64));
    a = normal_matrices(ADZ_SHAPE(80, 2));
    check(adz_matmul(a, adz_transpose(normal_matrices(ADZ_SHAPE(90, 2)), 0, 1)));
    check(adz_triu(adz_ones(ADZ_SHAPE(99, 99), ADZ_F64), 0));
    adz_tensor *falling =
        adz_exp(adz_mul_number(adz_to(adz_arange(0, 90, 1, ADZ_I64), ADZ_F64), -1));
    check(adz_mul(normal_matrices(ADZ_SHAPE(100, 90)), falling));
    check(adz_mul(normal_matrices(ADZ_SHAPE(80, 90)), falling));
    ASSERT_REFUSED(singular_values(adz_full(ADZ_SHAPE(2, 40, 50), INFINITY, ADZ_F64)),
        ADZ_ERR_NUMERIC, "item [0] has no singular values");
}

static int all_factors(adz_tensor *a, adz_tensor **y)
{
    return adz_svd(a, &y[0], &y[1], &y[2]) == ADZ_OK ? 3 : 0;
}

FACT(gradients_keep_the_scale)
{
    const scaled_case c = { .call = all_factors, .n_results = 3, .halves = { 0, 2, 0 } };
    assert_gradient_keeps_scale(&c, MATRIX(2, 2, 1, 0.5, -1, 3, 1));
    assert_gradient_keeps_scale(&c, MATRIX(3, 2, 1, 0.5, -1, 3, 1, 0.25, 1, -2));
}

/* Columns whose sizes differ by so much that the square of a rotation's angle overflows. */
FACT(vectors_of_graded_matrices_are_orthogonal)
{
    for (uint64_t i = 0; i < 60; ++i) {
        adz_manual_seed(i);
        adz_tensor *scale = adz_exp(adz_mul_number(adz_rand(ADZ_SHAPE(5), ADZ_F32), -41));
        adz_tensor *u, *a = adz_mul(adz_randn(ADZ_SHAPE(6, 5), ADZ_F32), scale);
        adz_svd(a, &u, NULL, NULL);
        assert_true(farthest(adz_matmul(adz_transpose(u, 0, 1), u), identity_like(u)) < 4e-6);
    }
    adz_tensor *u, *a = adz_to(MATRIX(2, 0.9, 2e-20, 0, 1.2e-18), ADZ_F32);
    adz_svd(a, &u, NULL, NULL);
    assert_true(farthest(adz_matmul(adz_transpose(u, 0, 1), u), identity_like(u)) < 1e-6);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(gradients_keep_the_scale),
    cmocka_unit_test(vectors_of_graded_matrices_are_orthogonal),
    cmocka_unit_test(values_descend_and_signs_are_fixed),
    cmocka_unit_test(residuals_are_small),
    cmocka_unit_test(singular_matrices_have_all_vectors),
};

const op_case svd_case = {
    .name = "svd",
    .call = call,
    .samples = {
        { .in = { IN(3, 3) } },
        { .in = { IN_T(4, 2) } },
        { .in = { IN(2, 4) } },
        { .in = { IN(1, 1) } },
        { .in = { IN(4, 3, 2) } },
        { .in = { IN(0, 0) } },
        { .in = { IN(3, 0) } },
        { .in = { IN(0, 3, 3) } },
        { .in = { IN(20, 30) }, .large = true },
        { .in = { IN(2, 35, 36) }, .large = true },
    },
    .rejects = {
        { .in = { IN(3) }, .status = ADZ_ERR_SHAPE, .says = "no matrix" },
        { .in = { IN_TYPED(ADZ_I64, 3, 3) }, .p = { 1 }, .status = ADZ_ERR_DTYPE },
    },
    .needs_distinct = true,
    .f32_tolerance = 2e-3,
    FACTS(facts),
};
