#include <math.h>

#include "ops/case.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_mean(a->in[0], case_dims(a, 1), a->p[0] != 0), out);
}

/* p[0] = keepdim, p[1 ..] = dimensions */
static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_flag(config, "keepdim", false);
    config_dims(config, "dim", a, 1);
    return true;
}

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
        { .in = { IN(3, 4, 2) }, .p = { 0, -1 } },
        { .in = { IN(3, 4, 2) }, .p = { 1, 2, 0, 2 } },
        { .in = { IN_T(3, 4) }, .p = { 0, 1, 0 } },
        { .in = { IN_T(3, 4) }, .p = { 1, 1, -1 } },
        { .in = { IN(2, 1, 3) }, .p = { 0, 1, 1 } },
        { .in = { IN_0 }, .p = { 0, -1 } },
        { .in = { IN(0, 2) }, .p = { 0, 1, 1 } },
        { .in = { IN(5, 70) }, .p = { 0, 1, 0 } },
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
