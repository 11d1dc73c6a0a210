/* An operator of a program that keeps a value for its backward: the positive part of x, and a mask
 * of bools that says where x is positive. */
#ifndef ADZE_TESTS_AUTOGRAD_OPERATOR_CALL_MASKED_H
#define ADZE_TESTS_AUTOGRAD_OPERATOR_CALL_MASKED_H

#include "adze/adze.h"

static void masked_f32(const adz_kernel_call *call, int64_t begin, int64_t end)
{
    const float *x = call->inputs[0].data;
    float *y = call->results[0].data;
    bool *mask = call->results[1].data;
    for (int64_t i = begin; i < end; ++i) {
        const float value = x[i]; /* in place, y is x */
        mask[i] = value > 0;
        y[i] = value > 0 ? value : 0;
    }
}

static adz_status masked_rule(adz_result *results, adz_tensor *const *inputs, void *attributes)
{
    (void)inputs, (void)attributes;
    results[1].dtype = ADZ_BOOL;
    return ADZ_OK;
}

static adz_status masked_backward(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *mask = adz_node_extra_at(node, 0);
    dx[0] = mask != NULL ? adz_masked_fill(dy[0], adz_logical_not(mask), 0) : NULL;
    return dx[0] != NULL ? ADZ_OK : adz_error_code();
}

static adz_status masked_expression(
    adz_tensor **results, adz_tensor *const *inputs, const void *attributes)
{
    (void)attributes;
    results[1] = adz_gt_number(inputs[0], 0);
    results[0] = adz_masked_fill(inputs[0], adz_logical_not(results[1]), 0);
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static const adz_operator masked_operator = {
    .size = sizeof(adz_operator),
    .name = "masked",
    .kernels = { [ADZ_F32] = masked_f32 },
    .units = ADZ_UNITS_ELEMENTS,
    .shape_rule = masked_rule,
    .backward = masked_backward,
    .expression = masked_expression,
    .n_kept = 1,
};

static inline adz_tensor *masked(adz_tensor *x)
{
    return adz_operator_call(&masked_operator, &x, 1, NULL, NULL);
}

#endif
