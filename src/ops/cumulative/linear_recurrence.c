#include "ops/cumulative/linear_recurrence.h"

/* A linear recurrence along one dimension, and expressions that shift a sequence by one step.
 *
 *     s_t  = b_t + a_t * s_(t-1)
 *
 *     g_t  = dy_t + a_(t+1) * g_(t+1)     the gradient of s_t, from the last step on
 *     db_t = g_t,   da_t = g_t * s_(t-1),   ds0 = a_1 * g_1
 *
 * a, b and s have one shape, s0 has it without the dimension of time, or is ADZ_NONE for 0. The
 * node saves a, s0 and s, which da and g read; b is not needed. The gradient is a recurrence of
 * this kind, so it can be differentiated to any order. */

KERNEL_TABLE_FLOAT(linear_recurrence);

static const char name[] = "linear_recurrence";

enum { A, B, S0 }; /* the inputs of the node */

typedef struct {
    int dim;      /* the dimension of time */
    bool reverse; /* step 1 is the last along dim */
    bool started; /* s0 was given */
} recurrence_attr;

/* ---- steps ---------------------------------------------------------------------------------- */

/* The sequence moved by one step: towards the end of the dimension if `later`, else towards its
 * beginning. `edge` fills the free step, and the step at the other end is left out. The operators
 * are on the tape, so the shift is differentiable. */
static adz_tensor *shifted(adz_tensor *s, adz_tensor *edge, int dim, bool later)
{
    if (s == NULL || edge == NULL) {
        return NULL;
    }
    adz_tensor *rest = adz_narrow(s, dim, later ? 0 : 1, s->sizes[dim] - 1);
    adz_tensor *parts[] = { later ? edge : rest, later ? rest : edge };
    return adz_cat(parts, 2, dim);
}

/* One step of zeros, in the shape of one step of s: size 1 along dim. */
static adz_tensor *zero_step(adz_tensor *s, int dim)
{
    adz_tensor *one = adz_narrow(s, dim, 0, 1);
    return one != NULL ? adz_zeros(adz_shape_of(one->rank, one->sizes), (adz_dtype)one->dtype)
                       : NULL;
}

/* s_(t-1) at the position of step t; s0, or zeros, is at the position of step 1. In reversed time,
 * the step before is the next one along the dimension. */
adz_tensor *adzi_step_before(adz_tensor *s, adz_tensor *s0, int dim, bool reverse)
{
    adz_tensor *edge = s0 == ADZ_NONE ? zero_step(s, dim) : adz_unsqueeze(s0, dim);
    return shifted(s, edge, dim, !reverse);
}

/* s_(t+1) at the position of step t. Behind the last step there is nothing, which counts as zeros.
 */
adz_tensor *adzi_step_after(adz_tensor *s, int dim, bool reverse)
{
    return shifted(s, zero_step(s, dim), dim, reverse);
}

/* The first step, without the dimension of time. In reversed time it is the last one along the
 * dimension. */
adz_tensor *adzi_first_step(adz_tensor *s, int dim, bool reverse)
{
    return adz_select(s, dim, reverse ? -1 : 0);
}

adz_tensor *adzi_unrolled_recurrence(
    adz_tensor *a, adz_tensor *b, adz_tensor *s0, int dim, bool reverse)
{
    if (a == NULL || b == NULL || b->sizes[dim] == 0) {
        return b != NULL && a != NULL ? adz_clone(b) : NULL;
    }
    const int64_t n = b->sizes[dim];
    const size_t bytes = (size_t)n * sizeof(adz_tensor *);
    adz_tensor **steps = adzi_alloc(bytes);
    if (steps == NULL) {
        return adzi_fail_memory(name, bytes);
    }
    adz_tensor *s = s0 == ADZ_NONE ? s0 : adz_unsqueeze(s0, dim);
    for (int64_t k = 0; k < n && s != NULL; ++k) {
        const int64_t t = reverse ? n - 1 - k : k;
        adz_tensor *now = adz_narrow(b, dim, t, 1), *factor = adz_narrow(a, dim, t, 1);
        /* Without an initial state the first step multiplies by 0, which gives NaN for an infinite
         * factor. */
        adz_tensor *kept = s == ADZ_NONE ? adz_mul_number(factor, 0) : adz_mul(factor, s);
        steps[t] = s = adz_add(now, kept);
    }
    adz_tensor *y = s != NULL ? adz_cat(steps, (size_t)n, dim) : NULL;
    adzi_free(steps, bytes);
    return y;
}

/* ---- backward ------------------------------------------------------------------------------- */

/* The gradients as expressions. `later` is a_(t+1), with 0 behind the last step. There is no fused
 * backward: g is one launch of the operator's own kernel, and the products with it are
 * elementwise. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const recurrence_attr *at = adzi_attr(node, recurrence_attr);
    adz_tensor *a = adzi_saved_input(node, A);
    adz_tensor *later = adzi_step_after(a, at->dim, at->reverse);
    adz_tensor *g = adzi_linear_recurrence(later, dy[0], ADZ_NONE, at->dim, !at->reverse);
    adz_status status = adzi_status(g);
    /* b enters each step with factor 1, so its gradient is that of the state. */
    dx[B] = g;
    if (adzi_needs(node, A) && status == ADZ_OK) {
        adz_tensor *s = adzi_saved_result(node, 0);
        adz_tensor *s0 = at->started ? adzi_saved_input(node, S0) : ADZ_NONE;
        dx[A] = adz_mul(g, adzi_step_before(s, s0, at->dim, at->reverse));
        status = adzi_status(dx[A]);
    }
    if (adzi_needs(node, S0) && status == ADZ_OK) {
        dx[S0] = adz_mul(
            adzi_first_step(a, at->dim, at->reverse), adzi_first_step(g, at->dim, at->reverse));
        status = adzi_status(dx[S0]);
    }
    return status;
}

/* The forward as an expression: the steps one after the other. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    const recurrence_attr *at = attr;
    y[0] = adzi_unrolled_recurrence(in[A], in[B], in[S0], at->dim, at->reverse);
    return adzi_status(y[0]);
}

static const adz_field fields[] = { ADZI_FIELD(recurrence_attr, dim),
    ADZI_FIELD(recurrence_attr, reverse), ADZI_FIELD_HIDDEN(recurrence_attr, started) };

/* ---- forward -------------------------------------------------------------------------------- */

/* The initial state has the shape of b without the dimension of time. */
static bool check_state(const adzi_recurrence_inputs *call, int dim)
{
    const adz_tensor *b = call->in[B], *s0 = call->in[S0];
    bool fits = s0->rank == b->rank - 1;
    for (int i = 0; i < s0->rank && fits; ++i) {
        fits = s0->sizes[i] == b->sizes[i < dim ? i : i + 1];
    }
    if (!fits) {
        adzi_error(call->op, ADZ_ERR_SHAPE, "%s%s must be %s%s without dimension %d",
            call->names[S0], adzi_text_shape(s0), call->names[B], adzi_text_shape(b), dim);
    }
    return fits;
}

bool adzi_check_recurrence(const adzi_recurrence_inputs *call, int dim)
{
    const adz_tensor *a = call->in[A], *b = call->in[B];
    const char *op = call->op, *const *names = call->names;
    if (!adzi_same_sizes(a, b)) {
        adzi_error(op, ADZ_ERR_SHAPE, "%s%s and %s%s must have the same shape", names[A],
            adzi_text_shape(a), names[B], adzi_text_shape(b));
        return false;
    }
    if (b->sizes[dim] == 0) {
        adzi_error(op, ADZ_ERR_SHAPE, "%s%s has no time steps", names[B], adzi_text_shape(b));
        return false;
    }
    /* All inputs have one dtype; nothing is converted. */
    for (int i = B; i <= S0; ++i) {
        if (!adzi_is_none(call->in[i]) && call->in[i]->dtype != a->dtype) {
            adzi_error(op, ADZ_ERR_DTYPE, "%s is %s, but %s is %s; convert one with adz_to",
                names[i], adz_dtype_name((adz_dtype)call->in[i]->dtype), names[A],
                adz_dtype_name((adz_dtype)a->dtype));
            return false;
        }
    }
    return adzi_is_none(call->in[S0]) || check_state(call, dim);
}

static adz_status shape_rule(adz_result *s, adz_tensor *const *in, void *block)
{
    const adzi_recurrence_inputs call = { name, { "a", "b", "s0" }, in };
    recurrence_attr *at = block;
    (void)s;
    at->dim = adzi_dim(name, in[B], at->dim);
    return adzi_form_status(at->dim >= 0 && adzi_check_recurrence(&call, at->dim));
}

int64_t adzi_recurrence_slices(
    adzi_slices_args *args, adz_tensor *const *in, const adz_tensor *out, int dim)
{
    for (int i = A; i <= S0; ++i) {
        args->in[i] = adzi_is_none(in[i]) ? NULL : in[i]->data;
    }
    args->out = out->data;
    return adzi_slices(args, out, dim);
}

/* Units are slices along time. A slice is sequential; other slices do not depend on it. */
static void launch(adz_tensor *const *s, adz_tensor *const *in, const void *block)
{
    const recurrence_attr *at = block;
    adzi_slices_args args = { .reverse = at->reverse };
    const int64_t slices = adzi_recurrence_slices(&args, in, s[0], at->dim);
    adzi_launch(KERNEL_FOR(linear_recurrence, s[0]->dtype), adzi_slices_args, &args, slices,
        adzi_slices_grain(args.n));
}

const adzi_op adzi_op_linear_recurrence = { .name = name,
    .backward = backward,
    ADZI_ATTRIBUTES(recurrence_attr, fields),
    .expression = expression,
    .shape_rule = shape_rule,
    .dtypes = ADZ_DTYPES_FLOATS,
    .optional_inputs = ADZI_OPTIONAL(S0),
    .saved_inputs = 1U << A | 1U << S0, /* the gradient of b is g, and no other one reads b */
    .saved_results = 1 };

adz_tensor *adzi_linear_recurrence(
    adz_tensor *a, adz_tensor *b, adz_tensor *s0, int dim, bool reverse)
{
    return ADZI_RUN(
        linear_recurrence, launch, (&(recurrence_attr){ dim, reverse, s0 != ADZ_NONE }), a, b, s0);
}
