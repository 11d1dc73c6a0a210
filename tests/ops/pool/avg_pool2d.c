#include "ops/pool.h"

static int call(const op_args *a, adz_tensor **out)
{
    adz_avg_pool_options o = avg_pool_options_of(a, 2);
    return case_one(adz_avg_pool2d(a->in[0], pool_pair(a->p, 2), &o), out);
}

static bool config(const json_t *config, op_args *a)
{
    config_avg_pool(config, a, 2);
    return true;
}

FACT(the_usual_windows)
{
    adz_tensor *x = adz_reshape(adz_arange(0, 24, 1, ADZ_F32), ADZ_SHAPE(1, 4, 6));
    adz_tensor *y = adz_avg_pool2d(x, ADZ_SHAPE(2), NULL);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(6)), ADZ_F32, 3.5, 5.5, 7.5, 15.5, 17.5, 19.5);
    adz_avg_pool_options o = ADZ_AVG_POOL_OPTIONS;
    o.divisor_override = 2;
    y = adz_avg_pool2d(x, ADZ_SHAPE(2), &o);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(6)), ADZ_F32, 7, 11, 15, 31, 35, 39);
}

/* The three divisors: padding counts, only positions of x count, and a number of the caller. */
FACT(divisors)
{
    adz_tensor *x = adz_ones(ADZ_SHAPE(1, 2, 2), ADZ_F64);
    adz_avg_pool_options o = ADZ_AVG_POOL_OPTIONS;
    o.padding = ADZ_SHAPE(1);
    adz_tensor *y = adz_avg_pool2d(x, ADZ_SHAPE(2), &o);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(4)), ADZ_F64, 0.25, 0.25, 0.25, 0.25);
    o.count_include_pad = false;
    y = adz_avg_pool2d(x, ADZ_SHAPE(2), &o);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(4)), ADZ_F64, 1, 1, 1, 1);
    o.divisor_override = 2;
    y = adz_avg_pool2d(x, ADZ_SHAPE(2), &o);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(4)), ADZ_F64, 0.5, 0.5, 0.5, 0.5);
}

/* f32 sums of 10^6 elements would lose digits; a window is also wider than the kernel's buffer. */
FACT(large_windows_keep_their_digits)
{
    adz_tensor *x = adz_full(ADZ_SHAPE(1, 100, 10000), 0.1, ADZ_F32);
    adz_tensor *y = adz_avg_pool2d(x, ADZ_SHAPE(100, 10000), NULL);
    assert_true(fabs(adz_item(y) - (double)0.1f) < 1e-8);
}

FACT(options_are_checked)
{
    adz_avg_pool_options o;
    adz_avg_pool_options_init(&o, sizeof o);
    o.size = 1;
    adz_tensor *x = adz_ones(ADZ_SHAPE(1, 4, 4), ADZ_F32);
    ASSERT_REFUSED(adz_avg_pool2d(x, ADZ_SHAPE(2), &o), ADZ_ERR_ARGUMENT, "size is 1");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(the_usual_windows),
    cmocka_unit_test(divisors),
    cmocka_unit_test(large_windows_keep_their_digits),
    cmocka_unit_test(options_are_checked),
};

const op_case avg_pool2d_case = {
    .name = "avg_pool2d",
    .call = call,
    .samples = {
        { .in = { IN(2, 2, 4, 6) }, .p = { 2, 2, 0, 0, 0, 0, 1 } },
        { .in = { IN_T(2, 5, 7) }, .p = { 2, 3, 2, 1, 1, 1, 1 } },
        { .in = { IN(2, 6, 5) }, .p = { 3, 2, 2, 1, 1, 1, 0 } },
        { .in = { IN(1, 7, 6) }, .p = { 3, 3, 2, 2, 1, 0, 1, 1 } },
        { .in = { IN(1, 7, 6) }, .p = { 3, 3, 4, 5, 1, 0, 0, 1 } },
        { .in = { IN(1, 4, 3) }, .p = { 2, 2, 1, 1, 0, 0, 1, 0, 3 } },
        { .in = { IN(1, 1, 1) }, .p = { 1, 1, 0, 0, 0, 0, 1 } },
        { .in = { IN(0, 2, 4, 4) }, .p = { 2, 2, 0, 0, 0, 0, 1 } },
        { .in = { IN(3, 2, 34, 37) }, .p = { 2, 2, 0, 0, 0, 0, 1 }, .large = true },
        { .in = { IN(2, 2, 17, 1100) }, .p = { 5, 5, 2, 3, 1, 1, 1 }, .large = true },
    },
    .rejects = {
        { .in = { IN(4, 4) }, .p = { 2, 2, 0, 0, 0, 0, 1 }, .status = ADZ_ERR_SHAPE, .says = "must be [N, C, H, W] or [C, H, W]" },
        { .in = { IN(1, 4, 4) }, .p = { 2, 5, 0, 0, 0, 0, 1 }, .status = ADZ_ERR_SHAPE, .says = "does not fit into dimension 2" },
        { .in = { IN(1, 4, 4) }, .p = { 3, 3, 0, 0, 0, 2, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "use at most 1" },
        { .in = { IN(1, 4, 4) }, .p = { 2, 2, 0, 0, 0, 0, 1, 0, -1 }, .status = ADZ_ERR_ARGUMENT, .says = "divisor_override is -1" },
        { .in = { IN_TYPED(ADZ_I64, 1, 4, 4) }, .p = { 2, 2, 0, 0, 0, 0, 1 }, .status = ADZ_ERR_DTYPE },
    },
    .vectors = { "avg_pool2d" },
    .inputs = { "x" },
    .config = config,
    .first_order_only = true,
    FACTS(facts),
};
