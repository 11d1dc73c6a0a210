/* The operators of the table: shape rules and saved tensors are the same for all functions of one
 * kind. */
#include "autograd/ops/elementwise.h"

/* dy / (a^2 + b^2), and 0 where both are 0. */
static adz_tensor *over_squares(adz_tensor *dy, adz_tensor *a, adz_tensor *b)
{
    adz_tensor *square = adz_add(adz_mul(a, a), adz_mul(b, b));
    adz_tensor *none = adz_eq_number(square, 0);
    return adz_div(adz_masked_fill(dy, none, 0), adz_masked_fill(square, none, 1));
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

/* y = f(x): the operator with one formula, and the public function. */
#define UNARY(fn, saved, formula)                                            \
    KERNEL_TABLE_FLOAT(fn);                                                  \
    const adzi_op adzi_op_##fn = { .name = #fn, .formula = fn##_##formula }; \
    adz_tensor *adz_##fn(adz_tensor *x)                                      \
    {                                                                        \
        return adzi_unary(&adzi_op_##fn, x, fn##_kernels, SAVES_##saved);    \
    }

#define BINARY(fn, formula)                                                  \
    KERNEL_TABLE_FLOAT(fn);                                                  \
    const adzi_op adzi_op_##fn = { .name = #fn, .formula = fn##_##formula }; \
    adz_tensor *adz_##fn(adz_tensor *a, adz_tensor *b)                       \
    {                                                                        \
        return adzi_binary(&adzi_op_##fn, a, b, fn##_kernels);               \
    }

#define FUNCTION(fn, saved, kernel, gradient, ...) FUNCTION_BY_LOOP(fn, saved, gradient, )
#define FUNCTION_BY_LOOP(fn, saved, gradient, ...)                                              \
    static adz_status fn##_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *given) \
    {                                                                                           \
        adz_tensor *dy = given[0], *saved = READ_##saved(node, 0);                              \
        dx[0] = gradient;                                                                       \
        return adzi_status(dx[0]);                                                              \
    }                                                                                           \
    UNARY(fn, saved, backward)

#define FUNCTION2(fn, kernel, gradient_a, gradient_b, ...)                                         \
    static adz_status fn##_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *given)    \
    {                                                                                              \
        adz_tensor *dy = given[0], *a = adzi_saved_input(node, 0), *b = adzi_saved_input(node, 1); \
        dx[0] = adzi_needs(node, 0) ? gradient_a : NULL;                                           \
        if (dx[0] == NULL && adzi_needs(node, 0)) {                                                \
            return adzi_status(NULL);                                                              \
        }                                                                                          \
        dx[1] = adzi_needs(node, 1) ? gradient_b : NULL;                                           \
        return adzi_needs(node, 1) ? adzi_status(dx[1]) : ADZ_OK;                                  \
    }                                                                                              \
    BINARY(fn, backward)

#define DERIVED(fn, kernel, formula, ...)                                                      \
    static adz_status fn##_expression(adz_tensor **y, adz_tensor *const *in, const void *attr) \
    {                                                                                          \
        adz_tensor *x = in[0];                                                                 \
        (void)attr;                                                                            \
        y[0] = formula;                                                                        \
        return adzi_status(y[0]);                                                              \
    }                                                                                          \
    UNARY(fn, x, expression)

#define DERIVED2(fn, kernel, formula, ...)                                                     \
    static adz_status fn##_expression(adz_tensor **y, adz_tensor *const *in, const void *attr) \
    {                                                                                          \
        adz_tensor *a = in[0], *b = in[1];                                                     \
        (void)attr;                                                                            \
        y[0] = formula;                                                                        \
        return adzi_status(y[0]);                                                              \
    }                                                                                          \
    BINARY(fn, expression)

#define STEPS(fn, kernel, kernel_of_integers, instead, ...)                        \
    KERNEL_TABLE_ALL(fn);                                                          \
    const adzi_op adzi_op_##fn = { .name = #fn, .backward = adzi_backward_zeros }; \
    adz_tensor *adz_##fn(adz_tensor *x)                                            \
    {                                                                              \
        return adzi_unary_kept(&adzi_op_##fn, x, fn##_kernels, instead);           \
    }

#include "autograd/ops/functions/table.h"
