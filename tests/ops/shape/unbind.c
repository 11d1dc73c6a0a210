#include "ops/facts.h"

/* p[0] = dim */
static int call(const op_args *a, adz_tensor **out)
{
    size_t n = 0;
    return adz_unbind(a->in[0], (int)a->p[0], out, CASE_RESULTS, &n) == ADZ_OK ? (int)n : 0;
}

FACT(layers_without_a_gradient_count_as_zero)
{
    adz_tensor *x = LEAF(1, 2, 3), *out[3];
    assert_int_equal(adz_unbind(x, 0, out, 3, NULL), ADZ_OK);
    assert_int_equal(adz_tensor_rank(out[1]), 0);
    ASSERT_VALUES(gradient_of(out[1], x), ADZ_F64, 0, 1, 0);
}

FACT(a_size_of_zero_gives_none)
{
    adz_tensor *out[1];
    size_t n = 7;
    assert_int_equal(adz_unbind(LEAF(1), 0, out, 0, &n), ADZ_ERR_ARGUMENT);
    assert_non_null(strstr(adz_error_message(), "gives 1 tensors, but there is room for 0"));
    adz_error_clear();
    assert_int_equal(adz_unbind(adz_zeros(ADZ_SHAPE(0, 2), ADZ_F32), 0, out, 1, &n), ADZ_OK);
    assert_int_equal(n, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(layers_without_a_gradient_count_as_zero),
    cmocka_unit_test(a_size_of_zero_gives_none),
};

const op_case unbind_case = {
    .name = "unbind",
    .call = call,
    .samples = {
        { .in = { IN(5, 4) }, .p = { 0 } },
        { .in = { IN_T(5, 4) }, .p = { 1 } },
        { .in = { IN(2, 6, 3) }, .p = { -2 } },
        { .in = { IN(6) }, .p = { 0 } },
        { .in = { IN(1, 3) }, .p = { 0 } },
        { .in = { IN(3, 0) }, .p = { 0 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 2 }, .status = ADZ_ERR_DIM },
        { .in = { IN(20) }, .p = { 0 }, .status = ADZ_ERR_ARGUMENT, .says = "room for 16" },
        { .in = { IN_0 }, .p = { 0 }, .status = ADZ_ERR_DIM },
    },
    .first_order_only = true,
    FACTS(facts),
};
