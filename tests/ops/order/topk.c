#include "ops/facts.h"

/* p[0] = k, p[1] = dim, p[2] = largest */
static int call(const op_args *a, adz_tensor **out)
{
    out[0] = adz_topk(a->in[0], (int64_t)a->p[0], (int)a->p[1], a->p[2] != 0, &out[1]);
    return out[0] != NULL ? 2 : 0;
}

FACT(equal_elements_come_in_their_order)
{
    adz_tensor *i, *x = VALUES(ADZ_I32, 2, 7, 2, 7, 1, 7);
    ASSERT_VALUES(adz_topk(x, 4, 0, true, &i), ADZ_I32, 7, 7, 7, 2);
    ASSERT_VALUES(i, ADZ_I64, 1, 3, 5, 0);
    ASSERT_VALUES(adz_topk(x, 3, 0, false, &i), ADZ_I32, 1, 2, 2);
    ASSERT_VALUES(i, ADZ_I64, 4, 0, 2);
}

FACT(nan_counts_as_the_largest)
{
    adz_tensor *x = VALUES(ADZ_F32, 1, NAN, INFINITY, -INFINITY);
    ASSERT_VALUES(adz_topk(x, 2, 0, true, NULL), ADZ_F32, NAN, INFINITY);
    ASSERT_VALUES(adz_topk(x, 4, 0, false, NULL), ADZ_F32, -INFINITY, 1, INFINITY, NAN);
}

FACT(a_thousand_are_sorted)
{
    adz_manual_seed(3);
    adz_tensor *x = adz_randn(ADZ_SHAPE(1000), ADZ_F64), *at;
    adz_tensor *y = adz_topk(x, 1000, 0, true, &at);
    for (int64_t i = 1; i < 1000; ++i) {
        assert_true(adz_tensor_data_f64(y)[i - 1] >= adz_tensor_data_f64(y)[i]);
    }
    assert_true(adz_equal(adz_gather(x, 0, at), y));
}

/* For a scalar, k = 0 gives the scalar, as in PyTorch. */
FACT(none_of_a_scalar_is_the_scalar)
{
    adz_tensor *x = adz_requires_grad_(adz_scalar(3, ADZ_F64), true), *found;
    for (int64_t k = 0; k < 2; ++k) {
        adz_tensor *y = adz_topk(x, k, 0, true, &found);
        assert_int_equal(adz_tensor_rank(y), 0);
        assert_true(adz_item(y) == 3 && adz_item(found) == 0);
        assert_true(adz_item(gradient_of(y, x)) == 1);
    }
    ASSERT_REFUSED(adz_topk(x, 2, 0, true, NULL), ADZ_ERR_ARGUMENT, "k is 2");
    ASSERT_REFUSED(adz_topk(x, -1, 0, true, NULL), ADZ_ERR_ARGUMENT, "k is -1");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(none_of_a_scalar_is_the_scalar),
    cmocka_unit_test(equal_elements_come_in_their_order),
    cmocka_unit_test(nan_counts_as_the_largest),
    cmocka_unit_test(a_thousand_are_sorted),
};

#define D(...)   IN_OF(FILL_DISTINCT, __VA_ARGS__)
#define D_T(...) IN_T_OF(FILL_DISTINCT, __VA_ARGS__)

const op_case topk_case = {
    .name = "topk",
    .call = call,
    .samples = {
        { .in = { D(5, 7) }, .p = { 3, 1, 1 } },
        { .in = { D_T(5, 7) }, .p = { 2, 0, 1 } },
        { .in = { D(2, 6, 3) }, .p = { 4, -2, 0 } },
        { .in = { D(9) }, .p = { 9, 0, 0 } },
        { .in = { IN_0 }, .p = { 1, 0, 1 } },
        { .in = { D(1, 4) }, .p = { 1, 0, 1 } },
        { .in = { D(0, 4) }, .p = { 2, 1, 1 } },
        { .in = { D(3, 4) }, .p = { 0, 1, 1 } },
    },
    .rejects = {
        { .in = { D(3, 4) }, .p = { 5, 1, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "k is 5" },
        { .in = { D(3, 4) }, .p = { -1, 1, 1 }, .status = ADZ_ERR_ARGUMENT },
        { .in = { D(3, 4) }, .p = { 1, 2, 1 }, .status = ADZ_ERR_DIM },
        { .in = { IN_TYPED(ADZ_F16, 3) }, .p = { 1, 0, 1 }, .status = ADZ_ERR_DTYPE },
    },
    .needs_distinct = true,
    .first_order_only = true,
    FACTS(facts),
};
