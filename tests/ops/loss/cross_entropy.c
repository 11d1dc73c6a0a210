#include "ops/facts.h"

/* p[0] = reduction, p[1] = ignore_index, p[2] = label_smoothing */
static int call(const op_args *a, adz_tensor **out)
{
    adz_cross_entropy_options o = ADZ_CROSS_ENTROPY_OPTIONS;
    o.reduction = (adz_reduction)a->p[0];
    o.ignore_index = (int64_t)a->p[1];
    o.label_smoothing = a->p[2];
    return case_one(adz_cross_entropy(a->in[0], a->in[1], a->in[2], &o), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_reduction(config);
    a->p[1] = config_number(config, "ignore_index", -100);
    a->p[2] = config_number(config, "label_smoothing", 0);
    return true;
}

static void huge_scores_stay_finite(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    const float values[] = { 1e30f, -1e30f, 0 };
    int64_t class_of[] = { 0 };
    adz_tensor *x = adz_requires_grad_(adz_tensor_from(values, ADZ_SHAPE(1, 3), ADZ_F32), true);
    adz_tensor *t = adz_tensor_from(class_of, ADZ_SHAPE(1), ADZ_I64);
    adz_tensor *l = adz_cross_entropy(x, t, ADZ_NONE, NULL);
    assert_float_equal(adz_item(l), 0, 0);
    assert_int_equal(adz_backward(l), ADZ_OK);
    assert_true(adz_equal(adz_tensor_grad(x), adz_zeros(ADZ_SHAPE(1, 3), ADZ_F32)));
    adz_scope_close(scope);
}

static void an_impossible_class_costs_infinity(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    const double values[] = { 0, -INFINITY };
    int64_t class_of[] = { 1 };
    adz_tensor *x = adz_tensor_from(values, ADZ_SHAPE(1, 2), ADZ_F64);
    adz_tensor *t = adz_tensor_from(class_of, ADZ_SHAPE(1), ADZ_I64);
    assert_true(isinf(adz_item(adz_cross_entropy(x, t, ADZ_NONE, NULL))));
    class_of[0] = 0;
    t = adz_tensor_from(class_of, ADZ_SHAPE(1), ADZ_I64);
    assert_float_equal(adz_item(adz_cross_entropy(x, t, ADZ_NONE, NULL)), 0, 0);
    adz_scope_close(scope);
}

static void nan_in_a_row_stays_in_that_row(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    const double values[] = { 0, NAN, 1, 2 };
    adz_cross_entropy_options o;
    adz_cross_entropy_options_init(&o, sizeof o);
    assert_int_equal(o.ignore_index, -100);
    o.reduction = ADZ_REDUCE_NONE;
    adz_tensor *x = adz_tensor_from(values, ADZ_SHAPE(2, 2), ADZ_F64);
    adz_tensor *l = adz_cross_entropy(x, adz_zeros(ADZ_SHAPE(2), ADZ_I64), ADZ_NONE, &o);
    assert_true(isnan(adz_tensor_at(l, (int64_t[]){ 0 })));
    assert_float_equal(adz_tensor_at(l, (int64_t[]){ 1 }), log(1 + exp(1.0)), 1e-15);
    adz_scope_close(scope);
}

static void a_mean_over_ignored_rows_alone_is_nan(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_cross_entropy_options o = ADZ_CROSS_ENTROPY_OPTIONS;
    o.ignore_index = 0;
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 3), ADZ_F32), *t = adz_zeros(ADZ_SHAPE(2), ADZ_I64);
    assert_true(isnan(adz_item(adz_cross_entropy(x, t, ADZ_NONE, &o))));
    adz_tensor *leaf = adz_requires_grad_(adz_ones(ADZ_SHAPE(2, 2), ADZ_F64), true);
    adz_tensor *l = adz_cross_entropy(leaf, t, ADZ_NONE, &o);
    ASSERT_VALUES(adz_flatten(gradient_of(l, leaf), 0, -1), ADZ_F64, 0, 0, 0, 0);
    ASSERT_VALUES(adz_flatten(gradient_by_expression(l, leaf), 0, -1), ADZ_F64, 0, 0, 0, 0);
    o.reduction = ADZ_REDUCE_SUM;
    assert_float_equal(adz_item(adz_cross_entropy(x, t, ADZ_NONE, &o)), 0, 0);
    adz_scope_close(scope);
}

static void an_older_options_struct_is_read_no_further_than_its_size(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_cross_entropy_options o = ADZ_CROSS_ENTROPY_OPTIONS;
    o.size = offsetof(adz_cross_entropy_options, label_smoothing);
    o.label_smoothing = 7; /* ignored, because it lies beyond the declared size of the struct */
    adz_tensor *x = adz_zeros(ADZ_SHAPE(1, 2), ADZ_F64), *t = adz_zeros(ADZ_SHAPE(1), ADZ_I64);
    assert_float_equal(adz_item(adz_cross_entropy(x, t, ADZ_NONE, &o)), log(2), 1e-15);
    adz_scope_close(scope);
}

/* For scores far from 0, the logarithm of the sum is not rounded to the precision of the scores. */
static void a_large_offset_costs_no_digits(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    const float digits[] = { 1, 2, 4 }, shares[] = { 0.5f, 0.25f, 0.25f };
    adz_tensor *dx[2], *dt[2], *sizes = adz_tensor_from(digits, ADZ_SHAPE(1, 3), ADZ_F32);
    for (int k = 0; k < 2; ++k) {
        adz_tensor *x = adz_requires_grad_(adz_add_number(sizes, k ? 100000 : 0), true);
        adz_tensor *t = adz_tensor_from(shares, ADZ_SHAPE(1, 3), ADZ_F32);
        assert_int_equal(
            adz_backward(adz_cross_entropy(x, adz_requires_grad_(t, true), ADZ_NONE, NULL)),
            ADZ_OK);
        dx[k] = adz_tensor_grad(x);
        dt[k] = adz_tensor_grad(t);
    }
    assert_true(adz_allclose(dx[1], dx[0], 0, 1e-6, false));
    assert_true(adz_allclose(dt[1], dt[0], 0, 1e-6, false));
    double far[] = { 1e15, 1e15, 1e15 };
    adz_tensor *x = adz_tensor_from(far, ADZ_SHAPE(1, 3), ADZ_F64);
    adz_tensor *l = adz_cross_entropy(x, adz_zeros(ADZ_SHAPE(1), ADZ_I64), ADZ_NONE, NULL);
    assert_float_equal(adz_item(l), log(3), 1e-15);
    adz_scope_close(scope);
}

/* Smoothing gives every class a share, so a class with probability 0 costs infinity. Without a
 * share it is 0 times infinity, which is NaN. */
FACT(an_impossible_class_with_a_smoothed_share_costs_infinity)
{
    static const double targets[][3] = { { 0.2, 0.3, 0.5 }, { 0.4, 0, 0.6 } };
    adz_cross_entropy_options o = ADZ_CROSS_ENTROPY_OPTIONS;
    adz_tensor *x = adz_tensor_from((double[]){ 0, -INFINITY, 1 }, ADZ_SHAPE(1, 3), ADZ_F64);
    for (int i = 0; i < 2; ++i) {
        adz_tensor *t = adz_tensor_from(targets[i], ADZ_SHAPE(1, 3), ADZ_F64);
        for (int k = 0; k < 3; ++k) {
            o.label_smoothing = k / 2.0;
            double loss = adz_item(adz_cross_entropy(x, t, ADZ_NONE, &o));
            assert_true(i == 1 && k == 0 ? isnan(loss) : loss == INFINITY);
        }
    }
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(an_impossible_class_with_a_smoothed_share_costs_infinity),
    cmocka_unit_test(a_large_offset_costs_no_digits),
    cmocka_unit_test(huge_scores_stay_finite),
    cmocka_unit_test(an_impossible_class_costs_infinity),
    cmocka_unit_test(nan_in_a_row_stays_in_that_row),
    cmocka_unit_test(a_mean_over_ignored_rows_alone_is_nan),
    cmocka_unit_test(an_older_options_struct_is_read_no_further_than_its_size),
};

#define WEIGHT(n) IN_CONST_OF(FILL_POSITIVE, n)

const op_case cross_entropy_case = {
    .name = "cross_entropy",
    .call = call,
    .samples = {
        { .in = { IN(5, 4), IN_INDEX(4, 5), IN_NONE }, .p = { ADZ_REDUCE_MEAN, -100, 0 } },
        { .in = { IN_T(5, 4), IN_INDEX(4, 5), WEIGHT(4) }, .p = { ADZ_REDUCE_NONE, 1, 0.2 } },
        { .in = { IN(3, 4, 2), IN_INDEX(4, 3, 2), WEIGHT(4) }, .p = { ADZ_REDUCE_SUM, 2, 0 } },
        { .in = { IN(2, 3, 2, 2), IN_INDEX(3, 2, 2, 2), IN_NONE }, .p = { ADZ_REDUCE_MEAN, 0, 0.3 } },
        { .in = { IN(37), IN_INDEX_0(37), IN_NONE }, .p = { ADZ_REDUCE_MEAN, -100, 0.1 } },
        { .in = { IN(0, 3), IN_INDEX(3, 0), IN_NONE }, .p = { ADZ_REDUCE_SUM, -100, 0 } },
        { .in = { IN(4, 1), IN_INDEX(1, 4), IN_NONE }, .p = { ADZ_REDUCE_NONE, -100, 0 } },
        { .in = { IN(3, 4), IN_OF(FILL_UNIT, 3, 4), WEIGHT(4) }, .p = { ADZ_REDUCE_MEAN, -100, 0.1 } },
        { .in = { IN(2, 3, 2), IN_T_OF(FILL_UNIT, 2, 3, 2), IN_NONE }, .p = { ADZ_REDUCE_NONE, -100, 0 } },
        { .in = { IN(2, 19), IN_OF(FILL_UNIT, 2, 19), WEIGHT(19) }, .p = { ADZ_REDUCE_MEAN, -100, 0.1 } },
        { .in = { IN(2, 3, 2), IN_OF(FILL_UNIT, 2, 3, 2), WEIGHT(3) }, .p = { ADZ_REDUCE_SUM, -100, 0.1 } },
        { .in = { IN(5), IN_CONST_OF(FILL_UNIT, 5), IN_NONE }, .p = { ADZ_REDUCE_SUM, -100, 0.5 } },
    },
    .rejects = {
        { .in = { IN(5, 4), IN_INDEX(4, 4), IN_NONE }, .p = { ADZ_REDUCE_MEAN, -100, 0 }, .status = ADZ_ERR_SHAPE, .says = "[5]" },
        { .in = { IN(5, 4), IN(5), IN_NONE }, .p = { ADZ_REDUCE_MEAN, -100, 0 }, .status = ADZ_ERR_SHAPE, .says = "probabilities" },
        { .in = { IN(5, 4), IN_MASK(5), IN_NONE }, .p = { ADZ_REDUCE_MEAN, -100, 0 }, .status = ADZ_ERR_DTYPE },
        { .in = { IN(5, 4), IN_INDEX(4, 5), IN_CONST(3) }, .p = { ADZ_REDUCE_MEAN, -100, 0 }, .status = ADZ_ERR_SHAPE, .says = "weight" },
        { .in = { IN(5, 4), IN_INDEX(4, 5), IN_NONE }, .p = { ADZ_REDUCE_MEAN, -100, 1.5 }, .status = ADZ_ERR_ARGUMENT, .says = "[0, 1]" },
        { .in = { IN(5, 4), IN(5, 4), IN_NONE }, .p = { ADZ_REDUCE_MEAN, 2, 0 }, .status = ADZ_ERR_ARGUMENT, .says = "ignore_index" },
        { .in = { IN(5, 4), IN_INDEX(4, 5), IN_NONE }, .p = { ADZ_REDUCE_BATCHMEAN, -100, 0 }, .status = ADZ_ERR_ARGUMENT },
        { .in = { IN_TYPED(ADZ_I64, 5, 4), IN_INDEX(4, 5), IN_NONE }, .p = { ADZ_REDUCE_MEAN, -100, 0 }, .status = ADZ_ERR_DTYPE },
    },
    .vectors = { "cross_entropy" },
    .inputs = { "x", "target", "weight" },
    .config = config,
    FACTS(facts),
};
