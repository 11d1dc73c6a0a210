/* The common part of max_pool1d and max_pool2d. */
#ifndef ADZI_OPS_POOL_MAX_POOL_H
#define ADZI_OPS_POOL_MAX_POOL_H

#include "ops/pool/windows.h"

enum { ADZI_MAX_POOL_FIELDS = 11 };
extern const adz_field adzi_max_pool_fields[ADZI_MAX_POOL_FIELDS];

/** Reads the arguments of a call or of a module into attributes. False with the error recorded
 * under `op` if they are wrong for any x. */
bool adzi_max_pool_read(const char *op, int n, adz_shape kernel_size,
    const adz_max_pool_options *options, adzi_window_attr *attr);

/** Checks and computes a call of either operator, whose windows have n dimensions. */
adz_tensor *adzi_max_pool(const adzi_op *op, adz_tensor *x, int n, adz_shape kernel_size,
    const adz_max_pool_options *options, adz_tensor **indices);

adz_status adzi_max_pool_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);
adz_status adzi_max_pool_fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);

#endif
