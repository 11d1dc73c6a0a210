#include "ops/facts.h"

/* p[0] = upscale_factor */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_pixel_shuffle(a->in[0], (int64_t)a->p[0]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "upscale_factor", 1);
    return true;
}

FACT(channels_become_positions)
{
    adz_tensor *x = adz_reshape(VALUES(ADZ_I64, 1, 2, 3, 4, 5, 6, 7, 8), ADZ_SHAPE(4, 1, 2));
    adz_tensor *y = adz_pixel_shuffle(x, 2);
    assert_int_equal(adz_tensor_size(y, 2), 4);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(8)), ADZ_I64, 1, 3, 2, 4, 5, 7, 6, 8);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(channels_become_positions) };

const op_case pixel_shuffle_case = {
    .name = "pixel_shuffle",
    .call = call,
    .samples = {
        { .in = { IN(2, 8, 2, 3) }, .p = { 2 } },
        { .in = { IN_T(9, 2, 3) }, .p = { 3 } },
        { .in = { IN(2, 1, 4, 3, 1) }, .p = { 2 } },
        { .in = { IN(3, 2, 2) }, .p = { 1 } },
        { .in = { IN(4, 1, 1) }, .p = { 2 } },
        { .in = { IN(0, 4, 2, 2) }, .p = { 2 } },
    },
    .rejects = {
        { .in = { IN(2, 6, 2, 3) }, .p = { 2 }, .status = ADZ_ERR_SHAPE, .says = "no multiple of upscale_factor 2 squared" },
        { .in = { IN(4, 4) }, .p = { 2 }, .status = ADZ_ERR_SHAPE, .says = "[..., C, H, W]" },
        { .in = { IN(4, 4, 4) }, .p = { 0 }, .status = ADZ_ERR_ARGUMENT, .says = "upscale_factor is 0" },
        { .in = { IN(1, 1, 1, 1, 4, 4, 4) }, .p = { 2 }, .status = ADZ_ERR_SHAPE, .says = "3 to 6 dimensions" },
    },
    .vectors = { "pixel_shuffle" },
    .inputs = { "x" },
    .config = config,
    .first_order_only = true,
    FACTS(facts),
};
