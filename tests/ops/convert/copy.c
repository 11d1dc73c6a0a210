#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_copy_(adz_mul_number(a->in[0], 1), a->in[1]), out);
}

FACT(integers_take_values_but_no_graph)
{
    adz_tensor *x = VALUES(ADZ_I64, 7, 7), *y = LEAF(2.5, -1);
    assert_ptr_equal(adz_copy_(x, y), x);
    ASSERT_VALUES(x, ADZ_I64, 2, -1);
    assert_false(adz_tensor_requires_grad(x));
    assert_true(adz_tensor_requires_grad(adz_copy_(VALUES(ADZ_F32, 7, 7), y)));
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(integers_take_values_but_no_graph),
};

const op_case copy_case = {
    .name = "copy",
    .call = call,
    .samples = {
        { .in = { IN_CONST(3, 4), IN(3, 4) } },
        { .in = { IN_CONST(3, 4), IN_T(3, 4) } },
        { .in = { IN_CONST(3, 4), IN(4) } },
        { .in = { IN_CONST(1), IN(1) } },
        { .in = { IN_CONST(0, 3), IN(3) } },
        { .in = { IN_CONST(2, 2), IN_0 } },
    },
    .rejects = {
        { .in = { IN_CONST(3, 4), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "broadcast" },
        { .in = { IN_CONST(3), IN(2, 3) }, .status = ADZ_ERR_SHAPE, .says = "in place" },
    },
    .broadcasts = true,
    .first_order_only = true,
    FACTS(facts),
};
