#include "autograd/op.h"

/* The product along one dimension, halved until one element is left: n - 1 multiplications in a
 * tree of log2 n operators, whose gradients are right where elements are 0, to any order. */
static adz_tensor *along(adz_tensor *x, int dim)
{
    while (x != NULL && x->sizes[dim] > 1) {
        int64_t n = x->sizes[dim], half = n / 2;
        adz_tensor *y =
            adz_mul(adz_slice(x, dim, 0, half, 1), adz_slice(x, dim, half, 2 * half, 1));
        if (n % 2 != 0) {
            adz_tensor *parts[2] = { y, adz_slice(x, dim, n - 1, n, 1) };
            y = adz_cat(parts, 2, dim);
        }
        x = y;
    }
    return x;
}

/* The product of nothing is 1: one more than the sum of nothing, which keeps the way to x. */
static adz_tensor *ones(adz_tensor *x, adz_dims dims)
{
    return adz_add_number(adz_sum(x, dims, ADZ_KEEPDIM), 1);
}

adz_tensor *adz_prod(adz_tensor *x, adz_dims dims, bool keepdim)
{
    unsigned mask;
    if (!adzi_check_tensor("prod", "x", x) || !adzi_dims_mask("prod", x, dims, &mask)) {
        return NULL;
    }
    if (x->dtype == ADZ_F16 || x->dtype == ADZ_BF16) {
        return adzi_fail("prod", ADZ_ERR_DTYPE, "%s is for storage only; convert with adz_to",
            adz_dtype_name((adz_dtype)x->dtype));
    }
    int64_t sizes[ADZ_MAX_RANK];
    int rank = adzi_reduced_sizes(x, mask, keepdim, sizes);
    adz_tensor *y = adzi_is_float((adz_dtype)x->dtype) ? x : adz_to(x, ADZ_I64);
    bool empty = false;
    for (int d = 0; d < x->rank; ++d) {
        empty = empty || ((mask & (1u << d)) && x->sizes[d] == 0);
    }
    y = empty && y != NULL ? ones(y, dims) : y;
    for (int d = 0; d < x->rank && !empty; ++d) {
        y = mask & (1u << d) ? along(y, d) : y;
    }
    return y == x ? adz_clone(adz_reshape(x, adz_shape_of(rank, sizes)))
                  : adz_reshape(y, adz_shape_of(rank, sizes));
}
