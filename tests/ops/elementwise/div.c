#include "ops/facts.h"

enum { PLAIN, NUMBER, NUMBER_FIRST, IN_PLACE, NUMBER_IN_PLACE };

/* p[0] = which form, p[1] = the number */
static int call(const op_args *a, adz_tensor **out)
{
    adz_tensor *x = a->in[0], *y = a->in[1];
    switch ((int)a->p[0]) {
    case NUMBER:
        return case_one(adz_div_number(x, a->p[1]), out);
    case NUMBER_FIRST:
        return case_one(adz_number_div(a->p[1], x), out);
    case IN_PLACE:
        return case_one(adz_div_(adz_clone(x), y), out);
    case NUMBER_IN_PLACE:
        return case_one(adz_div_number_(adz_clone(x), a->p[1]), out);
    default:
        return case_one(adz_div(x, y), out);
    }
}

static bool config(const json_t *config, op_args *a)
{
    if (config_has(config, "scalar")) {
        a->p[0] = strcmp(config_text(config, "op", ""), "rdiv") == 0 ? NUMBER_FIRST : NUMBER;
        a->p[1] = config_number(config, "scalar", 0);
    }
    if (config_flag(config, "same_tensor", false)) {
        a->in[1] = a->in[0];
    }
    return true;
}

FACT(integers_divide_truly)
{
    adz_tensor *a = VALUES(ADZ_I64, 7, -1, 0), *b = VALUES(ADZ_U8, 2, 4, 8);
    ASSERT_VALUES(adz_div(a, b), ADZ_F32, 3.5, -0.25, 0);
    ASSERT_VALUES(adz_div_number(a, 2), ADZ_F32, 3.5, -0.5, 0);
    ASSERT_VALUES(adz_number_div(1, b), ADZ_F32, 0.5, 0.25, 0.125);
    ASSERT_VALUES(adz_div(adz_scalar(-1, ADZ_I64), b), ADZ_F32, -0.5, -0.25, -0.125);
    ASSERT_VALUES(adz_div(VALUES(ADZ_BOOL, 1, 0), VALUES(ADZ_F64, 4, 4)), ADZ_F64, 0.25, 0);
    ASSERT_REFUSED(adz_div_number_(a, 2), ADZ_ERR_DTYPE, "adz_div");
    ASSERT_VALUES(
        adz_div_number(b, 256), ADZ_F32, 0.0078125, 0.015625, 0.03125); /* 256 does not fit u8 */
    ASSERT_VALUES(adz_div_number(b, -2), ADZ_F32, -1, -2, -4);
    ASSERT_VALUES(adz_number_div(-300, b), ADZ_F32, -150, -75, -37.5);
    ASSERT_VALUES(adz_div_number(VALUES(ADZ_I32, 1), 0x1p40), ADZ_F32, 0x1p-40);
}

FACT(division_by_zero_is_ieee)
{
    adz_tensor *x = VALUES(ADZ_F32, 1, -1, 0, NAN);
    ASSERT_VALUES(adz_div_number(x, 0), ADZ_F32, INFINITY, -INFINITY, NAN, NAN);
    ASSERT_VALUES(adz_number_div(1, x), ADZ_F32, 1, -1, INFINITY, NAN);
}

FACT(in_position_keeps_the_old_value)
{
    adz_tensor *x = LEAF(3, 4), *w = LEAF(2, 8), *y = adz_mul_number(x, 2);
    assert_ptr_equal(adz_div_(y, w), y);
    ASSERT_VALUES(y, ADZ_F64, 3, 1);
    adz_tensor *sum = adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_int_equal(adz_backward(sum), ADZ_OK);
    ASSERT_VALUES(adz_tensor_grad(x), ADZ_F64, 1, 0.25);
    ASSERT_VALUES(adz_tensor_grad(w), ADZ_F64, -1.5, -0.125);
}

/* The gradient of a tiny divisor b at a = 0: dy / b overflows, but dy (a / b) / b is 0. */
FACT(a_tiny_divisor_has_a_gradient_at_0)
{
    adz_tensor *a = VALUES(ADZ_F32, 0, 0), *b = VALUES(ADZ_F32, 1e-42, -1e-42);
    b = adz_requires_grad_(b, true);
    ASSERT_VALUES(gradient_of(adz_div(a, b), b), ADZ_F32, 0, 0);
    adz_tensor *c = LEAF(1e-160, -1e-160);
    adz_tensor *g = gradient_by_expression(adz_number_div(0, c), c);
    ASSERT_VALUES(g, ADZ_F64, 0, 0);
    ASSERT_VALUES(gradient_of(g, c), ADZ_F64, 0, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(a_tiny_divisor_has_a_gradient_at_0),
    cmocka_unit_test(integers_divide_truly),
    cmocka_unit_test(division_by_zero_is_ieee),
    cmocka_unit_test(in_position_keeps_the_old_value),
};

const op_case div_case = {
    .name = "div",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN_OF(FILL_POSITIVE, 3, 4) } },
        { .in = { IN_T(3, 4), IN_OF(FILL_POSITIVE, 4) } },
        { .in = { IN(2, 1, 3), IN_OF(FILL_POSITIVE, 4, 1) } },
        { .in = { IN_0, IN_T_OF(FILL_POSITIVE, 2, 2) } },
        { .in = { IN(3, 0), IN_OF(FILL_POSITIVE, 1, 1) } },
        { .in = { IN(1), IN_OF(FILL_POSITIVE, 1) } },
        { .in = { IN(3, 2) }, .p = { NUMBER, 0.7 } },
        { .in = { IN_OF(FILL_POSITIVE, 3, 2) }, .p = { NUMBER_FIRST, 0.7 } },
        { .in = { IN(3, 4), IN_OF(FILL_POSITIVE, 4) }, .p = { IN_PLACE } },
        { .in = { IN(3, 4) }, .p = { NUMBER_IN_PLACE, 3 } },
        { .in = { IN_CONST(2, 3), IN_OF(FILL_POSITIVE, 2, 3) } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "broadcast" },
        { .in = { IN_TYPED(ADZ_BF16, 3), IN(3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
        { .in = { IN_TYPED(ADZ_I32, 3), IN_TYPED(ADZ_I32, 3) }, .p = { IN_PLACE },
            .status = ADZ_ERR_DTYPE, .says = "float" },
    },
    .broadcasts = true,
    .vectors = { "div", "rdiv" },
    .inputs = { "a", "b" },
    .config = config,
    FACTS(facts),
};
