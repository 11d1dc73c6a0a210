#include "ops/facts.h"

/* p[0] = norm_type, p[1] = stride (0: the default), p[2 ..] = kernel_size, p[4] = ceil_mode */
static int call(const op_args *a, adz_tensor **out)
{
    adz_lp_pool_options o = ADZ_LP_POOL_OPTIONS;
    if (a->p[1] != 0) {
        o.stride = ADZ_SHAPE((int64_t)a->p[1]);
    }
    o.ceil_mode = a->p[4] != 0;
    return case_one(adz_lp_pool1d(a->in[0], a->p[0], (int64_t)a->p[2], &o), out);
}

FACT(the_norms_of_windows)
{
    adz_tensor *x = VALUES(ADZ_F64, 3, 4, -6, 8, 0, 0, 1), *rows = adz_reshape(x, ADZ_SHAPE(1, 7));
    adz_lp_pool_options o;
    adz_lp_pool_options_init(&o, sizeof o);
    adz_tensor *y = adz_lp_pool1d(rows, 2, 2, &o);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(3)), ADZ_F64, 5, 10, 0);
    y = adz_lp_pool1d(rows, INFINITY, 2, &o);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(3)), ADZ_F64, 4, 8, 0);
    y = adz_lp_pool1d(rows, -INFINITY, 2, &o);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(3)), ADZ_F64, 3, 6, 0);
    y = adz_lp_pool1d(rows, -1, 2, NULL);
    assert_true(
        adz_allclose(adz_flatten(y, 0, -1), VALUES(ADZ_F64, 12.0 / 7, -24, 0), 1e-14, 0, false));
    /* PyTorch takes the mean of the last window, which has one element, times two. */
    o.ceil_mode = true;
    y = adz_lp_pool1d(rows, 1, 2, &o);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(4)), ADZ_F64, 7, 2, 0, 2);
    ASSERT_REFUSED(adz_lp_pool1d(rows, 0, 2, NULL), ADZ_ERR_ARGUMENT, "norm_type is 0");
    ASSERT_REFUSED(adz_lp_pool1d(rows, NAN, 2, NULL), ADZ_ERR_ARGUMENT, "norm_type is nan");
    o.size = 1;
    ASSERT_REFUSED(adz_lp_pool1d(rows, 2, 2, &o), ADZ_ERR_ARGUMENT, "size is 1");
}

/* The root has no slope at 0, where PyTorch's gradient is 0. */
FACT(a_sum_of_zero_has_gradient_zero)
{
    adz_tensor *x = LEAF(0, 0, 3, 4);
    adz_tensor *y = adz_lp_pool1d(adz_reshape(x, ADZ_SHAPE(1, 4)), 2, 2, NULL);
    for (int expression = 0; expression < 2; ++expression) {
        adz_tensor *dx = gradient_by(y, x, expression != 0);
        assert_true(adz_allclose(dx, VALUES(ADZ_F64, 0, 0, 0.6, 0.8), 1e-14, 0, false));
    }
}

/* A negative sum has no root, NaN stays NaN, and an infinite element is the norm. */
FACT(special_elements)
{
    adz_tensor *x = VALUES(ADZ_F64, -3, 1, NAN, 1, INFINITY, 1);
    adz_tensor *y = adz_lp_pool1d(adz_reshape(x, ADZ_SHAPE(1, 6)), 3, 2, NULL);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(3)), ADZ_F64, NAN, NAN, INFINITY);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(the_norms_of_windows),
    cmocka_unit_test(a_sum_of_zero_has_gradient_zero),
    cmocka_unit_test(special_elements),
};

const op_case lp_pool1d_case = {
    .name = "lp_pool1d",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_POSITIVE, 2, 2, 7) }, .p = { 2, 0, 2, 1 } },
        { .in = { IN_OF(FILL_POSITIVE, 2, 9) }, .p = { 2.5, 1, 3, 2, 1 } },
        { .in = { IN_T_OF(FILL_POSITIVE, 2, 9) }, .p = { -1.5, 0, 2, 3 } },
        { .in = { IN_OF(FILL_DISTINCT, 2, 2, 7) }, .p = { 2, 2, 3, 2 } },
        { .in = { IN_OF(FILL_POSITIVE, 1, 1) }, .p = { 3, 0, 1, 1 } },
        { .in = { IN_OF(FILL_POSITIVE, 0, 2, 4) }, .p = { 2, 0, 2, 2 } },
    },
    .rejects = {
        { .in = { IN(4) }, .p = { 2, 0, 2, 2 }, .status = ADZ_ERR_SHAPE, .says = "must be [N, C" },
        { .in = { IN(2, 9) }, .p = { 0, 0, 2, 2 }, .status = ADZ_ERR_ARGUMENT, .says = "norm_type is 0" },
        { .in = { IN(2, 9) }, .p = { 2, 0, 0, 2 }, .status = ADZ_ERR_ARGUMENT, .says = "kernel_size is [0" },
        { .in = { IN(2, 9) }, .p = { 2, -1, 2, 2 }, .status = ADZ_ERR_ARGUMENT, .says = "stride is [-1" },
        { .in = { IN_TYPED(ADZ_I64, 2, 9) }, .p = { 2, 0, 2, 2 }, .status = ADZ_ERR_DTYPE },
    },
    .inputs = { "x" },
    FACTS(facts),
};
