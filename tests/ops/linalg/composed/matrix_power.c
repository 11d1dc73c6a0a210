#include "ops/linalg/decomposition/matrices.h"

/* p[0]: the power; p[1]: the matrices are taken as they are */
static int call(const op_args *a, adz_tensor **out)
{
    adz_tensor *x =
        a->p[1] != 0 ? a->in[0] : adz_mul_number(regular_of(a->in[0], case_units[0]), 0.25);
    return case_one(adz_matrix_power(x, (int64_t)a->p[0]), out);
}

FACT(powers_are_products)
{
    adz_tensor *a = MATRIX(2, 1, 1, 1, 0);
    ASSERT_VALUES(adz_reshape(adz_matrix_power(a, 10), ADZ_SHAPE(4)), ADZ_F64, 89, 55, 55, 34);
    ASSERT_VALUES(adz_reshape(adz_matrix_power(a, -2), ADZ_SHAPE(4)), ADZ_F64, 1, -1, -1, 2);
    ASSERT_VALUES(adz_reshape(adz_matrix_power(a, 0), ADZ_SHAPE(4)), ADZ_F64, 1, 0, 0, 1);
    ASSERT_REFUSED(adz_matrix_power(MATRIX(1, 0), -1), ADZ_ERR_NUMERIC, "singular");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(powers_are_products),
};

const op_case matrix_power_case = {
    .name = "matrix_power",
    .call = call,
    .samples = {
        { .in = { IN(3, 3) }, .p = { 3 } },
        { .in = { IN_T(2, 2) }, .p = { -2 } },
        { .in = { IN(1, 1) }, .p = { 5 } },
        { .in = { IN(2, 1, 2, 2) }, .p = { 1 } },
        { .in = { IN(0, 0) }, .p = { 2 } },
        { .in = { IN(2, 3, 3) }, .p = { 4 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 2, 1 }, .status = ADZ_ERR_SHAPE, .says = "not square" },
        { .in = { IN_TYPED(ADZ_I64, 3, 3) }, .p = { 2, 1 }, .status = ADZ_ERR_DTYPE },
    },
    FACTS(facts),
};
