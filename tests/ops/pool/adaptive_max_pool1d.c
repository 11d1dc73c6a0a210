#include "ops/pool.h"

/* p[0 ..] = output_size */
static int call(const op_args *a, adz_tensor **out)
{
    out[0] = adz_adaptive_max_pool1d(a->in[0], (int64_t)a->p[0], &out[1]);
    return out[0] != NULL ? 2 : 0;
}

static bool config(const json_t *config, op_args *a)
{
    config_list(config, "output_size", a->p, 1);
    return true;
}

FACT(windows_share_the_middle)
{
    adz_tensor *x = LEAF(1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    adz_tensor *y = adz_adaptive_max_pool1d(adz_reshape(x, ADZ_SHAPE(2, 5)), 2, NULL);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(4)), ADZ_F64, 3, 5, 8, 10);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 0, 0, 1, 0, 1, 0, 0, 1, 0, 1);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(windows_share_the_middle),
};

const op_case adaptive_max_pool1d_case = {
    .name = "adaptive_max_pool1d",
    .call = call,
    .samples = {
        { .in = { D(2, 3, 8) }, .p = { 4 } },
        { .in = { D_T(3, 7) }, .p = { 3 } },
        { .in = { D(2, 9) }, .p = { 1 } },
        { .in = { D(1, 1, 1) }, .p = { 1 } },
        { .in = { D(0, 2, 5) }, .p = { 2 } },
        { .in = { D(2, 2, 3) }, .p = { 7 } },
        { .in = { D(2, 4) }, .p = { -1 } },
        { .in = { D(2, 3, 2500) }, .p = { 7 }, .large = true },
    },
    .rejects = {
        { .in = { D(4) }, .p = { 2 }, .status = ADZ_ERR_SHAPE, .says = "must be [N, C, L] or [C, L]" },
        { .in = { D(4, 0) }, .p = { 2 }, .status = ADZ_ERR_SHAPE, .says = "is empty" },
        { .in = { D(2, 4) }, .p = { -2 }, .status = ADZ_ERR_ARGUMENT, .says = "output_size is -2" },
    },
    .vectors = { "adaptive_max_pool1d" },
    .inputs = { "x" },
    .outputs = { "y", "indices" },
    .config = config,
    .needs_distinct = true,
    .first_order_only = true,
    FACTS(facts),
};
