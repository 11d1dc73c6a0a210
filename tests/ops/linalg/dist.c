#include "ops/facts.h"

/* p[0] = p */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_dist(a->in[0], a->in[1], a->p[0]), out);
}

FACT(a_difference_of_zero_has_no_slope)
{
    adz_tensor *a = LEAF(1, 5), *y = adz_dist(a, VALUES(ADZ_F64, 4, 1), 2);
    assert_true(adz_item(y) == 5);
    y = adz_dist(a, adz_detach(a), 2);
    assert_true(adz_item(y) == 0);
    ASSERT_VALUES(gradient_of(y, a), ADZ_F64, 0, 0);
    assert_true(adz_item(adz_dist(a, VALUES(ADZ_F64, 4, 5), 0)) == 1);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(a_difference_of_zero_has_no_slope),
};

const op_case dist_case = {
    .name = "dist",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(3, 4) }, .p = { 2 } },
        { .in = { IN_T(3, 4), IN(4) }, .p = { 3 } },
        { .in = { IN_OF(FILL_DISTINCT, 3), IN_OF(FILL_UNIT, 1) }, .p = { INFINITY } },
        { .in = { IN_0, IN_0 }, .p = { 2 } },
        { .in = { IN(0, 3), IN(3) }, .p = { 2 } },
        { .in = { IN(1, 2), IN(2) }, .p = { 2 } },
    },
    .rejects = {
        { .in = { IN(3), IN(4) }, .p = { 2 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3), IN(3) }, .p = { NAN }, .status = ADZ_ERR_ARGUMENT },
    },
    .broadcasts = true,
    .needs_distinct = true,
    .inputs = { "a", "b" },
    FACTS(facts),
};
