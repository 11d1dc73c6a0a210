/* The common part of max_pool1d to max_pool3d. */
#ifndef ADZI_OPS_POOL_MAX_POOL_H
#define ADZI_OPS_POOL_MAX_POOL_H

#include "adze/ops/pool.h"
#include "ops/pool/windows.h"

/** The arguments of a call or of a module, behind the options. */
typedef struct adzi_max_pool_arguments {
    adz_max_pool_options o;
    adz_shape kernel_size; /* with one number or n, as the caller gave it */
} adzi_max_pool_arguments;

enum { ADZI_MAX_POOL_FIELDS = 11, ADZI_MAX_POOL_ARGUMENTS = 5 };
extern const adz_field adzi_max_pool_fields[ADZI_MAX_POOL_FIELDS];

/** The table of the arguments. */
extern const adz_field adzi_max_pool_rows[ADZI_MAX_POOL_ARGUMENTS];

extern const adzi_op adzi_op_max_pool1d, adzi_op_max_pool2d, adzi_op_max_pool3d;

/** Reads the options into `all`, which has the kernel_size, and fills the attributes. False with
 * the error recorded under `op` if they are wrong for any x. */
bool adzi_max_pool_read(const char *op, int n, adzi_max_pool_arguments *all,
    const adz_max_pool_options *options, adzi_window_attr *attr);

/** Checks and computes a call of the operator for n dimensions. */
adz_tensor *adzi_max_pool(const adzi_op *op, adz_tensor *x, int n, adz_shape kernel_size,
    const adz_max_pool_options *options, adz_tensor **indices);

adz_status adzi_max_pool_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);
adz_status adzi_max_pool_fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);

#endif
