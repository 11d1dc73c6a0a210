#include "ops/linalg/decomposition/matrices.h"

/* p[0]: the matrices are taken as they are */
static int call(const op_args *a, adz_tensor **out)
{
    adz_tensor *x = a->p[0] != 0 ? a->in[0] : regular_of(a->in[0], case_units[0]);
    out[0] = adz_lu_factor(x, &out[1]);
    return out[0] != NULL ? 2 : 0;
}

FACT(pivots_count_from_one)
{
    adz_tensor *pivots, *y = adz_lu_factor(MATRIX(2, 1, 3, 2, 4), &pivots);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(4)), ADZ_F64, 2, 4, 0.5, 1);
    ASSERT_VALUES(pivots, ADZ_I64, 2, 2);
}

FACT(a_singular_matrix_has_factors_without_a_gradient)
{
    adz_tensor *a = MATRIX_LEAF(2, 1, 2, 2, 4), *pivots, *y = adz_lu_factor(a, &pivots);
    ASSERT_VALUES(adz_reshape(adz_detach(y), ADZ_SHAPE(4)), ADZ_F64, 2, 4, 0.5, 0);
    assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_ERR_NUMERIC);
    adz_error_clear();
}

FACT(wide_and_tall_ones_are_products)
{
    for (int64_t m = 1; m <= 40; m += 13) {
        for (int64_t n = 1; n <= 40; n += 13) {
            adz_tensor *a = normal_matrices(ADZ_SHAPE(2, m, n)), *p, *l, *u;
            assert_int_equal(adz_lu(a, &p, &l, &u), ADZ_OK);
            assert_true(farthest(adz_matmul(adz_matmul(p, l), u), a) < 1e-13);
            assert_true(adz_item(adz_max(adz_abs(l))) == 1);
        }
    }
}

/* A square matrix of as many rows would not fit into the memory. */
FACT(memory_follows_the_elements)
{
    const int64_t sizes[][2] = { { 200000, 3 }, { 3, 200000 } };
    for (int i = 0; i < 2; ++i) {
        const int64_t m = sizes[i][0], n = sizes[i][1];
        adz_tensor *a = adz_requires_grad_(normal_matrices(ADZ_SHAPE(m, n)), true);
        adz_tensor *pivots = NULL, *l, *u;
        assert_non_null(adz_lu_factor(a, &pivots));
        assert_int_equal(adz_lu(a, NULL, &l, &u), ADZ_OK);
        adz_tensor *product = adz_matmul(l, u);
        const int64_t *pivot = adz_tensor_data_i64(pivots);
        adz_tensor *rows = adz_arange(0, (double)m, 1, ADZ_I64);
        int64_t *row = adz_tensor_data_i64(rows);
        for (int64_t k = 0; k < 3; ++k) {
            const int64_t t = row[k];
            row[k] = row[pivot[k] - 1];
            row[pivot[k] - 1] = t;
        }
        assert_true(farthest(product, adz_index_select(a, 0, rows)) < 1e-12);
        adz_tensor *ones = adz_ones(ADZ_SHAPE(m, n), ADZ_F64);
        assert_true(farthest(gradient_of(product, a), ones) < 1e-9);
    }
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(memory_follows_the_elements),
    cmocka_unit_test(pivots_count_from_one),
    cmocka_unit_test(a_singular_matrix_has_factors_without_a_gradient),
    cmocka_unit_test(wide_and_tall_ones_are_products),
};

const op_case lu_factor_case = {
    .name = "lu_factor",
    .call = call,
    .samples = {
        { .in = { IN(3, 3) } },
        { .in = { IN_T(4, 4) } },
        { .in = { IN(5, 3) }, .p = { 1 } },
        { .in = { IN(2, 3, 5) }, .p = { 1 } },
        { .in = { IN(1, 1) } },
        { .in = { IN(2, 1, 2, 2) } },
        { .in = { IN(0, 0) } },
        { .in = { IN(0, 3, 3) } },
        { .in = { IN(3, 0) } },
        { .in = { IN(0, 2) } },
    },
    .rejects = {
        { .in = { IN(3) }, .p = { 1 }, .status = ADZ_ERR_SHAPE, .says = "no matrix" },
        { .in = { IN_TYPED(ADZ_I64, 3, 3) }, .p = { 1 }, .status = ADZ_ERR_DTYPE },
    },
    .needs_distinct = true,
    .inputs = { "a" },
    FACTS(facts),
};
