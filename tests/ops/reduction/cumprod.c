#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_cumprod(a->in[0], (int)a->p[0]), out);
}

FACT(zeros_and_integers)
{
    adz_tensor *x = LEAF(2, 0, 3, 0, 4), *y = adz_cumprod(x, 0);
    ASSERT_VALUES(y, ADZ_F64, 2, 0, 0, 0, 0);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 1, 8, 0, 0, 0);
    ASSERT_VALUES(adz_cumprod(VALUES(ADZ_I32, 1, 2, 3, 4, 5), 0), ADZ_I64, 1, 2, 6, 24, 120);
    ASSERT_VALUES(adz_cumprod(VALUES(ADZ_BOOL, 1, 1, 0), -1), ADZ_I64, 1, 1, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(zeros_and_integers),
};

const op_case cumprod_case = {
    .name = "cumprod",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) }, .p = { 1 } },
        { .in = { IN_T(3, 5) }, .p = { 0 } },
        { .in = { IN(2, 3, 2) }, .p = { -2 } },
        { .in = { IN(1) }, .p = { 0 } },
        { .in = { IN(0, 3) }, .p = { 1 } },
        { .in = { IN_0 }, .p = { 0 } },
        { .in = { IN(2, 9) }, .p = { 1 } },
    },
    .rejects = {
        { .in = { IN(3) }, .p = { 1 }, .status = ADZ_ERR_DIM },
        { .in = { IN_TYPED(ADZ_F16, 3) }, .p = { 0 }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
    },
    .inputs = { "x" },
    FACTS(facts),
};
