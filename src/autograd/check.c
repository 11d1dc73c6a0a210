#include <math.h>

#include "autograd/op.h"

/* Walks the elements in row-major order: `index` counts like the digits of a number, and `offset`
 * follows it in memory. Anomaly mode alone uses this, so it is simple and not fast. */
bool adzi_has_nonfinite(const adz_tensor *t)
{
    if (!adzi_is_float((adz_dtype)t->dtype) || t->numel == 0) {
        return false;
    }
    int64_t index[ADZ_MAX_RANK] = { 0 }, offset = 0;
    for (int64_t i = 0; i < t->numel; ++i) {
        double x = t->dtype == ADZ_F32 ? (double)((const float *)(const void *)t->data)[offset]
                                       : ((const double *)(const void *)t->data)[offset];
        if (!isfinite(x)) {
            return true;
        }
        for (int d = t->rank - 1; d >= 0; --d) {
            offset += t->strides[d];
            if (++index[d] < t->sizes[d]) {
                break;
            }
            offset -= t->strides[d] * t->sizes[d];
            index[d] = 0;
        }
    }
    return false;
}
