#include "ops/facts.h"

/* p[0] = p, p[1] = eps, p[2] = keepdim */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_pairwise_distance(a->in[0], a->in[1], a->p[0], a->p[1], a->p[2] != 0), out);
}

FACT(eps_is_added_to_the_difference)
{
    adz_tensor *a = VALUES(ADZ_F64, 3, 0), *b = VALUES(ADZ_F64, 1, 1);
    assert_true(adz_item(adz_pairwise_distance(a, b, 1, 1, ADZ_DROPDIM)) == 3);
    ASSERT_VALUES(adz_pairwise_distance(a, b, INFINITY, 0, ADZ_KEEPDIM), ADZ_F64, 2);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(eps_is_added_to_the_difference),
};

const op_case pairwise_distance_case = {
    .name = "pairwise_distance",
    .call = call,
    .samples = {
        { .in = { IN(4, 3), IN(4, 3) }, .p = { 2, 1e-6, 0 } },
        { .in = { IN_T(4, 3), IN(4, 3) }, .p = { 3, 1e-6, 1 } },
        { .in = { IN(3), IN(4, 3) }, .p = { 1, 0.25, 0 } },
        { .in = { IN(0, 3), IN(0, 3) }, .p = { 2, 1e-6, 0 } },
        { .in = { IN(1, 3), IN(3) }, .p = { INFINITY, 1e-6, 0 } },
        { .in = { IN(2, 2, 3), IN(2, 1, 3) }, .p = { 2, 0, 1 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3, 5) }, .p = { 2, 1e-6, 0 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN_0, IN_0 }, .p = { 2, 1e-6, 0 }, .status = ADZ_ERR_SHAPE, .says = "scalars" },
        { .in = { IN(3), IN(3) }, .p = { NAN, 1e-6, 0 }, .status = ADZ_ERR_ARGUMENT, .says = "p is NaN" },
        { .in = { IN(3), IN(3) }, .p = { 2, INFINITY, 0 }, .status = ADZ_ERR_ARGUMENT, .says = "eps is inf" },
        { .in = { IN_TYPED(ADZ_I64, 3), IN_TYPED(ADZ_I64, 3) }, .p = { 2, 1, 0 }, .status = ADZ_ERR_DTYPE },
    },
    .needs_distinct = true,
    .broadcasts = true,
    .inputs = { "a", "b" },
    FACTS(facts),
};
