#include "ops/case.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_sum(a->in[0], case_dims(a, 1), a->p[0] != 0), out);
}

/* p[0] = keepdim, p[1 ..] = dimensions */
static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_flag(config, "keepdim", false);
    config_dims(config, "dim", a, 1);
    return true;
}

static void integers_sum_to_i64(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_full(ADZ_SHAPE(300), 255, ADZ_U8);
    adz_tensor *y = adz_sum(x, ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_int_equal(adz_tensor_dtype(y), ADZ_I64);
    assert_int_equal(adz_item_i64(y), 300 * 255);
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(integers_sum_to_i64) };

const op_case sum_case = {
    .name = "sum",
    .call = call,
    .samples = {
        { .in = { IN(3, 4, 2) }, .p = { 0, -1 } },
        { .in = { IN(3, 4, 2) }, .p = { 1, 2, 0, 2 } },
        { .in = { IN_T(3, 4) }, .p = { 0, 1, 0 } },
        { .in = { IN_T(3, 4) }, .p = { 1, 1, -1 } },
        { .in = { IN(2, 1, 3) }, .p = { 0, 1, 1 } },
        { .in = { IN_0 }, .p = { 0, -1 } },
        { .in = { IN(2, 0) }, .p = { 0, 1, 0 } },
        { .in = { IN(5, 70) }, .p = { 0, 1, 0 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 0, 1, 2 }, .status = ADZ_ERR_DIM, .says = "[3, 4]" },
        { .in = { IN(3, 4) }, .p = { 0, 2, 0, 0 }, .status = ADZ_ERR_DIM, .says = "twice" },
    },
    .first_order_only = true,
    .vectors = { "sum" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
