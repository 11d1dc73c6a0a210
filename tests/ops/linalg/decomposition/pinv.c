#include "ops/linalg/decomposition/scales.h"

/* p[0]: rtol; p[1]: a square of the matrix is taken, which has the rank of its short side */
static int call(const op_args *a, adz_tensor **out)
{
    adz_tensor *x = a->in[0];
    if (a->p[1] != 0) {
        x = adz_matmul(adz_div_number(x, case_units[0]), adz_transpose(x, -2, -1));
    }
    return case_one(adz_pinv(x, a->p[0]), out);
}

FACT(small_values_are_dropped)
{
    adz_tensor *a = MATRIX(2, 4, 0, 0, 1e-9);
    ASSERT_VALUES(adz_reshape(adz_pinv(a, 1e-8), ADZ_SHAPE(4)), ADZ_F64, 0.25, 0, 0, 0);
    assert_true(farthest(adz_pinv(a, -1), MATRIX(2, 0.25, 0, 0, 1e9)) < 1e-6);
    ASSERT_VALUES(adz_reshape(adz_pinv(MATRIX(2, 0, 0), -1), ADZ_SHAPE(2)), ADZ_F64, 0, 0);
    ASSERT_REFUSED(adz_pinv(a, NAN), ADZ_ERR_ARGUMENT, "rtol is nan");
}

SCALE_FACT(gradients_keep_the_scale, adz_pinv(a, -1), -2, MATRIX(2, 2, 1, 0.5, -1, 3, 1))
SCALE_FACT(
    gradients_of_wide_matrices_keep_the_scale, adz_pinv(a, -1), -2, MATRIX(3, 2, 1, 0.5, -1, 3, 1))

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(gradients_keep_the_scale),
    cmocka_unit_test(gradients_of_wide_matrices_keep_the_scale),
    cmocka_unit_test(small_values_are_dropped),
};

const op_case pinv_case = {
    .name = "pinv",
    .call = call,
    .samples = {
        { .in = { IN(3, 3) }, .p = { -1 } },
        { .in = { IN_T(4, 2) }, .p = { -1 } },
        { .in = { IN(2, 4) }, .p = { 1e-9 } },
        { .in = { IN(1, 1) }, .p = { -1 } },
        { .in = { IN(2, 1, 3, 2) }, .p = { -1 } },
        { .in = { IN(4, 2) }, .p = { 1e-5, 1 } },
        { .in = { IN(0, 0) }, .p = { -1 } },
        { .in = { IN(3, 0) }, .p = { -1 } },
        { .in = { IN(0, 3, 3) }, .p = { -1 } },
        { .in = { IN(20, 30) }, .p = { -1 }, .large = true },
    },
    .rejects = {
        { .in = { IN(3) }, .p = { -1 }, .status = ADZ_ERR_SHAPE, .says = "no matrix" },
        { .in = { IN(3, 3) }, .p = { INFINITY }, .status = ADZ_ERR_ARGUMENT, .says = "rtol" },
        { .in = { IN_TYPED(ADZ_I64, 3, 3) }, .p = { -1 }, .status = ADZ_ERR_DTYPE },
    },
    .needs_distinct = true,
    .f32_tolerance = 2e-2,
    FACTS(facts),
};
