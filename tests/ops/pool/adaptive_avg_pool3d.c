#include "ops/pool.h"

/* p[0 ..] = output_size */
static int call(const op_args *a, adz_tensor **out)
{
    const adz_shape size = ADZ_SHAPE((int64_t)a->p[0], (int64_t)a->p[1], (int64_t)a->p[2]);
    return case_one(adz_adaptive_avg_pool3d(a->in[0], size), out);
}

FACT(windows_share_the_middle)
{
    adz_tensor *x = LEAF(1, 2, 3, 4, 5, 6);
    adz_tensor *volumes = adz_reshape(x, ADZ_SHAPE(1, 3, 1, 2));
    adz_tensor *y = adz_adaptive_avg_pool3d(volumes, ADZ_SHAPE(2, 1, 1));
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(2)), ADZ_F64, 2.5, 4.5);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 0.25, 0.25, 0.5, 0.5, 0.25, 0.25);
}

/* One number serves all dimensions, and results may be without elements. */
FACT(one_number_serves_all_dimensions)
{
    adz_tensor *x = adz_reshape(adz_arange(0, 24, 1, ADZ_F64), ADZ_SHAPE(2, 2, 2, 3));
    adz_tensor *y = adz_adaptive_avg_pool3d(x, ADZ_SHAPE(1));
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(2)), ADZ_F64, 5.5, 17.5);
    y = adz_adaptive_avg_pool3d(x, ADZ_SHAPE(0, 3, -1));
    assert_int_equal(adz_tensor_numel(y), 0);
    assert_true(adz_tensor_size(y, 2) == 3 && adz_tensor_size(y, 3) == 3);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(windows_share_the_middle),
    cmocka_unit_test(one_number_serves_all_dimensions),
};

const op_case adaptive_avg_pool3d_case = {
    .name = "adaptive_avg_pool3d",
    .call = call,
    .samples = {
        { .in = { IN(1, 2, 4, 2, 6) }, .p = { 2, 1, 3 } },
        { .in = { IN_T(2, 5, 3, 4) }, .p = { 3, 2, 3 } },
        { .in = { IN(2, 4, 3, 2) }, .p = { 1, 1, 1 } },
        { .in = { IN(1, 2, 3, 2) }, .p = { 3, 5, 4 } },
        { .in = { IN(1, 1, 1, 1) }, .p = { 1, 1, 1 } },
        { .in = { IN(0, 2, 4, 4, 4) }, .p = { 2, 2, 2 } },
        { .in = { IN(2, 3, 2, 4) }, .p = { 2, -1, 2 } },
        { .in = { IN(2, 3, 5, 11, 1100) }, .p = { 3, 4, 9 }, .large = true },
    },
    .rejects = {
        { .in = { IN(4, 4, 4) }, .p = { 2, 2, 2 }, .status = ADZ_ERR_SHAPE, .says = "must be [N, C, D, H, W] or [C, D, H, W]" },
        { .in = { IN(1, 4, 0, 4) }, .p = { 2, 2, 2 }, .status = ADZ_ERR_SHAPE, .says = "is empty" },
        { .in = { IN(1, 4, 4, 4) }, .p = { 2, 2, -2 }, .status = ADZ_ERR_ARGUMENT, .says = "output_size is -2" },
    },
    .inputs = { "x" },
    .first_order_only = true,
    FACTS(facts),
};
