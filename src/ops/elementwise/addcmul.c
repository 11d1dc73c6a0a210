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

const adzi_op adzi_op_addcmul = {
    .name = "addcmul", .backward = backward, ADZI_FIELDS(fields), .expression = expression
};

/* Computes both public calls. In place no copy of the old x is needed, because no gradient
 * depends on it. value must be a whole number where the result is no float, because the integer
 * kernel multiplies in integers. */
static adz_tensor *addcmul(adz_tensor *x, adz_tensor *a, adz_tensor *b, double value, bool inplace)
{
    adzi_call call;
    int rank;
    int64_t sizes[ADZ_MAX_RANK];
    if (!ADZI_ENTER(&call, addcmul, x, a, b) || (inplace && !adzi_begin_inplace(&call, false)) ||
        !adzi_promote_inputs(&call, 0, ADZ_PROMOTION_DEFAULT) ||
        !adzi_refuse_bool(&call, 0, "adz_logical_and and adz_logical_or") ||
        !adzi_broadcast_inputs(&call, &rank, sizes)) {
        return NULL;
    }
    adz_dtype dtype = (adz_dtype)call.in[0]->dtype;
    /* Integer kernels read value as i64, whatever the dtype of the result. */
    if (!adzi_number_fits("addcmul", "value", value, adzi_is_float(dtype) ? dtype : ADZ_I64)) {
        return NULL;
    }
    adz_tensor *y = adzi_new(&call, dtype, rank, sizes);
    addcmul_attr attr = { value };
    if (y == NULL || !adzi_record(&call, 1, &y, &attr, sizeof attr)) {
        return NULL;
    }
    /* The gradient of input i reads the other factor. */
    for (int i = 1; i <= 2; ++i) {
        if (adzi_wants(&call, i)) {
            adzi_save_input(&call, 3 - i);
        }
    }
    adzi_pointwise(
        KERNEL_FOR(addcmul, dtype), y, 3, call.in, (double[ADZI_POINTWISE_PARAMS]){ value });
    return adzi_leave(&call, y);
}

adz_tensor *adz_addcmul(adz_tensor *x, adz_tensor *a, adz_tensor *b, double value)
{
    return addcmul(x, a, b, value, false);
}

adz_tensor *adz_addcmul_(adz_tensor *x, adz_tensor *a, adz_tensor *b, double value)
{
    return addcmul(x, a, b, value, true);
}
