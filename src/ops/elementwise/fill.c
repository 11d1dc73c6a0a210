#include "ops/op.h"
#include "ops/numbers.h"

/* Writes one number to every element of x, in place: torch.Tensor.fill_.
 *
 *     x  = value
 *     dx = 0
 *
 * x has any shape and dtype. The old values do not reach the result, so their gradient is zero and
 * the node saves nothing. The call is recorded all the same: the tape must know that x no longer
 * is the result of the operator that computed it before.
 *
 * It has its own file, because no element is read. */

typedef struct {
    double value; /* shown in messages; the backward does not read it */
} fill_attr;

/* A tensor of zeros, as in PyTorch: what led to the old x still receives a gradient. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)node;
    dx[0] = adz_zeros_like(dy[0]);
    return adzi_status(dx[0]);
}

static const adz_field fields[] = { ADZI_FIELD(fill_attr, value) };

const adzi_op adzi_op_fill = { .name = "fill", .backward = backward, ADZI_FIELDS(fields) };

/* The number must be an element of x's dtype: an integer tensor takes whole numbers in its range.
 */
adz_tensor *adz_fill_(adz_tensor *x, double value)
{
    adzi_call call;
    const fill_attr attr = { value };
    if (!ADZI_ENTER(&call, fill, x) ||
        !adzi_number_fits("fill", "value", value, (adz_dtype)x->dtype) ||
        !adzi_begin_inplace(&call, false) || !adzi_record(&call, 1, &x, &attr, sizeof attr)) {
        return NULL;
    }
    adzi_fill(x, value);
    return adzi_leave(&call, x);
}

adz_tensor *adz_zero_(adz_tensor *x)
{
    return adz_fill_(x, 0);
}
