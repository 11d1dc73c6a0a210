#include "ops/case.h"

/* p[0] = start, p[1] = end */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_flatten(a->in[0], (int)a->p[0], (int)a->p[1]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "start_dim", 0);
    a->p[1] = config_number(config, "end_dim", -1);
    return true;
}

static void shapes_are_joined(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_zeros(ADZ_SHAPE(2, 3, 4, 5), ADZ_F32);
    adz_tensor *y = adz_flatten(x, 1, -2);
    assert_int_equal(adz_tensor_rank(y), 3);
    assert_int_equal(adz_tensor_size(y, 1), 12);
    assert_int_equal(adz_tensor_rank(adz_flatten(adz_scalar(1, ADZ_F32), 0, -1)), 1);
    assert_ptr_equal(adz_flatten(x, 2, 2), x);
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(shapes_are_joined) };

const op_case flatten_case = {
    .name = "flatten",
    .call = call,
    .samples = {
        { .in = { IN(4, 6) }, .p = { 0, -1 } },
        { .in = { IN_T(3, 4) }, .p = { 0, 1 } },
        { .in = { IN_T(2, 3, 4) }, .p = { 1, 2 } },
        { .in = { IN(2, 3, 2, 2) }, .p = { 1, -2 } },
        { .in = { IN(1, 5) }, .p = { 0, 0 } },
        { .in = { IN_0 }, .p = { 0, -1 } },
        { .in = { IN(2, 0, 3) }, .p = { 0, 1 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 1, 0 }, .status = ADZ_ERR_DIM, .says = "start 1 comes after end 0" },
        { .in = { IN(3, 4) }, .p = { 0, 2 }, .status = ADZ_ERR_DIM },
    },
    .first_order_only = true,
    .vectors = { "flatten" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
