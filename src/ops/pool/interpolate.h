/* The arguments of interpolate, which the module Upsample checks as well. */
#ifndef ADZI_OPS_POOL_INTERPOLATE_H
#define ADZI_OPS_POOL_INTERPOLATE_H

#include "adze/ops/pool.h"
#include "ops/pool/windows.h"

/** Reads the caller's options into `o`. False with the error recorded under
 * `op` if they, or the size given with them, are wrong for any x. */
bool adzi_interpolate_read(const char *op, const adz_shape *size,
    const adz_interpolate_options *options, adz_interpolate_options *o);

/** The axes of a call with these attributes on x[..., sizes]. Returns how many dimensions change.
 */
int adzi_interpolate_axes(int rank, const int64_t *sizes, const void *attr, adzi_axis *axes);

#endif
