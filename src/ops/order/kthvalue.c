#include "ops/op.h"

/* The k-th smallest element of each slice, torch.kthvalue. A composition: the last of the k
 * smallest elements, or of the n - k + 1 largest ones if these are fewer. */
adz_tensor *adz_kthvalue(adz_tensor *x, int64_t k, int dim, bool keepdim, adz_tensor **indices)
{
    ADZI_COMPOSED();
    static const char op[] = "kthvalue";
    if (indices != NULL) {
        *indices = NULL;
    }
    if (!adzi_check_tensor(op, "x", x)) {
        return NULL;
    }
    const int d = adzi_dim(op, x, dim);
    if (d < 0) {
        return NULL;
    }
    const int64_t n = x->rank > 0 ? x->sizes[d] : 1;
    if (k < 1 || k > n) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT,
            "k is %lld, but must be from 1 to the size %lld of dimension %d of x%s", (long long)k,
            (long long)n, d, adzi_text_shape(x));
    }
    /* The search costs less the fewer elements it keeps. */
    const bool largest = k > n / 2 + 1;
    const int64_t count = largest ? n - k + 1 : k;
    adz_tensor *found = NULL, *y = adz_topk(x, count, d, largest, &found);
    /* topk sorts, so the wanted element is its last one. A scalar has no dimension to narrow. */
    if (x->rank > 0) {
        y = adz_narrow(y, d, count - 1, 1);
        found = adz_narrow(found, d, count - 1, 1);
        y = keepdim ? y : adz_squeeze(y, d);
        found = keepdim ? found : adz_squeeze(found, d);
    }
    if (indices != NULL) {
        *indices = y != NULL ? found : NULL;
    }
    return found != NULL ? y : NULL;
}
