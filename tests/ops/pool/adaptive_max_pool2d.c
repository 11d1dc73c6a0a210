#include "ops/pool.h"

/* p[0 ..] = output_size */
static int call(const op_args *a, adz_tensor **out)
{
    out[0] = adz_adaptive_max_pool2d(a->in[0], pool_pair(a->p, 2), &out[1]);
    return out[0] != NULL ? 2 : 0;
}

static bool config(const json_t *config, op_args *a)
{
    config_list(config, "output_size", a->p, 2);
    return true;
}

FACT(windows_share_the_middle)
{
    adz_tensor *x = LEAF(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    adz_tensor *y =
        adz_adaptive_max_pool2d(adz_reshape(x, ADZ_SHAPE(1, 2, 5)), ADZ_SHAPE(1, 2), NULL);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(2)), ADZ_F64, 8, 10);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1);
}

/* The mean of each channel, or its largest element, and results without elements. */
FACT(one_number_serves_both_dimensions)
{
    adz_tensor *x = adz_reshape(adz_arange(0, 12, 1, ADZ_F64), ADZ_SHAPE(2, 2, 3));
    adz_tensor *y = adz_adaptive_max_pool2d(x, ADZ_SHAPE(1), NULL);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(2)), ADZ_F64, 5, 11);
    y = adz_adaptive_max_pool2d(x, ADZ_SHAPE(0, 3), NULL);
    assert_int_equal(adz_tensor_numel(y), 0);
    assert_int_equal(adz_tensor_size(y, 2), 3);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(windows_share_the_middle),
    cmocka_unit_test(one_number_serves_both_dimensions),
};

const op_case adaptive_max_pool2d_case = {
    .name = "adaptive_max_pool2d",
    .call = call,
    .samples = {
        { .in = { D(2, 2, 4, 6) }, .p = { 2, 3 } },
        { .in = { D_T(2, 5, 7) }, .p = { 3, 4 } },
        { .in = { D(2, 6, 5) }, .p = { 1, 1 } },
        { .in = { D(1, 3, 2) }, .p = { 5, 4 } },
        { .in = { D(1, 1, 1) }, .p = { 1, 1 } },
        { .in = { D(0, 2, 4, 4) }, .p = { 2, 2 } },
        { .in = { D(2, 3, 4) }, .p = { -1, 2 } },
        { .in = { D(2, 3, 31, 1500) }, .p = { 7, 9 }, .large = true },
    },
    .rejects = {
        { .in = { D(4, 4) }, .p = { 2, 2 }, .status = ADZ_ERR_SHAPE, .says = "must be [N, C, H, W] or [C, H, W]" },
        { .in = { D(1, 4, 0) }, .p = { 2, 2 }, .status = ADZ_ERR_SHAPE, .says = "is empty" },
        { .in = { D(1, 4, 4) }, .p = { 2, -2 }, .status = ADZ_ERR_ARGUMENT, .says = "output_size is -2" },
    },
    .vectors = { "adaptive_max_pool2d" },
    .inputs = { "x" },
    .outputs = { "y", "indices" },
    .config = config,
    .needs_distinct = true,
    .first_order_only = true,
    FACTS(facts),
};
