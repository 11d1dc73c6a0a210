#include "ops/facts.h"

/* p[0] = the value, p[1] = 1: zero_ */
static int call(const op_args *a, adz_tensor **out)
{
    adz_tensor *x = adz_clone(a->in[0]);
    return case_one(a->p[1] == 1 ? adz_zero_(x) : adz_fill_(x, a->p[0]), out);
}

FACT(every_dtype_takes_numbers)
{
    ASSERT_VALUES(adz_fill_(VALUES(ADZ_F32, 1, 2), 0.1), ADZ_F32, 0.1, 0.1);
    ASSERT_VALUES(adz_fill_(VALUES(ADZ_F64, 1, 2), NAN), ADZ_F64, NAN, NAN);
    ASSERT_VALUES(adz_fill_(VALUES(ADZ_I32, 1, 2), -7), ADZ_I32, -7, -7);
    ASSERT_VALUES(adz_fill_(VALUES(ADZ_U8, 1, 2), 255), ADZ_U8, 255, 255);
    ASSERT_VALUES(adz_fill_(VALUES(ADZ_BOOL, 1, 0), 0.5), ADZ_BOOL, 1, 1);
    ASSERT_VALUES(adz_to(adz_fill_(VALUES(ADZ_F16, 1, 2), 0.5), ADZ_F32), ADZ_F32, 0.5, 0.5);
    ASSERT_VALUES(adz_zero_(VALUES(ADZ_I64, 1, 2)), ADZ_I64, 0, 0);
}

FACT(views_write_through)
{
    adz_tensor *x = VALUES(ADZ_F32, 1, 2, 3, 4);
    assert_non_null(adz_fill_(adz_slice(x, 0, 1, 4, 2), 9));
    ASSERT_VALUES(x, ADZ_F32, 1, 9, 3, 9);
}

FACT(old_values_get_no_gradient)
{
    adz_tensor *x = LEAF(3, 4), *y = adz_mul_number(x, 2);
    ASSERT_REFUSED(adz_zero_(x), ADZ_ERR_INPLACE, "leaf");
    assert_ptr_equal(adz_fill_(y, 5), y);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 0, 0);
    ASSERT_VALUES(gradient_of(adz_add(adz_zero_(adz_mul_number(x, 3)), x), x), ADZ_F64, 1, 1);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(every_dtype_takes_numbers),
    cmocka_unit_test(views_write_through),
    cmocka_unit_test(old_values_get_no_gradient),
};

/* The case is marked as not differentiable, because every derivative is zero. */
const op_case fill_case = {
    .name = "fill",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) }, .p = { 2.5 } },
        { .in = { IN_T(3, 4) }, .p = { -1 } },
        { .in = { IN(1) }, .p = { 1 } },
        { .in = { IN(2, 1, 3) }, .p = { 0, 1 } },
        { .in = { IN(0, 3) }, .p = { 1 } },
        { .in = { IN_0 }, .p = { 4 } },
    },
    .rejects = {
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 0.5 }, .status = ADZ_ERR_ARGUMENT,
            .says = "int64" },
        { .in = { IN_TYPED(ADZ_U8, 3) }, .p = { 256 }, .status = ADZ_ERR_ARGUMENT, .says = "256" },
    },
    .not_differentiable = true,
    FACTS(facts),
};
