#include "ops/facts.h"

/* p[0] = dim, p[1] = descending */
static int call(const op_args *a, adz_tensor **out)
{
    out[0] = adz_sort(a->in[0], (int)a->p[0], a->p[1] != 0, &out[1]);
    return out[0] != NULL ? 2 : 0;
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "dim", -1);
    a->p[1] = config_flag(config, "descending", false);
    return true;
}

/* Equal elements keep their order in both directions, and NaN is the largest. */
FACT(the_order_is_stable)
{
    adz_tensor *x = VALUES(ADZ_F32, 2, NAN, 1, 2, -INFINITY, 1), *at;
    ASSERT_VALUES(adz_sort(x, 0, false, &at), ADZ_F32, -INFINITY, 1, 1, 2, 2, NAN);
    ASSERT_VALUES(at, ADZ_I64, 4, 2, 5, 0, 3, 1);
    ASSERT_VALUES(adz_sort(x, 0, true, &at), ADZ_F32, NAN, 2, 2, 1, 1, -INFINITY);
    ASSERT_VALUES(at, ADZ_I64, 1, 0, 3, 2, 5, 4);
    ASSERT_VALUES(adz_sort(VALUES(ADZ_I64, 3, 1, 2), -1, false, NULL), ADZ_I64, 1, 2, 3);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(the_order_is_stable) };

#define D(...)   IN_OF(FILL_DISTINCT, __VA_ARGS__)
#define D_T(...) IN_T_OF(FILL_DISTINCT, __VA_ARGS__)

const op_case sort_case = {
    .name = "sort",
    .call = call,
    .samples = {
        { .in = { D(3, 5) }, .p = { 1, 0 } },
        { .in = { D_T(4, 3) }, .p = { 0, 1 } },
        { .in = { D(2, 6, 2) }, .p = { -2, 0 } },
        { .in = { D(1, 4) }, .p = { 0, 1 } },
        { .in = { IN_0 }, .p = { 0, 0 } },
        { .in = { D(0, 4) }, .p = { 1, 0 } },
        { .in = { D(2, 700) }, .p = { 1, 1 }, .large = true },
    },
    .rejects = {
        { .in = { D(3, 4) }, .p = { 2, 0 }, .status = ADZ_ERR_DIM, .says = "sort: " },
        { .in = { IN_TYPED(ADZ_F16, 3) }, .p = { 0, 0 }, .status = ADZ_ERR_DTYPE },
    },
    .vectors = { "sort" },
    .inputs = { "x" },
    .outputs = { "y", "indices" },
    .config = config,
    .needs_distinct = true,
    .first_order_only = true,
    FACTS(facts),
};
