#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_nonzero(a->in[0]), out);
}

FACT(positions_come_in_order)
{
    adz_tensor *x = adz_reshape(VALUES(ADZ_F32, 0, 1, NAN, 0, -0.0, 2), ADZ_SHAPE(2, 3));
    adz_tensor *y = adz_nonzero(x);
    assert_int_equal(adz_tensor_size(y, 0), 3);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(6)), ADZ_I64, 0, 1, 0, 2, 1, 2);
    y = adz_nonzero(VALUES(ADZ_I64, 0, 0));
    assert_int_equal(adz_tensor_numel(y), 0);
    assert_int_equal(adz_tensor_size(y, 1), 1);
    y = adz_nonzero(adz_scalar(3, ADZ_F32)); /* one row without coordinates, as in PyTorch */
    assert_int_equal(adz_tensor_size(y, 0), 1);
    assert_int_equal(adz_tensor_size(y, 1), 0);
}

static adz_tensor *positions_of(void *x)
{
    return adz_nonzero(x);
}

/* A replay could not make a result of another shape. */
FACT(plans_refuse_it)
{
    adz_tensor *x = VALUES(ADZ_F32, 0, 1);
    adz_plan *plan = adz_plan_new(positions_of, x, NULL);
    if (plan != NULL) {
        assert_null(adz_plan_run(plan));
    }
    assert_int_equal(adz_error_code(), ADZ_ERR_STATE);
    assert_non_null(strstr(adz_error_message(), "nonzero"));
    assert_non_null(strstr(adz_error_message(), "decide the shape of the result"));
    adz_error_clear();
    adz_plan_free(&plan);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(positions_come_in_order),
    cmocka_unit_test(plans_refuse_it),
};

const op_case nonzero_case = {
    .name = "nonzero",
    .call = call,
    .samples = {
        { .in = { IN_MASK(3, 4) } },
        { .in = { { CASE_SIZES_(4, 3), .fill = FILL_MASK, .layout = LAYOUT_TRANSPOSED } } },
        { .in = { IN_INDEX(2, 2, 3, 2) } },
        { .in = { IN_MASK(1, 7) } },
        { .in = { IN_MASK(0, 3) } },
        { .in = { IN_INDEX_0(2) } },
    },
    .rejects = {
        { .in = { IN_TYPED(ADZ_F16, 3) }, .status = ADZ_ERR_DTYPE },
        { .in = { IN_NONE }, .status = ADZ_ERR_ARGUMENT },
    },
    .not_differentiable = true,
    FACTS(facts),
};
