#include "ops/elementwise/elementwise.h"
#include "ops/numbers.h"

/* Writes one number where a mask is true, torch.masked_fill.
 *
 *     y  = value where mask, else x
 *     dx = 0 where mask, else dy
 *
 * x has any shape, the mask is bool, and both broadcast to y, which has x's dtype. The node saves
 * the mask, which tells where x reached the result. It keeps the value as an attribute. Attention
 * masks are the usual case: scores become -inf before a softmax.
 *
 * It has its own file, because a mask is not promoted, and the value must be an element
 * of the dtype of x. */

KERNEL_TABLE_ALL(masked_fill);

typedef struct {
    double value; /* shown in messages; the backward does not read it */
} masked_fill_attr;

/* The gradient is filled and not multiplied by 0, because an infinite dy times 0 would be NaN. The
 * engine sums it over the dimensions of x that were broadcast. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    dx[0] = adz_masked_fill(dy[0], adzi_saved_input(node, 1), 0);
    return adzi_status(dx[0]);
}

static const adz_field fields[] = { ADZI_FIELD(masked_fill_attr, value) };

/* The value must be an element of x's dtype: 0.5 is refused for integers. */
static bool check(adzi_call *call, void *block)
{
    const masked_fill_attr *at = block;
    return adzi_want_mask(call, 1) &&
           adzi_number_fits("masked_fill", "value", at->value, (adz_dtype)call->in[0]->dtype);
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const masked_fill_attr *at = block;
    adzi_pointwise(KERNEL_FOR(masked_fill, y[0]->dtype), y[0], 2, in,
        (double[ADZI_POINTWISE_PARAMS]){ at->value });
}

const adzi_op adzi_op_masked_fill = { .name = "masked_fill",
    .backward = backward,
    ADZI_ATTRIBUTES(masked_fill_attr, fields),
    .saved_inputs = 1u << 1,
    .dtypes = ADZI_DTYPES_COMPUTABLE,
    .strided_inputs = 1u << 0 | 1u << 1,
    .broadcasts = true };

static const adzi_steps steps = { .check = check, .launch = launch };

/* The result is larger than x where the mask is: both broadcast. */
adz_tensor *adz_masked_fill(adz_tensor *x, adz_tensor *mask, double value)
{
    return ADZI_RUN_STEPS(&adzi_op_masked_fill, steps, &(masked_fill_attr){ value }, x, mask);
}

/* In place the mask may not be larger than x, since the result must have the shape of x. */
adz_tensor *adz_masked_fill_(adz_tensor *x, adz_tensor *mask, double value)
{
    return ADZI_RUN_STEPS_(&adzi_op_masked_fill, steps, &(masked_fill_attr){ value }, x, mask);
}
