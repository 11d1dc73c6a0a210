/* An operator of a program with a kernel, a backward and a text for C: soft shrinkage,
 * torch.nn.functional.softshrink. docs/examples/operator.patch adds it to the library by the same
 * words, which tests/checks/contributing.py compares. */
#ifndef ADZE_TESTS_AUTOGRAD_OPERATOR_CALL_SOFTSHRINK_H
#define ADZE_TESTS_AUTOGRAD_OPERATOR_CALL_SOFTSHRINK_H

#include "adze/adze.h"

typedef struct {
    double lambda;
} softshrink_attributes;

static const adz_field softshrink_fields[] = {
    { .name = "lambda", .kind = ADZ_FIELD_F64, .offset = offsetof(softshrink_attributes, lambda) },
};

/* NaN fails both comparisons, and the last product keeps it. */
static void softshrink_f32(const adz_kernel_call *call, int64_t begin, int64_t end)
{
    const softshrink_attributes *at = call->attributes;
    const float *x = call->inputs[0].data, lambda = (float)at->lambda;
    float *y = call->results[0].data;
    for (int64_t i = begin; i < end; ++i) {
        y[i] = x[i] > lambda ? x[i] - lambda : x[i] < -lambda ? x[i] + lambda : 0 * x[i];
    }
}

static adz_status softshrink_backward(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const softshrink_attributes *at = adz_node_attributes(node);
    adz_tensor *inside = adz_le_number(adz_abs(adz_node_input_at(node, 0)), at->lambda);
    dx[0] = adz_masked_fill(dy[0], inside, 0);
    return dx[0] != NULL ? ADZ_OK : adz_error_code();
}

/* x minus x limited to -lambda .. lambda */
static adz_status softshrink_expression(
    adz_tensor **results, adz_tensor *const *inputs, const void *attributes)
{
    const double lambda = ((const softshrink_attributes *)attributes)->lambda;
    results[0] = adz_sub(inputs[0], adz_clamp(inputs[0], -lambda, lambda));
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static adz_status softshrink_rule(adz_result *results, adz_tensor *const *inputs, void *attributes)
{
    const double lambda = ((const softshrink_attributes *)attributes)->lambda;
    (void)results, (void)inputs;
    return lambda >= 0 ? ADZ_OK
                       : adz_error_set("softshrink", ADZ_ERR_ARGUMENT, "lambda is below 0, or NaN");
}

static const adz_operator softshrink_operator = {
    .size = sizeof(adz_operator),
    .name = "softshrink",
    .fields = softshrink_fields,
    .n_fields = 1,
    .attributes_size = sizeof(softshrink_attributes),
    .shape_rule = softshrink_rule,
    .dtypes = ADZ_DTYPES_FLOATS,
    .kernels = { [ADZ_F32] = softshrink_f32 },
    .units = ADZ_UNITS_ELEMENTS,
    .backward = softshrink_backward,
    .saved_inputs = 1U << 0,
    .expression = softshrink_expression,
    .c_element = "$a > $0 ? $a - $0 : $a < -$0 ? $a + $0 : 0 * $a",
};

static inline adz_tensor *softshrink(adz_tensor *x, double lambda)
{
    return adz_operator_call(&softshrink_operator, &x, 1, &(softshrink_attributes){ lambda }, NULL);
}

#endif
