#include "ops/op.h"
#include "ops/elementwise.h"
#include "ops/numbers.h"

/* The sum of two tensors with a factor, torch.add.
 *
 *     y  = a + alpha b
 *     da = dy
 *     db = alpha dy
 *
 * a and b have any shapes that broadcast to y. Their dtypes are promoted to one. The node saves
 * no tensor, because the derivatives are constants. It keeps alpha as an attribute.
 *
 * Sums of integers wrap. The sum of two bools is their logical or, and alpha 0 leaves b out of it.
 * In place y is a itself, so y must have the shape and the dtype of a. */

KERNEL_TABLE_ALL(add);
KERNEL_TABLE_ALL(add_scaled);

/* The attributes that messages and pictures of graphs show. */
typedef struct {
    double alpha; /* the factor of b; 1 for the calls without one */
} add_attr;

/* Both inputs may receive the tensor dy itself, which costs no copy. The engine then sums the
 * gradients of broadcast inputs over the broadcast dimensions. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    double alpha = adzi_attr(node, add_attr)->alpha;
    if (adzi_needs(node, 0)) {
        dx[0] = dy[0];
    }
    if (adzi_needs(node, 1)) {
        dx[1] = alpha == 1 ? dy[0] : adzi_scaled_gradient(dy[0], alpha);
        return adzi_status(dx[1]);
    }
    return ADZ_OK;
}

static const adz_field fields[] = { ADZI_FIELD(add_attr, alpha) };

const adzi_op adzi_op_add = { .name = "add", .backward = backward, ADZI_FIELDS(fields) };

/* Computes all public calls of this file. alpha must be a whole number where the result is no
 * float, because the integer kernel multiplies in integers. With alpha 1 a kernel runs that does
 * not multiply. */
static adz_tensor *add(adz_tensor *a, adz_tensor *b, double alpha, bool inplace)
{
    adzi_call call;
    if (!ADZI_ENTER(&call, add, a, b) || (inplace && !adzi_begin_inplace(&call, false)) ||
        !adzi_promote(&call, 0, 1)) {
        return NULL;
    }
    adz_dtype dtype = (adz_dtype)call.in[0]->dtype; /* that of both inputs after the promotion */
    /* Integer kernels read alpha as i64, whatever the dtype of the result. */
    if (!adzi_number_fits("add", "alpha", alpha, adzi_is_float(dtype) ? dtype : ADZ_I64)) {
        return NULL;
    }
    int rank; /* the rank and the sizes to which a and b broadcast */
    int64_t sizes[ADZ_MAX_RANK];
    if (!adzi_broadcast("add", &rank, sizes, call.in[0], call.in[1])) {
        return NULL;
    }
    adz_tensor *y = adzi_new(&call, dtype, rank, sizes);
    add_attr attr = { alpha };
    if (y == NULL || !adzi_record(&call, 1, &y, &attr, sizeof attr)) {
        return NULL;
    }
    adzi_pointwise(alpha == 1 ? KERNEL_FOR(add, dtype) : KERNEL_FOR(add_scaled, dtype), y, 2,
        call.in, &(double[ADZI_POINTWISE_PARAMS]){ alpha }[0]);
    y->is_zero = call.in[0]->is_zero && call.in[1]->is_zero;
    return adzi_leave(&call, y);
}

adz_tensor *adz_add(adz_tensor *a, adz_tensor *b)
{
    return add(a, b, 1, false);
}

adz_tensor *adz_add_scaled(adz_tensor *a, adz_tensor *b, double alpha)
{
    return add(a, b, alpha, false);
}

/* torch.add with a number as its second operand.
 * A number becomes a tensor of rank 0, so that one kernel and one rule of promotion serve both. */
adz_tensor *adz_add_number(adz_tensor *a, double number)
{
    return add(a, adzi_number("add", a, number), 1, false);
}

adz_tensor *adz_add_number_(adz_tensor *a, double number)
{
    return add(a, adzi_number("add", a, number), 1, true);
}

adz_tensor *adz_add_(adz_tensor *a, adz_tensor *b)
{
    return add(a, b, 1, true);
}

adz_tensor *adz_add_scaled_(adz_tensor *a, adz_tensor *b, double alpha)
{
    return add(a, b, alpha, true);
}

/* a = a + b without checks and without recording. The engine adds gradients by this function: they
 * have one dtype and shapes that fit. Reading and writing a at once is safe, because element i of
 * the result depends on element i of a alone. */
void adzi_accumulate(adz_tensor *a, const adz_tensor *b)
{
    adz_tensor other = *b;
    adz_tensor *in[2] = { a, &other };
    a->is_zero = a->is_zero && b->is_zero;
    adzi_pointwise(KERNEL_FOR(add, a->dtype), a, 2, in, NULL);
}
