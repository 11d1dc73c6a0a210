#include "ops/shape/triangle.h"

/* The lower triangle of matrices, torch.tril.
 *
 *     y[r][c]  = x[r][c]  if c <= r + diagonal, else 0
 *     dx[r][c] = dy[r][c] if c <= r + diagonal, else 0
 *
 * x[..., rows, columns] has any dtype. The node saves no tensor, because the diagonal alone says
 * where the zeros are. */

/* Elements that were set to 0 receive no gradient. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    dx[0] = adz_tril(dy[0], adzi_attr(node, adzi_triangle_attr)->diagonal);
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_tril = { .name = "tril",
    .backward = backward,
    ADZI_ATTRIBUTES(adzi_triangle_attr, adzi_triangle_fields),
    .shape_rule = adzi_tril_shape };

adz_tensor *adz_tril(adz_tensor *x, int64_t diagonal)
{
    return ADZI_RUN(tril, adzi_tril_launch, &(adzi_triangle_attr){ diagonal }, x);
}
