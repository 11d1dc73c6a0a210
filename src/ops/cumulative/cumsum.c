#include "ops/op.h"
#include "ops/lanes.h"

/* Running sums along one dimension, torch.cumsum.
 *
 *     y_i  = x_0 + ... + x_i          (reverse: x_i + ... + x_{n-1})
 *     dx_i = dy_i + ... + dy_{n-1}    (reverse: dy_0 + ... + dy_i)
 *
 * y has the shape of x. Integers are summed in i64 and bool is counted, so y is then i64. The node
 * saves no tensor, because the derivative is linear in dy alone. */

KERNEL_TABLE_ALL(cumsum);

/* The attributes of a node; the sum of a backward has them, too. */
typedef struct {
    int dim;
    bool reverse; /* sums from the last element to the first; only a backward asks for it */
} cumsum_attr;

static adz_tensor *cumsum(adz_tensor *x, int dim, bool reverse);

/* Element j of x is part of every y_i from j on, so dx is a running sum of dy from the other end.
 * It runs through this operator and can be differentiated again. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const cumsum_attr *at = adzi_attr(node, cumsum_attr);
    dx[0] = cumsum(dy[0], at->dim, !at->reverse);
    return adzi_status(dx[0]);
}

static const adz_field fields[] = { ADZI_FIELD(cumsum_attr, dim),
    ADZI_FIELD(cumsum_attr, reverse) };

const adzi_op adzi_op_cumsum = { .name = "cumsum", .backward = backward, ADZI_FIELDS(fields) };

/* Computes both directions. Units of the launch are lanes, the runs of n elements along `dim`. The
 * kernel reads x as contiguous [outer, n, inner], so other layouts are copied first. */
static adz_tensor *cumsum(adz_tensor *x, int dim, bool reverse)
{
    adzi_call call;
    cumsum_attr attr = { .reverse = reverse };
    if (!ADZI_ENTER(&call, cumsum, x) || !adzi_want_computable(&call, 0) ||
        (attr.dim = adzi_dim("cumsum", x, dim)) < 0) {
        return NULL;
    }
    adz_dtype dtype = (adz_dtype)x->dtype;
    adz_tensor *from = adzi_compact("cumsum", x);
    adz_tensor *y = from != NULL
                        ? adzi_new(&call, adzi_is_float(dtype) ? dtype : ADZ_I64, x->rank, x->sizes)
                        : NULL;
    if (y == NULL || !adzi_record(&call, 1, &y, &attr, sizeof attr)) {
        return NULL;
    }
    /* `reverse` makes the kernel walk each lane from its last element to its first. */
    if (x->numel > 0) {
        adzi_lanes_args args = { .in = { from->data }, .out = y->data, .reverse = reverse };
        int64_t lanes = adzi_lanes(&args, from, attr.dim);
        adzi_launch(KERNEL_FOR(cumsum, dtype), &args, lanes, adzi_lanes_grain(args.n));
    }
    return adzi_leave(&call, y);
}

/* The public call always sums from the first element on. */
adz_tensor *adz_cumsum(adz_tensor *x, int dim)
{
    return cumsum(x, dim, false);
}
