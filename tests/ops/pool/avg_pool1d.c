#include "ops/pool.h"

static int call(const op_args *a, adz_tensor **out)
{
    adz_avg_pool_options o = avg_pool_options_of(a, 1);
    return case_one(adz_avg_pool1d(a->in[0], (int64_t)a->p[0], &o), out);
}

static bool config(const json_t *config, op_args *a)
{
    config_avg_pool(config, a, 1);
    return true;
}

FACT(windows_lie_side_by_side)
{
    adz_tensor *x = LEAF(3, 1, 4, 1, 5, 9, 2), *row = adz_reshape(x, ADZ_SHAPE(1, 7));
    adz_tensor *y = adz_avg_pool1d(row, 2, NULL);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(3)), ADZ_F64, 2, 2.5, 7);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0);
}

/* The positions of a last window beyond x and its padding do not count (ceil_mode). */
FACT(a_last_window_that_is_cut)
{
    adz_avg_pool_options o = ADZ_AVG_POOL_OPTIONS;
    o.stride = ADZ_SHAPE(2);
    o.ceil_mode = true;
    adz_tensor *x = adz_reshape(adz_arange(1, 7, 1, ADZ_F64), ADZ_SHAPE(1, 6));
    ASSERT_VALUES(adz_reshape(adz_avg_pool1d(x, 3, &o), ADZ_SHAPE(3)), ADZ_F64, 2, 4, 5.5);
}

/* How many windows there are in ceil_mode, as torch.nn.functional.avg_pool1d counts them. A window
 * that would begin in the padding behind x does not exist. */
FACT(windows_in_ceil_mode)
{
    static const struct {
        int64_t in, kernel, stride, padding, out;
    } cases[] = { { 7, 3, 2, 0, 3 }, { 5, 3, 1, 0, 3 }, { 4, 2, 3, 1, 2 }, { 5, 3, 2, 1, 3 },
        { 6, 3, 2, 1, 4 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        adz_avg_pool_options o = ADZ_AVG_POOL_OPTIONS;
        o.ceil_mode = true;
        o.stride = ADZ_SHAPE(cases[i].stride);
        o.padding = ADZ_SHAPE(cases[i].padding);
        adz_tensor *x = adz_ones(ADZ_SHAPE(1, cases[i].in), ADZ_F32);
        assert_int_equal(adz_tensor_size(adz_avg_pool1d(x, cases[i].kernel, &o), 1), cases[i].out);
    }
}

/* Windows wider than the kernel's buffer of 1,024 positions. */
FACT(a_divisor_of_wide_windows)
{
    adz_avg_pool_options o = ADZ_AVG_POOL_OPTIONS;
    o.divisor_override = 550;
    adz_tensor *y = adz_avg_pool1d(adz_ones(ADZ_SHAPE(1, 2200), ADZ_F64), 1100, &o);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(2)), ADZ_F64, 2, 2);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(a_last_window_that_is_cut),
    cmocka_unit_test(windows_in_ceil_mode),
    cmocka_unit_test(a_divisor_of_wide_windows),
    cmocka_unit_test(windows_lie_side_by_side),
};

const op_case avg_pool1d_case = {
    .name = "avg_pool1d",
    .call = call,
    .samples = {
        { .in = { IN(2, 3, 8) }, .p = { 2, 0, 0, 1 } },
        { .in = { IN_T(3, 7) }, .p = { 3, 2, 1, 1 } },
        { .in = { IN(2, 9) }, .p = { 3, 1, 1, 0 } },
        { .in = { IN(1, 1, 1) }, .p = { 1, 0, 0, 1 } },
        { .in = { IN(0, 2, 5) }, .p = { 2, 0, 0, 1 } },
        { .in = { IN(2, 2, 5) }, .p = { 4, 3, 2, 1, 1 } },
        { .in = { IN(2, 3, 2500) }, .p = { 3, 2, 1, 1 }, .large = true },
    },
    .rejects = {
        { .in = { IN(4) }, .p = { 2, 0, 0, 1 }, .status = ADZ_ERR_SHAPE, .says = "must be [N, C, L] or [C, L]" },
        { .in = { IN(2, 4) }, .p = { 5, 0, 0, 1 }, .status = ADZ_ERR_SHAPE, .says = "kernel_size 5" },
    },
    .vectors = { "avg_pool1d" },
    .inputs = { "x" },
    .config = config,
    .first_order_only = true,
    FACTS(facts),
};
