#include "ops/op.h"
#include "ops/slices.h"

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

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    cumsum_attr *at = block;
    at->dim = adzi_dim("cumsum", in[0], at->dim);
    y->dtype = adzi_is_float(y->dtype) ? y->dtype : ADZ_I64;
    return adzi_form_status(at->dim >= 0);
}

/* Units are slices, the runs of n elements along `dim`. `reverse` makes the kernel walk each slice
 * from its last element to its first. */
static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const cumsum_attr *at = block;
    const adz_tensor *x = in[0];
    adzi_slices_args args = { .in = { x->data }, .out = y[0]->data, .reverse = at->reverse };
    const int64_t slices = adzi_slices(&args, x, at->dim);
    if (x->numel > 0) {
        adzi_launch(KERNEL_FOR(cumsum, x->dtype), adzi_slices_args, &args, slices,
            adzi_slices_grain(args.n));
    }
}

const adzi_op adzi_op_cumsum = { .name = "cumsum",
    .backward = backward,
    ADZI_ATTRIBUTES(cumsum_attr, fields),
    .shape_rule = shape_rule,
    .dtypes = ADZI_DTYPES_COMPUTABLE };

static adz_tensor *cumsum(adz_tensor *x, int dim, bool reverse)
{
    return ADZI_RUN(cumsum, launch, (&(cumsum_attr){ dim, reverse }), x);
}

/* The public call always sums from the first element on. */
adz_tensor *adz_cumsum(adz_tensor *x, int dim)
{
    return cumsum(x, dim, false);
}
