#include "ops/op.h"
#include "ops/elementwise/elementwise.h"
#include "ops/numbers.h"

/* The sum and the difference of two tensors with a factor, torch.add and torch.sub.
 *
 *     y  = a + alpha b,   or   y  = a - alpha b
 *     da = dy                  da = dy
 *     db = alpha dy            db = -alpha dy
 *
 * a and b have any shapes that broadcast to y. Their dtypes are promoted to one. The node saves
 * no tensor, because the derivatives are constants. It keeps alpha as an attribute.
 *
 * Integers wrap. The sum of two bools is their logical or, and alpha 0 leaves b out of it; they
 * have no difference, as in PyTorch. In place y is a itself, so y must have the shape and the dtype
 * of a.
 *
 * They have their own file: without alpha the kernel does not multiply, a sum of zeros is
 * known to be zero, and no call of the library is made more often. */

KERNEL_TABLE_ALL(add);
KERNEL_TABLE_ALL(add_scaled);
KERNEL_TABLE_ALL(sub);
KERNEL_TABLE_ALL(sub_scaled);
KERNEL_TABLE_FLOAT(add_number);
KERNEL_TABLE_FLOAT(number_sub);

/* The attributes that messages and pictures of graphs show. */
typedef struct {
    double alpha; /* the factor of b; 1 for the calls without one */
} add_attr;

/* a receives the tensor dy itself, and so does b where its factor is 1, which costs no copy. The
 * engine then sums the gradients of broadcast inputs over the broadcast dimensions. */
static adz_status give(adzi_node *node, adz_tensor **dx, adz_tensor *dy, double factor)
{
    if (adzi_needs(node, 0)) {
        dx[0] = dy;
    }
    if (adzi_needs(node, 1)) {
        dx[1] = factor == 1 ? dy : adzi_scaled_gradient(dy, factor);
        return adzi_status(dx[1]);
    }
    return ADZ_OK;
}

static adz_status add_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return give(node, dx, dy[0], adzi_attr(node, add_attr)->alpha);
}

static adz_status sub_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return give(node, dx, dy[0], -adzi_attr(node, add_attr)->alpha);
}

static const adz_field fields[] = { ADZI_FIELD(add_attr, alpha) };

#define DECLARE(op)                             \
    const adzi_op adzi_op_##op = { .name = #op, \
        .backward = op##_backward,              \
        ADZI_ATTRIBUTES(add_attr, fields),      \
        .strided_inputs = 1u << 0 | 1u << 1,    \
        .broadcasts = true }

DECLARE(add);
DECLARE(sub);

/* alpha must be a whole number where the result is no float, because the integer kernels multiply
 * in integers: they read alpha as i64, whatever the dtype of the result. */
static bool add_check(adzi_call *call, void *block)
{
    const add_attr *at = block;
    if (!adzi_promote(call, 0, 1)) {
        return false;
    }
    const adz_dtype dtype = (adz_dtype)call->in[0]->dtype;
    return adzi_number_fits(
        call->op->name, "alpha", at->alpha, adzi_is_float(dtype) ? dtype : ADZ_I64);
}

/* Bool is refused before the promotion, which would turn it into the other dtype. */
static bool sub_check(adzi_call *call, void *block)
{
    return adzi_refuse_bool(call, 0, "adz_logical_xor") &&
           adzi_refuse_bool(call, 1, "adz_logical_xor") && add_check(call, block);
}

static void add_launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const add_attr *at = block;
    const bool zero = in[0]->is_zero && in[1]->is_zero;
    adzi_pointwise(
        at->alpha == 1 ? KERNEL_FOR(add, y[0]->dtype) : KERNEL_FOR(add_scaled, y[0]->dtype), y[0],
        2, in, (double[ADZI_POINTWISE_PARAMS]){ at->alpha });
    y[0]->is_zero = zero;
}

static void sub_launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const add_attr *at = block;
    adzi_pointwise(
        at->alpha == 1 ? KERNEL_FOR(sub, y[0]->dtype) : KERNEL_FOR(sub_scaled, y[0]->dtype), y[0],
        2, in, (double[ADZI_POINTWISE_PARAMS]){ at->alpha });
}

static adz_tensor *add(adz_tensor *a, adz_tensor *b, double alpha, bool inplace)
{
    static const adzi_steps steps = { .check = add_check, .launch = add_launch };
    return ADZI_RUN_AS(inplace, NULL, &adzi_op_add, steps, &(add_attr){ alpha }, a, b);
}

static adz_tensor *sub(adz_tensor *a, adz_tensor *b, double alpha, bool inplace)
{
    static const adzi_steps steps = { .check = sub_check, .launch = sub_launch };
    return ADZI_RUN_AS(inplace, NULL, &adzi_op_sub, steps, &(add_attr){ alpha }, a, b);
}

/* A number becomes a tensor of rank 0, so that one kernel and one rule of promotion serve both,
 * unless the number can be a parameter of a kernel. */
#define FORMS(op, sign)                                                                         \
    adz_tensor *adz_##op(adz_tensor *a, adz_tensor *b)                                          \
    {                                                                                           \
        return op(a, b, 1, false);                                                              \
    }                                                                                           \
    adz_tensor *adz_##op##_(adz_tensor *a, adz_tensor *b)                                       \
    {                                                                                           \
        return op(a, b, 1, true);                                                               \
    }                                                                                           \
    adz_tensor *adz_##op##_scaled(adz_tensor *a, adz_tensor *b, double alpha)                   \
    {                                                                                           \
        return op(a, b, alpha, false);                                                          \
    }                                                                                           \
    adz_tensor *adz_##op##_scaled_(adz_tensor *a, adz_tensor *b, double alpha)                  \
    {                                                                                           \
        return op(a, b, alpha, true);                                                           \
    }                                                                                           \
    adz_tensor *adz_##op##_number(adz_tensor *a, double number)                                 \
    {                                                                                           \
        if (adzi_takes_number(a, number)) {                                                     \
            return adzi_call_number(                                                            \
                &adzi_op_##op, add_number_kernels, a, ADZ_NONE, sign number, &(add_attr){ 1 }); \
        }                                                                                       \
        return op(a, adzi_number(#op, a, number), 1, false);                                    \
    }                                                                                           \
    adz_tensor *adz_##op##_number_(adz_tensor *a, double number)                                \
    {                                                                                           \
        return op(a, adzi_number(#op, a, number), 1, true);                                     \
    }

FORMS(add, +)
FORMS(sub, -)

/* torch.rsub: the number is the first operand, so the gradient of the tensor is -dy. */
adz_tensor *adz_number_sub(double number, adz_tensor *a)
{
    if (adzi_takes_number(a, number)) {
        return adzi_call_number(
            &adzi_op_sub, number_sub_kernels, ADZ_NONE, a, number, &(add_attr){ 1 });
    }
    return sub(adzi_number("sub", a, number), a, 1, false);
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
