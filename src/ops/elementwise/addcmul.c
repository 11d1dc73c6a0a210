#include "ops/elementwise/elementwise.h"
#include "ops/numbers.h"

/* Adds a multiple of a product to a tensor, torch.addcmul.
 *
 *     y  = x + value a b
 *     dx = dy
 *     da = value dy b
 *     db = value dy a
 *
 * x, a and b have any shapes that broadcast to y. Their dtypes are promoted to one. Each of a and
 * b is saved only if the other one wants a gradient. x is never saved.
 *
 * Integers wrap. In place y is x itself, so y must have the shape and the dtype of x. One
 * kernel reads all three operands, so that the product is never written to memory.
 *
 * It has its own file: the columns of the table are for one and for two tensors. */

KERNEL_TABLE_ALL(addcmul);

typedef struct {
    double value; /* the factor of the product; 1 is PyTorch's default */
} addcmul_attr;

/* Inputs 1 and 2 are the factors: the other one of input i is input 3 - i. value dy is computed
 * once for both. The engine then sums the gradients of broadcast inputs over the broadcast
 * dimensions. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    dx[0] = adzi_needs(node, 0) ? dy[0] : NULL;
    if (!adzi_needs(node, 1) && !adzi_needs(node, 2)) {
        return ADZ_OK;
    }
    double value = adzi_attr(node, addcmul_attr)->value;
    /* A product by 1 is left out, because it would cost a pass over memory. */
    adz_tensor *g = value == 1 ? dy[0] : adz_mul_number(dy[0], value);
    for (int i = 1; i <= 2; ++i) {
        if (adzi_needs(node, i)) {
            dx[i] = adz_mul(g, adzi_saved_input(node, 3 - i));
            if (dx[i] == NULL) {
                return adzi_status(NULL);
            }
        }
    }
    return ADZ_OK;
}

/* The forward as an expression. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    const double value = ((const addcmul_attr *)attr)->value;
    adz_tensor *a = value != 1 ? adz_mul_number(in[1], value) : in[1]; /* overflows as the kernel */
    y[0] = adz_add(in[0], adz_mul(a, in[2]));
    return adzi_status(y[0]);
}

static const adz_field fields[] = { ADZI_FIELD(addcmul_attr, value) };

/* value must be a whole number where the result is no float: integer kernels read it as i64,
 * whatever the dtype of the result. */
static bool check(adzi_call *call, void *block)
{
    const addcmul_attr *at = block;
    const adz_dtype dtype = (adz_dtype)call->in[0]->dtype;
    return adzi_refuse_bool(call, 0, "adz_logical_and and adz_logical_or") &&
           adzi_number_fits("addcmul", "value", at->value, adzi_is_float(dtype) ? dtype : ADZ_I64);
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const addcmul_attr *at = block;
    adzi_pointwise(KERNEL_FOR(addcmul, y[0]->dtype), y[0], 3, in,
        (double[ADZI_POINTWISE_PARAMS]){ at->value });
}

/* The gradient of a factor reads the other one. */
static const uint32_t saved_for[] = { 0, 1u << 2, 1u << 1 };

const adzi_op adzi_op_addcmul = { .name = "addcmul",
    .backward = backward,
    ADZI_ATTRIBUTES(addcmul_attr, fields),
    .expression = expression,
    .saved_for = saved_for,
    .strided_inputs = 1u << 0 | 1u << 1 | 1u << 2,
    .promotion = ADZ_PROMOTION_DEFAULT,
    .broadcasts = true };

static const adzi_steps steps = { .check = check, .launch = launch };

adz_tensor *adz_addcmul(adz_tensor *x, adz_tensor *a, adz_tensor *b, double value)
{
    return ADZI_RUN_STEPS(&adzi_op_addcmul, steps, &(addcmul_attr){ value }, x, a, b);
}

adz_tensor *adz_addcmul_(adz_tensor *x, adz_tensor *a, adz_tensor *b, double value)
{
    return ADZI_RUN_STEPS_(&adzi_op_addcmul, steps, &(addcmul_attr){ value }, x, a, b);
}
