/* The common part of nll_loss and cross_entropy. Their targets name one of C classes for each row.
 * The classes of x are on axis 1 of x[N, C, ...], or on the only axis of x[C]. A row is the list of
 * C numbers that have the same index on all other axes: x[N, C, L] has R = N * L rows. */
#ifndef ADZI_OPS_LOSS_CLASS_TARGET_H
#define ADZI_OPS_LOSS_CLASS_TARGET_H

#include "base/threads/addresses.h"
#include "ops/loss/pair_loss.h"

/** The attributes of a loss over classes. */
typedef struct adzi_class_attr {
    adz_reduction reduction;
    int64_t ignore_index; /* rows with this target have loss 0 and do not count in the mean */
    double smoothing;     /* the share of the target that is spread evenly over all classes */
    bool weighted;        /* there are class weights */
    bool probabilities;   /* the target gives a probability for every class */
} adzi_class_attr;

/** What a call of such a loss gets. The node keeps the attributes alone. */
typedef struct adzi_class_call {
    adzi_class_attr at;
    adz_tensor *rows;    /* the target as contiguous rows, of classes or of probabilities */
    adz_tensor *numbers; /* from adzi_class_numbers_new */
    adz_tensor *losses;  /* of the rows: the result itself if it is not reduced */
} adzi_class_call;

/** The fields of adzi_class_attr but for `smoothing`, which not every loss has as an argument. */
#define ADZI_CLASS_FIELDS                                                  \
    ADZI_FIELD(adzi_class_attr, ignore_index),                             \
        ADZI_FIELD_ENUM(adzi_class_attr, reduction, adzi_reduction_names), \
        ADZI_FIELD_HIDDEN(adzi_class_attr, weighted),                      \
        ADZI_FIELD_HIDDEN(adzi_class_attr, probabilities)

/**
 * The numbers that depend on the contents of the targets and the class weights. A launch writes
 * them to an i64 tensor, which the node saves for the backward.
 */
typedef struct adzi_class_numbers {
    double scale;  /* of the sum of losses: 1 or, for the mean, one over the weight of all rows */
    double slope;  /* of the gradient: scale, but 0 if no row counts, where the mean is NaN */
    double total;  /* of all classes' weights */
    int64_t wrong; /* the first row whose target is no class and not ignored; -1: none */
} adzi_class_numbers;

enum { ADZI_CLASS_NUMBERS = sizeof(adzi_class_numbers) / sizeof(int64_t) };

/** The numbers in the tensor that adzi_class_numbers_new returned. */
static inline adzi_class_numbers *adzi_class_numbers_in(const adz_tensor *t)
{
    return (adzi_class_numbers *)(void *)t->data;
}

/** The axis of x that holds the classes. */
static inline int adzi_class_axis(int rank)
{
    return rank == 1 ? 0 : 1;
}

/** Arguments of the kernels nll_loss and cross_entropy; units are rows. */
typedef struct adzi_class_args {
    const void *x;             /* [R, C]; for nll_loss [N, C, L] */
    const int64_t *target;     /* [R], or NULL */
    const void *probabilities; /* [R, C], where there is no target */
    const void *weight;        /* [C], or NULL */
    void *losses;              /* [R] */
    double *lse;               /* [R, 2]: log of the sum of e^x, in two parts */
    const void *dy;            /* [R], or one number with dy_stride 0 */
    void *dx, *dt;             /* [R, C] */
    int64_t dy_stride, c, l, ignore_index;
    double smoothing;
    const adzi_class_numbers *numbers; /* for the backward's kernels */
} adzi_class_args;

ADZI_ADDRESSES(adzi_class_args, x, target, probabilities, weight, losses, lse, dy, dx, dt, numbers);

/** Checks x, the class weights and the reduction; fills weighted and probabilities. */
bool adzi_class_check(adzi_call *call, adzi_class_attr *attr);

/** Checks the shape of in[1], which names a class per row, and makes it contiguous i64. NULL with
 * the error recorded. */
adz_tensor *adzi_class_rows(adzi_call *call);

/**
 * Launches what computes adzi_class_numbers from `rows` (NULL for probabilities), and checks that
 * each row names a class of x or is ignored. NULL with the error recorded.
 */
adz_tensor *adzi_class_numbers_new(
    adzi_call *call, const adz_tensor *rows, const adzi_class_attr *attr);

/** Sizes of the losses: x's without the classes. Returns the rank. */
int adzi_class_loss_sizes(const adz_tensor *x, int64_t *sizes);

/** The shape rule: the sizes of the losses, or a scalar. `block` is an adzi_class_call. */
adz_status adzi_class_shape(adz_result *y, adz_tensor *const *in, void *block);

/** Makes the losses of the rows where the result y is reduced. False with the error recorded. */
bool adzi_class_losses(adzi_call *call, adz_tensor *y, adzi_class_call *c);

/** Reduces the losses into y. Cannot fail. */
void adzi_class_reduce(adz_tensor *y, const adzi_class_call *c);

/**
 * For a backward as an expression. Gives dy a dimension for the classes if losses were not reduced,
 * and multiplies it by the slope for the mean.
 */
adz_tensor *adzi_class_upstream(
    adzi_node *node, adz_tensor *dy, int axis, const adz_tensor *numbers);

/**
 * For the forward as an expression: losses from logs[R-shaped, C classes], which hold log p_c, and
 * a target of classes. The share (1 - e) belongs to the class of the row and e / C to all classes.
 */
adz_status adzi_class_expression(
    adz_tensor **y, adz_tensor *logs, adz_tensor *target, adz_tensor *weight, const void *attr);

/**
 * The factor of -log p_c in the loss of a row, shaped like x: (1 - e) * w_y at the class y of the
 * row, plus e * w_c / C at every class. Ignored rows have 0. The result is a constant for
 * derivatives.
 */
adz_tensor *adzi_class_shares(
    const adzi_node *node, adz_dtype dtype, adz_tensor *target, const adz_tensor *weight);

#endif
