#include "ops/pool.h"

static int call(const op_args *a, adz_tensor **out)
{
    adz_max_pool_options o = max_pool_options_of(a, 1);
    out[0] = adz_max_pool1d(a->in[0], (int64_t)a->p[0], &o, &out[1]);
    return out[0] != NULL ? 2 : 0;
}

static bool config(const json_t *config, op_args *a)
{
    config_max_pool(config, a, 1);
    return true;
}

FACT(windows_lie_side_by_side)
{
    adz_tensor *x = adz_reshape(VALUES(ADZ_F32, 3, 1, 4, 1, 5, 9, 2), ADZ_SHAPE(1, 7)), *positions;
    adz_tensor *y = adz_max_pool1d(x, 3, NULL, &positions);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(2)), ADZ_F32, 4, 9);
    ASSERT_VALUES(adz_reshape(positions, ADZ_SHAPE(2)), ADZ_I64, 2, 5);
}

/* A kernel that is larger than x fits with ceil_mode, as in PyTorch. */
FACT(ceil_mode_keeps_the_rest)
{
    adz_tensor *x = adz_reshape(VALUES(ADZ_F32, 3, 1, 4, 1, 5, 9, 2), ADZ_SHAPE(1, 7));
    adz_max_pool_options o = ADZ_MAX_POOL_OPTIONS;
    o.ceil_mode = true;
    adz_tensor *y = adz_max_pool1d(x, 3, &o, NULL);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(3)), ADZ_F32, 4, 9, 2);
    y = adz_max_pool1d(x, 8, &o, NULL);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(1)), ADZ_F32, 9);
    o.stride = ADZ_SHAPE(1, 2);
    ASSERT_REFUSED(adz_max_pool1d(x, 8, &o, NULL), ADZ_ERR_ARGUMENT, "stride has 2 numbers");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(windows_lie_side_by_side),
    cmocka_unit_test(ceil_mode_keeps_the_rest),
};

const op_case max_pool1d_case = {
    .name = "max_pool1d",
    .call = call,
    .samples = {
        { .in = { D(2, 3, 8) }, .p = { 2, 0, 0, 1 } },
        { .in = { D_T(3, 7) }, .p = { 3, 2, 1, 1 } },
        { .in = { D(2, 9) }, .p = { 3, 1, 1, 2, 1 } },
        { .in = { D(1, 1, 1) }, .p = { 1, 0, 0, 1 } },
        { .in = { D(0, 2, 5) }, .p = { 2, 0, 0, 1 } },
        { .in = { D(2, 2, 5) }, .p = { 4, 3, 2, 1, 1 } },
        { .in = { D(2, 3, 2500) }, .p = { 3, 2, 1, 1 }, .large = true },
    },
    .rejects = {
        { .in = { D(4) }, .p = { 2, 0, 0, 1 }, .status = ADZ_ERR_SHAPE, .says = "must be [N, C, L] or [C, L]" },
        { .in = { D(2, 4) }, .p = { 5, 0, 0, 1 }, .status = ADZ_ERR_SHAPE, .says = "kernel_size 5" },
        { .in = { D(2, 4) }, .p = { 2, -1, 0, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "stride is [-1], but each size must be in [1, 2147483647]" },
    },
    .vectors = { "max_pool1d" },
    .inputs = { "x" },
    .outputs = { "y", "indices" },
    .config = config,
    .needs_distinct = true,
    .first_order_only = true,
    FACTS(facts),
};
