/* The operators of the table: shape rules and saved tensors are the same for all functions of one
 * kind. */
#include <math.h>

#include "ops/elementwise.h"

/* 1 - x^2, whose digits are right also near 1. (1 - x)(1 + x) has them, and its own derivative
 * cancels near 0. So it corrects the value alone. */
static adz_tensor *less_square(adz_tensor *x)
{
    adz_tensor *z = adz_detach(x), *exact = adz_mul(adz_number_sub(1, z), adz_add_number(z, 1));
    if (!adz_is_grad_enabled()) {
        return exact;
    }
    adz_tensor *square = adz_number_sub(1, adz_mul(x, x));
    adz_tensor *lost = adz_sub(exact, adz_detach(square));
    return adz_add(square, adz_masked_fill(lost, adz_isnan(lost), 0)); /* NaN for infinite x */
}

static adz_tensor *is_infinite(adz_tensor *x)
{
    return adz_eq_number(adz_abs(x), INFINITY);
}

/* a - b, and 0 between equal infinities. */
static adz_tensor *difference(adz_tensor *a, adz_tensor *b)
{
    return adz_masked_fill(adz_sub(a, b), adz_logical_and(adz_eq(a, b), is_infinite(a)), 0);
}

/* sqrt(x^2 + 1) */
static adz_tensor *length_with_one(adz_tensor *x)
{
    return adz_hypot(x, adz_scalar(1, adz_tensor_dtype(x)));
}

/* The gradient of atan2 by a, or by b. The divisions by the length come one after the other,
 * because the square of the length may overflow. The gradient is 0 where both are 0, as in PyTorch,
 * and where one is infinite, where PyTorch gives NaN. There the formula gets the point (1, 0). */
static adz_tensor *angle_gradient(adz_tensor *dy, adz_tensor *a, adz_tensor *b, bool by_b)
{
    adz_tensor *origin = adz_logical_and(adz_eq_number(a, 0), adz_eq_number(b, 0));
    adz_tensor *far = adz_logical_or(is_infinite(a), is_infinite(b));
    adz_tensor *none = adz_logical_or(origin, far);
    a = adz_masked_fill(a, none, 0);
    b = adz_masked_fill(b, none, 1);
    adz_tensor *length = adz_hypot(a, b), *other = by_b ? adz_neg(a) : b;
    return adz_div(adz_mul(adz_masked_fill(dy, none, 0), adz_div(other, length)), length);
}

/* True also for -0, whose reciprocal is below 0. */
static adz_tensor *is_negative(adz_tensor *x)
{
    return adz_logical_or(adz_lt_number(x, 0), adz_lt_number(adz_reciprocal(x), 0));
}

#define READ_x  adzi_saved_input
#define READ_y  adzi_saved_result
#define SAVES_x ADZI_SAVES_X
#define SAVES_y ADZI_SAVES_Y

/* y = f(x): the operator with its formulas, and the public function. */
#define UNARY(fn, saved, ...)                                             \
    KERNEL_TABLE_FLOAT(fn);                                               \
    const adzi_op adzi_op_##fn = { .name = #fn, __VA_ARGS__ };            \
    adz_tensor *adz_##fn(adz_tensor *x)                                   \
    {                                                                     \
        return adzi_unary(&adzi_op_##fn, x, fn##_kernels, SAVES_##saved); \
    }

#define BINARY(fn, ...)                                        \
    KERNEL_TABLE_FLOAT(fn);                                    \
    const adzi_op adzi_op_##fn = { .name = #fn, __VA_ARGS__ }; \
    adz_tensor *adz_##fn(adz_tensor *a, adz_tensor *b)         \
    {                                                          \
        return adzi_binary(&adzi_op_##fn, a, b, fn##_kernels); \
    }

#define FUNCTION(fn, saved, kernel, gradient, ...) FUNCTION_BY_LOOP(fn, saved, gradient, )
#define GRADIENT(fn, saved, gradient)                                                           \
    static adz_status fn##_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *given) \
    {                                                                                           \
        adz_tensor *dy = given[0], *saved = READ_##saved(node, 0);                              \
        dx[0] = gradient;                                                                       \
        return adzi_status(dx[0]);                                                              \
    }

#define FUNCTION_BY_LOOP(fn, saved, gradient, ...) \
    GRADIENT(fn, saved, gradient)                  \
    UNARY(fn, saved, .backward = fn##_backward)

#define FUNCTION_EXPRESSED(fn, kernel, formula, gradient, ...) \
    GRADIENT(fn, x, gradient)                                  \
    EXPRESSION(fn, formula)                                    \
    UNARY(fn, x, .backward = fn##_backward, .expression = fn##_expression)

#define GRADIENTS2(fn, gradient_a, gradient_b)                                                     \
    static adz_status fn##_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *given)    \
    {                                                                                              \
        adz_tensor *dy = given[0], *a = adzi_saved_input(node, 0), *b = adzi_saved_input(node, 1); \
        dx[0] = adzi_needs(node, 0) ? gradient_a : NULL;                                           \
        if (dx[0] == NULL && adzi_needs(node, 0)) {                                                \
            return adzi_status(NULL);                                                              \
        }                                                                                          \
        dx[1] = adzi_needs(node, 1) ? gradient_b : NULL;                                           \
        return adzi_needs(node, 1) ? adzi_status(dx[1]) : ADZ_OK;                                  \
    }

#define FUNCTION2(fn, kernel, gradient_a, gradient_b, ...) \
    GRADIENTS2(fn, gradient_a, gradient_b)                 \
    BINARY(fn, .backward = fn##_backward)

#define FUNCTION2_EXPRESSED(fn, kernel, formula, gradient_a, gradient_b, ...) \
    GRADIENTS2(fn, gradient_a, gradient_b)                                    \
    EXPRESSION2(fn, formula)                                                  \
    BINARY(fn, .backward = fn##_backward, .expression = fn##_expression)

#define EXPRESSION(fn, formula)                                                                \
    static adz_status fn##_expression(adz_tensor **y, adz_tensor *const *in, const void *attr) \
    {                                                                                          \
        adz_tensor *x = in[0];                                                                 \
        (void)attr;                                                                            \
        y[0] = formula;                                                                        \
        return adzi_status(y[0]);                                                              \
    }

#define DERIVED(fn, kernel, formula, ...) \
    EXPRESSION(fn, formula)               \
    UNARY(fn, x, .expression = fn##_expression)

#define EXPRESSION2(fn, formula)                                                               \
    static adz_status fn##_expression(adz_tensor **y, adz_tensor *const *in, const void *attr) \
    {                                                                                          \
        adz_tensor *a = in[0], *b = in[1];                                                     \
        (void)attr;                                                                            \
        y[0] = formula;                                                                        \
        return adzi_status(y[0]);                                                              \
    }

#define DERIVED2(fn, kernel, formula, ...) \
    EXPRESSION2(fn, formula)               \
    BINARY(fn, .expression = fn##_expression)

#define STEPS(fn, kernel, kernel_of_integers, instead, ...)                        \
    KERNEL_TABLE_ALL(fn);                                                          \
    const adzi_op adzi_op_##fn = { .name = #fn, .backward = adzi_backward_zeros }; \
    adz_tensor *adz_##fn(adz_tensor *x)                                            \
    {                                                                              \
        return adzi_unary_kept(&adzi_op_##fn, x, fn##_kernels, instead);           \
    }

#include "ops/functions/table.h"
