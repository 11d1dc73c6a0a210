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

/* No product of later elements is formed, which could overflow. */
FACT(elements_are_multiplied_in_order)
{
    ASSERT_VALUES(adz_cumprod(VALUES(ADZ_F64, 0x1p-800, 0x1p700, 0x1p500, 0x1p600), 0), ADZ_F64,
        0x1p-800, 0x1p-100, 0x1p400, 0x1p1000);
    ASSERT_VALUES(
        adz_cumprod(VALUES(ADZ_F32, 0, 0x1p100, 0x1p100, -1, 0x1p100), 0), ADZ_F32, 0, 0, 0, 0, 0);
    adz_tensor *x = adz_arange(0, 240, 3, ADZ_F32);
    assert_true(adz_item(adz_sum(adz_cumprod(x, 0), ADZ_ALL_DIMS, ADZ_DROPDIM)) == 0);
    adz_tensor *y = adz_cumprod(VALUES(ADZ_F64, -1, 0, 2), 0);
    assert_true(signbit(adz_tensor_at(y, (int64_t[]){ 1 })) != 0);
    adz_tensor *tiny = adz_requires_grad_(VALUES(ADZ_F32, 0x1p-100, 0x1p-100, 0x1p120), true);
    ASSERT_VALUES(
        gradient_of(adz_select(adz_cumprod(tiny, 0), 0, 2), tiny), ADZ_F32, 0x1p20, 0x1p20, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(zeros_and_integers),
    cmocka_unit_test(elements_are_multiplied_in_order),
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
