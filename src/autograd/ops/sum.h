/* Sums that other operators share. */
#ifndef ADZI_AUTOGRAD_OPS_SUM_H
#define ADZI_AUTOGRAD_OPS_SUM_H

#include "autograd/ops/reduce.h"

/** y = scale * sum of x over the dimensions in `mask`, without the tape. Cannot fail. */
void adzi_sum_into(adz_tensor *y, const adz_tensor *x, unsigned mask, double scale);

/** y[h] = the sum of the n rows of contiguous g[n, h]. Cannot fail. */
void adzi_sum_rows(adz_tensor *y, const adz_tensor *g, int64_t n);

#endif
