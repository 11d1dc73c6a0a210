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

/* The number must be an element of x's dtype: an integer tensor takes whole numbers in its range.
 */
static bool check(adzi_call *call, void *block)
{
    const fill_attr *at = block;
    return adzi_number_fits("fill", "value", at->value, (adz_dtype)call->in[0]->dtype);
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const fill_attr *at = block;
    (void)in;
    adzi_fill(y[0], at->value);
}

const adzi_op adzi_op_fill = { .name = "fill",
    .backward = backward,
    ADZI_ATTRIBUTES(fill_attr, fields),
    .strided_inputs = 1u << 0 };

adz_tensor *adz_fill_(adz_tensor *x, double value)
{
    static const adzi_steps steps = { .check = check, .launch = launch };
    return ADZI_RUN_STEPS_(&adzi_op_fill, steps, &(fill_attr){ value }, x);
}

/* A fill with 0, torch.Tensor.zero_. */
adz_tensor *adz_zero_(adz_tensor *x)
{
    ADZI_COMPOSED();
    return adz_fill_(x, 0);
}
