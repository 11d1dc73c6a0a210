#include "autograd/ops/reduction/attr.h"
#include "autograd/ops/reduction/sum.h"

#include <math.h>

/* dx = dy / n, repeated over what was averaged. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    unsigned mask = adzi_attr(node, adzi_reduce_attr)->mask;
    adz_shape shape = adzi_input_shape(node, 0);
    adz_tensor *each = adz_mul_number(adz_reshape(dy[0], adzi_kept_shape(shape, mask)),
        1.0 / (double)adzi_reduced_count(shape, mask));
    dx[0] = adz_expand(each, shape);
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_mean = {
    .name = "mean", .backward = backward, ADZI_FIELDS(adzi_reduce_fields)
};

adz_tensor *adz_mean(adz_tensor *x, adz_dims dims, bool keepdim)
{
    adzi_call call;
    adzi_reduce_attr attr = { .keepdim = keepdim };
    if (!ADZI_ENTER(&call, mean, x) || !adzi_want_float(&call, 0) ||
        !adzi_dims_mask("mean", x, dims, &attr.mask)) {
        return NULL;
    }
    int64_t sizes[ADZ_MAX_RANK];
    int rank = adzi_reduced_sizes(x, attr.mask, keepdim, sizes);
    adz_tensor *y = adzi_new(&call, (adz_dtype)x->dtype, rank, sizes);
    if (y == NULL || !adzi_record(&call, 1, &y, &attr, sizeof attr)) {
        return NULL;
    }
    int64_t n = adzi_reduced_count(adz_shape_of(x->rank, x->sizes), attr.mask);
    if (n == 0) {
        adzi_fill(y, NAN);
    } else {
        adzi_sum_into(y, x, attr.mask, 1.0 / (double)n);
    }
    return adzi_leave(&call, y);
}
