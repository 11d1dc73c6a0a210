#include "ops/facts.h"

/* p[0] = dim, p[1] = descending */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_argsort(a->in[0], (int)a->p[0], a->p[1] != 0), out);
}

FACT(indices_sort)
{
    adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(5, 9), ADZ_F64), true);
    adz_tensor *at = adz_argsort(x, 1, true);
    assert_false(adz_tensor_requires_grad(at));
    assert_true(adz_equal(adz_gather(x, 1, at), adz_sort(x, 1, true, NULL)));
    ASSERT_VALUES(adz_argsort(VALUES(ADZ_I32, 2, 1, 2, 0), 0, false), ADZ_I64, 3, 1, 0, 2);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(indices_sort) };

#define D(...) IN_OF(FILL_DISTINCT, __VA_ARGS__)

const op_case argsort_case = {
    .name = "argsort",
    .call = call,
    .samples = {
        { .in = { D(3, 5) }, .p = { 1, 0 } },
        { .in = { IN_T_OF(FILL_DISTINCT, 4, 3) }, .p = { 0, 1 } },
        { .in = { D(2, 6, 2) }, .p = { -2, 0 } },
        { .in = { D(1, 4) }, .p = { 0, 1 } },
        { .in = { IN_0 }, .p = { 0, 0 } },
        { .in = { D(0, 4) }, .p = { 1, 0 } },
    },
    .rejects = {
        { .in = { D(3, 4) }, .p = { 2, 0 }, .status = ADZ_ERR_DIM, .says = "argsort: " },
        { .in = { IN_TYPED(ADZ_F16, 3) }, .p = { 0, 0 }, .status = ADZ_ERR_DTYPE },
    },
    .not_differentiable = true,
    .needs_distinct = true,
    FACTS(facts),
};
