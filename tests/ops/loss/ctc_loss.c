#include "ops/facts.h"

/* p[0] = reduction, p[1] = blank, p[2] = zero_infinity, p[3] = what is added to input_lengths and
 * p[4] to target_lengths, p[5] = the first input holds scores and goes through log_softmax */
static int call(const op_args *a, adz_tensor **out)
{
    adz_ctc_loss_options o = ADZ_CTC_LOSS_OPTIONS;
    o.reduction = (adz_reduction)a->p[0];
    o.blank = (int64_t)a->p[1];
    o.zero_infinity = a->p[2] != 0;
    adz_tensor *x = a->p[5] != 0 ? adz_log_softmax(a->in[0], -1) : a->in[0];
    adz_tensor *steps = a->p[3] != 0 ? adz_add_number(a->in[2], a->p[3]) : a->in[2];
    adz_tensor *labels = a->p[4] != 0 ? adz_add_number(a->in[3], a->p[4]) : a->in[3];
    return case_one(adz_ctc_loss(x, a->in[1], steps, labels, &o), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_reduction(config);
    a->p[1] = config_number(config, "blank", 0);
    a->p[2] = config_flag(config, "zero_infinity", false);
    a->p[5] = config_flag(config, "log_softmax", false);
    return true;
}

static adz_tensor *single(adz_tensor *x, adz_tensor *targets, bool zero_infinity)
{
    adz_ctc_loss_options o;
    adz_ctc_loss_options_init(&o, sizeof o);
    o.reduction = ADZ_REDUCE_NONE;
    o.zero_infinity = zero_infinity;
    adz_tensor *steps = adz_scalar((double)adz_tensor_size(x, 0), ADZ_I64);
    return adz_ctc_loss(
        x, targets, steps, adz_scalar((double)adz_tensor_numel(targets), ADZ_I64), &o);
}

/* Two steps of two classes: one label may stand at the first, at the second or at both. */
FACT(all_ways_are_summed)
{
    const double p[] = { 0.25, 0.75, 0.4, 0.6 };
    adz_tensor *x = adz_log(adz_tensor_from(p, ADZ_SHAPE(2, 2), ADZ_F64));
    adz_tensor *one = VALUES(ADZ_I32, 1);
    assert_true(fabs(adz_item(single(x, one, false)) - (-log(1 - 0.25 * 0.4))) <= 1e-14);
    adz_tensor *none = adz_zeros(ADZ_SHAPE(0), ADZ_I64);
    assert_true(fabs(adz_item(single(x, none, false)) - (-log(0.25 * 0.4))) <= 1e-14);
}

/* A repeated label needs a blank between its two positions, so three steps. */
FACT(targets_that_do_not_fit_are_infinite)
{
    adz_tensor *x = adz_requires_grad_(adz_full(ADZ_SHAPE(2, 2), -1, ADZ_F64), true);
    adz_tensor *twice = VALUES(ADZ_I64, 1, 1);
    assert_true(isinf(adz_item(single(x, twice, false))));
    adz_tensor *l = single(x, twice, true);
    assert_true(adz_item(l) == 0);
    ASSERT_VALUES(adz_flatten(gradient_of(l, x), 0, -1), ADZ_F64, 0, 0, 0, 0);
    assert_true(adz_item(single(adz_full(ADZ_SHAPE(3, 2), -1, ADZ_F64), twice, false)) == 3);
}

FACT(the_second_derivative_is_refused)
{
    adz_tensor *x = adz_requires_grad_(adz_full(ADZ_SHAPE(3, 2), -1, ADZ_F64), true);
    adz_tensor *l = single(x, VALUES(ADZ_I64, 1), false);
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.create_graph = true;
    adz_tensor *g = NULL, *sum = NULL;
    assert_int_equal(adz_autograd_grad(&l, NULL, 1, &x, 1, &o, &g), ADZ_OK);
    sum = adz_sum(g, ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_int_equal(adz_backward(sum), ADZ_ERR_UNSUPPORTED);
    assert_non_null(strstr(adz_error_message(), "ctc_loss has a first derivative only"));
    adz_error_clear();
}

/* Targets one after another give what padded ones give. */
FACT(targets_may_be_joined)
{
    adz_manual_seed(7);
    adz_tensor *x =
        adz_requires_grad_(adz_log_softmax(adz_randn(ADZ_SHAPE(6, 3, 4), ADZ_F64), -1), false);
    const int64_t padded[] = { 1, 2, 9, 3, -5, 9, 2, 2, 1 };
    adz_tensor *targets = adz_tensor_from(padded, ADZ_SHAPE(3, 3), ADZ_I64);
    adz_tensor *joined = VALUES(ADZ_I64, 1, 2, 3, 2, 2, 1);
    adz_tensor *steps = VALUES(ADZ_I64, 6, 4, 6), *labels = VALUES(ADZ_I64, 2, 1, 3);
    adz_ctc_loss_options o = ADZ_CTC_LOSS_OPTIONS;
    o.reduction = ADZ_REDUCE_SUM;
    x = adz_requires_grad_(adz_clone(x), true);
    adz_tensor *a = adz_ctc_loss(x, targets, steps, labels, &o);
    adz_tensor *b = adz_ctc_loss(x, joined, steps, labels, &o);
    assert_true(adz_equal(a, b));
    assert_true(adz_equal(gradient_of(a, x), gradient_of(b, x)));
}

FACT(wrong_labels_and_lengths_are_named)
{
    adz_tensor *x = adz_full(ADZ_SHAPE(4, 2, 3), -1, ADZ_F32);
    adz_tensor *t = adz_tensor_from((int64_t[]){ 1, 2, 2, 3 }, ADZ_SHAPE(2, 2), ADZ_I64);
    adz_tensor *two = VALUES(ADZ_I64, 2, 2), *four = VALUES(ADZ_I64, 4, 4);
    ASSERT_REFUSED(adz_ctc_loss(x, t, four, two, NULL), ADZ_ERR_INDEX, "label 1 of target 1 is 3");
    t = adz_tensor_from((int64_t[]){ 1, 0, 2, 1 }, ADZ_SHAPE(2, 2), ADZ_I64);
    ASSERT_REFUSED(adz_ctc_loss(x, t, four, two, NULL), ADZ_ERR_INDEX, "label 1 of target 0 is 0");
    t = adz_ones(ADZ_SHAPE(2, 2), ADZ_I64);
    ASSERT_REFUSED(adz_ctc_loss(x, t, VALUES(ADZ_I64, 4, 5), two, NULL), ADZ_ERR_INDEX,
        "input_lengths[1] is 5, but must be in 0 .. 4");
    ASSERT_REFUSED(adz_ctc_loss(x, t, four, VALUES(ADZ_I64, -1, 2), NULL), ADZ_ERR_INDEX,
        "target_lengths[0] is -1, but must be in 0 .. 2");
    ASSERT_REFUSED(adz_ctc_loss(x, VALUES(ADZ_I64, 1, 2, 1), four, two, NULL), ADZ_ERR_SHAPE,
        "target_lengths sum to 4, but the targets have 3 labels");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(all_ways_are_summed),
    cmocka_unit_test(targets_that_do_not_fit_are_infinite),
    cmocka_unit_test(the_second_derivative_is_refused),
    cmocka_unit_test(targets_may_be_joined),
    cmocka_unit_test(wrong_labels_and_lengths_are_named),
};

const op_case ctc_loss_case = {
    .name = "ctc_loss",
    .call = call,
    .samples = {
        { .in = { IN(6, 3, 4), IN_INDEX(3, 3, 2), IN_INDEX(4, 3), IN_INDEX(3, 3) }, .p = { ADZ_REDUCE_MEAN, 3, 0, 3, 0 } },
        { .in = { IN_T(6, 3, 4), IN_INDEX(3, 3, 2), IN_INDEX(4, 3), IN_INDEX(3, 3) }, .p = { ADZ_REDUCE_NONE, 3, 1, 3, 0 } },
        { .in = { IN(5, 4), IN_INDEX(3, 2), IN_INDEX_0(1), IN_INDEX_0(1) }, .p = { ADZ_REDUCE_NONE, 3, 0, 5, 2 } },
        { .in = { IN(5, 4), IN_INDEX(3, 2), IN_INDEX_0(1), IN_INDEX_0(1) }, .p = { ADZ_REDUCE_SUM, 3, 0, 5, 2 } },
        { .in = { IN(3, 2, 3), IN_INDEX(2, 2, 0), IN_INDEX(3, 2), IN_INDEX(1, 2) }, .p = { ADZ_REDUCE_SUM, 2, 0, 1, 0 } },
        { .in = { IN(3, 0, 3), IN_INDEX(2, 0, 2), IN_INDEX(3, 0), IN_INDEX(1, 0) }, .p = { ADZ_REDUCE_SUM, 2, 0, 1, 0 } },
        { .in = { IN(60, 9, 20), IN_INDEX(19, 9, 14), IN_INDEX(20, 9), IN_INDEX(10, 9) }, .p = { ADZ_REDUCE_MEAN, 19, 1, 41, 5 }, .large = true },
        { .in = { IN(4, 1, 3), IN_INDEX(2, 1, 1), IN_INDEX(1, 1), IN_INDEX(1, 1) }, .p = { ADZ_REDUCE_MEAN, 2, 0, 4, 1 } },
    },
    .rejects = {
        { .in = { IN(4, 3), IN_INDEX(2, 3, 2), IN_INDEX(4, 3), IN_INDEX(3, 3) }, .p = { ADZ_REDUCE_MEAN, 2 }, .status = ADZ_ERR_SHAPE, .says = "log_probs[4, 3]" },
        { .in = { IN(4, 3, 3), IN_INDEX(2, 2, 2), IN_INDEX(4, 3), IN_INDEX(3, 3) }, .p = { ADZ_REDUCE_MEAN, 2 }, .status = ADZ_ERR_SHAPE, .says = "targets[2, 2]" },
        { .in = { IN(4, 3, 3), IN_INDEX(2, 3, 2), IN_INDEX(4, 2), IN_INDEX(3, 3) }, .p = { ADZ_REDUCE_MEAN, 2 }, .status = ADZ_ERR_SHAPE, .says = "input_lengths[2]" },
        { .in = { IN(4, 3, 3), IN_INDEX(2, 3, 2), IN_INDEX(4, 3), IN_INDEX(3, 3) }, .p = { ADZ_REDUCE_MEAN, 3 }, .status = ADZ_ERR_ARGUMENT, .says = "blank is 3" },
        { .in = { IN(4, 3, 3), IN_INDEX(2, 3, 2), IN_INDEX(4, 3), IN_INDEX(3, 3) }, .p = { 7, 2 }, .status = ADZ_ERR_ARGUMENT, .says = "reduction" },
        { .in = { IN(4, 3, 3), IN(3, 2), IN_INDEX(4, 3), IN_INDEX(3, 3) }, .p = { ADZ_REDUCE_MEAN, 2 }, .status = ADZ_ERR_DTYPE },
    },
    .no_second_derivative = true,
    .vectors = { "ctc_loss" },
    .inputs = { "x", "targets", "input_lengths", "target_lengths" },
    .config = config,
    FACTS(facts),
};
