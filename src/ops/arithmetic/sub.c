#include "ops/op.h"
#include "ops/elementwise.h"
#include "ops/numbers.h"

/* The difference of two tensors with a factor, torch.sub.
 *
 *     y  = a - alpha b
 *     da = dy
 *     db = -alpha dy
 *
 * a and b have any shapes that broadcast to y. Their dtypes are promoted to one. The node saves
 * no tensor, because the derivatives are constants. It keeps alpha as an attribute.
 *
 * Differences of integers wrap, also in u8. In place y is a itself, so y must have the shape and
 * the dtype of a. */

KERNEL_TABLE_ALL(sub);
KERNEL_TABLE_ALL(sub_scaled);

/* The attributes that messages and pictures of graphs show. */
typedef struct {
    double alpha; /* the factor of b; 1 for the calls without one */
} sub_attr;

/* a receives the tensor dy itself, which costs no copy. The engine then sums the gradients of
 * broadcast inputs over the broadcast dimensions. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    if (adzi_needs(node, 0)) {
        dx[0] = dy[0];
    }
    if (adzi_needs(node, 1)) {
        dx[1] = adzi_scaled_gradient(dy[0], -adzi_attr(node, sub_attr)->alpha);
        return adzi_status(dx[1]);
    }
    return ADZ_OK;
}

static const adz_field fields[] = { ADZI_FIELD(sub_attr, alpha) };

const adzi_op adzi_op_sub = { .name = "sub", .backward = backward, ADZI_FIELDS(fields) };

/* Computes all public calls of this file. Bool is refused as in PyTorch, and the
 * message names adz_logical_xor instead. alpha must be a whole number where the result
 * is no float. With alpha 1 a kernel runs that does not multiply. */
static adz_tensor *sub(adz_tensor *a, adz_tensor *b, double alpha, bool inplace)
{
    /* Both inputs are checked before promotion, which would turn a bool into the other dtype. */
    static const char instead[] = "adz_logical_xor";
    adzi_call call;
    if (!ADZI_ENTER(&call, sub, a, b) || !adzi_refuse_bool(&call, 0, instead) ||
        !adzi_refuse_bool(&call, 1, instead) || (inplace && !adzi_begin_inplace(&call, false)) ||
        !adzi_promote(&call, 0, 1)) {
        return NULL;
    }
    adz_dtype dtype = (adz_dtype)call.in[0]->dtype; /* that of both inputs after the promotion */
    int rank; /* the rank and the sizes to which a and b broadcast */
    int64_t sizes[ADZ_MAX_RANK];
    /* Integer kernels read alpha as i64, whatever the dtype of the result. */
    if (!adzi_number_fits("sub", "alpha", alpha, adzi_is_float(dtype) ? dtype : ADZ_I64) ||
        !adzi_broadcast("sub", &rank, sizes, call.in[0], call.in[1])) {
        return NULL;
    }
    adz_tensor *y = adzi_new(&call, dtype, rank, sizes);
    sub_attr attr = { alpha };
    if (y == NULL || !adzi_record(&call, 1, &y, &attr, sizeof attr)) {
        return NULL;
    }
    adzi_pointwise(alpha == 1 ? KERNEL_FOR(sub, dtype) : KERNEL_FOR(sub_scaled, dtype), y, 2,
        call.in, (double[ADZI_POINTWISE_PARAMS]){ alpha });
    return adzi_leave(&call, y);
}

adz_tensor *adz_sub(adz_tensor *a, adz_tensor *b)
{
    return sub(a, b, 1, false);
}

adz_tensor *adz_sub_scaled(adz_tensor *a, adz_tensor *b, double alpha)
{
    return sub(a, b, alpha, false);
}

/* A number becomes a tensor of rank 0, so that one kernel and one rule of promotion serve both. */
adz_tensor *adz_sub_number(adz_tensor *a, double number)
{
    return sub(a, adzi_number("sub", a, number), 1, false);
}

/* torch.rsub: the number is the first operand, so the gradient of the tensor is -dy. */
adz_tensor *adz_number_sub(double number, adz_tensor *a)
{
    return sub(adzi_number("sub", a, number), a, 1, false);
}

adz_tensor *adz_sub_(adz_tensor *a, adz_tensor *b)
{
    return sub(a, b, 1, true);
}

adz_tensor *adz_sub_scaled_(adz_tensor *a, adz_tensor *b, double alpha)
{
    return sub(a, b, alpha, true);
}

adz_tensor *adz_sub_number_(adz_tensor *a, double number)
{
    return sub(a, adzi_number("sub", a, number), 1, true);
}
