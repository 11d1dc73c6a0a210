#include "adze/checks.h"
#include "ops/facts.h"

/* p[0] = dim, p[1] = keepdim, p[2] = rule */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(
        adz_quantiles(a->in[0], a->in[1], (int)a->p[0], a->p[1] != 0, (adz_quantile_rule)a->p[2]),
        out);
}

/* Values of torch.quantile. */
FACT(rules_between_two_elements)
{
    adz_tensor *x = VALUES(ADZ_F64, 4, 1, 2, 8), *q = VALUES(ADZ_F64, 0, 0.5, 0.75, 1);
    ASSERT_VALUES(adz_quantiles(x, q, 0, false, ADZ_QUANTILE_LINEAR), ADZ_F64, 1, 3, 5, 8);
    ASSERT_VALUES(adz_quantiles(x, q, 0, false, ADZ_QUANTILE_LOWER), ADZ_F64, 1, 2, 4, 8);
    ASSERT_VALUES(adz_quantiles(x, q, 0, false, ADZ_QUANTILE_HIGHER), ADZ_F64, 1, 4, 8, 8);
    ASSERT_VALUES(adz_quantiles(x, q, 0, false, ADZ_QUANTILE_MIDPOINT), ADZ_F64, 1, 3, 6, 8);
    ASSERT_VALUES(adz_quantiles(x, q, 0, false, ADZ_QUANTILE_NEAREST), ADZ_F64, 1, 4, 4, 8);
}

/* adz_quantile and adz_quantiles have the same bits. */
FACT(one_quantile_is_one_of_several)
{
    adz_manual_seed(5);
    for (int rule = ADZ_QUANTILE_LINEAR; rule <= ADZ_QUANTILE_NEAREST; ++rule) {
        const adz_dtype dtype = rule % 2 == 0 ? ADZ_F32 : ADZ_F64;
        adz_tensor *x = adz_to(adz_randn(ADZ_SHAPE(3, 10, 2), ADZ_F64), dtype);
        adz_tensor *q = VALUES(dtype, 0.1, 0.9999, 0.5, 1, 0.25, 0);
        adz_tensor *several = adz_quantiles(x, q, 1, true, (adz_quantile_rule)rule);
        for (int64_t k = 0; k < 6; ++k) {
            adz_tensor *one =
                adz_quantile(x, adz_tensor_at(q, &k), 1, true, (adz_quantile_rule)rule);
            assert_true(adz_item(adz_all(adz_eq(one, adz_select(several, 0, k)), ADZ_ALL_DIMS,
                            ADZ_DROPDIM)) == 1);
        }
    }
}

FACT(shapes_are_those_of_pytorch)
{
    adz_tensor *x = adz_zeros(ADZ_SHAPE(3, 4, 5), ADZ_F32), *q = VALUES(ADZ_F32, 0.5, 0.7);
    adz_tensor *y = adz_quantiles(x, q, 1, false, ADZ_QUANTILE_LINEAR);
    assert_string_equal(adz_text_shape(y), "[2, 3, 5]");
    y = adz_quantiles(x, q, 1, true, ADZ_QUANTILE_LINEAR);
    assert_string_equal(adz_text_shape(y), "[2, 3, 1, 5]");
    y = adz_quantiles(x, adz_scalar(1, ADZ_F32), -1, false, ADZ_QUANTILE_LINEAR);
    assert_string_equal(adz_text_shape(y), "[3, 4]");
    y = adz_quantiles(adz_scalar(3, ADZ_F32), q, 0, true, ADZ_QUANTILE_LINEAR);
    ASSERT_VALUES(y, ADZ_F32, 3, 3);
}

FACT(the_gradient_of_q_is_the_slope)
{
    adz_tensor *x = VALUES(ADZ_F64, 4, 1, 2, 8), *q = LEAF(0.1, 0.75);
    adz_tensor *y = adz_quantiles(x, q, 0, false, ADZ_QUANTILE_LINEAR);
    ASSERT_VALUES(gradient_of(y, q), ADZ_F64, 3, 12);
}

FACT(nan_and_infinite_elements)
{
    const double inf = (double)INFINITY, nan = (double)NAN;
    adz_tensor *q = VALUES(ADZ_F32, 0, 0.5, 0.9);
    adz_tensor *x = VALUES(ADZ_F32, 1, nan, 2);
    ASSERT_VALUES(adz_quantiles(x, q, 0, false, ADZ_QUANTILE_LOWER), ADZ_F32, nan, nan, nan);
    x = VALUES(ADZ_F32, inf, inf, 1, 2);
    ASSERT_VALUES(adz_quantiles(x, q, 0, false, ADZ_QUANTILE_LINEAR), ADZ_F32, 1, inf, inf);
}

FACT(the_element_of_q_is_named)
{
    adz_tensor *x = VALUES(ADZ_F32, 1, 2);
    ASSERT_REFUSED(adz_quantiles(x, VALUES(ADZ_F32, 0.5, 1.5), 0, false, ADZ_QUANTILE_LINEAR),
        ADZ_ERR_ARGUMENT, "q[1] is 1.5");
    ASSERT_REFUSED(adz_quantiles(x, VALUES(ADZ_F32, NAN), 0, false, ADZ_QUANTILE_LOWER),
        ADZ_ERR_ARGUMENT, "q[0] is nan");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(rules_between_two_elements),
    cmocka_unit_test(one_quantile_is_one_of_several),
    cmocka_unit_test(shapes_are_those_of_pytorch),
    cmocka_unit_test(the_gradient_of_q_is_the_slope),
    cmocka_unit_test(nan_and_infinite_elements),
    cmocka_unit_test(the_element_of_q_is_named),
};

#define X(...) IN_OF(FILL_DISTINCT, __VA_ARGS__)
#define Q(...) IN_OF(FILL_UNIT, __VA_ARGS__)

const op_case quantiles_case = {
    .name = "quantiles",
    .call = call,
    .samples = {
        { .in = { X(3, 4), Q(3) }, .p = { 1 } },
        { .in = { IN_T_OF(FILL_DISTINCT, 3, 5), Q(2) }, .p = { 0, 1, ADZ_QUANTILE_MIDPOINT } },
        { .in = { X(2, 3, 4), Q(5) }, .p = { -2, 0, ADZ_QUANTILE_HIGHER } },
        { .in = { X(3, 1), Q(2) }, .p = { 1 } },
        { .in = { X(2, 5), IN_0_OF(FILL_UNIT) }, .p = { 1, 1 } },
        { .in = { X(3), Q(4) }, .p = { 0, 0, ADZ_QUANTILE_NEAREST } },
        { .in = { IN_0, Q(4) }, .p = { 0, 0, ADZ_QUANTILE_LOWER } },
        { .in = { X(2, 5), Q(0) }, .p = { 1 } },
        { .in = { X(0, 3), Q(2) }, .p = { 1 } },
    },
    .rejects = {
        { .in = { X(3, 4), IN_TYPED(ADZ_I64, 2) }, .p = { 1 }, .status = ADZ_ERR_DTYPE, .says = "convert q" },
        { .in = { X(3, 4), Q(2, 2) }, .p = { 1 }, .status = ADZ_ERR_SHAPE, .says = "q[2, 2]" },
        { .in = { X(3, 4), Q(2) }, .p = { 1, 0, 9 }, .status = ADZ_ERR_ARGUMENT, .says = "rule is 9" },
        { .in = { X(3, 0), Q(2) }, .p = { 1 }, .status = ADZ_ERR_SHAPE, .says = "no quantile" },
        { .in = { X(3, 4), Q(2) }, .p = { 2 }, .status = ADZ_ERR_DIM },
        { .in = { IN_TYPED(ADZ_I64, 3), Q(2) }, .status = ADZ_ERR_DTYPE },
    },
    .needs_distinct = true,
    .first_order_only = true,
    .inputs = { "x", "q" },
    FACTS(facts),
};
