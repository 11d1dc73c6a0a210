#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_masked_select(a->in[0], a->in[1]), out);
}

FACT(elements_come_in_order)
{
    adz_tensor *x = LEAF(1, 2, 3, 4), *mask = VALUES(ADZ_BOOL, 0, 1, 0, 1);
    adz_tensor *y = adz_masked_select(x, mask);
    ASSERT_VALUES(y, ADZ_F64, 2, 4);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 0, 1, 0, 1);
    y = adz_masked_select(x, adz_zeros(ADZ_SHAPE(1), ADZ_BOOL));
    assert_int_equal(adz_tensor_numel(y), 0);
}

typedef struct {
    adz_tensor *x, *mask;
} pair;

static adz_tensor *select_pair(void *user)
{
    pair *p = user;
    return adz_masked_select(p->x, p->mask);
}

/* A replay could not make a result of another shape. */
FACT(plans_refuse_it)
{
    pair p = { VALUES(ADZ_F32, 1, 2), VALUES(ADZ_BOOL, 0, 1) };
    adz_plan *plan = adz_plan_new(select_pair, &p, NULL);
    if (plan != NULL) {
        assert_null(adz_plan_run(plan));
    }
    assert_int_equal(adz_error_code(), ADZ_ERR_STATE);
    assert_non_null(strstr(adz_error_message(), "masked_select"));
    adz_error_clear();
    adz_plan_free(&plan);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(elements_come_in_order),
    cmocka_unit_test(plans_refuse_it),
};

const op_case masked_select_case = {
    .name = "masked_select",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN_MASK(3, 4) } },
        { .in = { IN_T(4, 3), IN_MASK(4, 3) } },
        { .in = { IN(2, 3, 2), IN_MASK(3, 1) } },
        { .in = { IN(1, 4), IN_MASK(3, 4) } },
        { .in = { IN(0, 3), IN_MASK(0, 3) } },
        { .in = { IN_0, IN_MASK(5) } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN_MASK(3) }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3, 4), IN(3, 4) }, .status = ADZ_ERR_DTYPE, .says = "not bool" },
    },
    .broadcasts = true,
    .first_order_only = true,
    .vectors = { "masked_select" },
    .inputs = { "x", "mask" },
    FACTS(facts),
};
