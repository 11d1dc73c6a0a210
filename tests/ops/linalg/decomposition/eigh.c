#include "ops/linalg/decomposition/scales.h"

/* p[0]: upper, p[1]: the matrices are taken as they are. Others get far eigenvalues. */
static int call(const op_args *a, adz_tensor **out)
{
    adz_tensor *x = a->in[0];
    if (a->p[1] == 0 && is_square(x)) {
        const int64_t n = adz_tensor_size(x, -1);
        adz_tensor *far = adz_to(adz_arange(0, (double)n, 1, ADZ_I64), adz_tensor_dtype(x));
        x = adz_mul_number(adz_add(x, adz_transpose(x, -2, -1)), 0.2);
        far = adz_mul(adz_mul_number(adz_unsqueeze(far, -1), 2), identity_like(x));
        x = adz_add(x, adz_mul_number(far, case_units[0]));
    }
    out[0] = adz_eigh(x, a->p[0] != 0, &out[1]);
    return out[0] != NULL ? 2 : 0;
}

FACT(values_ascend_and_signs_are_fixed)
{
    adz_tensor *v, *w = adz_eigh(MATRIX(2, 2, NAN, 1, 2), false, &v);
    assert_true(farthest(w, VALUES(ADZ_F64, 1, 3)) < 1e-15);
    const double h = sqrt(0.5);
    assert_true(farthest(v, MATRIX(2, h, h, -h, h)) < 1e-15);
    w = adz_eigh(MATRIX(2, 2, 1, NAN, 2), true, NULL);
    assert_true(farthest(w, VALUES(ADZ_F64, 1, 3)) < 1e-15);
    ASSERT_REFUSED(adz_eigh(MATRIX(1, NAN), false, NULL), ADZ_ERR_NUMERIC, "a[1, 1] has no");
    ASSERT_VALUES(adz_eigh(MATRIX(2, 1e300, 0, 0, 1e290), false, NULL), ADZ_F64, 1e290, 1e300);
}

FACT(residuals_are_small)
{
    static const int64_t sizes[] = { 1, 2, 3, 8, 20, 21, 31, 32, 33, 48, 49, 50, 99, 100, 130 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        adz_tensor *a = normal_matrices(ADZ_SHAPE(11, sizes[i], sizes[i])), *v;
        a = adz_add(a, adz_transpose(a, -2, -1));
        adz_tensor *w = adz_eigh(a, false, &v), *vt = adz_transpose(v, -2, -1);
        const double off =
            farthest(adz_matmul(a, v), adz_mul(v, adz_unsqueeze(w, -2))) / sqrt((double)sizes[i]);
        const double turned = farthest(adz_matmul(vt, v), identity_like(v));
        if (!(off < (sizes[i] <= 20 ? 1e-14 : 2e-14) && turned < 1e-14)) {
            fail_msg("n = %d: off by %g and %g", (int)sizes[i], off, turned);
        }
        /* alone, an item has the bits that it has among others */
        adz_tensor *one, *value = adz_eigh(adz_select(a, 0, 3), false, &one);
        assert_true(farthest(value, adz_select(w, 0, 3)) == 0);
        assert_true(farthest(one, adz_select(v, 0, 3)) == 0);
    }
}

FACT(equal_values_have_gradients_without_vectors)
{
    adz_tensor *a = MATRIX_LEAF(2, 1, 0, 0, 1), *v;
    adz_tensor *w = adz_eigh(a, false, &v);
    assert_true(farthest(gradient_of(w, a), adz_eye(2, 2, ADZ_F64)) == 0);
    adz_tensor *g = adz_sum(gradient_of(v, a), ADZ_ALL_DIMS, ADZ_DROPDIM);
    const double sum = adz_tensor_at(g, NULL);
    assert_true(isnan(sum) || sum - sum != 0);
}

static int values_and_vectors(adz_tensor *a, adz_tensor **y)
{
    y[0] = adz_eigh(a, false, &y[1]);
    return y[0] != NULL ? 2 : 0;
}

/* Matrices that divide and conquer finds hard: equal values, clusters, and numbers that differ
 * much.
 */
FACT(large_special_matrices_have_all_vectors)
{
    for (int64_t n = 33; n < 110; n += 25) {
        adz_tensor *x = normal_matrices(ADZ_SHAPE(n, n)), *eye = adz_eye(n, n, ADZ_F64);
        adz_tensor *place = adz_to(adz_arange(0, (double)n, 1, ADZ_I64), ADZ_F64);
        adz_tensor *far = adz_abs(adz_sub(adz_unsqueeze(place, 0), adz_unsqueeze(place, 1)));
        adz_tensor *beside = adz_to(adz_eq_number(far, 1), ADZ_F64), *q = adz_qr(x, NULL);
        adz_tensor *falling = adz_exp(adz_mul_number(place, -70.0 / (double)n));
        adz_tensor *some = adz_mul(q, adz_to(adz_lt_number(place, 5), ADZ_F64));
        adz_tensor *cases[] = { adz_zeros(ADZ_SHAPE(n, n), ADZ_F64), eye,
            adz_ones(ADZ_SHAPE(n, n), ADZ_F64), adz_sub(adz_mul_number(eye, 2), beside),
            adz_add(adz_mul(eye, adz_abs(adz_sub_number(place, (double)(n / 2)))), beside),
            adz_mul(
                adz_mul(adz_add(x, adz_transpose(x, 0, 1)), falling), adz_unsqueeze(falling, 1)),
            adz_matmul(some, adz_transpose(some, 0, 1)), adz_mul_number(beside, 1e300),
            adz_mul_number(beside, 1e-310) };
        for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; ++i) {
            adz_tensor *a = cases[i / 2], *v, *w;
            const double size = fmax(farthest(a, adz_zeros_like(a)), 1e-323);
            a = adz_to(a, i % 2 == 0 || size > 1e10 || size < 1e-10 ? ADZ_F64 : ADZ_F32);
            const double few = adz_tensor_dtype(a) == ADZ_F64 ? 3e-14 : 1.5e-5;
            w = adz_eigh(a, false, &v);
            const double factor = 1 / size < 1e308 ? 1 / size : 1;
            a = adz_mul_number(a, factor);
            w = adz_mul_number(w, factor);
            adz_tensor *rows = adz_max(adz_sum(adz_abs(a), ADZ_DIMS(-1), ADZ_DROPDIM));
            const double norm = fmax(adz_tensor_at(adz_to(rows, ADZ_F64), NULL), 1e-323);
            const double off = farthest(adz_matmul(a, v), adz_mul(v, adz_unsqueeze(w, -2))) / norm;
            const double turned = farthest(adz_matmul(adz_transpose(v, 0, 1), v), identity_like(v));
            if (!(off < few && turned < few)) {
                fail_msg("n = %d, matrix %d: off by %g and %g", (int)n, (int)i / 2, off, turned);
            }
        }
    }
    ASSERT_REFUSED(adz_eigh(adz_full(ADZ_SHAPE(2, 40, 40), NAN, ADZ_F64), false, NULL),
        ADZ_ERR_NUMERIC, "item [0] has no eigenvalues");
}

FACT(gradients_keep_the_scale)
{
    const scaled_case c = { .call = values_and_vectors, .n_results = 2, .halves = { 2, 0 } };
    assert_gradient_keeps_scale(&c, MATRIX(3, 2, 1, 0.5, 1, 3, 1, 0.5, 1, -2));
}

/* A number made of values and vectors of the leaf itself, of which one triangle is read. */
static adz_tensor *mixture(adz_tensor *a)
{
    adz_tensor *v, *w = adz_eigh(a, false, &v);
    adz_tensor *of_v =
        adz_sum(adz_mul(v, MATRIX(3, 1, 2, 3, 5, -1, 4, 0.5, 2, -3)), ADZ_ALL_DIMS, ADZ_DROPDIM);
    return adz_add(
        of_v, adz_sum(adz_mul(w, VALUES(ADZ_F64, 1, -2, 0.5)), ADZ_ALL_DIMS, ADZ_DROPDIM));
}

/* The product of the mixture's gradient with a symmetric matrix. */
static adz_tensor *slope_of(adz_tensor *a)
{
    adz_tensor *g = gradient_by_expression(mixture(a), a);
    return adz_sum(adz_mul(g, MATRIX(3, 1, 2, 3, 2, -1, 4, 3, 4, 2)), ADZ_ALL_DIMS, ADZ_DROPDIM);
}

/* The derivative of `of` by element i of a. */
static double quotient(adz_tensor *(*of)(adz_tensor *), adz_tensor *a, int64_t i)
{
    double ends[2];
    for (int side = 0; side < 2; ++side) {
        adz_tensor *moved = adz_clone(adz_detach(a));
        adz_tensor_data_f64(moved)[i] += side == 0 ? 1e-5 : -1e-5;
        ends[side] = adz_tensor_at(of(adz_requires_grad_(moved, true)), NULL);
    }
    return (ends[0] - ends[1]) / 2e-5;
}

static void check_leaf(adz_tensor *(*of)(adz_tensor *), adz_tensor *a)
{
    adz_tensor *g = gradient_of(of(a), a);
    assert_true(farthest(g, adz_transpose(g, 0, 1)) < 1e-13);
    for (int64_t i = 0; i < 3; ++i) {
        for (int64_t j = 0; j <= i; ++j) {
            const double got = adz_tensor_at(g, (int64_t[]){ i, j }) * (i == j ? 1 : 2);
            const double wanted = quotient(of, a, i * 3 + j);
            if (!(fabs(got - wanted) < 1e-7 * (1 + fabs(wanted)))) {
                fail_msg("(%d, %d): %.12g instead of %.12g", (int)i, (int)j, got, wanted);
            }
        }
    }
}

FACT(gradients_of_the_leaf_are_symmetric)
{
    adz_tensor *a = MATRIX_LEAF(2, 2, 0.3, 0.3, 1), *v;
    adz_eigh(a, false, &v);
    adz_tensor *g = gradient_of(adz_mul(v, MATRIX(2, 1, 2, 3, 5)), a);
    assert_true(farthest(g, MATRIX(2, -0.556, 0.9265, 0.9265, 0.556)) < 1e-3);
    a = MATRIX_LEAF(3, 2, 9, 8, 1, -3, 7, 0.5, 0.25, 4);
    check_leaf(mixture, a);
    check_leaf(slope_of, a);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(large_special_matrices_have_all_vectors),
    cmocka_unit_test(gradients_keep_the_scale),
    cmocka_unit_test(gradients_of_the_leaf_are_symmetric),
    cmocka_unit_test(values_ascend_and_signs_are_fixed),
    cmocka_unit_test(residuals_are_small),
    cmocka_unit_test(equal_values_have_gradients_without_vectors),
};

const op_case eigh_case = {
    .name = "eigh",
    .call = call,
    .samples = {
        { .in = { IN(3, 3) }, .p = { 0 } },
        { .in = { IN_T(4, 4) }, .p = { 1 } },
        { .in = { IN(1, 1) }, .p = { 0 } },
        { .in = { IN(2, 1, 2, 2) }, .p = { 0 } },
        { .in = { IN(4, 3, 3) }, .p = { 0 } },
        { .in = { IN(0, 0) }, .p = { 0 } },
        { .in = { IN(0, 3, 3) }, .p = { 0 } },
        { .in = { IN(20, 20) }, .p = { 0 }, .large = true },
        { .in = { IN(2, 35, 35) }, .p = { 0 }, .large = true },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .status = ADZ_ERR_SHAPE, .says = "not square" },
        { .in = { IN(3) }, .status = ADZ_ERR_SHAPE, .says = "no matrix" },
        { .in = { IN_TYPED(ADZ_I64, 3, 3) }, .p = { 0, 1 }, .status = ADZ_ERR_DTYPE },
    },
    .needs_distinct = true,
    .f32_tolerance = 2e-3,
    FACTS(facts),
};
