#ifndef ADZI_OPS_LINALG_DECOMPOSITION_SINGULAR_H
#define ADZI_OPS_LINALG_DECOMPOSITION_SINGULAR_H

#include "ops/op.h"

/** What part of the largest singular value counts as 0 by default: max(m, n) times the rounding
 * error of the dtype. */
static inline double adzi_default_rtol(const adz_tensor *a)
{
    const int64_t m = a->sizes[a->rank - 2], n = a->sizes[a->rank - 1];
    return (double)(m > n ? m : n) * (a->dtype == ADZ_F32 ? 0x1p-23 : 0x1p-52);
}

/** Which of the singular values s of a are above rtol times the largest one, as bool. A negative
 * rtol stands for adzi_default_rtol(). */
adz_tensor *adzi_large_values(const char *op, adz_tensor *a, adz_tensor *s, double rtol);

#endif
