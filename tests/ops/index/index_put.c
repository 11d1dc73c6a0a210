#include "ops/facts.h"

/* p[0] = the number of indices, -1 for one mask; p[1] = accumulate */
static int call(const op_args *a, adz_tensor **out)
{
    const size_t n = (size_t)fabs(a->p[0]);
    return case_one(adz_index_put(a->in[0], a->in + 1, n, a->in[n + 1], a->p[1] != 0), out);
}

static adz_tensor *put(adz_tensor *x, adz_tensor *index, adz_tensor *values, bool accumulate)
{
    return adz_index_put(x, &index, 1, values, accumulate);
}

FACT(the_last_value_stays_or_all_are_added)
{
    adz_tensor *x = VALUES(ADZ_F32, 1, 2, 3), *at = VALUES(ADZ_I64, 2, 0, 2);
    adz_tensor *values = VALUES(ADZ_F32, 10, 20, 30);
    ASSERT_VALUES(put(x, at, values, false), ADZ_F32, 20, 2, 30);
    ASSERT_VALUES(put(x, at, values, true), ADZ_F32, 21, 2, 43);
    ASSERT_VALUES(x, ADZ_F32, 1, 2, 3);
    ASSERT_VALUES(put(x, at, adz_scalar(7, ADZ_F32), false), ADZ_F32, 7, 2, 7);
    ASSERT_VALUES(put(VALUES(ADZ_BOOL, 0, 1), VALUES(ADZ_I32, 0, 0), VALUES(ADZ_BOOL, 1, 1), true),
        ADZ_BOOL, 1, 1);
    ASSERT_VALUES(put(VALUES(ADZ_U8, 250, 1), VALUES(ADZ_I32, 0, 0), VALUES(ADZ_U8, 5, 3), true),
        ADZ_U8, 2, 1);
}

FACT(indices_broadcast_and_rows_are_whole)
{
    adz_tensor *x = adz_zeros(ADZ_SHAPE(2, 3), ADZ_I64);
    adz_tensor *at[] = { adz_reshape(VALUES(ADZ_I64, 0, 1), ADZ_SHAPE(2, 1)),
        VALUES(ADZ_I32, 2, 0) };
    adz_tensor *values = adz_reshape(VALUES(ADZ_I64, 1, 2, 3, 4), ADZ_SHAPE(2, 2));
    adz_tensor *y = adz_index_put(x, at, 2, values, false);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(6)), ADZ_I64, 2, 0, 1, 4, 0, 3);
    y = put(x, VALUES(ADZ_I64, 1), VALUES(ADZ_I64, 5, 6, 7), true);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(6)), ADZ_I64, 0, 0, 0, 5, 6, 7);
}

FACT(a_mask_stands_for_its_coordinates)
{
    adz_tensor *x = adz_reshape(VALUES(ADZ_F64, 1, 2, 3, 4), ADZ_SHAPE(2, 2));
    adz_tensor *mask = adz_gt_number(x, 2);
    adz_tensor *y = put(x, mask, VALUES(ADZ_F64, 8, 9), false);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(4)), ADZ_F64, 1, 2, 8, 9);
    adz_tensor *at[] = { VALUES(ADZ_BOOL, 0, 1), VALUES(ADZ_I64, 0) };
    y = adz_index_put(x, at, 2, adz_scalar(5, ADZ_F64), true);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(4)), ADZ_F64, 1, 2, 8, 4);
    ASSERT_REFUSED(put(x, VALUES(ADZ_BOOL, 1, 0, 1), x, false), ADZ_ERR_SHAPE,
        "the mask[3] does not have the sizes of x[2, 2]");
}

FACT(in_place_it_changes_x_and_nothing_when_refused)
{
    adz_tensor *x = VALUES(ADZ_F32, 1, 2, 3), *at = VALUES(ADZ_I64, 0, 3);
    adz_tensor *values = VALUES(ADZ_F32, 10, 20);
    ASSERT_REFUSED(adz_index_put_(x, &at, 1, values, false), ADZ_ERR_INDEX,
        "index 3 at position [1] is none of the 3 positions of dimension 0 of x[3]");
    ASSERT_VALUES(x, ADZ_F32, 1, 2, 3);
    at = VALUES(ADZ_I64, 0, 2);
    assert_ptr_equal(adz_index_put_(x, &at, 1, values, false), x);
    ASSERT_VALUES(x, ADZ_F32, 10, 2, 20);
    adz_tensor *wide = adz_zeros(ADZ_SHAPE(3, 2), ADZ_F32), *column = adz_select(wide, 1, 1);
    assert_non_null(adz_index_put_(column, &at, 1, values, true)); /* a strided view */
    ASSERT_VALUES(adz_reshape(wide, ADZ_SHAPE(6)), ADZ_F32, 0, 10, 0, 0, 0, 20);
}

/* Each value is read before any is written. */
FACT(in_place_values_and_indices_may_be_x)
{
    adz_tensor *x = VALUES(ADZ_F32, 1, 2, 3, 4), *at = VALUES(ADZ_I64, 1, 2, 3, 0);
    assert_non_null(adz_index_put_(x, &at, 1, x, false));
    ASSERT_VALUES(x, ADZ_F32, 4, 1, 2, 3);
    x = VALUES(ADZ_I64, 1, 2, 0);
    assert_non_null(adz_index_put_(x, &x, 1, VALUES(ADZ_I64, 7, 8, 9), false));
    ASSERT_VALUES(x, ADZ_I64, 9, 7, 8);
}

FACT(a_replaced_value_has_no_gradient)
{
    adz_tensor *x = LEAF(1, 2, 3), *values = LEAF(4, 5, 6), *at = VALUES(ADZ_I64, 2, 0, 2);
    adz_tensor *weights = VALUES(ADZ_F64, 10, 20, 30);
    adz_tensor *y = adz_mul(put(x, at, values, false), weights);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 0, 20, 0);
    ASSERT_VALUES(gradient_of(y, values), ADZ_F64, 0, 10, 30);
    y = adz_mul(put(x, at, values, true), weights);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 10, 20, 30);
    ASSERT_VALUES(gradient_of(y, values), ADZ_F64, 30, 10, 30);
}

FACT(in_place_it_is_differentiable)
{
    adz_tensor *a = LEAF(1, 2, 3), *values = LEAF(4, 5), *at = VALUES(ADZ_I64, 2, 0);
    adz_tensor *y = adz_index_put_(adz_mul_number(a, 2), &at, 1, values, false);
    y = adz_mul(y, VALUES(ADZ_F64, 5, 6, 7));
    ASSERT_VALUES(gradient_of(y, a), ADZ_F64, 0, 12, 0);
    ASSERT_VALUES(gradient_of(y, values), ADZ_F64, 7, 5);
    ASSERT_REFUSED(adz_index_put_(a, &at, 1, values, false), ADZ_ERR_INPLACE, "use adz_index_put");
    adz_tensor *b = adz_mul_number(a, 2), *square = adz_mul(b, b);
    assert_non_null(adz_index_put_(adz_detach(b), &at, 1, adz_detach(values), true));
    assert_int_equal(adz_backward(adz_sum(square, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_ERR_VERSION);
    adz_error_clear();
}

typedef struct {
    adz_tensor *x, *at, *values;
    bool inplace;
} arguments;

static adz_tensor *put_in_plan(void *user)
{
    arguments *p = user;
    return p->inplace ? adz_index_put_(adz_clone(p->x), &p->at, 1, p->values, true)
                      : put(p->x, p->at, p->values, false);
}

FACT(plans_take_indices_and_refuse_masks)
{
    arguments p = { VALUES(ADZ_F32, 1, 2), VALUES(ADZ_I64, 1, 1), VALUES(ADZ_F32, 3, 4), false };
    for (int i = 0; i < 2; ++i, p.inplace = true) {
        adz_plan *plan = adz_plan_new(put_in_plan, &p, NULL);
        assert_non_null(plan);
        for (int run = 0; run < 4; ++run) {
            assert_int_equal(adz_plan_run(plan), ADZ_OK);
            ASSERT_VALUES(adz_plan_result_at(plan, 0), ADZ_F32, 1, p.inplace ? 9 : 4);
        }
        adz_plan_free(&plan);
    }
    p.at = VALUES(ADZ_BOOL, 1, 1);
    adz_plan *plan = adz_plan_new(put_in_plan, &p, NULL);
    assert_true(plan == NULL || adz_plan_run(plan) != ADZ_OK);
    assert_int_equal(adz_error_code(), ADZ_ERR_STATE);
    assert_non_null(strstr(adz_error_message(), "index_put"));
    adz_error_clear();
    adz_plan_free(&plan);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(the_last_value_stays_or_all_are_added),
    cmocka_unit_test(indices_broadcast_and_rows_are_whole),
    cmocka_unit_test(a_mask_stands_for_its_coordinates),
    cmocka_unit_test(in_place_it_changes_x_and_nothing_when_refused),
    cmocka_unit_test(in_place_values_and_indices_may_be_x),
    cmocka_unit_test(a_replaced_value_has_no_gradient),
    cmocka_unit_test(in_place_it_is_differentiable),
    cmocka_unit_test(plans_take_indices_and_refuse_masks),
};

const op_case index_put_case = {
    .name = "index_put",
    .call = call,
    .samples = {
        { .in = { IN(5), IN_INDEX(5, 3), IN(3) }, .p = { 1, 0 } },
        { .in = { IN(4), IN_INDEX(4, 9), IN(9) }, .p = { 1, 0 } },
        { .in = { IN_T(4, 3), IN_INDEX(4, 6), IN_T(6, 3) }, .p = { 1, 1 } },
        { .in = { IN(4, 3), IN_INDEX(4, 5), IN(3) }, .p = { 1, 0 } },
        { .in = { IN(3, 4, 2), IN_INDEX(3, 2, 1), IN_INDEX(4, 3), IN(2, 3, 2) }, .p = { 2, 1 } },
        { .in = { IN_T(3, 4, 2), IN_INDEX(3, 2, 1), IN_INDEX(4, 3), IN_0 }, .p = { 2, 0 } },
        { .in = { IN(1), IN_INDEX_0(1), IN_0 }, .p = { 1, 1 } },
        { .in = { IN(3, 2), IN_INDEX(3, 0), IN(2) }, .p = { 1, 0 } },
        { .in = { IN(3, 0), IN_INDEX(3, 2), IN(2, 0) }, .p = { 1, 1 } },
        { .in = { IN(3, 2), IN_MASK(3, 2), IN_0 }, .p = { -1, 0 } },
        { .in = { IN(7, 150), IN_INDEX(7, 90), IN(90, 150) }, .p = { 1, 1 }, .large = true },
    },
    .rejects = {
        { .in = { IN(3), IN(3), IN(3) }, .p = { 1 }, .status = ADZ_ERR_DTYPE, .says = "a bool mask" },
        { .in = { IN(3), IN_INDEX(3, 2), IN_INDEX(3, 2), IN(2) }, .p = { 2 }, .status = ADZ_ERR_SHAPE, .says = "more indices" },
        { .in = { IN(3), IN_INDEX(3, 2), IN(3) }, .p = { 1 }, .status = ADZ_ERR_SHAPE, .says = "values[3] do not broadcast" },
        { .in = { IN(3, 3), IN_INDEX(3, 2), IN_INDEX(3, 3), IN_0 }, .p = { 2 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3), IN_INDEX(3, 2), IN_TYPED(ADZ_I64, 2) }, .p = { 1 }, .status = ADZ_ERR_DTYPE, .says = "values int64" },
        { .in = { IN_TYPED(ADZ_F16, 3), IN_INDEX(3, 2), IN_TYPED(ADZ_F16, 2) }, .p = { 1 }, .status = ADZ_ERR_DTYPE, .says = "storage" },
        { .in = { IN(0), IN_INDEX(3, 2), IN(2) }, .p = { 1 }, .status = ADZ_ERR_INDEX, .says = "none of the 0" },
        { .in = { IN_0, IN_INDEX_0(1), IN_0 }, .p = { 1 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(3), IN_INDEX(3, 2), IN(2) }, .p = { 0 }, .status = ADZ_ERR_ARGUMENT, .says = "0 tensors" },
    },
    .broadcasts = true,
    .first_order_only = true,
    FACTS(facts),
};
