#include "ops/facts.h"

enum { PLAIN, IN_PLACE, SOFTMAX };

/* p[0] = the value, p[1] = the form, p[2] = softmax's dimension */
static int call(const op_args *a, adz_tensor **out)
{
    adz_tensor *x = a->in[0], *mask = a->in[1];
    if (a->p[1] == SOFTMAX) {
        return case_one(adz_softmax(adz_masked_fill(x, mask, a->p[0]), (int)a->p[2]), out);
    }
    return case_one(a->p[1] == IN_PLACE ? adz_masked_fill_(adz_clone(x), mask, a->p[0])
                                        : adz_masked_fill(x, mask, a->p[0]),
        out);
}

static bool config(const json_t *config, op_args *a)
{
    bool softmax = strcmp(config_text(config, "op", ""), "masked_fill+softmax") == 0;
    a->p[0] = config_number(config, "value", 0);
    a->p[1] = softmax ? SOFTMAX : PLAIN;
    a->p[2] = config_number(config, "dim", 0);
    return true;
}

FACT(values_of_every_dtype)
{
    adz_tensor *m = VALUES(ADZ_BOOL, 0, 1);
    ASSERT_VALUES(adz_masked_fill(VALUES(ADZ_F32, 1, 2), m, -INFINITY), ADZ_F32, 1, -INFINITY);
    ASSERT_VALUES(adz_masked_fill(VALUES(ADZ_F64, NAN, NAN), m, 0), ADZ_F64, NAN, 0);
    ASSERT_VALUES(adz_masked_fill(VALUES(ADZ_I64, 1, 2), m, -7), ADZ_I64, 1, -7);
    ASSERT_VALUES(adz_masked_fill(VALUES(ADZ_BOOL, 0, 0), m, 2), ADZ_BOOL, 0, 1);
    ASSERT_VALUES(adz_masked_fill(VALUES(ADZ_U8, 1, 2), m, 255), ADZ_U8, 1, 255);
    ASSERT_REFUSED(adz_masked_fill(VALUES(ADZ_I64, 1, 2), m, NAN), ADZ_ERR_ARGUMENT, "value");
    ASSERT_REFUSED(adz_masked_fill(VALUES(ADZ_U8, 1, 2), m, -1), ADZ_ERR_ARGUMENT, "uint8");
}

FACT(in_position_on_the_tape)
{
    adz_tensor *m = VALUES(ADZ_BOOL, 0, 1), *x = LEAF(3, 4), *y = adz_mul(x, x);
    assert_ptr_equal(adz_masked_fill_(y, m, 9), y);
    ASSERT_VALUES(y, ADZ_F64, 9, 9);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 6, 0);
    ASSERT_REFUSED(adz_masked_fill_(VALUES(ADZ_F32, 1), m, 0), ADZ_ERR_SHAPE, "in place");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(values_of_every_dtype),
    cmocka_unit_test(in_position_on_the_tape),
};

const op_case masked_fill_case = {
    .name = "masked_fill",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN_MASK(3, 4) }, .p = { 2.5 } },
        { .in = { IN_T(3, 4), IN_MASK(4) }, .p = { -1 } },
        { .in = { IN(2, 1, 3), IN_MASK(4, 1) }, .p = { 0 } },
        { .in = { IN_0, IN_MASK(5) }, .p = { 1 } },
        { .in = { IN(3, 0), IN_MASK(1, 1) }, .p = { 1 } },
        { .in = { IN(1), IN_MASK(1) }, .p = { 1 } },
        { .in = { IN(3, 4), IN_MASK(3, 1) }, .p = { 7, IN_PLACE } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN_MASK(3) }, .status = ADZ_ERR_SHAPE, .says = "[3, 4]" },
        { .in = { IN(3), IN_TYPED(ADZ_U8, 3) }, .status = ADZ_ERR_DTYPE, .says = "bool" },
        { .in = { IN_TYPED(ADZ_I64, 3), IN_MASK(3) }, .p = { 0.5 }, .status = ADZ_ERR_ARGUMENT,
            .says = "0.5" },
    },
    .broadcasts = true,
    .first_order_only = true,
    .vectors = { "masked_fill", "masked_fill+softmax" },
    .inputs = { "x", "mask" },
    .config = config,
    FACTS(facts),
};
