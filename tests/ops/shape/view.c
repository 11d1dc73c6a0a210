#include "ops/facts.h"

/* p[0] = rank, p[1] .. = sizes */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_view(a->in[0], case_shape(a, 0)), out);
}

FACT(it_shares_memory_and_refuses_to_copy)
{
    adz_tensor *x = adz_zeros(ADZ_SHAPE(2, 3), ADZ_F32);
    adz_fill_(adz_view(x, ADZ_SHAPE(-1)), 2);
    assert_true(adz_equal(x, adz_full(ADZ_SHAPE(2, 3), 2, ADZ_F32)));
    ASSERT_REFUSED(
        adz_view(adz_transpose(x, 0, 1), ADZ_SHAPE(6)), ADZ_ERR_SHAPE, "use adz_reshape");
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(it_shares_memory_and_refuses_to_copy) };

const op_case view_case = {
    .name = "view",
    .call = call,
    .samples = {
        { .in = { IN(4, 6) }, .p = { 3, 4, 2, 3 } },
        { .in = { IN_T(3, 4) }, .p = { 3, 3, 1, 4 } },
        { .in = { IN_T(2, 3, 4) }, .p = { 4, 2, 3, 2, 2 } },
        { .in = { IN(6) }, .p = { 2, -1, 2 } },
        { .in = { IN(1) }, .p = { 0 } },
        { .in = { IN_0 }, .p = { 2, 1, 1 } },
        { .in = { IN(0, 3) }, .p = { 3, 3, 0, 5 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 1, 11 }, .status = ADZ_ERR_SHAPE, .says = "view: x[3, 4]" },
        { .in = { IN_T(3, 4) }, .p = { 1, 12 }, .status = ADZ_ERR_SHAPE, .says = "strides" },
        { .in = { IN(3, 4) }, .p = { 2, -1, -1 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(0, 3) }, .p = { 3, 0, 1e12, 1e12 }, .status = ADZ_ERR_SHAPE, .says = "more elements than fit" },
    },
    .no_layouts = true,
    .first_order_only = true,
    FACTS(facts),
};
