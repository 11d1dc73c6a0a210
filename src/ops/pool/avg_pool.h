/* The common part of avg_pool1d, avg_pool2d and avg_pool3d. */
#ifndef ADZI_OPS_POOL_AVG_POOL_H
#define ADZI_OPS_POOL_AVG_POOL_H

#include "adze/ops/pool.h"
#include "ops/pool/windows.h"

/** The arguments of a call or of a module, behind the options. */
typedef struct adzi_avg_pool_arguments {
    adz_avg_pool_options o;
    adz_shape kernel_size; /* with one number or n, as the caller gave it */
} adzi_avg_pool_arguments;

enum { ADZI_AVG_POOL_FIELDS = 11, ADZI_AVG_POOL_ARGUMENTS = 6 };
extern const adz_field adzi_avg_pool_fields[ADZI_AVG_POOL_FIELDS];

/** The tables of the arguments. The first one prints lists as AvgPool1d does, the second one as
 * AvgPool2d and AvgPool3d. */
extern const adz_field adzi_avg_pool_rows[2][ADZI_AVG_POOL_ARGUMENTS];

extern const adzi_op adzi_op_avg_pool1d, adzi_op_avg_pool2d, adzi_op_avg_pool3d;

/** Reads the options into `all`, which has the kernel_size, and fills the attributes. False with
 * the error recorded under `op` if they are wrong for any x. */
bool adzi_avg_pool_read(const char *op, int n, adzi_avg_pool_arguments *all,
    const adz_avg_pool_options *options, adzi_window_attr *attr);

/** Checks and computes a call of the operator for n dimensions. */
adz_tensor *adzi_avg_pool(const adzi_op *op, adz_tensor *x, int n, adz_shape kernel_size,
    const adz_avg_pool_options *options);

adz_status adzi_avg_pool_fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);
adz_status adzi_avg_pool_expression(adz_tensor **y, adz_tensor *const *in, const void *attr);

#endif
