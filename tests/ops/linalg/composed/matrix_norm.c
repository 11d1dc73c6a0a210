#include "ops/linalg/decomposition/matrices.h"

/* p[0] = ord, p[1], p[2] = dims, p[3] = keepdim */
static int call(const op_args *a, adz_tensor **out)
{
    const adz_dims dims = ADZ_DIMS((int)a->p[1], (int)a->p[2]);
    return case_one(
        adz_matrix_norm(a->in[0], (adz_matrix_norm_ord)(int)a->p[0], dims, a->p[3] != 0), out);
}

FACT(all_norms_of_a_matrix)
{
    static const double wanted[] = { 5, 7, 4, 3, 4, 3, 4, 3 };
    adz_tensor *a = MATRIX(2, 0, -3, 4, 0);
    for (int ord = 0; ord < 8; ++ord) {
        adz_tensor *y = adz_matrix_norm(a, (adz_matrix_norm_ord)ord, ADZ_DIMS(-2, -1), ADZ_DROPDIM);
        assert_true(adz_tensor_rank(y) == 0 && fabs(adz_item(y) - wanted[ord]) < 1e-14);
    }
    a = MATRIX(2, 1, 2, 3, 4);
    adz_tensor *rows = adz_matrix_norm(a, ADZ_MATRIX_NORM_INF, ADZ_DIMS(-2, -1), ADZ_DROPDIM);
    adz_tensor *columns = adz_matrix_norm(a, ADZ_MATRIX_NORM_INF, ADZ_DIMS(1, 0), ADZ_DROPDIM);
    assert_true(adz_item(rows) == 7 && adz_item(columns) == 6);
    adz_tensor *none = adz_zeros(ADZ_SHAPE(0, 3), ADZ_F64);
    assert_true(
        adz_item(adz_matrix_norm(none, ADZ_MATRIX_NORM_NUC, ADZ_DIMS(0, 1), ADZ_DROPDIM)) == 0);
    ASSERT_REFUSED(
        adz_matrix_norm(none, ADZ_MATRIX_NORM_TWO, ADZ_DIMS(0, 1), ADZ_DROPDIM), ADZ_ERR_SHAPE, "");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(all_norms_of_a_matrix),
};

const op_case matrix_norm_case = {
    .name = "matrix_norm",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) }, .p = { 0, -2, -1 } },
        { .in = { IN_T(3, 4) }, .p = { 1, -2, -1 } },
        { .in = { IN_OF(FILL_DISTINCT, 2, 3, 4) }, .p = { 2, 0, 2, 1 } },
        { .in = { IN_OF(FILL_DISTINCT, 2, 3, 4) }, .p = { 3, 2, 0 } },
        { .in = { IN_OF(FILL_DISTINCT, 3, 4) }, .p = { 4, -2, -1 } },
        { .in = { IN_OF(FILL_DISTINCT, 3, 4) }, .p = { 5, -2, -1, 1 } },
        { .in = { IN(4, 2, 3) }, .p = { 6, 2, 0, 1 } },
        { .in = { IN(4, 2, 3) }, .p = { 7, 0, 1 } },
        { .in = { IN(0, 3, 2) }, .p = { 0, 1, 2 } },
        { .in = { IN_OF(FILL_DISTINCT, 1, 1) }, .p = { 1, 0, 1 } },
    },
    .rejects = {
        { .in = { IN(3) }, .p = { 0, 0, 0 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3, 3) }, .p = { 8, 0, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "ord is 8" },
        { .in = { IN(3, 3) }, .p = { 0, 1, -1 }, .status = ADZ_ERR_DIM },
        { .in = { IN_TYPED(ADZ_I64, 3, 3) }, .p = { 0, 0, 1 }, .status = ADZ_ERR_DTYPE },
    },
    .needs_distinct = true,
    .inputs = { "a" },
    FACTS(facts),
};
