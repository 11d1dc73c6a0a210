#include "ops/facts.h"

/* p[0] = dim */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_logcumsumexp(a->in[0], (int)a->p[0]), out);
}

FACT(nothing_overflows)
{
    const double inf = (double)INFINITY;
    adz_tensor *y = adz_logcumsumexp(VALUES(ADZ_F64, -1000, 1000, 1000, -5), 0);
    ASSERT_VALUES(y, ADZ_F64, -1000, 1000, 1000 + log(2), 1000 + log(2));
    y = adz_logcumsumexp(VALUES(ADZ_F64, -inf, -inf, -1000, 3), 0);
    ASSERT_VALUES(y, ADZ_F64, -inf, -inf, -1000, 3);
    ASSERT_VALUES(adz_logcumsumexp(VALUES(ADZ_F32, 1, inf, 2), 0), ADZ_F32, 1, inf, inf);
    y = adz_logcumsumexp(VALUES(ADZ_F32, 1, NAN, -inf), 0);
    ASSERT_VALUES(y, ADZ_F32, 1, NAN, NAN);
}

FACT(gradients_are_softmaxes)
{
    adz_tensor *x = LEAF(0, 0, 0, 700);
    adz_tensor *y = adz_mul(adz_logcumsumexp(x, 0), VALUES(ADZ_F64, 1, 1, 3, 0));
    ASSERT_VALUES(adz_mul_number(adz_round(adz_mul_number(gradient_of(y, x), 1e12)), 1e-12),
        ADZ_F64, 2.5, 1.5, 1, 0);
}

/* Second derivatives of one element are 0, and not missing. */
FACT(one_element_has_derivatives)
{
    for (int rank = 0; rank < 2; ++rank) {
        adz_shape shape = { rank, { 1 } };
        adz_tensor *x = adz_requires_grad_(adz_full(shape, 3, ADZ_F64), true);
        adz_tensor *y = adz_logcumsumexp(x, 0), *dy = adz_ones(shape, ADZ_F64), *dx, *ddx;
        adz_backward_options o = ADZ_BACKWARD_OPTIONS;
        o.create_graph = true;
        assert_int_equal(adz_autograd_grad(&y, &dy, 1, &x, 1, &o, &dx), ADZ_OK);
        assert_int_equal(adz_autograd_grad(&dx, &dy, 1, &x, 1, NULL, &ddx), ADZ_OK);
        ASSERT_VALUES(adz_reshape(ddx, ADZ_SHAPE(1)), ADZ_F64, 0);
    }
    ASSERT_VALUES(adz_logcumsumexp(adz_scalar(3, ADZ_F64), 0), ADZ_F64, 3);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(one_element_has_derivatives),
    cmocka_unit_test(nothing_overflows),
    cmocka_unit_test(gradients_are_softmaxes),
};

const op_case logcumsumexp_case = {
    .name = "logcumsumexp",
    .call = call,
    .samples = {
        { .in = { IN(3, 5) }, .p = { 1 } },
        { .in = { IN_T(4, 3) }, .p = { 0 } },
        { .in = { IN(2, 6, 2) }, .p = { -2 } },
        { .in = { IN_0 }, .p = { 0 } },
        { .in = { IN(0, 3) }, .p = { 1 } },
        { .in = { IN(1, 1) }, .p = { 0 } },
        { .in = { IN(2, 0) }, .p = { 1 } },
        { .in = { IN(3, 40) }, .p = { 1 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 2 }, .status = ADZ_ERR_DIM },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 0 }, .status = ADZ_ERR_DTYPE },
    },
    .inputs = { "x" },
    FACTS(facts),
};
