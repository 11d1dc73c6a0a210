#include "ops/op.h"
#include "ops/index/indices.h"
#include "ops/index/nonzero.h"

/* How often each number occurs, or the sum of its weights, torch.bincount.
 *
 *     y[v] = the number of i with x[i] = v, or the sum of weights[i] over them
 *
 * A composition: scatter_add counts. The host reads the largest number, because it makes the
 * result. So a plan or an export cannot contain the call. */

static bool check(const adz_tensor *x, const adz_tensor *weights, int64_t minlength)
{
    static const char op[] = "bincount";
    if (!adzi_check_tensor(op, "x", x) ||
        (!adzi_is_none(weights) && !adzi_check_tensor(op, "weights", weights))) {
        return false;
    }
    if (x->dtype != ADZ_I64 && x->dtype != ADZ_I32 && x->dtype != ADZ_U8) {
        adzi_error(op, ADZ_ERR_DTYPE, "x is %s, but must be int64, int32 or uint8; use adz_to",
            adz_dtype_name((adz_dtype)x->dtype));
        return false;
    }
    if (x->rank != 1) {
        adzi_error(op, ADZ_ERR_SHAPE, "x%s is no vector; flatten it", adzi_text_shape(x));
        return false;
    }
    if (!adzi_is_none(weights) && !adzi_same_sizes(x, weights)) {
        adzi_error(op, ADZ_ERR_SHAPE, "weights%s do not have the shape of x%s",
            adzi_text_shape(weights), adzi_text_shape(x));
        return false;
    }
    if (!adzi_is_none(weights) && adzi_is_half((adz_dtype)weights->dtype)) {
        adzi_error(op, ADZ_ERR_DTYPE, "weights are %s, which is for storage; convert with adz_to",
            adz_dtype_name((adz_dtype)weights->dtype));
        return false;
    }
    if (minlength < 0) {
        adzi_error(
            op, ADZ_ERR_ARGUMENT, "minlength is %lld, but must be 0 or more", (long long)minlength);
        return false;
    }
    return adzi_elements_decide(op, x);
}

/* The size of the result, or -1 with the error recorded. */
static int64_t length(const adz_tensor *x, int64_t minlength)
{
    int64_t n = minlength;
    for (int64_t i = 0; i < x->numel; ++i) {
        const int64_t v = adzi_index_data(x)[i];
        if (v < 0 || v == INT64_MAX) {
            adzi_error("bincount", ADZ_ERR_INDEX, "x[%lld] is %lld, but must be from 0 to 2^63 - 2",
                (long long)i, (long long)v);
            return -1;
        }
        n = v >= n ? v + 1 : n;
    }
    return n;
}

/* torch.bincount. The length of the result depends on the elements of x. */
adz_tensor *adz_bincount(adz_tensor *x, adz_tensor *weights, int64_t minlength)
{
    ADZI_COMPOSED();
    if (!check(x, weights, minlength)) {
        return NULL;
    }
    adz_tensor *numbers = adz_contiguous(adz_to(x, ADZ_I64));
    const int64_t n = numbers != NULL ? length(numbers, minlength) : -1;
    if (n < 0) {
        return NULL;
    }
    adz_tensor *terms = weights;
    if (adzi_is_none(weights)) {
        terms = adz_expand(adz_scalar(1, ADZ_I64), ADZ_SHAPE(x->sizes[0]));
    } else if (weights->dtype != ADZ_F32) {
        terms = adz_to(weights, ADZ_F64); /* integers as well, as in PyTorch */
    }
    if (terms == NULL) {
        return NULL;
    }
    adz_tensor *zeros = adz_zeros(ADZ_SHAPE(n), (adz_dtype)terms->dtype);
    return adz_scatter_add(zeros, 0, numbers, terms);
}
