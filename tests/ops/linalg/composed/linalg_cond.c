#include "ops/linalg/decomposition/matrices.h"

/* p[0] = ord */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_linalg_cond(a->in[0], (adz_matrix_norm_ord)(int)a->p[0]), out);
}

FACT(singular_matrices_have_infinity)
{
    adz_tensor *a = MATRIX(2, 1, 0, 0, 4);
    static const double wanted[] = { 4.25, 6.25, 4, 0.25, 4, 0.25, 4, 0.25 };
    for (int ord = 0; ord < 8; ++ord) {
        assert_true(
            fabs(adz_item(adz_linalg_cond(a, (adz_matrix_norm_ord)ord)) - wanted[ord]) < 1e-14);
    }
    adz_tensor *both = adz_reshape(VALUES(ADZ_F64, 1, 2, 2, 4, 1, 0, 0, 2), ADZ_SHAPE(2, 2, 2));
    ASSERT_VALUES(adz_linalg_cond(both, ADZ_MATRIX_NORM_ONE), ADZ_F64, INFINITY, 2);
    ASSERT_VALUES(
        adz_linalg_cond(adz_zeros(ADZ_SHAPE(1, 0, 0), ADZ_F64), ADZ_MATRIX_NORM_TWO), ADZ_F64, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(singular_matrices_have_infinity),
};

const op_case linalg_cond_case = {
    .name = "linalg_cond",
    .call = call,
    .samples = {
        { .in = { IN(3, 3) }, .p = { 0 } },
        { .in = { IN_T(3, 3) }, .p = { 1 } },
        { .in = { IN_OF(FILL_DISTINCT, 2, 3, 3) }, .p = { 2 } },
        { .in = { IN_OF(FILL_DISTINCT, 3, 3) }, .p = { 5 } },
        { .in = { IN(3, 4) }, .p = { 6 } },
        { .in = { IN(4, 2) }, .p = { 7 } },
        { .in = { IN(0, 0) }, .p = { 6 } },
        { .in = { IN_OF(FILL_DISTINCT, 1, 1) }, .p = { 6 } },
    },
    .rejects = {
        { .in = { IN(3) }, .p = { 6 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3, 4) }, .p = { 0 }, .status = ADZ_ERR_SHAPE, .says = "square" },
        { .in = { IN(3, 3) }, .p = { 8 }, .status = ADZ_ERR_ARGUMENT, .says = "ord is 8" },
        { .in = { IN_TYPED(ADZ_I64, 3, 3) }, .p = { 6 }, .status = ADZ_ERR_DTYPE },
    },
    .needs_distinct = true,
    .inputs = { "a" },
    FACTS(facts),
};
