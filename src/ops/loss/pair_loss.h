/* Losses that compare x with a target element by element: l = f(x, t), then none, mean or sum. */
#ifndef ADZI_OPS_LOSS_PAIR_LOSS_H
#define ADZI_OPS_LOSS_PAIR_LOSS_H

#include "base/threads/addresses.h"
#include "ops/elementwise/elementwise.h"

/** One loss of this kind: its operator, its kernels (which pair_loss.kernel.h defines) and the
 * points in which it differs from the others. */
typedef struct adzi_pair_loss {
    const adzi_op *op;
    adzi_float_kernels value, sum, dx, dt;
    bool same_shape;                      /* x and target do not broadcast */
    bool batchmean;                       /* takes this reduction too */
    bool log_target;                      /* the target is a logarithm; for the attributes */
    bool yields;                          /* a scalar takes the other's dtype, as in arithmetic */
    bool (*check)(const adzi_call *call); /* refuses values of in[0]; or NULL */
} adzi_pair_loss;

/** The designated initialisers of a loss's kernel tables. */
#define ADZI_PAIR_KERNELS(name)                                                  \
    .value = name##_kernels, .sum = name##_sum_kernels, .dx = name##_dx_kernels, \
    .dt = name##_dt_kernels
#define ADZI_PAIR_TABLES(name)      \
    KERNEL_TABLE_FLOAT(name);       \
    KERNEL_TABLE_FLOAT(name##_sum); \
    KERNEL_TABLE_FLOAT(name##_dx);  \
    KERNEL_TABLE_FLOAT(name##_dt)

/** The attributes of the node of such a loss. */
typedef struct adzi_pair_attr {
    adz_reduction reduction;
    bool log_target; /* kl_div only */
    double scale;    /* of the sum: 1, 1/N or 1/batch */
    double number;   /* beta or delta; 0 for losses without one */
} adzi_pair_attr;

/** The fields of adzi_pair_attr for a loss without arguments of its own. */
extern const adz_field adzi_pair_fields[4];

/** The names of adz_reduction's values. */
extern const char *const adzi_reduction_names[5];

/** The names of the values that all losses have: none, mean and sum. */
extern const char *const adzi_reductions_of_all[4];

/** The row of an option `reduction`: none, mean or sum, and mean by default. */
#define ADZI_REDUCTION_ROW(type)                                                                 \
    ADZ_FIELD_AS(type, reduction, "reduction", ADZ_FIELD_ENUM, .values = adzi_reductions_of_all, \
        .value = ADZ_REDUCE_MEAN)

/** Arguments of a name_sum kernel; unit k is the k-th block of elements. */
typedef struct adzi_pair_sum_args {
    const void *x, *t;
    double *sums; /* one per block; NULL if there is only one */
    void *y;      /* the loss, scale times the sum, if there is only one block; else NULL */
    double scale;
    int64_t count;
    double number; /* what the kernels read as p[0] */
} adzi_pair_sum_args;

ADZI_ADDRESSES(adzi_pair_sum_args, x, t, sums, y);

enum { ADZI_PAIR_BLOCK = 4096 };

/** Returns true if `reduction` is none, mean or sum. Otherwise it records ADZ_ERR_ARGUMENT and
 * returns false. For losses whose reduction is no option. */
bool adzi_check_reduction(const char *op, adz_reduction reduction);

/** Multiplies the losses of the elements by a weight that broadcasts to them (ADZ_NONE: by 1), and
 * reduces the products. An expression of operators. */
adz_tensor *adzi_weigh_losses(
    const char *op, adz_tensor *losses, adz_tensor *weight, adz_reduction reduction);

/** Returns true if x and target have the same shape. Otherwise it records ADZ_ERR_SHAPE and returns
 * false. */
bool adzi_pair_loss_same_shape(const char *op, adz_tensor *x, adz_tensor *target);

/** The whole forward. Saves both inputs. The kernels read `number` as p[0]; 0 for losses without.
 */
adz_tensor *adzi_pair_loss_call(const adzi_pair_loss *loss, adz_tensor *x, adz_tensor *target,
    adz_reduction reduction, double number);

/** The whole fused backward. */
adz_status adzi_pair_loss_fused(
    const adzi_pair_loss *loss, adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);

/** For the forward as an expression: reduces the losses of the elements as the attributes say. */
adz_status adzi_pair_loss_reduced(adz_tensor **y, adz_tensor *losses, const adzi_pair_attr *attr);

#endif
