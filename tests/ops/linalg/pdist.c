#include "ops/facts.h"

/* p[0] = p */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_pdist(a->in[0], a->p[0]), out);
}

FACT(pairs_come_row_by_row)
{
    adz_tensor *x = adz_reshape(LEAF(0, 0, 3, 4, 0, 1), ADZ_SHAPE(3, 2));
    ASSERT_VALUES(adz_pdist(x, 2), ADZ_F64, 5, 1, sqrt(18));
    ASSERT_VALUES(adz_pdist(x, 1), ADZ_F64, 7, 1, 6);
    ASSERT_VALUES(adz_pdist(x, INFINITY), ADZ_F64, 4, 1, 3);
    ASSERT_VALUES(adz_pdist(x, 0), ADZ_F64, 2, 1, 2);
    assert_int_equal(adz_tensor_numel(adz_pdist(adz_ones(ADZ_SHAPE(1, 2), ADZ_F32), 2)), 0);
}

/* The number of differences has the gradient 0, as in PyTorch. */
FACT(p_of_0_has_a_gradient)
{
    adz_tensor *x =
        adz_requires_grad_(adz_reshape(VALUES(ADZ_F64, 1, 2, 1, 3), ADZ_SHAPE(2, 2)), true);
    adz_tensor *y = adz_pdist(x, 0);
    ASSERT_VALUES(y, ADZ_F64, 1);
    ASSERT_VALUES(adz_reshape(gradient_of(y, x), ADZ_SHAPE(4)), ADZ_F64, 0, 0, 0, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(p_of_0_has_a_gradient),
    cmocka_unit_test(pairs_come_row_by_row),
};

const op_case pdist_case = {
    .name = "pdist",
    .call = call,
    .samples = {
        { .in = { IN(4, 3) }, .p = { 2 } },
        { .in = { IN_T(5, 2) }, .p = { 3 } },
        { .in = { IN_OF(FILL_DISTINCT, 3, 4) }, .p = { 1 } },
        { .in = { IN(2, 1) }, .p = { 2 } },
        { .in = { IN(0, 3) }, .p = { 2 } },
        { .in = { IN(1, 3) }, .p = { 2 } },
        { .in = { IN(3, 0) }, .p = { 2 } },
    },
    .rejects = {
        { .in = { IN(3) }, .p = { 2 }, .status = ADZ_ERR_SHAPE, .says = "no matrix" },
        { .in = { IN(3, 2) }, .p = { -1 }, .status = ADZ_ERR_ARGUMENT, .says = "p is -1" },
        { .in = { IN_TYPED(ADZ_I64, 3, 2) }, .p = { 2 }, .status = ADZ_ERR_DTYPE },
    },
    .needs_distinct = true,
    .inputs = { "x" },
    FACTS(facts),
};
