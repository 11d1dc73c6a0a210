#include "ops/linalg/decomposition/scales.h"

static int call(const op_args *a, adz_tensor **out)
{
    out[0] = adz_qr(a->in[0], &out[1]);
    return out[0] != NULL ? 2 : 0;
}

FACT(the_diagonal_is_positive)
{
    adz_tensor *r, *q = adz_qr(MATRIX(2, 3, 1, 4, 3), &r);
    assert_true(farthest(q, MATRIX(2, 0.6, -0.8, 0.8, 0.6)) < 1e-15);
    assert_true(farthest(r, MATRIX(2, 5, 3, 0, 1)) < 1e-15);
    q = adz_qr(MATRIX(1, -2), &r);
    ASSERT_VALUES(adz_reshape(q, ADZ_SHAPE(1)), ADZ_F64, -1);
    ASSERT_VALUES(adz_reshape(r, ADZ_SHAPE(1)), ADZ_F64, 2);
    assert_non_null(adz_qr(MATRIX(1, -2), NULL));
}

FACT(residuals_are_small)
{
    static const int64_t sizes[][2] = { { 1, 1 }, { 3, 2 }, { 2, 3 }, { 12, 5 }, { 5, 12 },
        { 32, 16 }, { 31, 31 }, { 32, 33 }, { 33, 32 }, { 65, 64 }, { 40, 100 }, { 100, 40 },
        { 200, 200 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        adz_tensor *a = normal_matrices(ADZ_SHAPE(2, sizes[i][0], sizes[i][1])), *r;
        adz_tensor *q = adz_qr(a, &r), *qt = adz_transpose(q, -2, -1);
        const double off = farthest(adz_matmul(q, r), a);
        const double turned = farthest(adz_matmul(qt, q), identity_like(q));
        if (!(off < 1e-13 && turned < 1e-14 && farthest(adz_triu(r, 0), r) == 0)) {
            fail_msg("sample %d: off by %g and %g", (int)i, off, turned);
        }
    }
}

/* The squares of these elements leave the range of f64. */
FACT(large_and_small_elements_keep_their_digits)
{
    static const double scales[] = { 1e-200, 1e200 };
    for (int i = 0; i < 2; ++i) {
        adz_tensor *r;
        adz_qr(adz_mul_number(MATRIX(1, 3, 4), scales[i]), &r);
        const double norm = adz_tensor_at(adz_sum(r, ADZ_ALL_DIMS, ADZ_DROPDIM), NULL);
        assert_true(fabs(norm / scales[i] - 5) < 1e-14);
    }
}

static adz_tensor *both_factors(adz_tensor *a)
{
    adz_tensor *parts[2] = { NULL, NULL };
    adz_tensor *tall[] = { a, a };
    parts[0] = adz_qr(adz_cat(tall, 2, -2), &parts[1]);
    return adz_cat(parts, 2, -2);
}

FACT(items_do_not_mix)
{
    assert_items_do_not_mix(both_factors, true);
}

/* Small matrices and larger ones go through different kernels. */
FACT(columns_of_other_sizes_keep_their_digits)
{
    static const double tiny[] = { 1e-30, 1e-30, 1, 0, 1e-170, 1e-170, 0, 1 };
    adz_tensor *r, *a = adz_reshape(VALUES(ADZ_F64, 3, 1, 4, 0), ADZ_SHAPE(2, 2));
    adz_tensor *q = adz_qr(adz_to(adz_mul_number(a, 1e-30), ADZ_F32), &r);
    assert_true(farthest(q, adz_to(MATRIX(2, 0.6, 0.8, 0.8, -0.6), ADZ_F32)) < 1e-6);
    for (int i = 0; i < 2; ++i) {
        a = adz_tensor_from(tiny + 4 * i, ADZ_SHAPE(2, 2), ADZ_F64);
        q = adz_qr(i == 0 ? a : adz_transpose(a, 0, 1), &r);
        assert_true(farthest(adz_matmul(q, r), i == 0 ? a : adz_transpose(a, 0, 1)) < 1e-15);
        assert_true(
            farthest(adz_matmul(adz_transpose(q, 0, 1), q), adz_eye(2, 2, ADZ_F64)) < 1e-15);
    }
}

static int q_and_r(adz_tensor *a, adz_tensor **y)
{
    y[0] = adz_qr(a, &y[1]);
    return y[0] != NULL ? 2 : 0;
}

FACT(gradients_keep_the_scale)
{
    const scaled_case c = { .call = q_and_r, .n_results = 2, .halves = { 0, 2 } };
    assert_gradient_keeps_scale(&c, MATRIX(2, 2, 1, 0.5, -1, 3, 1));
    assert_gradient_keeps_scale(&c, MATRIX(3, 2, 1, 0.5, -1, 3, 1));
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(gradients_keep_the_scale),
    cmocka_unit_test(the_diagonal_is_positive),
    cmocka_unit_test(residuals_are_small),
    cmocka_unit_test(large_and_small_elements_keep_their_digits),
    cmocka_unit_test(items_do_not_mix),
    cmocka_unit_test(columns_of_other_sizes_keep_their_digits),
};

const op_case qr_case = {
    .name = "qr",
    .call = call,
    .samples = {
        { .in = { IN(3, 3) } },
        { .in = { IN_T(4, 2) } },
        { .in = { IN(2, 4) } },
        { .in = { IN(1, 1) } },
        { .in = { IN(2, 1, 3, 2) } },
        { .in = { IN(0, 0) } },
        { .in = { IN(3, 0) } },
        { .in = { IN(0, 3, 3) } },
        { .in = { IN(40, 40) }, .large = true },
        { .in = { IN(3, 70, 37) }, .large = true },
    },
    .rejects = {
        { .in = { IN(3) }, .status = ADZ_ERR_SHAPE, .says = "no matrix" },
        { .in = { IN_TYPED(ADZ_I64, 3, 3) }, .status = ADZ_ERR_DTYPE },
    },
    .needs_distinct = true,
    .f32_tolerance = 2e-2,
    FACTS(facts),
};
