#include "ops/facts.h"

/* p[0] = downscale_factor */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_pixel_unshuffle(a->in[0], (int64_t)a->p[0]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "downscale_factor", 1);
    return true;
}

FACT(it_undoes_a_shuffle)
{
    adz_tensor *x = adz_reshape(adz_arange(0, 16, 1, ADZ_F32), ADZ_SHAPE(1, 4, 4));
    adz_tensor *y = adz_pixel_unshuffle(x, 2);
    assert_int_equal(adz_tensor_size(y, 0), 4);
    assert_true(adz_equal(adz_pixel_shuffle(y, 2), x));
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(it_undoes_a_shuffle) };

const op_case pixel_unshuffle_case = {
    .name = "pixel_unshuffle",
    .call = call,
    .samples = {
        { .in = { IN(2, 2, 4, 6) }, .p = { 2 } },
        { .in = { IN_T(1, 6, 9) }, .p = { 3 } },
        { .in = { IN(2, 1, 2, 4, 2) }, .p = { 2 } },
        { .in = { IN(3, 2, 2) }, .p = { 1 } },
        { .in = { IN(1, 2, 2) }, .p = { 2 } },
        { .in = { IN(0, 1, 2, 2) }, .p = { 2 } },
    },
    .rejects = {
        { .in = { IN(2, 3, 2, 3) }, .p = { 2 }, .status = ADZ_ERR_SHAPE, .says = "2 rows and 3 columns" },
        { .in = { IN(4, 4) }, .p = { 2 }, .status = ADZ_ERR_SHAPE, .says = "[..., C, H, W]" },
        { .in = { IN(4, 4, 4) }, .p = { 0 }, .status = ADZ_ERR_ARGUMENT, .says = "downscale_factor is 0" },
        { .in = { IN(1, 1, 1, 1, 4, 4, 4) }, .p = { 2 }, .status = ADZ_ERR_SHAPE, .says = "3 to 6 dimensions" },
    },
    .vectors = { "pixel_unshuffle" },
    .inputs = { "x" },
    .config = config,
    .first_order_only = true,
    FACTS(facts),
};
