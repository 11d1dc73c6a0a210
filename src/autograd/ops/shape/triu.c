#include "autograd/ops/shape/triangle.h"

/* dx = dy, with the same zeros. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    dx[0] = adz_triu(dy[0], adzi_attr(node, adzi_triangle_attr)->diagonal);
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_triu = {
    .name = "triu", .backward = backward, ADZI_FIELDS(adzi_triangle_fields)
};

adz_tensor *adz_triu(adz_tensor *x, int64_t diagonal)
{
    return adzi_triangle(&adzi_op_triu, x, diagonal, false);
}
