#include "ops/facts.h"

/* p[0] = value, p[1] = 1: in place */
static int call(const op_args *a, adz_tensor **out)
{
    adz_tensor *x = a->in[0];
    return case_one(a->p[1] == 1 ? adz_addcdiv_(adz_clone(x), a->in[1], a->in[2], a->p[0])
                                 : adz_addcdiv(x, a->in[1], a->in[2], a->p[0]),
        out);
}

FACT(values_and_gradients)
{
    adz_tensor *x = LEAF(1, 1, 1), *a = LEAF(1, 2, 3), *b = LEAF(2, 4, 8);
    adz_tensor *y = adz_addcdiv(x, a, b, 2);
    ASSERT_VALUES(y, ADZ_F64, 2, 2, 1.75);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 1, 1, 1);
    ASSERT_VALUES(gradient_of(y, a), ADZ_F64, 1, 0.5, 0.25);
    ASSERT_VALUES(gradient_of(y, b), ADZ_F64, -0.5, -0.25, -0.09375);
}

FACT(integers_are_divided_as_floats)
{
    adz_tensor *i = VALUES(ADZ_I64, 1, 2), *two = VALUES(ADZ_I64, 2, 2);
    ASSERT_VALUES(adz_addcdiv(i, i, two, 1), ADZ_F32, 1.5, 3);
    ASSERT_REFUSED(adz_addcdiv_(i, i, two, 1), ADZ_ERR_DTYPE, "in place");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(values_and_gradients),
    cmocka_unit_test(integers_are_divided_as_floats),
};

const op_case addcdiv_case = {
    .name = "addcdiv",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(3, 4), IN_OF(FILL_POSITIVE, 3, 4) }, .p = { 1 } },
        { .in = { IN(3, 4), IN_T(3, 4), IN_OF(FILL_POSITIVE, 4) }, .p = { 0.5 } },
        { .in = { IN(2, 1, 3), IN(4, 1), IN_OF(FILL_POSITIVE, 3) }, .p = { -2 } },
        { .in = { IN_0, IN(2, 2), IN_0_OF(FILL_POSITIVE) }, .p = { 1.5 } },
        { .in = { IN(3, 0), IN(1, 1), IN_OF(FILL_POSITIVE, 1) }, .p = { 1 } },
        { .in = { IN(3, 4), IN(4), IN_OF(FILL_POSITIVE, 3, 1) }, .p = { 0.3, 1 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3), IN(4) }, .p = { 1 }, .status = ADZ_ERR_SHAPE, .says = "[3]" },
        { .in = { IN_TYPED(ADZ_F16, 3), IN(3), IN(3) }, .p = { 1 }, .status = ADZ_ERR_DTYPE,
            .says = "adz_to" },
    },
    .broadcasts = true,
    FACTS(facts),
};
