#include "ops/op.h"
#include "ops/slices.h"

/* The logarithm of the softmax along one dimension, torch.nn.functional.log_softmax.
 *
 *     y_i  = x_i - m - log(sum_j e^(x_j - m)),   m = max_j x_j
 *     dx_i = dy_i - e^(y_i) sum_j dy_j
 *
 * i and j count the elements of one slice, the elements of x[..., D, ...] along dim. Subtracting m
 * keeps the exponentials at most 1. y has the shape of x. The node saves y, because e^y is the
 * softmax that the gradient needs. It keeps dim
 * as an attribute, counted from the first dimension. */

KERNEL_TABLE_FLOAT(log_softmax);
KERNEL_TABLE_FLOAT(log_softmax_backward);

typedef struct {
    int dim;    /* 0 .. rank-1 */
    bool inner; /* the call is a part of an expression that is being derived */
} log_softmax_attr;

/* An expression of operators, which can be differentiated again. e^y is computed as softmax(y),
 * which is equal because the e^y of a slice sum to 1. It is also softmax(x). So inside an
 * expression, where nobody else can see y, it leads to x, and y is released after the backward. */
/* Third formula: the node saves y, and the expression reads x. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const log_softmax_attr *at = adzi_attr(node, log_softmax_attr);
    const int dim = at->dim;
    adz_tensor *y = at->inner ? adzi_saved_result_as_input(node, 0, 0) : adzi_saved_result(node, 0);
    adz_tensor *p = adz_softmax(y, dim);
    dx[0] = adz_add_scaled(dy[0], adz_mul(p, adz_sum(dy[0], ADZ_DIMS(dim), ADZ_KEEPDIM)), -1);
    return adzi_status(dx[0]);
}

/* One kernel computes a slice's sum and then its gradient. dx is written over dy where the engine
 * is dy's only owner: each element of dy is read a last time just before it is written. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *y = adzi_saved_result(node, 0);
    adz_tensor *g = adzi_compact("log_softmax", dy[0]);
    dx[0] = y != NULL && g != NULL ? adzi_scratch_over("log_softmax", g, y) : NULL;
    if (dx[0] == NULL) {
        return adzi_status(NULL);
    }
    adzi_slices_run(KERNEL_FOR(log_softmax_backward, y->dtype), dx[0], 2, (adz_tensor *[]){ g, y },
        adzi_attr(node, log_softmax_attr)->dim);
    return ADZ_OK;
}

/* The forward as an expression. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    const log_softmax_attr *at = attr;
    y[0] = adz_sub(in[0], adz_logsumexp(in[0], ADZ_DIMS(at->dim), ADZ_KEEPDIM));
    return adzi_status(y[0]);
}

static const adz_field fields[] = { ADZI_FIELD(log_softmax_attr, dim),
    ADZI_FIELD_HIDDEN(log_softmax_attr, inner) };

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    log_softmax_attr *at = block;
    (void)y;
    at->dim = adzi_dim("log_softmax", in[0], at->dim);
    return adzi_form_status(at->dim >= 0);
}

/* The units of the launch are slices. */
static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const log_softmax_attr *at = block;
    adzi_slices_run(KERNEL_FOR(log_softmax, in[0]->dtype), y[0], 1, in, at->dim);
}

const adzi_op adzi_op_log_softmax = { .name = "log_softmax",
    .backward = backward,
    .fused = fused,
    ADZI_ATTRIBUTES(log_softmax_attr, fields),
    .expression = expression,
    .shape_rule = shape_rule,
    .saved_results = 1u << 0,
    .dtypes = ADZ_DTYPES_FLOATS };

adz_tensor *adz_log_softmax(adz_tensor *x, int dim)
{
    return ADZI_RUN(
        log_softmax, launch, (&(log_softmax_attr){ dim, adzi_self()->deriving != NULL }), x);
}
