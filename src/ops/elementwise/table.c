/* The operators of the table. */
#include <math.h>

#include "autograd/operator.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/tanh.h"
#include "ops/numbers.h"
#include "tensor/range.h"

/* ---- parts of gradients and expressions ------------------------------------------------------ */

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

/* min(x, 0). Where x >= 0 no gradient flows through it. */
static adz_tensor *not_above_0(adz_tensor *x)
{
    return adz_masked_fill(x, adz_ge_number(x, 0), 0);
}

/* 1 where x > 0, else the slope. */
static adz_tensor *slope_by_sign(adz_tensor *x, double slope)
{
    adz_tensor *above = adz_gt_number(x, 0);
    if (above == NULL) {
        return NULL;
    }
    const adz_dtype dtype = (adz_dtype)x->dtype;
    adz_tensor *one = adz_scalar(1, dtype);
    return adz_where(above, one, adz_scalar(slope, dtype));
}

/* The exponential is taken of min(beta x, threshold), so that it cannot overflow where it is not
 * used. */
static adz_tensor *softplus_of(adz_tensor *x, double beta, double threshold)
{
    adz_tensor *scaled = adz_mul_number(x, beta), *above = adz_gt_number(scaled, threshold);
    adz_tensor *limited = adz_masked_fill(scaled, above, threshold);
    adz_tensor *curved = adz_mul_number(adz_log1p(adz_exp(limited)), 1 / beta);
    return adz_where(above, x, curved);
}

/* The sigmoid is taken of min(beta x, threshold). No gradient flows through it where beta x equals
 * the threshold, so that the second derivative exactly there is 0, as in PyTorch. */
static adz_tensor *softplus_gradient(adz_tensor *dy, adz_tensor *x, double beta, double threshold)
{
    adz_tensor *scaled = adz_mul_number(x, beta);
    adz_tensor *limited = adz_masked_fill(scaled, adz_ge_number(scaled, threshold), threshold);
    return adz_where(adz_gt_number(scaled, threshold), dy, adz_mul(dy, adz_sigmoid(limited)));
}

/* A negative beta is allowed, as in PyTorch. */
static bool is_sharpness(double beta)
{
    if (isfinite(beta) && beta != 0) {
        return true;
    }
    adzi_error("softplus", ADZ_ERR_ARGUMENT, "beta is %s; a finite number other than 0 is needed",
        adzi_text_number(beta));
    return false;
}

/* dy / 2 where x equals the other input, which keeps the sum of both gradients at dy, and 0 where x
 * loses. A comparison with NaN is false. Where one of them is NaN, none loses, and both receive all
 * of dy, as in PyTorch. Comparisons are not recorded: the second derivative by x is 0. */
static adz_tensor *share_of(adz_tensor *dy, adz_tensor *x, adz_tensor *other, adz_tensor *loses)
{
    adz_tensor *share = adz_where(adz_eq(x, other), adz_mul_number(dy, 0.5), dy);
    return adz_masked_fill(share, loses, 0);
}

/* Where a is 0 and b is not above 0, the derivative is 0 instead of that infinite logarithm, as in
 * PyTorch. There the logarithm is taken of 1, so that derivatives of the gradient are 0, too. */
static adz_tensor *xlogy_gradient(adz_tensor *dy, adz_tensor *a, adz_tensor *b)
{
    adz_tensor *flat = adz_logical_and(adz_eq_number(a, 0), adz_le_number(b, 0));
    return adz_xlogy(adz_masked_fill(dy, flat, 0), adz_masked_fill(b, flat, 1));
}

static adz_tensor *held_in(adz_tensor *x, double eps)
{
    return eps < 0 ? x : adz_clamp(x, eps, 1 - eps);
}

static adz_tensor *log_odds(adz_tensor *x)
{
    return adz_log(adz_div(x, adz_number_sub(1, x)));
}

/* dy / (x (1 - x)). Beyond the limits it is 0, and NaN beyond 0 and 1 if there are no limits. The
 * quotient is computed of 1/2 there, so that its own derivatives are 0. */
static adz_tensor *logit_gradient(adz_tensor *dy, adz_tensor *x, double eps)
{
    const double low = eps < 0 ? 0 : eps;
    adz_tensor *beyond = adz_logical_or(adz_lt_number(x, low), adz_gt_number(x, 1 - low));
    adz_tensor *held = adz_masked_fill(x, beyond, 0.5);
    adz_tensor *slope = adz_div(dy, adz_mul(held, adz_number_sub(1, held)));
    return adz_masked_fill(slope, beyond, eps < 0 ? (double)NAN : 0);
}

/* The parabola between -3 and 3, and a line on each side. -infinity times 0 is NaN, as in the
 * kernel. */
static adz_tensor *hardswish_pieces(adz_tensor *x)
{
    adz_tensor *constant = adz_detach(x);
    adz_tensor *inside = adz_lt_number(adz_abs(constant), 3);
    adz_tensor *line = adz_where(adz_le_number(x, -3), adz_mul_number(constant, 0), x);
    adz_tensor *held = adz_masked_fill(x, adz_logical_not(inside), 0);
    adz_tensor *curve = adz_mul(held, adz_div_number(adz_add_number(held, 3), 6));
    return adz_where(inside, curve, line);
}

/* sin(pi x) / (pi x). For |x| < 1/4 it is its series, in which no derivative cancels. Elsewhere x
 * loses the even number next to it first, so that a large x keeps its digits. */
static adz_tensor *sinc_of(adz_tensor *x)
{
    enum { TERMS = 10 };
    const double pi = 3.14159265358979323846;
    adz_tensor *near = adz_lt_number(adz_abs(adz_detach(x)), 0.25);
    adz_tensor *small = adz_masked_fill(x, adz_logical_not(near), 0);
    adz_tensor *large = adz_masked_fill(x, near, 1), *sum = adz_ones_like(small);
    adz_tensor *z = adz_mul_number(adz_square(small), -pi * pi);
    for (int n = TERMS; n >= 1; --n) { /* 1 - z / 6 (1 - z / 20 (1 - ...)) */
        sum = adz_add_number(adz_mul(adz_mul_number(z, 1.0 / (2 * n * (2 * n + 1))), sum), 1);
    }
    adz_tensor *even = adz_mul_number(adz_round(adz_mul_number(adz_detach(large), 0.5)), 2);
    adz_tensor *sine = adz_sin(adz_mul_number(adz_sub(large, even), pi));
    adz_tensor *ratio = adz_div(sine, adz_mul_number(large, pi));
    return adz_where(near, sum, adz_add_number(ratio, 0)); /* no -0 */
}

/* For functions of integers and truth values. in[0] has the common dtype of both inputs. */
static bool are_integers(const adzi_call *call)
{
    const adz_dtype dtype = (adz_dtype)call->in[0]->dtype;
    if (!adzi_is_float(dtype)) {
        return true;
    }
    adzi_error(call->op->name, ADZ_ERR_DTYPE,
        "the inputs are %s in common, but must be integers; convert them with adz_to",
        adz_dtype_name(dtype));
    return false;
}

/* The gradients of both inputs of a function that is constant between its jumps. */
static adz_status zeros_for_both(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    for (int i = 0; i < 2; ++i) {
        dx[i] = adzi_needs(node, i) ? adz_zeros_like(dy[0]) : NULL;
        if (dx[i] == NULL && adzi_needs(node, i)) {
            return adzi_status(NULL);
        }
    }
    return ADZ_OK;
}

/* An integer must not be divided by 0. */
static bool has_no_zero(const adzi_call *call)
{
    return !adzi_is_integer((adz_dtype)call->in[1]->dtype) ||
           adzi_assert_all(call->op->name, adz_ne_number(call->in[1], 0),
               "an integer is divided by 0; convert the operands to floats with adz_to") == ADZ_OK;
}

/* Of y = a - b q with a whole number q: da = dy and db = -dy q.
 *
 * q is next to (a - y) / b, which is whole but for rounding. It is not the rounded a / b cut off: 1
 * / 0.1 rounds to 10, and 1 = 9 * 0.1 + 0.0999... PyTorch 2.15 takes 10 for fmod. The quotients are
 * subtracted, because a - y may overflow. If y is b, then q is -1: remainder has moved a small a,
 * whose sign is not that of b, which may be infinite. */
static adz_status remainder_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    dx[0] = adzi_needs(node, 0) ? dy[0] : NULL;
    if (adzi_needs(node, 1)) {
        adz_tensor *a = adz_detach(adzi_saved_input(node, 0));
        adz_tensor *b = adz_detach(adzi_saved_input(node, 1));
        adz_tensor *y = adz_detach(adzi_saved_result(node, 0));
        adz_tensor *q = adz_round(adz_sub(adz_div(a, b), adz_div(y, b)));
        dx[1] = adz_neg(adz_mul(dy[0], adz_masked_fill(q, adz_eq(y, b), -1)));
        return adzi_status(dx[1]);
    }
    return ADZ_OK;
}

/* Where b is 0, y is 1 for every a. At a = 0 the formula has 0 times infinity there. dy and b are
 * masked, and not the product: the derivatives of the formula have the same infinity. Elsewhere
 * nothing is masked, because the derivative of the gradient by b is 1 / a where b is 0. */
static adz_tensor *gradient_of_base(adz_tensor *dy, adz_tensor *a, adz_tensor *b)
{
    adz_tensor *flat =
        adz_logical_and(adz_eq_number(b, 0), adz_logical_not(adz_gt_number(adz_abs(a), 0)));
    adz_tensor *exponent = adz_masked_fill(b, flat, 1);
    adz_tensor *slope = adz_mul(exponent, adz_pow(a, adz_sub_number(exponent, 1)));
    return adz_mul(adz_masked_fill(dy, flat, 0), slope);
}

/* 0^b is 0 for every b > 0, so the derivative at a = 0 is 0 although log a is -inf. PyTorch
 * gives 0 for b = 0 as well. The logarithm is taken of 1 there, so that derivatives of the gradient
 * are 0, too, where PyTorch 2.15 gives NaN. */
static adz_tensor *gradient_of_exponent(adz_tensor *dy, adz_tensor *a, adz_tensor *b, adz_tensor *y)
{
    /* The logarithm of a negative a is NaN, and so is the gradient of its exponent. */
    adz_tensor *flat = adz_logical_and(adz_eq_number(a, 0), adz_ge_number(b, 0));
    return adz_mul(dy, adz_mul(y, adz_log(adz_masked_fill(a, flat, 1))));
}

/* ---- the columns as tables of kernels -------------------------------------------------------- */

#define KERNEL1(fn, kernel)                              KERNEL_TABLE_FLOAT(fn);
#define KERNEL1_BY_LOOP(fn)                              KERNEL_TABLE_FLOAT(fn);
#define KERNEL1_AT_ALL_LEVELS(fn, kernel)                KERNEL_TABLE_PRODUCT(fn);
#define KERNEL1_ALL(fn, kernel, of_integers)             KERNEL_TABLE_ALL(fn);
#define UNROLLED1_ALL(fn, kernel, of_integers)           KERNEL_TABLE_ALL(fn);
#define KERNEL2(fn, kernel)                              KERNEL_TABLE_FLOAT(fn);
#define KERNEL2_ALL(fn, kernel, of_integers)             KERNEL_TABLE_ALL(fn);
#define TRUTH1(fn, kernel, of_integers)                  KERNEL_TABLE_ALL(fn);
#define TRUTH2(fn, kernel)                               KERNEL_TABLE_ALL(fn);
#define GRADIENT_KERNEL(fn, saved, kernel)               KERNEL_TABLE_FLOAT(fn##_backward);
#define UNROLLED_GRADIENT_KERNEL(fn, saved, kernel)      KERNEL_TABLE_FLOAT(fn##_backward);
#define GRADIENT_KERNEL_AT_ALL_LEVELS(fn, saved, kernel) KERNEL_TABLE_PRODUCT(fn##_backward);
#define GRADIENT_KERNEL2(fn, kernel)                     KERNEL_TABLE_FLOAT(fn##_backward);
#include "ops/elementwise/table.h"

/* The kernels that logical operators borrow. */
KERNEL_TABLE_ALL(add);
KERNEL_TABLE_ALL(mul);

/* ---- the columns as operators ---------------------------------------------------------------- */

#define READ_x        adzi_saved_input
#define READ_y        adzi_saved_result
#define SAVES_x       ADZI_SAVES_X
#define SAVES_y       ADZI_SAVES_Y
#define SAVES_nothing ADZI_SAVES_NOTHING

/* What a column names `nothing`. */
static inline adz_tensor *READ_nothing(adzi_node *node, int i)
{
    (void)node, (void)i;
    return NULL;
}

/* The numbers are the attributes. */
#define NUMBERS1(fn, first)                       \
    static const adz_field fn##_fields[] = {      \
        { .name = first, .kind = ADZ_FIELD_F64 }, \
    };
#define NUMBERS2(fn, first, second)                                          \
    static const adz_field fn##_fields[] = {                                 \
        { .name = first, .kind = ADZ_FIELD_F64 },                            \
        { .name = second, .kind = ADZ_FIELD_F64, .offset = sizeof(double) }, \
    };

#define GRADIENT(fn, saved, gradient)                                                           \
    static adz_status fn##_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *given) \
    {                                                                                           \
        const double *p = node->attr;                                                           \
        adz_tensor *dy = given[0], *saved = READ_##saved(node, 0);                              \
        (void)p, (void)saved;                                                                   \
        dx[0] = gradient;                                                                       \
        return adzi_status(dx[0]);                                                              \
    }

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

#define GRADIENT_KERNEL(fn, saved, kernel)                                                  \
    static adz_status fn##_fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)   \
    {                                                                                       \
        return adzi_fused1(                                                                 \
            node, dx, dy[0], READ_##saved(node, 0), fn##_backward_kernels[adzi_cpu_level]); \
    }
#define UNROLLED_GRADIENT_KERNEL      GRADIENT_KERNEL
#define GRADIENT_KERNEL_AT_ALL_LEVELS GRADIENT_KERNEL
#define GRADIENT_KERNEL2(fn, kernel)                                                      \
    static adz_status fn##_fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy) \
    {                                                                                     \
        return adzi_fused2(node, dx, dy[0], fn##_backward_kernels);                       \
    }

#define EXPRESSION(fn, formula)                                                                \
    static adz_status fn##_expression(adz_tensor **y, adz_tensor *const *in, const void *attr) \
    {                                                                                          \
        const double *p = attr;                                                                \
        adz_tensor *x = in[0];                                                                 \
        (void)p;                                                                               \
        y[0] = formula;                                                                        \
        return adzi_status(y[0]);                                                              \
    }
#define EXPRESSION2(fn, formula)                                                               \
    static adz_status fn##_expression(adz_tensor **y, adz_tensor *const *in, const void *attr) \
    {                                                                                          \
        adz_tensor *a = in[0], *b = in[1];                                                     \
        (void)attr;                                                                            \
        y[0] = formula;                                                                        \
        return adzi_status(y[0]);                                                              \
    }

/* The operator, and how it is called. */
#define DESCRIBED(fn, members, ...)                                \
    const adzi_op adzi_op_##fn = { .name = #fn, MEMBERS members }; \
    static const adzi_elementwise fn##_form = { .op = &adzi_op_##fn, __VA_ARGS__ };
#define MEMBERS(...) __VA_ARGS__

#define DESCRIPTION1(fn, its_types, saved, ...)                              \
    DESCRIBED(fn, (ADZI_FIELDS(fn##_fields), __VA_ARGS__), ADZI_KERNELS(fn), \
        .types = ADZI_##its_types, .saves = SAVES_##saved, .attr_size = sizeof(double))

#define OPERATOR1(fn, its_types, saved, bool_instead, ...)                    \
    DESCRIBED(fn, (__VA_ARGS__), ADZI_KERNELS(fn), .types = ADZI_##its_types, \
        .saves = SAVES_##saved, .instead = bool_instead)                      \
    adz_tensor *adz_##fn(adz_tensor *x)                                       \
    {                                                                         \
        return adzi_call1(&fn##_form, x, NULL, NULL, false);                  \
    }
#define IN_PLACE(fn)                                        \
    adz_tensor *adz_##fn##_(adz_tensor *x)                  \
    {                                                       \
        return adzi_call1(&fn##_form, x, NULL, NULL, true); \
    }

#define OPERATOR2(fn, its_types, its_saves, its_saves_for_b, bool_instead, its_check, ...)        \
    DESCRIBED(fn, (__VA_ARGS__), ADZI_KERNELS(fn), .types = ADZI_##its_types, .saves = its_saves, \
        .saves_for_b = its_saves_for_b, .instead = bool_instead, .check = its_check)              \
    PUBLIC2(fn)
#define PUBLIC2(fn)                                    \
    adz_tensor *adz_##fn(adz_tensor *a, adz_tensor *b) \
    {                                                  \
        return adzi_call2(&fn##_form, a, b);           \
    }
#define BY_NUMBER(fn)                                           \
    adz_tensor *adz_##fn##_number(adz_tensor *a, double number) \
    {                                                           \
        return adz_##fn(a, adzi_number(#fn, a, number));        \
    }

#define TRUTH_OPERATOR1(fn)                                        \
    const adzi_op adzi_op_##fn = { .name = #fn };                  \
    static const adzi_elementwise fn##_form = {                    \
        .op = &adzi_op_##fn, ADZI_KERNELS(fn), .types = ADZI_TRUTH \
    };                                                             \
    adz_tensor *adz_##fn(adz_tensor *x)                            \
    {                                                              \
        return adzi_call1(&fn##_form, x, NULL, NULL, false);       \
    }
#define TRUTH_OPERATOR2(fn, kernel_of, its_types)                               \
    const adzi_op adzi_op_##fn = { .name = #fn };                               \
    static const adzi_elementwise fn##_form = {                                 \
        .op = &adzi_op_##fn, ADZI_KERNELS(kernel_of), .types = ADZI_##its_types \
    };                                                                          \
    PUBLIC2(fn)

/* Activations save x, because y need not determine it, and offer to compute y again. */
#define ACTIVATION_FORM(fn, members, size)                                                    \
    DESCRIBED(fn, members, ADZI_KERNELS(fn), .types = ADZI_ONLY_FLOAT, .saves = ADZI_SAVES_X, \
        .attr_size = size, .recompute = fn##_recompute)
#define ACTIVATION(fn, ...)                                  \
    static adz_tensor *fn##_recompute(adzi_node *node)       \
    {                                                        \
        return adz_##fn(adzi_saved_input(node, 0));          \
    }                                                        \
    ACTIVATION_FORM(fn, (__VA_ARGS__), 0)                    \
    adz_tensor *adz_##fn(adz_tensor *x)                      \
    {                                                        \
        return adzi_call1(&fn##_form, x, NULL, NULL, false); \
    }
#define ACTIVATION1(fn, number, ...)                                             \
    static adz_tensor *fn##_recompute(adzi_node *node)                           \
    {                                                                            \
        return adz_##fn(adzi_saved_input(node, 0), *adzi_attr(node, double));    \
    }                                                                            \
    ACTIVATION_FORM(fn, (ADZI_FIELDS(fn##_fields), __VA_ARGS__), sizeof(double)) \
    adz_tensor *adz_##fn(adz_tensor *x, double number)                           \
    {                                                                            \
        const double p[ADZI_POINTWISE_PARAMS] = { number };                      \
        return adzi_call1(&fn##_form, x, p, p, false);                           \
    }
#define ACTIVATION2(fn, first, second, check, ...)                                   \
    static adz_tensor *fn##_recompute(adzi_node *node)                               \
    {                                                                                \
        const double *p = node->attr;                                                \
        return adz_##fn(adzi_saved_input(node, 0), p[0], p[1]);                      \
    }                                                                                \
    ACTIVATION_FORM(fn, (ADZI_FIELDS(fn##_fields), __VA_ARGS__), 2 * sizeof(double)) \
    adz_tensor *adz_##fn(adz_tensor *x, double first, double second)                 \
    {                                                                                \
        const double p[ADZI_POINTWISE_PARAMS] = { first, second };                   \
        return check ? adzi_call1(&fn##_form, x, p, p, false) : NULL;                \
    }

#include "ops/elementwise/table.h"

/* ---- public functions that do more than call ------------------------------------------------- */

/* The number becomes a tensor of rank 0 that wants no gradient. */
adz_tensor *adz_number_pow(double number, adz_tensor *x)
{
    return adz_pow(adzi_number("pow", x, number), x);
}

adz_tensor *adz_logit(adz_tensor *x, double eps)
{
    if (!(eps <= 0.5)) {
        return adzi_fail("logit", ADZ_ERR_ARGUMENT,
            "eps is %s, but must be at most 0.5; below 0 nothing is limited",
            adzi_text_number(eps));
    }
    const double p[ADZI_POINTWISE_PARAMS] = { eps };
    return adzi_call1(&logit_form, x, p, p, false);
}

adz_tensor *adz_polygamma(int n, adz_tensor *x)
{
    ADZI_COMPOSED();
    enum { MOST = 100 };
    if (n < 0 || n > MOST) {
        return adzi_fail(
            "polygamma", ADZ_ERR_ARGUMENT, "n is %d, but must be from 0 to %d", n, MOST);
    }
    const double p[ADZI_POINTWISE_PARAMS] = { n };
    return n == 0 ? adz_digamma(x) : adzi_call1(&polygamma_form, x, p, p, false);
}
