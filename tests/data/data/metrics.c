/* Metrics, compared with values of scikit-learn 1.9.1 and of definitions by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "adze/adze.h"
#include "tensor/tensor.h"
#include "../../errors.h"
#include "tests.h"

#define WHOLES(...)                                   \
    adz_tensor_from((const int64_t[]){ __VA_ARGS__ }, \
        ADZ_SHAPE((int64_t)(sizeof((const int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t))), ADZ_I64)
#define REALS(...)                                   \
    adz_tensor_from((const double[]){ __VA_ARGS__ }, \
        ADZ_SHAPE((int64_t)(sizeof((const double[]){ __VA_ARGS__ }) / sizeof(double))), ADZ_F64)

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-14;
}

static void classes_are_counted(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *p = WHOLES(0, 2, 1, 0, 0, 2), *t = WHOLES(0, 1, 2, 0, 1, 2);
    adz_tensor *c = adz_confusion_matrix(p, t, 4);
    static const int64_t expected[] = { 2, 0, 0, 0, 1, 0, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0 };
    assert_memory_equal(adz_tensor_data_i64(c), expected, sizeof expected);
    assert_true(near(adz_accuracy(c), 0.5));
    /* F1 of classes 0 to 2: 4/5, 0, 1/2. Class 3 does not occur. */
    assert_true(near(adz_f1_score(c, ADZ_AVERAGE_MICRO), 0.5));
    assert_true(near(adz_f1_score(c, ADZ_AVERAGE_MACRO), 1.3 / 3));
    assert_true(near(adz_f1_score(c, ADZ_AVERAGE_WEIGHTED), 2.6 / 6));
    c = adz_add(c, adz_confusion_matrix(adz_to(p, ADZ_I32), adz_to(p, ADZ_U8), 4));
    assert_true(near(adz_accuracy(c), 0.75));
    adz_tensor *table = adz_reshape(p, ADZ_SHAPE(2, 3));
    c = adz_confusion_matrix(
        adz_transpose(table, 0, 1), adz_transpose(adz_reshape(t, ADZ_SHAPE(2, 3)), 0, 1), 3);
    assert_true(near(adz_accuracy(c), 0.5));
    adz_scope_close(scope);
}

static void classes_are_checked(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *p = WHOLES(0, 1, 2);
    assert_null(adz_confusion_matrix(p, WHOLES(0, 1), 3));
    expect_error(ADZ_ERR_SHAPE, "predictions[3] and targets[2]");
    assert_null(adz_confusion_matrix(p, REALS(0, 1, 2), 3));
    expect_error(ADZ_ERR_DTYPE, "adz_argmax");
    assert_null(adz_confusion_matrix(p, WHOLES(0, 1, 1), 2));
    expect_error(ADZ_ERR_INDEX, "prediction 2 is class 2, outside the 2 classes");
    assert_null(adz_confusion_matrix(p, WHOLES(0, -1, 1), 3));
    expect_error(ADZ_ERR_INDEX, "target 1 is class -1");
    assert_null(adz_confusion_matrix(p, p, 0));
    expect_error(ADZ_ERR_ARGUMENT, "classes is 0");
    assert_true(isnan(adz_accuracy(p)));
    expect_error(ADZ_ERR_SHAPE, "confusion[3] is not [C, C]");
    assert_true(isnan(adz_accuracy(adz_zeros(ADZ_SHAPE(2, 2), ADZ_I64))));
    expect_error(ADZ_ERR_ARGUMENT, "has no counts");
    assert_true(isnan(adz_accuracy(adz_full(ADZ_SHAPE(2, 2), -1, ADZ_I64))));
    expect_error(ADZ_ERR_ARGUMENT, "negative count -1");
    assert_true(isnan(adz_accuracy(adz_zeros(ADZ_SHAPE(2, 2), ADZ_F32))));
    expect_error(ADZ_ERR_DTYPE, "counts are integers");
    assert_true(isnan(adz_f1_score(adz_ones(ADZ_SHAPE(2, 2), ADZ_I64), (adz_average)7)));
    expect_error(ADZ_ERR_ARGUMENT, "average is 7");
    adz_scope_close(scope);
}

/* scikit-learn gives the areas without infinite scores: roc_auc_score, average_precision_score. */
static void scores_are_ranked(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *t = WHOLES(0, 0, 1, 1), *s = REALS(0.1, 0.4, 0.35, 0.8);
    assert_true(near(adz_roc_auc(s, t), 0.75));
    assert_true(near(adz_average_precision(s, t), 0.5 * 1 + 0.5 * 2 / 3));
    /* Equal scores: 2 of 6 pairs are equal, 3 are right and 1 is wrong. */
    s = adz_to(REALS(0.5, 0.5, 0.9, 0.5, 0.1), ADZ_F32);
    t = REALS(1, 0, 1, 0, 0);
    assert_true(near(adz_roc_auc(s, t), (3 + 1 + 1) / 6.0));
    assert_true(near(adz_average_precision(s, t), 0.5 * 1 + 0.5 * 2 / 4));
    s = REALS(INFINITY, -INFINITY, 0);
    assert_true(adz_roc_auc(s, WHOLES(1, 0, 0)) == 1 && adz_roc_auc(s, WHOLES(0, 1, 1)) == 0);
    adz_tensor *bools = adz_gt_number(REALS(1, -1, 1), 0);
    assert_true(adz_average_precision(s, bools) == (1 + 1.0) / 2);
    assert_true(isnan(adz_roc_auc(s, WHOLES(1, 1, 1))));
    expect_error(ADZ_ERR_ARGUMENT, "3 of 3 targets are 1; the metric needs a positive element and");
    assert_true(adz_average_precision(s, WHOLES(1, 1, 1)) == 1);
    assert_true(isnan(adz_average_precision(s, WHOLES(0, 0, 0))));
    expect_error(ADZ_ERR_ARGUMENT, "0 of 3 targets are 1");
    assert_true(isnan(adz_roc_auc(s, WHOLES(0, 2, 1))));
    expect_error(ADZ_ERR_ARGUMENT, "target 1 is 2, not 0 or 1");
    assert_true(isnan(adz_roc_auc(REALS(1, NAN, 0), WHOLES(0, 0, 1))));
    expect_error(ADZ_ERR_ARGUMENT, "score 1 is NaN");
    assert_true(isnan(adz_roc_auc(WHOLES(1, 0, 0), WHOLES(0, 0, 1))));
    expect_error(ADZ_ERR_DTYPE, "scores is int64");
    assert_true(
        isnan(adz_roc_auc(adz_zeros(ADZ_SHAPE(0), ADZ_F32), adz_zeros(ADZ_SHAPE(0), ADZ_F32))));
    expect_error(ADZ_ERR_ARGUMENT, "0 of 0 targets");
    adz_scope_close(scope);
}

/* The area is the share of pairs in order, counted one by one. */
static void areas_are_shares_of_pairs(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(4);
    enum { COUNT = 60 };
    adz_tensor *s = adz_to(adz_randint(0, 9, ADZ_SHAPE(COUNT), ADZ_I64), ADZ_F64);
    adz_tensor *t = adz_randint(0, 2, ADZ_SHAPE(COUNT), ADZ_I64);
    const double *scores = adz_tensor_data_f64(s);
    const int64_t *targets = adz_tensor_data_i64(t);
    double right = 0, pairs = 0;
    for (int i = 0; i < COUNT; ++i) {
        for (int j = 0; j < COUNT; ++j) {
            if (targets[i] == 1 && targets[j] == 0) {
                right += scores[i] > scores[j] ? 1 : scores[i] == scores[j] ? 0.5 : 0;
                pairs += 1;
            }
        }
    }
    assert_true(near(adz_roc_auc(s, t), right / pairs));
    adz_scope_close(scope);
}

static void squares_are_compared(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *t = REALS(3, -0.5, 2, 7), *p = REALS(2.5, 0, 2, 8);
    assert_true(near(adz_r2_score(p, t), 1 - 1.5 / 29.1875));
    adz_tensor *two = adz_stack((adz_tensor *[]){ t, t }, 2, 1);
    adz_tensor *both = adz_stack((adz_tensor *[]){ p, t }, 2, 1);
    assert_true(near(adz_r2_score(both, two), (2 - 1.5 / 29.1875) / 2));
    adz_tensor *flat = REALS(2, 2);
    assert_true(adz_r2_score(flat, flat) == 1 && adz_r2_score(REALS(2, 3), flat) == 0);
    assert_true(isnan(adz_r2_score(REALS(2, NAN), flat)));
    assert_int_equal(adz_error_code(), ADZ_OK);
    assert_true(isnan(adz_r2_score(REALS(1), REALS(1))));
    expect_error(ADZ_ERR_SHAPE, "predictions[1] must be [N] or [N, D] with two rows or more");
    assert_true(isnan(adz_r2_score(p, WHOLES(1, 2, 3, 4))));
    expect_error(ADZ_ERR_DTYPE, "targets is int64");
    adz_scope_close(scope);
}

/* Gradients and versions of the arguments are left alone. */
static void arguments_stay_as_they_are(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_requires_grad_(REALS(1, 2, 3), true), *y = adz_square(x);
    assert_true(near(adz_r2_score(x, adz_detach(x)), 1));
    assert_true(adz_roc_auc(x, WHOLES(0, 1, 1)) == 1);
    assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    adz_scope_close(scope);
}

int metrics_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(classes_are_counted),
        cmocka_unit_test(classes_are_checked),
        cmocka_unit_test(scores_are_ranked),
        cmocka_unit_test(areas_are_shares_of_pairs),
        cmocka_unit_test(squares_are_compared),
        cmocka_unit_test(arguments_stay_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
