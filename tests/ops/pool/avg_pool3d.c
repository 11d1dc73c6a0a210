#include "ops/pool.h"

/* p[0 ..] = kernel_size, p[3 ..] = stride (0: the default), p[6] = padding, p[7] =
 * count_include_pad, p[8] = ceil_mode, p[9] = divisor_override */
static int call(const op_args *a, adz_tensor **out)
{
    adz_avg_pool_options o = ADZ_AVG_POOL_OPTIONS;
    if (a->p[3] != 0) {
        o.stride = ADZ_SHAPE((int64_t)a->p[3], (int64_t)a->p[4], (int64_t)a->p[5]);
    }
    o.padding = ADZ_SHAPE((int64_t)a->p[6]);
    o.count_include_pad = a->p[7] != 0;
    o.ceil_mode = a->p[8] != 0;
    o.divisor_override = (int64_t)a->p[9];
    const adz_shape kernel = ADZ_SHAPE((int64_t)a->p[0], (int64_t)a->p[1], (int64_t)a->p[2]);
    return case_one(adz_avg_pool3d(a->in[0], kernel, &o), out);
}

FACT(the_usual_windows)
{
    adz_tensor *x = adz_reshape(adz_arange(0, 48, 1, ADZ_F32), ADZ_SHAPE(1, 2, 4, 6));
    adz_tensor *y = adz_avg_pool3d(x, ADZ_SHAPE(2), NULL);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(6)), ADZ_F32, 15.5, 17.5, 19.5, 27.5, 29.5, 31.5);
    adz_avg_pool_options o = ADZ_AVG_POOL_OPTIONS;
    o.divisor_override = 2;
    y = adz_avg_pool3d(x, ADZ_SHAPE(2, 4, 6), &o);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(1)), ADZ_F32, 564);
}

/* The mean over slices of means of images is the mean of volumes. */
FACT(it_is_a_mean_of_images)
{
    adz_tensor *x = adz_randn(ADZ_SHAPE(3, 4, 7, 9), ADZ_F64);
    adz_tensor *y = adz_avg_pool3d(x, ADZ_SHAPE(2, 3, 2), NULL);
    adz_tensor *images = adz_avg_pool2d(x, ADZ_SHAPE(3, 2), NULL);
    adz_tensor *parts = adz_reshape(images, ADZ_SHAPE(3, 2, 2, 2, 4));
    assert_true(adz_allclose(y, adz_mean(parts, ADZ_DIMS(2), ADZ_DROPDIM), 1e-12, 1e-12, false));
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(the_usual_windows),
    cmocka_unit_test(it_is_a_mean_of_images),
};

const op_case avg_pool3d_case = {
    .name = "avg_pool3d",
    .call = call,
    .samples = {
        { .in = { IN(1, 2, 4, 4, 2) }, .p = { 2, 2, 2, 0, 0, 0, 0, 1 } },
        { .in = { IN_T(2, 4, 3, 5) }, .p = { 2, 1, 3, 2, 1, 2, 0, 1 } },
        { .in = { IN(1, 5, 4, 3) }, .p = { 3, 2, 3, 2, 1, 1, 1, 0 } },
        { .in = { IN(1, 5, 4, 6) }, .p = { 3, 3, 2, 2, 2, 2, 1, 1, 1 } },
        { .in = { IN(1, 4, 3, 3) }, .p = { 2, 2, 2, 1, 1, 1, 0, 1, 0, 3 } },
        { .in = { IN(1, 1, 1, 1) }, .p = { 1, 1, 1, 0, 0, 0, 0, 1 } },
        { .in = { IN(0, 2, 4, 4, 4) }, .p = { 2, 2, 2, 0, 0, 0, 0, 1 } },
        { .in = { IN(2, 2, 9, 14, 17) }, .p = { 2, 2, 2, 0, 0, 0, 0, 1 }, .large = true },
        { .in = { IN(1, 2, 5, 7, 1100) }, .p = { 3, 5, 5, 2, 2, 3, 1, 1, 1 }, .large = true },
    },
    .rejects = {
        { .in = { IN(4, 4, 4) }, .p = { 2, 2, 2, 0, 0, 0, 0, 1 }, .status = ADZ_ERR_SHAPE, .says = "must be [N, C, D, H, W] or [C, D, H, W]" },
        { .in = { IN(1, 4, 4, 4) }, .p = { 5, 2, 2, 0, 0, 0, 0, 1 }, .status = ADZ_ERR_SHAPE, .says = "does not fit into dimension 1" },
        { .in = { IN_TYPED(ADZ_I64, 1, 4, 4, 4) }, .p = { 2, 2, 2, 0, 0, 0, 0, 1 }, .status = ADZ_ERR_DTYPE },
    },
    .inputs = { "x" },
    .first_order_only = true,
    FACTS(facts),
};
