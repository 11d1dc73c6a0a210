/**
 * @file metrics.h
 * How good predictions are: confusion matrix, accuracy, F1, ROC AUC, average precision, R2.
 *
 * Metrics read the elements of their arguments and return numbers. No gradient flows through them.
 *
 * @code
 * adz_tensor *logits = adz_randn(ADZ_SHAPE(100, 3), ADZ_F32);
 * adz_tensor *targets = adz_randint(0, 3, ADZ_SHAPE(100), ADZ_I64);
 * adz_tensor *confusion = adz_confusion_matrix(adz_argmax(logits, ADZ_DIMS(1), ADZ_DROPDIM),
 * targets, 3); printf("accuracy %.3f, F1 %.3f\n", adz_accuracy(confusion), adz_f1_score(confusion,
 * ADZ_AVERAGE_MACRO));
 * @endcode
 */
#ifndef ADZE_DATA_METRICS_H
#define ADZE_DATA_METRICS_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How the scores of classes become one number. */
typedef enum adz_average {
    ADZ_AVERAGE_MICRO = 0,   /**< counts of all classes are added up first */
    ADZ_AVERAGE_MACRO = 1,   /**< the mean over the classes that occur in predictions or targets */
    ADZ_AVERAGE_WEIGHTED = 2 /**< the mean over classes, weighted with their targets */
} adz_average;

/**
 * Counts how often each class was predicted for each class.
 *
 *     y[i, j] = the number of positions whose target is i and whose prediction is j
 *
 * The matrices of several batches can be added up.
 *
 * @param predictions  classes, 0 .. classes-1, of any shape and an integer dtype
 * @param targets      classes of the same shape, of an integer dtype
 * @param classes      the number of classes, 1 or more
 * @return             y[classes, classes], i64, borrowed from the scope, or NULL
 * @errors             ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_INDEX (a class that
 * is out of range), ADZ_ERR_MEMORY
 * @grad               none
 * @see                sklearn.metrics.confusion_matrix
 */
ADZ_API adz_tensor *adz_confusion_matrix(
    adz_tensor *predictions, adz_tensor *targets, int64_t classes);

/**
 * The share of right predictions.
 *
 * @param confusion  confusion[C, C] of adz_confusion_matrix with one count or more
 * @return           0 to 1; NaN with ADZ_ERR_NULL, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT
 * or ADZ_ERR_MEMORY recorded
 * @see              sklearn.metrics.accuracy_score
 */
ADZ_API double adz_accuracy(adz_tensor *confusion);

/**
 * The F1 score: the harmonic mean of precision and recall.
 *
 *     F1 of class c = 2 TP / (2 TP + FP + FN)
 *
 * A class that occurs neither in predictions nor in targets has no F1 and does not count.
 *
 * @param confusion  confusion[C, C] of adz_confusion_matrix with one count or more
 * @param average    how the classes are averaged; with one class per element, ADZ_AVERAGE_MICRO is
 *                   the accuracy
 * @return           0 to 1; NaN with ADZ_ERR_NULL, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT
 * or ADZ_ERR_MEMORY recorded
 * @see              sklearn.metrics.f1_score
 */
ADZ_API double adz_f1_score(adz_tensor *confusion, adz_average average);

/**
 * The area under the ROC curve: how likely a positive element has a higher score than a negative
 * one. Equal scores count one half.
 *
 * @param scores   any shape, f32 or f64, without NaN
 * @param targets  of the same shape, any dtype; 1 for positive and 0 for negative elements, of
 * which there is one or more each
 * @return         0 to 1; NaN with ADZ_ERR_NULL, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT or
 *                 ADZ_ERR_MEMORY recorded
 * @see            sklearn.metrics.roc_auc_score
 */
ADZ_API double adz_roc_auc(adz_tensor *scores, adz_tensor *targets);

/**
 * The average precision, which sums up the curve of precision over recall.
 *
 *     sum over thresholds n of (R_n - R_(n-1)) P_n
 *
 * P_n and R_n are precision and recall if all elements with at least the n-th highest score are
 * taken as positive. Elements of equal score are taken together.
 *
 * @param scores   any shape, f32 or f64, without NaN
 * @param targets  of the same shape, any dtype; 1 for positive elements, of which there is one or
 *                 more, and 0 for negative ones
 * @return         0 to 1; NaN with ADZ_ERR_NULL, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT or
 *                 ADZ_ERR_MEMORY recorded
 * @see            sklearn.metrics.average_precision_score
 */
ADZ_API double adz_average_precision(adz_tensor *scores, adz_tensor *targets);

/**
 * The coefficient of determination, R2.
 *
 *     1 - sum of (target - prediction)^2 / sum of (target - mean target)^2
 *
 * Of several columns it is the mean. A column whose targets are all equal counts 1 if its
 * predictions are right and 0 otherwise.
 *
 * @param predictions  [N] or [N, D], f32 or f64, N 2 or more
 * @param targets      of the same shape, f32 or f64
 * @return             1 or less; NaN with ADZ_ERR_NULL, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE or
 *                     ADZ_ERR_MEMORY recorded
 * @see                sklearn.metrics.r2_score
 */
ADZ_API double adz_r2_score(adz_tensor *predictions, adz_tensor *targets);

#ifdef __cplusplus
}
#endif

#endif
