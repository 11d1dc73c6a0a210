#include "ops/math/lerp.h"

#include "ops/elementwise.h"

/* Linear interpolation, torch.lerp.
 *
 *     y      = start + weight (end - start)
 *     dstart = dy (1 - weight),   dend = dy weight,   dweight = dy (end - start)
 *
 * start, end and weight have any shapes that broadcast to y, f32 or f64. From the weight 1/2 on the
 * kernel starts at the end, end + (weight - 1) (end - start), so that the weight 1 gives exactly
 * `end`. The gradients of both ends are interpolations between dy and 0, so they have this rule as
 * well. The node saves the weight if an end wants a gradient, and both ends if the weight does. */

KERNEL_TABLE_FLOAT(lerp);

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *zero = adz_scalar(0, adz_tensor_dtype(dy[0]));
    for (int i = 0; i < 2; ++i) {
        if (adzi_needs(node, i)) {
            adz_tensor *weight = adzi_saved_input(node, 2);
            dx[i] = i == 0 ? adz_lerp(dy[0], zero, weight) : adz_lerp(zero, dy[0], weight);
            if (dx[i] == NULL) {
                return adzi_status(NULL);
            }
        }
    }
    if (adzi_needs(node, 2)) {
        dx[2] = adz_mul(dy[0], adz_sub(adzi_saved_input(node, 1), adzi_saved_input(node, 0)));
        return adzi_status(dx[2]);
    }
    return ADZ_OK;
}

/* The forward as an expression. Both choices are made before the product. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    (void)attr;
    adz_tensor *near = adz_lt_number(adz_abs(adz_detach(in[2])), 0.5);
    adz_tensor *from = adz_where(near, in[0], in[1]);
    adz_tensor *factor = adz_where(near, in[2], adz_sub_number(in[2], 1));
    y[0] = adz_add(from, adz_mul(factor, adz_sub(in[1], in[0])));
    return adzi_status(y[0]);
}

const adzi_op adzi_op_lerp = { .name = "lerp", .backward = backward, .expression = expression };

bool adzi_want_ends(const char *op, const adz_tensor *start, const adz_tensor *end)
{
    if (!adzi_check_tensor(op, "start", start) || !adzi_check_tensor(op, "end", end)) {
        return false;
    }
    const adz_tensor *t = start->dtype > ADZ_F64 ? start : end;
    if (t->dtype > ADZ_F64) {
        adzi_error(op, ADZ_ERR_DTYPE,
            "an end is %s, but both must be float32 or float64; use adz_to",
            adz_dtype_name((adz_dtype)t->dtype));
        return false;
    }
    return true;
}

adz_tensor *adz_lerp(adz_tensor *start, adz_tensor *end, adz_tensor *weight)
{
    adzi_call call;
    int rank;
    int64_t sizes[ADZ_MAX_RANK];
    if (!adzi_want_ends("lerp", start, end) || !ADZI_ENTER(&call, lerp, start, end, weight) ||
        !adzi_want_computable(&call, 2) || !adzi_promote_from(&call, 0) ||
        !adzi_broadcast_inputs(&call, &rank, sizes)) {
        return NULL;
    }
    adz_tensor *y = adzi_new(&call, (adz_dtype)call.in[0]->dtype, rank, sizes);
    if (y == NULL || !adzi_record(&call, 1, &y, NULL, 0)) {
        return NULL;
    }
    if (adzi_wants(&call, 0) || adzi_wants(&call, 1)) {
        adzi_save_input(&call, 2);
    }
    if (adzi_wants(&call, 2)) {
        adzi_save_input(&call, 0);
        adzi_save_input(&call, 1);
    }
    adzi_pointwise(KERNEL_FOR(lerp, y->dtype), y, 3, call.in, NULL);
    return adzi_leave(&call, y);
}
