#include "ops/facts.h"

/* p[0] = norm_type, p[1] = stride (0: the default), p[2 ..] = kernel_size, p[4] = ceil_mode */
static int call(const op_args *a, adz_tensor **out)
{
    adz_lp_pool_options o = ADZ_LP_POOL_OPTIONS;
    if (a->p[1] != 0) {
        o.stride = ADZ_SHAPE((int64_t)a->p[1]);
    }
    o.ceil_mode = a->p[4] != 0;
    return case_one(adz_lp_pool3d(a->in[0], a->p[0],
                        ADZ_SHAPE((int64_t)a->p[2], (int64_t)a->p[3], (int64_t)a->p[2]), &o),
        out);
}

/* The norm of a window is that of the norms of its rows. */
FACT(it_is_a_norm_of_norms)
{
    adz_tensor *x = adz_rand(ADZ_SHAPE(2, 3, 4, 4, 6), ADZ_F64);
    adz_tensor *y = adz_lp_pool3d(x, 2.5, ADZ_SHAPE(2, 2, 3), NULL);
    adz_tensor *rows = adz_lp_pool1d(adz_flatten(x, 0, -2), 2.5, 3, NULL);
    rows = adz_reshape(rows, ADZ_SHAPE(6, 2, 2, 2, 2, 2));
    adz_tensor *sums = adz_sum(adz_pow_number(rows, 2.5), ADZ_DIMS(2, 4), ADZ_DROPDIM);
    adz_tensor *wanted = adz_reshape(adz_pow_number(sums, 0.4), adz_tensor_shape(y));
    assert_true(adz_allclose(y, wanted, 1e-12, 1e-12, false));
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(it_is_a_norm_of_norms) };

const op_case lp_pool3d_case = {
    .name = "lp_pool3d",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_POSITIVE, 1, 2, 4, 3, 5) }, .p = { 2, 0, 2, 1 } },
        { .in = { IN_OF(FILL_POSITIVE, 2, 4, 5, 3) }, .p = { 2.5, 1, 3, 2, 1 } },
        { .in = { IN_T_OF(FILL_POSITIVE, 2, 4, 5, 3) }, .p = { -1.5, 0, 2, 3 } },
        { .in = { IN_OF(FILL_DISTINCT, 1, 2, 4, 3, 5) }, .p = { 2, 2, 3, 2 } },
        { .in = { IN_OF(FILL_POSITIVE, 1, 1, 1, 1) }, .p = { 3, 0, 1, 1 } },
        { .in = { IN_OF(FILL_POSITIVE, 0, 2, 4, 4, 4) }, .p = { 2, 0, 2, 2 } },
    },
    .rejects = {
        { .in = { IN(4) }, .p = { 2, 0, 2, 2 }, .status = ADZ_ERR_SHAPE, .says = "must be [N, C" },
        { .in = { IN(2, 4, 5, 3) }, .p = { 0, 0, 2, 2 }, .status = ADZ_ERR_ARGUMENT, .says = "norm_type is 0" },
        { .in = { IN(2, 4, 5, 3) }, .p = { 2, 0, 0, 2 }, .status = ADZ_ERR_ARGUMENT, .says = "kernel_size is [0" },
        { .in = { IN(2, 4, 5, 3) }, .p = { 2, -1, 2, 2 }, .status = ADZ_ERR_ARGUMENT, .says = "stride is [-1" },
        { .in = { IN_TYPED(ADZ_I64, 2, 4, 5, 3) }, .p = { 2, 0, 2, 2 }, .status = ADZ_ERR_DTYPE },
    },
    .inputs = { "x" },
    FACTS(facts),
};
