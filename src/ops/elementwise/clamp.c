#include "ops/elementwise/elementwise.h"
#include "ops/numbers.h"

#include <math.h>

/* Limits elements to a range, torch.clamp.
 *
 *     y  = min(max(x, lower), upper)
 *     dx = dy where lower <= x <= upper, else 0
 *
 * x has any shape. The bounds are numbers, and -INFINITY or INFINITY leaves a side open. Where
 * lower > upper, y is upper everywhere. The node saves x: y cannot tell an x on a bound, which
 * receives dy, from an x beyond it.
 *
 * It has its own file, because the bounds decide the dtype of y. */

KERNEL_TABLE_ALL(clamp);
KERNEL_TABLE_FLOAT(clamp_backward);

typedef struct {
    double min, max; /* the lower and the upper bound */
} clamp_attr;

/* The bounds are inside, as in PyTorch. NaN lies in no range and gets gradient 0. The gradient is
 * masked and not multiplied by 0 or 1, because an infinite dy times 0 would be NaN. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const clamp_attr *at = adzi_attr(node, clamp_attr);
    adz_tensor *x = adzi_saved_input(node, 0);
    adz_tensor *inside = adz_logical_and(adz_ge_number(x, at->min), adz_le_number(x, at->max));
    dx[0] = adz_masked_fill(dy[0], adz_logical_not(inside), 0);
    return adzi_status(dx[0]);
}

/* Runs when nobody will differentiate the backward. One kernel compares and selects, where the
 * expression makes five passes over memory. dx is written over dy where the engine is dy's only
 * owner. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const clamp_attr *at = adzi_attr(node, clamp_attr);
    adz_tensor *x = adzi_saved_input(node, 0);
    dx[0] = x != NULL ? adzi_scratch_over("clamp", dy[0], x) : NULL;
    if (dx[0] == NULL) {
        return adzi_status(NULL);
    }
    adzi_pointwise(KERNEL_FOR(clamp_backward, x->dtype), dx[0], 2, (adz_tensor *[]){ dy[0], x },
        (double[ADZI_POINTWISE_PARAMS]){ at->min, at->max });
    return ADZ_OK;
}

static const adz_field fields[] = { ADZI_FIELD(clamp_attr, min), ADZI_FIELD(clamp_attr, max) };

/* torch.result_type of x and the bounds. A fractional bound gives an integer x a float result. An
 * infinite bound does not, because INFINITY means that there is no bound. */
static adz_dtype dtype_with(adz_dtype dtype, const double *bounds)
{
    /* A float x keeps its dtype, whatever the bounds are. */
    for (int i = 0; i < 2 && !adzi_is_float(dtype); ++i) {
        if (bounds[i] != floor(bounds[i])) {
            return ADZ_F32;
        }
    }
    return dtype == ADZ_BOOL ? ADZ_I64 : dtype;
}

/* Checks the bounds of an integer result. A bound that no element can reach is allowed and has no
 * effect: a lower one below the dtype's range, an upper one above it. A lower bound above the range
 * or an upper bound below it would have to be written to y, which is an error. */
static bool bounds_fit(adz_dtype dtype, const double *bounds)
{
    /* 0 stands for a bound that needs no check, because every dtype holds it. */
    double low = bounds[0] == -INFINITY ? 0 : bounds[0] < 0 ? 0 : bounds[0];
    double high = bounds[1] == INFINITY ? 0 : bounds[1] > 0 ? 0 : bounds[1];
    return adzi_number_fits("clamp", "min", low, dtype) &&
           adzi_number_fits("clamp", "max", high, dtype);
}

/* Brings x to the dtype of y. In place the old x has been copied, because the gradient compares it
 * with the bounds. */
static bool check(adzi_call *call, void *block)
{
    const clamp_attr *at = block;
    const double bounds[] = { at->min, at->max };
    const adz_tensor *x = call->in[0];
    const adz_dtype dtype = dtype_with((adz_dtype)x->dtype, bounds);
    if (!bounds_fit(dtype, bounds)) {
        return false;
    }
    /* An integer x with a fractional bound, or a bool x. */
    if (call->inplace && dtype != x->dtype) {
        adzi_error("clamp", ADZ_ERR_DTYPE,
            "the result is %s and cannot be written to x%s, which is %s; use adz_clamp",
            adz_dtype_name(dtype), adzi_text_shape(x), adz_dtype_name((adz_dtype)x->dtype));
        return false;
    }
    return adzi_convert(call, 0, dtype);
}

/* The kernels read the bounds as p[0] and p[1], in the dtype of the result. */
static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const clamp_attr *at = block;
    adzi_pointwise(KERNEL_FOR(clamp, y[0]->dtype), y[0], 1, in,
        (double[ADZI_POINTWISE_PARAMS]){ at->min, at->max });
}

const adzi_op adzi_op_clamp = { .name = "clamp",
    .backward = backward,
    .fused = fused,
    ADZI_ATTRIBUTES(clamp_attr, fields),
    .saved_inputs = 1u << 0,
    .dtypes = ADZI_DTYPES_COMPUTABLE,
    .strided_inputs = 1u << 0 };

static const adzi_steps steps = { .check = check, .launch = launch };

/* torch.clamp with both bounds. */
adz_tensor *adz_clamp(adz_tensor *x, double min, double max)
{
    return ADZI_RUN_STEPS(&adzi_op_clamp, steps, &((clamp_attr){ min, max }), x);
}

adz_tensor *adz_clamp_(adz_tensor *x, double min, double max)
{
    return ADZI_RUN_STEPS_(&adzi_op_clamp, steps, &((clamp_attr){ min, max }), x);
}
