#include "autograd/op.h"
#include "autograd/ops/lanes.h"

KERNEL_TABLE_FLOAT(softmax);
KERNEL_TABLE_FLOAT(softmax_backward);

typedef struct {
    int dim;
} softmax_attr;

/* dx = y (dy - <dy, y>) along the dimension: moving all of a lane's logits by the same amount
 * leaves y as it is, so that part of dy carries no gradient. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *y = adzi_saved_result(node, 0);
    adz_dims dims = ADZ_DIMS(adzi_attr(node, softmax_attr)->dim);
    adz_tensor *dot = adz_sum(adz_mul(dy[0], y), dims, ADZ_KEEPDIM);
    dx[0] = adz_mul(y, adz_add_scaled(dy[0], dot, -1));
    return adzi_status(dx[0]);
}

static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *y = adzi_saved_result(node, 0);
    adz_tensor *g = adzi_compact("softmax", dy[0]);
    dx[0] = y != NULL && g != NULL ? adzi_scratch_over("softmax", g, y) : NULL;
    if (dx[0] == NULL) {
        return adzi_status(NULL);
    }
    adzi_lanes_run(KERNEL_FOR(softmax_backward, y->dtype), dx[0], 2, (adz_tensor *[]){ g, y },
        adzi_attr(node, softmax_attr)->dim);
    return ADZ_OK;
}

static const adz_field fields[] = { ADZI_FIELD(softmax_attr, dim) };

const adzi_op adzi_op_softmax = {
    .name = "softmax", .backward = backward, .fused = fused, ADZI_FIELDS(fields)
};

adz_tensor *adz_softmax(adz_tensor *x, int dim)
{
    adzi_call call;
    if (!ADZI_ENTER(&call, softmax, x) || !adzi_want_float(&call, 0)) {
        return NULL;
    }
    softmax_attr attr = { adzi_dim("softmax", x, dim) };
    adz_tensor *from = attr.dim >= 0 ? adzi_compact("softmax", x) : NULL;
    adz_tensor *y = from != NULL ? adzi_new_like(&call, x) : NULL;
    if (y == NULL || !adzi_record(&call, 1, &y, &attr, sizeof attr)) {
        return NULL;
    }
    adzi_save_result(&call, 0, y);
    adzi_lanes_run(KERNEL_FOR(softmax, x->dtype), y, 1, &from, attr.dim);
    return adzi_leave(&call, y);
}
