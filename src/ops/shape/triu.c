#include "ops/shape/triangle.h"

/* The upper triangle of matrices, torch.triu.
 *
 *     y[r][c]  = x[r][c]  if c >= r + diagonal, else 0
 *     dx[r][c] = dy[r][c] if c >= r + diagonal, else 0
 *
 * x[..., rows, columns] has any dtype. The node saves no tensor, because the diagonal alone says
 * where the zeros are. */

/* Elements that were set to 0 receive no gradient. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    dx[0] = adz_triu(dy[0], adzi_attr(node, adzi_triangle_attr)->diagonal);
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_triu = { .name = "triu",
    .backward = backward,
    ADZI_ATTRIBUTES(adzi_triangle_attr, adzi_triangle_fields),
    .shape_rule = adzi_triu_shape };

adz_tensor *adz_triu(adz_tensor *x, int64_t diagonal)
{
    return ADZI_RUN(triu, adzi_triu_launch, &(adzi_triangle_attr){ diagonal }, x);
}
