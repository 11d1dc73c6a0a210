/* An operator of a program with a kernel, a backward and a text for C: the inverse square root unit
 * of Carlile et al. docs/examples/operator.patch adds it to the library by the same words, which
 * tests/checks/contributing.py compares. */
#ifndef ADZE_TESTS_AUTOGRAD_OPERATOR_CALL_ISRU_H
#define ADZE_TESTS_AUTOGRAD_OPERATOR_CALL_ISRU_H

#include <math.h>

#include "adze/adze.h"

typedef struct {
    double alpha;
} isru_attributes;

static const adz_field isru_fields[] = {
    { .name = "alpha", .kind = ADZ_FIELD_F64, .offset = offsetof(isru_attributes, alpha) },
};

static void isru_f32(const adz_kernel_call *call, int64_t begin, int64_t end)
{
    const isru_attributes *at = call->attributes;
    const float *x = call->inputs[0].data, alpha = (float)at->alpha;
    float *y = call->results[0].data;
    for (int64_t i = begin; i < end; ++i) {
        y[i] = x[i] / sqrtf(1 + alpha * x[i] * x[i]);
    }
}

/* 1 / sqrt(1 + alpha x^2) */
static adz_tensor *isru_factor(adz_tensor *x, double alpha)
{
    return adz_rsqrt(adz_add_number(adz_mul_number(adz_square(x), alpha), 1));
}

static adz_status isru_backward(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const isru_attributes *at = adz_node_attributes(node);
    adz_tensor *factor = isru_factor(adz_node_input_at(node, 0), at->alpha);
    dx[0] = adz_mul(dy[0], adz_pow_number(factor, 3));
    return dx[0] != NULL ? ADZ_OK : adz_error_code();
}

static adz_status isru_expression(
    adz_tensor **results, adz_tensor *const *inputs, const void *attributes)
{
    const double alpha = ((const isru_attributes *)attributes)->alpha;
    results[0] = adz_mul(inputs[0], isru_factor(inputs[0], alpha));
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static adz_status isru_rule(adz_result *results, adz_tensor *const *inputs, void *attributes)
{
    const double alpha = ((const isru_attributes *)attributes)->alpha;
    (void)results, (void)inputs;
    return alpha >= 0 ? ADZ_OK
                      : adz_error_set("isru", ADZ_ERR_ARGUMENT, "alpha is below 0, or NaN");
}

static const adz_operator isru_operator = {
    .size = sizeof(adz_operator),
    .name = "isru",
    .fields = isru_fields,
    .n_fields = 1,
    .attributes_size = sizeof(isru_attributes),
    .shape_rule = isru_rule,
    .dtypes = ADZ_DTYPES_FLOATS,
    .kernels = { [ADZ_F32] = isru_f32 },
    .units = ADZ_UNITS_ELEMENTS,
    .backward = isru_backward,
    .saved_inputs = 1U << 0,
    .expression = isru_expression,
    .c_element = "$a / @sqrt(1 + $0 * $a * $a)",
};

static inline adz_tensor *isru(adz_tensor *x, double alpha)
{
    return adz_operator_call(&isru_operator, &x, 1, &(isru_attributes){ alpha }, NULL);
}

#endif
