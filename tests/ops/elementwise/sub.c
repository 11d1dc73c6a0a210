#include "ops/facts.h"

enum { PLAIN, SCALED, NUMBER, NUMBER_FIRST, IN_PLACE, NUMBER_IN_PLACE };

/* p[0] = which form, p[1] = alpha or the number */
static int call(const op_args *a, adz_tensor **out)
{
    adz_tensor *x = a->in[0], *y = a->in[1];
    switch ((int)a->p[0]) {
    case SCALED:
        return case_one(adz_sub_scaled(x, y, a->p[1]), out);
    case NUMBER:
        return case_one(adz_sub_number(x, a->p[1]), out);
    case NUMBER_FIRST:
        return case_one(adz_number_sub(a->p[1], x), out);
    case IN_PLACE:
        return case_one(adz_sub_scaled_(adz_clone(x), y, a->p[1]), out);
    case NUMBER_IN_PLACE:
        return case_one(adz_sub_number_(adz_clone(x), a->p[1]), out);
    default:
        return case_one(adz_sub(x, y), out);
    }
}

static bool config(const json_t *config, op_args *a)
{
    if (config_has(config, "scalar")) {
        a->p[0] = strcmp(config_text(config, "op", ""), "rsub") == 0 ? NUMBER_FIRST : NUMBER;
        a->p[1] = config_number(config, "scalar", 0);
    }
    if (config_flag(config, "same_tensor", false)) {
        a->in[1] = a->in[0];
    }
    return true;
}

FACT(integers_wrap_and_promote)
{
    adz_tensor *i4 = VALUES(ADZ_I32, INT32_MIN, 5), *u1 = VALUES(ADZ_U8, 3, 5);
    ASSERT_VALUES(adz_sub_number(i4, 1), ADZ_I32, INT32_MAX, 4);
    ASSERT_VALUES(adz_sub(u1, VALUES(ADZ_U8, 4, 5)), ADZ_U8, 255, 0);
    ASSERT_VALUES(adz_sub(u1, VALUES(ADZ_I64, 4, 6)), ADZ_I64, -1, -1);
    ASSERT_VALUES(adz_sub_scaled(i4, VALUES(ADZ_I32, 0, 2), 3), ADZ_I32, INT32_MIN, -1);
    ASSERT_VALUES(adz_number_sub(10, u1), ADZ_U8, 7, 5);
    ASSERT_VALUES(adz_number_sub(0.5, u1), ADZ_F32, -2.5, -4.5);
}

/* If the rows of dy are one row in memory, so are those of the gradients, which have the bits of
 * other gradients. A gradient with a graph is computed from all rows. */
FACT(equal_rows_are_scaled_once)
{
    for (int k = 0; k < 4; ++k) {
        adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(5, 3), ADZ_F64), true), *dx, *wanted;
        adz_tensor *one = adz_randn(ADZ_SHAPE(5, 3), ADZ_F64);
        adz_tensor *y = k % 2 == 0 ? adz_sub(one, x) : adz_add_scaled(one, x, 0.3);
        adz_tensor *dy = adz_expand(VALUES(ADZ_F64, -0.0, 3, INFINITY), ADZ_SHAPE(5, 3));
        adz_tensor *copy = adz_clone(dy);
        adz_backward_options o = ADZ_BACKWARD_OPTIONS;
        o.retain_graph = true;
        assert_int_equal(adz_autograd_grad(&y, &copy, 1, &x, 1, &o, &wanted), ADZ_OK);
        o.create_graph = k >= 2;
        assert_int_equal(adz_autograd_grad(&y, &dy, 1, &x, 1, &o, &dx), ADZ_OK);
        assert_true(adz_equal(dx, wanted) &&
                    signbit(adz_tensor_at(dx, (int64_t[]){ 4, 0 })) == (k % 2 == 1));
        assert_true((adz_tensor_stride(dx, 0) == 0) == (k < 2));
    }
}

FACT(bool_has_no_difference)
{
    adz_tensor *b = VALUES(ADZ_BOOL, 1, 0);
    ASSERT_REFUSED(adz_sub(b, b), ADZ_ERR_DTYPE, "logical_xor");
    ASSERT_REFUSED(adz_number_sub(1, b), ADZ_ERR_DTYPE, "bool");
    ASSERT_REFUSED(adz_sub(VALUES(ADZ_F32, 1, 2), b), ADZ_ERR_DTYPE, "bool");
}

FACT(in_position_subtracts_and_records)
{
    adz_tensor *x = LEAF(3, 4), *y = adz_mul_number(x, 2);
    ASSERT_REFUSED(adz_sub_(x, x), ADZ_ERR_INPLACE, "adz_sub");
    assert_ptr_equal(adz_sub_scaled_(y, x, 0.5), y);
    ASSERT_VALUES(y, ADZ_F64, 4.5, 6);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 1.5, 1.5);
    ASSERT_REFUSED(adz_sub_number_(VALUES(ADZ_I64, 1), 0.5), ADZ_ERR_DTYPE, "in place");
    ASSERT_REFUSED(adz_sub_(VALUES(ADZ_F64, 1), VALUES(ADZ_F64, 1, 2)), ADZ_ERR_SHAPE, "in place");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(integers_wrap_and_promote),
    cmocka_unit_test(equal_rows_are_scaled_once),
    cmocka_unit_test(bool_has_no_difference),
    cmocka_unit_test(in_position_subtracts_and_records),
};

const op_case sub_case = {
    .name = "sub",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(3, 4) } },
        { .in = { IN_T(3, 4), IN(4) } },
        { .in = { IN(2, 1, 3), IN(4, 1) }, .p = { SCALED, -0.5 } },
        { .in = { IN_0, IN(2, 2) } },
        { .in = { IN(3, 0), IN(1, 1) } },
        { .in = { IN(1), IN(1) }, .p = { SCALED, 2 } },
        { .in = { IN(3, 2) }, .p = { NUMBER, 0.7 } },
        { .in = { IN(3, 2) }, .p = { NUMBER_FIRST, 0.7 } },
        { .in = { IN(3, 4), IN(4) }, .p = { IN_PLACE, 3 } },
        { .in = { IN(3, 4) }, .p = { NUMBER_IN_PLACE, 3 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" },
        { .in = { IN_TYPED(ADZ_F16, 3), IN(3) }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
        { .in = { IN_TYPED(ADZ_I64, 3), IN_TYPED(ADZ_I64, 3) }, .p = { SCALED, 0.5 },
            .status = ADZ_ERR_ARGUMENT, .says = "alpha" },
    },
    .broadcasts = true,
    .first_order_only = true,
    .vectors = { "sub", "rsub" },
    .inputs = { "a", "b" },
    .config = config,
    FACTS(facts),
};
