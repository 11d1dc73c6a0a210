#include "ops/linalg/decomposition/scales.h"

/* p[0]: upper, p[1]: the matrices are taken as they are */
static int call(const op_args *a, adz_tensor **out)
{
    adz_tensor *x = a->p[1] != 0 ? a->in[0] : definite_of(a->in[0], case_units[0]);
    return case_one(adz_cholesky(x, a->p[0] != 0), out);
}

FACT(one_triangle_is_read)
{
    adz_tensor *y = adz_cholesky(MATRIX(2, 4, NAN, 2, 10), false);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(4)), ADZ_F64, 2, 0, 1, 3);
    y = adz_cholesky(MATRIX(2, 4, 2, NAN, 10), true);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(4)), ADZ_F64, 2, 1, 0, 3);
}

FACT(other_matrices_are_refused_by_item_and_pivot)
{
    adz_tensor *a = adz_reshape(VALUES(ADZ_F64, 1, 0, 0, 1, 1, 2, 2, 1), ADZ_SHAPE(2, 2, 2));
    ASSERT_REFUSED(adz_cholesky(a, false), ADZ_ERR_NUMERIC,
        "a[2, 2, 2], item [1] is not positive definite: pivot 1 is");
    ASSERT_REFUSED(adz_cholesky(MATRIX(1, NAN), false), ADZ_ERR_NUMERIC, "pivot 0");
    ASSERT_REFUSED(adz_cholesky(MATRIX(1, INFINITY), false), ADZ_ERR_NUMERIC, "pivot 0");
    adz_tensor *falling = adz_reshape(adz_arange(97, -3, -1, ADZ_F64), ADZ_SHAPE(100, 1));
    adz_tensor *late = adz_mul(adz_eye(100, 100, ADZ_F64), falling);
    ASSERT_REFUSED(adz_cholesky(late, true), ADZ_ERR_NUMERIC, "pivot 97 is 0");
}

FACT(residuals_are_small)
{
    static const int64_t sizes[] = { 1, 2, 3, 31, 32, 33, 48, 49, 97, 200 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        const int64_t n = sizes[i];
        adz_tensor *a = definite(normal_matrices(ADZ_SHAPE(n, n)));
        adz_tensor *l = adz_cholesky(a, false), *u = adz_cholesky(a, true);
        const double size = 0x1p-52 * (double)n * farthest(a, adz_zeros(ADZ_SHAPE(1), ADZ_F64));
        const double low = farthest(adz_matmul(l, adz_transpose(l, 0, 1)), a) / size;
        const double up = farthest(adz_matmul(adz_transpose(u, 0, 1), u), a) / size;
        if (!(low < 10 && up < 10)) {
            fail_msg("n = %d: the residuals are %g and %g", (int)n, low, up);
        }
    }
}

static adz_tensor *both_factors(adz_tensor *a)
{
    adz_tensor *parts[] = { adz_cholesky(definite(a), false), adz_cholesky(definite(a), true) };
    return adz_cat(parts, 2, -1);
}

FACT(items_do_not_mix)
{
    assert_items_do_not_mix(both_factors, true);
}

SCALE_FACT(
    gradients_keep_the_scale, adz_cholesky(a, false), 1, MATRIX(3, 2, 1, 0.5, 1, 3, 1, 0.5, 1, 2))
SCALE_FACT(gradients_of_upper_factors_keep_the_scale, adz_cholesky(a, true), 1,
    MATRIX(3, 2, 1, 0.5, 1, 3, 1, 0.5, 1, 2))

/* Derivatives with respect to the leaf itself, of which one triangle is read. */
static double loss_of(adz_tensor *a)
{
    adz_tensor *weights = MATRIX(3, 1, 0, 0, 2, -1, 0, 3, 5, 4);
    return adz_tensor_at(
        adz_sum(adz_mul(adz_cholesky(a, false), weights), ADZ_ALL_DIMS, ADZ_DROPDIM), NULL);
}

FACT(the_gradient_of_the_leaf_is_symmetric)
{
    adz_tensor *a = MATRIX_LEAF(3, 2, 9, 8, 1, 3, 7, 0.5, 1, 2);
    adz_tensor *weights = MATRIX(3, 1, 0, 0, 2, -1, 0, 3, 5, 4);
    adz_tensor *g = gradient_of(adz_mul(adz_cholesky(a, false), weights), a);
    assert_true(farthest(g, adz_transpose(g, 0, 1)) < 1e-14);
    for (int64_t i = 0; i < 3; ++i) {
        for (int64_t j = 0; j <= i; ++j) {
            adz_tensor *unit = adz_zeros(ADZ_SHAPE(3, 3), ADZ_F64);
            adz_tensor_data_f64(unit)[i * 3 + j] = 1e-6;
            const double up = loss_of(adz_add(adz_detach(a), unit));
            const double slope = (up - loss_of(adz_sub(adz_detach(a), unit))) / 2e-6;
            const double got = adz_tensor_at(g, (int64_t[]){ i, j }) * (i == j ? 1 : 2);
            assert_true(fabs(slope - got) < 1e-8);
        }
    }
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(gradients_keep_the_scale),
    cmocka_unit_test(gradients_of_upper_factors_keep_the_scale),
    cmocka_unit_test(the_gradient_of_the_leaf_is_symmetric),
    cmocka_unit_test(one_triangle_is_read),
    cmocka_unit_test(other_matrices_are_refused_by_item_and_pivot),
    cmocka_unit_test(residuals_are_small),
    cmocka_unit_test(items_do_not_mix),
};

const op_case cholesky_case = {
    .name = "cholesky",
    .call = call,
    .samples = {
        { .in = { IN(3, 3) }, .p = { 0 } },
        { .in = { IN(3, 3) }, .p = { 1 } },
        { .in = { IN_T(4, 4) }, .p = { 0 } },
        { .in = { IN(1, 1) }, .p = { 0 } },
        { .in = { IN(2, 1, 2, 2) }, .p = { 1 } },
        { .in = { IN(0, 0) }, .p = { 0 } },
        { .in = { IN(0, 3, 3) }, .p = { 0 } },
        { .in = { IN(2, 70, 70) }, .p = { 0 }, .large = true },
        { .in = { IN(100, 100) }, .p = { 1 }, .large = true },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .status = ADZ_ERR_SHAPE, .says = "not square" },
        { .in = { IN(3) }, .status = ADZ_ERR_SHAPE, .says = "no matrix" },
        { .in = { IN_TYPED(ADZ_I32, 3, 3) }, .p = { 0, 1 }, .status = ADZ_ERR_DTYPE },
    },
    FACTS(facts),
};
