#include "ops/facts.h"

/* p[0] = dim */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_cat(a->in, (size_t)a->n, (int)a->p[0]), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_number(config, "dim", 0);
    return true;
}

FACT(dtypes_promote_and_gradients_come_back_in_their_own)
{
    adz_tensor *a = adz_requires_grad_(VALUES(ADZ_F32, 1, 2), true), *b = LEAF(3);
    adz_tensor *y = adz_cat((adz_tensor *[]){ a, b, VALUES(ADZ_I64, 4) }, 3, 0);
    ASSERT_VALUES(y, ADZ_F64, 1, 2, 3, 4);
    ASSERT_VALUES(gradient_of(y, a), ADZ_F32, 1, 1);
    y = adz_cat((adz_tensor *[]){ VALUES(ADZ_BOOL, 1), VALUES(ADZ_U8, 7) }, 2, 0);
    ASSERT_VALUES(y, ADZ_U8, 1, 7);
}

FACT(vectors_without_elements_are_skipped)
{
    adz_tensor *none = adz_requires_grad_(adz_zeros(ADZ_SHAPE(0), ADZ_F32), true);
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 3), ADZ_F32);
    adz_tensor *y = adz_cat((adz_tensor *[]){ none, x, none, x }, 4, 1);
    assert_true(adz_equal(y, adz_ones(ADZ_SHAPE(2, 6), ADZ_F32)));
    assert_int_equal(adz_tensor_numel(gradient_of(y, none)), 0);
    y = adz_cat((adz_tensor *[]){ none, none }, 2, 0);
    assert_int_equal(adz_tensor_size(y, 0), 0);
}

FACT(a_hundred_tensors_and_the_same_one_twice)
{
    adz_tensor *x = LEAF(1, 2), *list[100];
    for (int i = 0; i < 100; ++i) {
        list[i] = x;
    }
    ASSERT_VALUES(gradient_of(adz_cat(list, 100, 0), x), ADZ_F64, 100, 100);
}

FACT(lists_are_checked)
{
    adz_tensor *x = VALUES(ADZ_F32, 1, 2);
    ASSERT_REFUSED(adz_cat(&x, 0, 0), ADZ_ERR_ARGUMENT, "0 tensors");
    ASSERT_REFUSED(adz_cat(NULL, 2, 0), ADZ_ERR_NULL, "tensors");
    ASSERT_REFUSED(adz_cat((adz_tensor *[]){ x, NULL }, 2, 0), ADZ_ERR_NULL, "tensor 1 of 2");
    ASSERT_REFUSED(adz_cat((adz_tensor *[]){ ADZ_NONE, x }, 2, 0), ADZ_ERR_ARGUMENT, "tensor 0");
}

FACT(it_is_a_copy)
{
    adz_tensor *x = VALUES(ADZ_F32, 1, 2), *y = adz_cat(&x, 1, 0);
    adz_zero_(y);
    ASSERT_VALUES(x, ADZ_F32, 1, 2);
}

FACT(vectors_without_elements_have_every_dimension)
{
    adz_tensor *none = adz_requires_grad_(adz_zeros(ADZ_SHAPE(0), ADZ_F32), true);
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 3), ADZ_F32);
    for (int dim = -3; dim < 4; ++dim) {
        adz_tensor *y = adz_cat((adz_tensor *[]){ none, none }, 2, dim);
        assert_int_equal(adz_tensor_numel(y), 0);
        assert_int_equal(adz_tensor_rank(y), 1);
        assert_int_equal(adz_tensor_numel(gradient_of(y, none)), 0);
    }
    adz_tensor *list[] = { x, none };
    ASSERT_REFUSED(adz_cat(list, 2, 2), ADZ_ERR_DIM, "2");
    assert_true(adz_equal(adz_cat(list, 2, -1), x));
    list[0] = adz_scalar(1, ADZ_F32);
    ASSERT_REFUSED(adz_cat(list, 2, 0), ADZ_ERR_SHAPE, "adz_stack");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(vectors_without_elements_have_every_dimension),
    cmocka_unit_test(dtypes_promote_and_gradients_come_back_in_their_own),
    cmocka_unit_test(vectors_without_elements_are_skipped),
    cmocka_unit_test(a_hundred_tensors_and_the_same_one_twice),
    cmocka_unit_test(lists_are_checked),
    cmocka_unit_test(it_is_a_copy),
};

const op_case cat_case = {
    .name = "cat",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(2, 4) }, .p = { 0 } },
        { .in = { IN_T(3, 4), IN(3, 1), IN_T(3, 2) }, .p = { 1 } },
        { .in = { IN(2, 3, 2), IN(2, 1, 2), IN(2, 2, 2) }, .p = { -2 } },
        { .in = { IN(5) }, .p = { 0 } },
        { .in = { IN(4, 0, 2), IN(4, 3, 2) }, .p = { 1 } },
        { .in = { IN(0), IN(3, 2), IN(1, 2) }, .p = { 0 } },
        { .in = { IN(0, 2), IN(0, 2) }, .p = { 1 } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3, 5) }, .p = { 0 }, .status = ADZ_ERR_SHAPE, .says = "tensor 1[3, 5]" },
        { .in = { IN(3, 4), IN(3) }, .p = { 0 }, .status = ADZ_ERR_SHAPE, .says = "dimension 0" },
        { .in = { IN(3, 4), IN(3, 4) }, .p = { 2 }, .status = ADZ_ERR_DIM },
        { .in = { IN_0, IN_0 }, .p = { 0 }, .status = ADZ_ERR_SHAPE, .says = "adz_stack" },
    },
    .first_order_only = true,
    .vectors = { "cat" },
    .inputs = { LISTED("x") },
    .config = config,
    FACTS(facts),
};
