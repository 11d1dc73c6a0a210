#include "ops/reduction.h"

static adz_tensor *(*const tested)(adz_tensor *, adz_dims, bool) = adz_mean;

static void the_mean_of_nothing_is_nan(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    assert_true(
        isnan(adz_item(adz_mean(adz_zeros(ADZ_SHAPE(0), ADZ_F32), ADZ_ALL_DIMS, ADZ_DROPDIM))));
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(the_mean_of_nothing_is_nan) };

const op_case mean_case = {
    .name = "mean",
    .call = call,
    .samples = {
        REDUCTION_SAMPLES,
        { .in = { IN(0, 2) }, .p = { 0, 1, 1 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 0, 1, 2 }, .status = ADZ_ERR_DIM, .says = "[3, 4]" },
        { .in = { IN(3, 4) }, .p = { 0, 2, 0, 0 }, .status = ADZ_ERR_DIM, .says = "twice" },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 0, -1 }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
    },
    .first_order_only = true,
    .vectors = { "mean" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
