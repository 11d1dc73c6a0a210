#include "ops/facts.h"

/* p[0] = q, p[1] = dim, p[2] = keepdim, p[3] = rule */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(
        adz_quantile(a->in[0], a->p[0], (int)a->p[1], a->p[2] != 0, (adz_quantile_rule)a->p[3]),
        out);
}

static double quantile_of(adz_tensor *x, double q, adz_quantile_rule rule)
{
    return adz_item(adz_quantile(x, q, 0, ADZ_DROPDIM, rule));
}

/* Values of torch.quantile. */
FACT(rules_between_two_elements)
{
    adz_tensor *x = LEAF(4, 1, 2, 8);
    assert_true(quantile_of(x, 0, ADZ_QUANTILE_LINEAR) == 1);
    assert_true(quantile_of(x, 1, ADZ_QUANTILE_LINEAR) == 8);
    assert_true(quantile_of(x, 0.5, ADZ_QUANTILE_LINEAR) == 3);
    assert_true(quantile_of(x, 0.75, ADZ_QUANTILE_LINEAR) == 5);
    assert_true(quantile_of(x, 0.75, ADZ_QUANTILE_LOWER) == 4);
    assert_true(quantile_of(x, 0.75, ADZ_QUANTILE_HIGHER) == 8);
    assert_true(quantile_of(x, 0.75, ADZ_QUANTILE_MIDPOINT) == 6);
    assert_true(quantile_of(x, 0.75, ADZ_QUANTILE_NEAREST) == 4);
    assert_true(quantile_of(x, 0.5, ADZ_QUANTILE_NEAREST) == 4); /* 1.5: the even position is 2 */
    assert_true(quantile_of(x, 2 / 3.0, ADZ_QUANTILE_MIDPOINT) == 4);
    adz_tensor *y = adz_quantile(x, 0.75, 0, ADZ_DROPDIM, ADZ_QUANTILE_LINEAR);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 0.75, 0, 0, 0.25);
}

FACT(nan_and_infinite_elements)
{
    const double inf = (double)INFINITY, nan = (double)NAN;
    assert_true(isnan(quantile_of(VALUES(ADZ_F32, 1, nan, 2), 0, ADZ_QUANTILE_LOWER)));
    adz_tensor *x = VALUES(ADZ_F32, inf, inf, 1, 2);
    assert_true(quantile_of(x, 0.9, ADZ_QUANTILE_LINEAR) == inf);
    assert_true(quantile_of(x, 0.5, ADZ_QUANTILE_LINEAR) == inf);
    assert_true(quantile_of(x, 0.1, ADZ_QUANTILE_LINEAR) == (double)(1 + (0.1F * 3)));
    assert_true(quantile_of(VALUES(ADZ_F64, 0x1p1023, -0x1p1023), 0.5, ADZ_QUANTILE_LINEAR) == 0);
    assert_true(quantile_of(VALUES(ADZ_F64, -inf, 5), 0.5, ADZ_QUANTILE_LINEAR) == -inf);
    assert_true(
        adz_item(adz_quantile(adz_scalar(3, ADZ_F32), 0.3, -1, true, ADZ_QUANTILE_LOWER)) == 3);
}

/* f32 has no position 2^24 + 1. */
FACT(positions_of_long_slices)
{
    const int64_t n = (INT64_C(1) << 24) + 3;
    adz_tensor *x = adz_empty(ADZ_SHAPE(n), ADZ_F32);
    float *elements = adz_tensor_data_f32(x);
    for (uint32_t i = 0; i < (uint32_t)n; ++i) {
        const uint32_t bits = 0x3f800000u + i; /* of the numbers from 1 on, one after the other */
        memcpy(&elements[i], &bits, sizeof bits);
    }
    const double q = (double)(n - 2) / (double)(n - 1), wanted = (double)elements[n - 2];
    assert_true(quantile_of(x, q, ADZ_QUANTILE_LINEAR) == wanted);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(positions_of_long_slices),
    cmocka_unit_test(rules_between_two_elements),
    cmocka_unit_test(nan_and_infinite_elements),
};

const op_case quantile_case = {
    .name = "quantile",
    .call = call,
    .samples = {
        { .in = { IN_OF(FILL_DISTINCT, 3, 4) }, .p = { 0.4, 1 } },
        { .in = { IN_T_OF(FILL_DISTINCT, 3, 5) }, .p = { 0.3, 0, 1, ADZ_QUANTILE_MIDPOINT } },
        { .in = { IN_OF(FILL_DISTINCT, 2, 3, 4) }, .p = { 0.6, -2, 0, ADZ_QUANTILE_HIGHER } },
        { .in = { IN_OF(FILL_DISTINCT, 1) }, .p = { 0.5, 0 } },
        { .in = { IN_OF(FILL_DISTINCT, 0, 3) }, .p = { 0.5, 1 } },
        { .in = { IN_OF(FILL_DISTINCT, 1, 5) }, .p = { 0.9, 1, 1, ADZ_QUANTILE_NEAREST } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 1.5, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "q is 1.5" },
        { .in = { IN(3, 4) }, .p = { NAN, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "q is" },
        { .in = { IN(3, 4) }, .p = { 0.5, 1, 0, 9 }, .status = ADZ_ERR_ARGUMENT, .says = "rule is 9" },
        { .in = { IN(3, 0) }, .p = { 0.5, 1 }, .status = ADZ_ERR_SHAPE, .says = "no quantile" },
        { .in = { IN(3, 4) }, .p = { 0.5, 2 }, .status = ADZ_ERR_DIM },
        { .in = { IN_TYPED(ADZ_I64, 3) }, .p = { 0.5, 0 }, .status = ADZ_ERR_DTYPE },
    },
    .needs_distinct = true,
    .first_order_only = true,
    .inputs = { "x" },
    FACTS(facts),
};
