#include "ops/facts.h"

/* p[0] = value, p[1] = 1: in place */
static int call(const op_args *a, adz_tensor **out)
{
    adz_tensor *x = a->in[0];
    return case_one(a->p[1] == 1 ? adz_addcmul_(adz_clone(x), a->in[1], a->in[2], a->p[0])
                                 : adz_addcmul(x, a->in[1], a->in[2], a->p[0]),
        out);
}

/* All three inputs are promoted to one dtype. A tensor of rank 0 counts as a number in every
 * position.
 */
FACT(three_inputs_promote)
{
    adz_tensor *i = VALUES(ADZ_I32, 1, 2), *f = VALUES(ADZ_F32, 0.5, 0.25);
    adz_tensor *d = adz_scalar(2, ADZ_F64), *n = adz_scalar(3, ADZ_I64);
    ASSERT_VALUES(adz_addcmul(i, i, i, 2), ADZ_I32, 3, 10);
    ASSERT_VALUES(adz_addcmul(i, f, i, 1), ADZ_F32, 1.5, 2.5);
    ASSERT_VALUES(adz_addcmul(d, d, f, 1), ADZ_F32, 3, 2.5);
    ASSERT_VALUES(adz_addcmul(n, i, n, 1), ADZ_I32, 6, 9);
    ASSERT_VALUES(adz_addcmul(i, n, d, 1), ADZ_F64, 7, 8);
    ASSERT_REFUSED(adz_addcmul(i, i, i, 0.5), ADZ_ERR_ARGUMENT, "value");
    ASSERT_REFUSED(adz_addcmul_(i, f, f, 1), ADZ_ERR_DTYPE, "in place");
}

FACT(in_position_on_a_leaf_outside_the_graph)
{
    adz_tensor *x = LEAF(1, 2), *g = VALUES(ADZ_F64, 3, 4);
    ASSERT_REFUSED(adz_addcmul_(x, g, g, -0.5), ADZ_ERR_INPLACE, "adz_addcmul");
    ADZ_NO_GRAD
    {
        assert_ptr_equal(adz_addcmul_(x, g, g, -0.5), x);
    }
    ASSERT_VALUES(x, ADZ_F64, -3.5, -6);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(three_inputs_promote),
    cmocka_unit_test(in_position_on_a_leaf_outside_the_graph),
};

const op_case addcmul_case = {
    .name = "addcmul",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(3, 4), IN(3, 4) }, .p = { 1 } },
        { .in = { IN(3, 4), IN_T(3, 4), IN(4) }, .p = { 0.5 } },
        { .in = { IN(2, 1, 3), IN(4, 1), IN(3) }, .p = { -2 } },
        { .in = { IN_0, IN(2, 2), IN_0 }, .p = { 1.5 } },
        { .in = { IN(3, 0), IN(1, 1), IN(1) }, .p = { 1 } },
        { .in = { IN(1), IN(1), IN(1) }, .p = { 1 } },
        { .in = { IN(3, 4), IN(4), IN(3, 1) }, .p = { 0.3, 1 } },
        { .in = { IN(2, 3), IN_CONST(2, 3), IN(2, 3) }, .p = { 2 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3), IN(4) }, .p = { 1 }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" },
        { .in = { IN_TYPED(ADZ_F16, 3), IN(3), IN(3) }, .p = { 1 }, .status = ADZ_ERR_DTYPE,
            .says = "adz_to" },
        { .in = { IN_TYPED(ADZ_BOOL, 3), IN_TYPED(ADZ_BOOL, 3), IN_TYPED(ADZ_BOOL, 3) },
            .p = { 1 }, .status = ADZ_ERR_DTYPE, .says = "bool" },
    },
    .broadcasts = true,
    FACTS(facts),
};
