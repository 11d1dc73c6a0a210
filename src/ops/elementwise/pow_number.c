#include "ops/elementwise/elementwise.h"
#include "ops/numbers.h"

/* Powers with one exponent e, torch.pow with a number.
 *
 *     y  = x^e
 *     dx = dy e x^(e - 1), and 0 for e = 0; dy e x^e / x for e < 0
 *
 * x has any shape. An integer x stays an integer if e is a whole number, and becomes f32 otherwise.
 * The node keeps e as an attribute. It saves x, except for e = 0 and e = 1, whose derivative is a
 * constant.
 *
 * It has its own file, because the exponent decides the kernel, the dtype of y and what
 * is saved. */

KERNEL_TABLE_ALL(pow_number);
KERNEL_TABLE_FLOAT(cube);
/* The kernels of other operators, for the exponents 2, 0.5, -0.5 and -1. */
KERNEL_TABLE_FLOAT(square);
KERNEL_TABLE_FLOAT(sqrt);
KERNEL_TABLE_FLOAT(rsqrt);
KERNEL_TABLE_FLOAT(reciprocal);

typedef struct {
    double exponent; /* e */
} pow_attr;

/* For e = 0 the gradient is 0 also at x = 0, where the formula has 0 times infinity. For e = 1 and
 * e = 2 no power is computed. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    double e = adzi_attr(node, pow_attr)->exponent;
    if (e == 0) {
        dx[0] = adz_zeros_like(dy[0]);
        return adzi_status(dx[0]);
    }
    if (e == 1) {
        dx[0] = dy[0];
        return ADZ_OK;
    }
    adz_tensor *x = adzi_saved_input(node, 0);
    /* Written with operators, so that powers of any order can be differentiated again. For a
     * negative e the power x^(e - 1) leaves the range before the gradient does. */
    if (e < 0) {
        adz_tensor *product = adz_mul(dy[0], adz_mul_number(adz_pow_number(x, e), e));
        dx[0] = adz_div(product, x);
        return adzi_status(dx[0]);
    }
    adz_tensor *power = e == 2 ? x : adz_pow_number(x, e - 1);
    dx[0] = adz_mul(dy[0], adz_mul_number(power, e));
    return adzi_status(dx[0]);
}

static const adz_field fields[] = { ADZI_FIELD(pow_attr, exponent) };

/* Some exponents have a kernel of products, a root or a division, which become vector instructions.
 * Every other float power calls pow of libm once per element. Powers of integers are products in
 * any case. */
static adzi_kernel kernel_for(adz_dtype dtype, double e)
{
    if (!adzi_is_float(dtype)) {
        return KERNEL_FOR(pow_number, dtype);
    }
    return e == 2      ? KERNEL_FOR(square, dtype)
           : e == 3    ? KERNEL_FOR(cube, dtype)
           : e == 0.5  ? KERNEL_FOR(sqrt, dtype)
           : e == -0.5 ? KERNEL_FOR(rsqrt, dtype)
           : e == -1   ? KERNEL_FOR(reciprocal, dtype)
                       : KERNEL_FOR(pow_number, dtype);
}

/* An exponent is known before the kernel runs, unlike the elements of a tensor of exponents, so it
 * can choose the kernel and be checked. It counts as an operand for the dtype of y. Bool counts as
 * i64. A negative power of an integer is refused, as in PyTorch, because it would be 0 nearly
 * everywhere. */
static bool check(adzi_call *call, void *block)
{
    const pow_attr *at = block;
    const adz_tensor *x = call->in[0];
    /* Tells the dtype of y: x is converted to it. */
    const adz_tensor *number = adzi_number("pow_number", call->in[0], at->exponent);
    if (number == NULL || !adzi_convert(call, 0, (adz_dtype)number->dtype)) {
        return false;
    }
    if (!adzi_is_float((adz_dtype)number->dtype) && at->exponent < 0) {
        adzi_error("pow_number", ADZ_ERR_ARGUMENT,
            "exponent is %s and x%s is %s: an integer has no negative power; convert x to a float",
            adzi_text_number(at->exponent), adzi_text_shape(x),
            adz_dtype_name((adz_dtype)x->dtype));
        return false;
    }
    return true;
}

/* Without a saved x, its memory may be released or written over before the backward. */
static void save(adzi_call *call, adz_tensor *const *y, const void *block)
{
    const pow_attr *at = block;
    (void)y;
    if (at->exponent != 0 && at->exponent != 1) {
        adzi_save_input(call, 0);
    }
}

/* The kernel reads the exponent as p[0]. */
static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const pow_attr *at = block;
    adzi_pointwise(kernel_for((adz_dtype)y[0]->dtype, at->exponent), y[0], 1, in,
        (double[ADZI_POINTWISE_PARAMS]){ at->exponent });
}

const adzi_op adzi_op_pow_number = { .name = "pow_number",
    .backward = backward,
    ADZI_ATTRIBUTES(pow_attr, fields),
    .dtypes = ADZI_DTYPES_COMPUTABLE,
    .strided_inputs = 1u << 0 };

adz_tensor *adz_pow_number(adz_tensor *x, double exponent)
{
    static const adzi_steps steps = { .check = check, .save = save, .launch = launch };
    return ADZI_RUN_STEPS(&adzi_op_pow_number, steps, &(pow_attr){ exponent }, x);
}
