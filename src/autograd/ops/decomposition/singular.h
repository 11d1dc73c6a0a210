#ifndef ADZI_AUTOGRAD_OPS_DECOMPOSITION_SINGULAR_H
#define ADZI_AUTOGRAD_OPS_DECOMPOSITION_SINGULAR_H

#include "autograd/op.h"

/** Which of the singular values s of a are above rtol times the largest one, as bool. A negative
 * rtol stands for max(m, n) times the rounding error of the dtype. */
adz_tensor *adzi_large_values(const char *op, adz_tensor *a, adz_tensor *s, double rtol);

#endif
