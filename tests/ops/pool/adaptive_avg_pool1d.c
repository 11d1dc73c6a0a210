#include "ops/pool.h"

/* p[0 ..] = output_size */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_adaptive_avg_pool1d(a->in[0], (int64_t)a->p[0]), out);
}

static bool config(const json_t *config, op_args *a)
{
    config_list(config, "output_size", a->p, 1);
    return true;
}

FACT(windows_share_the_middle)
{
    adz_tensor *x = adz_mul_number(adz_arange(1, 11, 1, ADZ_F64), 3);
    adz_tensor *y = adz_adaptive_avg_pool1d(adz_reshape(x, ADZ_SHAPE(2, 5)), 2);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(4)), ADZ_F64, 6, 12, 21, 27);
}

/* Windows of 1,101, 1,102 and 1,101 positions, wider than the kernel's buffer. */
FACT(wide_windows_of_different_sizes)
{
    adz_tensor *x = adz_reshape(adz_arange(0, 3302, 1, ADZ_F64), ADZ_SHAPE(1, 3302));
    adz_tensor *y = adz_reshape(adz_adaptive_avg_pool1d(x, 3), ADZ_SHAPE(3));
    const double means[] = { 550, 1650.5, 2751 };
    for (int i = 0; i < 3; ++i) {
        assert_true(fabs(adz_item(adz_select(y, 0, i)) - means[i]) < 1e-9);
    }
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(wide_windows_of_different_sizes),
    cmocka_unit_test(windows_share_the_middle),
};

const op_case adaptive_avg_pool1d_case = {
    .name = "adaptive_avg_pool1d",
    .call = call,
    .samples = {
        { .in = { IN(2, 3, 8) }, .p = { 4 } },
        { .in = { IN_T(3, 7) }, .p = { 3 } },
        { .in = { IN(2, 9) }, .p = { 1 } },
        { .in = { IN(1, 1, 1) }, .p = { 1 } },
        { .in = { IN(0, 2, 5) }, .p = { 2 } },
        { .in = { IN(2, 2, 3) }, .p = { 7 } },
        { .in = { IN(2, 4) }, .p = { -1 } },
        { .in = { IN(2, 3, 2500) }, .p = { 7 }, .large = true },
    },
    .rejects = {
        { .in = { IN(4) }, .p = { 2 }, .status = ADZ_ERR_SHAPE, .says = "must be [N, C, L] or [C, L]" },
        { .in = { IN(4, 0) }, .p = { 2 }, .status = ADZ_ERR_SHAPE, .says = "is empty" },
        { .in = { IN(2, 4) }, .p = { -2 }, .status = ADZ_ERR_ARGUMENT, .says = "output_size is -2" },
    },
    .vectors = { "adaptive_avg_pool1d" },
    .inputs = { "x" },
    .config = config,
    .first_order_only = true,
    FACTS(facts),
};
