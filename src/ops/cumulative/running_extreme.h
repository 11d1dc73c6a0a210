/* Where the largest or smallest element so far is: cummax, cummin and what counts on from a mark.
 */
#ifndef ADZI_OPS_CUMULATIVE_RUNNING_EXTREME_H
#define ADZI_OPS_CUMULATIVE_RUNNING_EXTREME_H

#include "ops/op.h"

/** cummax and cummin: the elements so far, and their indices along dim, which may be NULL. Of equal
 * elements the last one counts, and so does the last NaN. */
adz_tensor *adzi_extreme_so_far(
    const char *op, adz_tensor *x, int dim, bool smallest, adz_tensor **indices);

#endif
