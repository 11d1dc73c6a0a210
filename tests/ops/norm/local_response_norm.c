#include "ops/facts.h"

/* p[0] = size, p[1] = alpha, p[2] = beta, p[3] = k */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(
        adz_local_response_norm(a->in[0], (int64_t)a->p[0], a->p[1], a->p[2], a->p[3]), out);
}

/* Squares 1, 4, 9, 16 of the channels. A window of 2 has the channel and the one below it, a window
 * of 3 one on each side. */
FACT(windows_of_channels)
{
    adz_tensor *x = adz_reshape(VALUES(ADZ_F64, 1, 2, 3, 4), ADZ_SHAPE(1, 4, 1));
    adz_tensor *y = adz_local_response_norm(x, 2, 2, 1, 1);
    assert_true(adz_allclose(adz_reshape(y, ADZ_SHAPE(4)),
        VALUES(ADZ_F64, 1 / 2., 2 / 6., 3 / 14., 4 / 26.), 1e-15, 0, false));
    y = adz_local_response_norm(x, 3, 3, 0.5, 2);
    assert_true(adz_allclose(adz_reshape(y, ADZ_SHAPE(4)),
        VALUES(ADZ_F64, 1 / sqrt(7), 2 / sqrt(16), 3 / sqrt(31), 4 / sqrt(27)), 1e-15, 0, false));
}

FACT(an_empty_x_is_the_result)
{
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 3, 0), ADZ_F32);
    assert_ptr_equal(adz_local_response_norm(x, 2, 1, 1, 1), x);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(windows_of_channels),
    cmocka_unit_test(an_empty_x_is_the_result),
};

const op_case local_response_norm_case = {
    .name = "local_response_norm",
    .call = call,
    .samples = {
        { .in = { IN(2, 5, 3) }, .p = { 3, 0.5, 0.75, 1 } },
        { .in = { IN_T(2, 4, 2, 2) }, .p = { 2, 1, 0.5, 2 } },
        { .in = { IN(1, 2, 1, 2, 2) }, .p = { 5, 1, 1, 1 } },
        { .in = { IN(2, 3, 2) }, .p = { 1, 1e-4, 0.75, 1 } },
        { .in = { IN(3, 2, 1) }, .p = { 4, 2, 2, 1 } },
        { .in = { IN(2, 0, 2) }, .p = { 3, 1, 1, 1 } },
    },
    .rejects = {
        { .in = { IN(2, 3) }, .p = { 3, 1, 1, 1 }, .status = ADZ_ERR_SHAPE, .says = "three dimensions" },
        { .in = { IN(2, 3, 1) }, .p = { 0, 1, 1, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "size is 0" },
        { .in = { IN_TYPED(ADZ_I64, 2, 3, 1) }, .p = { 1, 1, 1, 1 }, .status = ADZ_ERR_DTYPE },
    },
    FACTS(facts),
};
