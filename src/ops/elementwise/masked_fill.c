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

const adzi_op adzi_op_masked_fill = {
    .name = "masked_fill", .backward = backward, ADZI_FIELDS(fields)
};

/* Computes both public calls. In place no copy of the old x is needed, because the backward does
 * not read it. The value must be an element of x's dtype: 0.5 is refused for integers. */
static adz_tensor *masked_fill(adz_tensor *x, adz_tensor *mask, double value, bool inplace)
{
    adzi_call call;
    const masked_fill_attr attr = { value };
    int rank; /* the rank and the sizes to which x and the mask broadcast */
    int64_t sizes[ADZ_MAX_RANK];
    if (!ADZI_ENTER(&call, masked_fill, x, mask) || !adzi_want_computable(&call, 0) ||
        !adzi_want_mask(&call, 1) ||
        !adzi_number_fits("masked_fill", "value", value, (adz_dtype)x->dtype) ||
        (inplace && !adzi_begin_inplace(&call, false)) ||
        !adzi_broadcast("masked_fill", &rank, sizes, x, mask)) {
        return NULL;
    }
    adz_tensor *y = adzi_new(&call, (adz_dtype)x->dtype, rank, sizes);
    if (y == NULL || !adzi_record(&call, 1, &y, &attr, sizeof attr)) {
        return NULL;
    }
    adzi_save_input(&call, 1);
    adzi_pointwise(
        KERNEL_FOR(masked_fill, y->dtype), y, 2, call.in, (double[ADZI_POINTWISE_PARAMS]){ value });
    return adzi_leave(&call, y);
}

/* The result is larger than x where the mask is: both broadcast. */
adz_tensor *adz_masked_fill(adz_tensor *x, adz_tensor *mask, double value)
{
    return masked_fill(x, mask, value, false);
}

/* In place the mask may not be larger than x, since the result must have the shape of x. */
adz_tensor *adz_masked_fill_(adz_tensor *x, adz_tensor *mask, double value)
{
    return masked_fill(x, mask, value, true);
}
