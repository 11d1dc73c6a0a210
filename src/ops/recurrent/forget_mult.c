#include "ops/recurrent/forget_mult.h"

#include "ops/cumulative/linear_recurrence.h"
#include "ops/options.h"

/* The recurrence of a quasi-recurrent network (Bradbury et al., 2016), f-pooling.
 *
 *     h_t  = f_t * z_t + (1 - f_t) * h_(t-1)
 *
 *     g_t  = dy_t + (1 - f_(t+1)) * g_(t+1)     the gradient of h_t, from the last step on
 *     dz_t = f_t * g_t,   df_t = g_t * (z_t - h_(t-1)),   dh0 = (1 - f_1) * g_1
 *
 * z, f and h are [T, B, H], or [B, T, H] if batch_first; h0[B, H] is optional and 0 if left out.
 * All three inputs are differentiable. The node saves them and h: df reads the state before each
 * step. With backward_in_time, step 1 is the last one along the dimension.
 *
 * f is the share of the new value in the state and is expected in [0, 1]; nothing checks it. All
 * inputs have one dtype, and the result is contiguous. */

KERNEL_TABLE_FLOAT(forget_mult);
KERNEL_TABLE_FLOAT(forget_mult_backward);

static const char name[] = "forget_mult";

enum { Z, F, H0, INPUTS }; /* the inputs of the node; z is the x of the public function */

typedef struct {
    int dim;      /* the dimension of time */
    bool reverse; /* step 1 is the last along dim */
    bool started; /* h0 was given */
} forget_attr;

/* A saved input, or ADZ_NONE for an h0 that was left out. NULL if the input has changed since the
 * forward. */
static adz_tensor *saved_input(adzi_node *node, int i)
{
    return i == H0 && !adzi_attr(node, forget_attr)->started ? ADZ_NONE : adzi_saved_input(node, i);
}

/* The gradients as expressions. g is a linear recurrence that runs in the opposite direction, and
 * that operator can be differentiated again. Each step of it depends on the step after, so g is
 * computed whole before the gradients, which are elementwise in g. */
/* Third formula: the derived one takes 1.1 times the memory, because it computes h again. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const forget_attr *at = adzi_attr(node, forget_attr);
    adz_tensor *f = adzi_saved_input(node, F), *z = adzi_saved_input(node, Z);
    /* 1 - f, the factor of the previous state. */
    adz_tensor *kept = adz_add_number(adz_neg(f), 1);
    /* The factor with which step t enters step t + 1, aligned with step t. */
    adz_tensor *later = adzi_step_after(kept, at->dim, at->reverse);
    adz_tensor *g = adzi_linear_recurrence(later, dy[0], ADZ_NONE, at->dim, !at->reverse);
    adz_status status = adzi_status(g);
    if (adzi_needs(node, F) && status == ADZ_OK) {
        adz_tensor *h = adzi_saved_result(node, 0);
        adz_tensor *before = adzi_step_before(h, saved_input(node, H0), at->dim, at->reverse);
        dx[F] = adz_mul(g, adz_sub(z, before));
        status = adzi_status(dx[F]);
    }
    if (adzi_needs(node, Z) && status == ADZ_OK) {
        dx[Z] = adz_mul(f, g);
        status = adzi_status(dx[Z]);
    }
    if (adzi_needs(node, H0) && status == ADZ_OK) {
        dx[H0] = adz_mul(
            adzi_first_step(kept, at->dim, at->reverse), adzi_first_step(g, at->dim, at->reverse));
        status = adzi_status(dx[H0]);
    }
    return status;
}

/* All gradients in one launch, with slices along time as units. The kernel writes all of them, so
 * those that nobody wants have memory, too. It carries the gradient of the state in a buffer; the
 * expression holds g as a tensor of the size of h. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const forget_attr *at = adzi_attr(node, forget_attr);
    adzi_forget_mult_args args = { .slices = { .reverse = at->reverse } };
    adz_tensor *in[INPUTS], *grad[INPUTS];
    for (int i = 0; i < INPUTS; ++i) {
        adz_tensor *saved = saved_input(node, i);
        in[i] = saved != NULL ? adzi_compact(name, saved) : NULL;
        if (in[i] == NULL) {
            return adzi_status(NULL);
        }
        /* An h0 that was left out has no gradient. */
        grad[i] = adzi_is_none(in[i]) ? ADZ_NONE : adzi_scratch_like(name, in[i]);
        if (grad[i] == NULL) {
            return adzi_status(NULL);
        }
    }
    /* The saved result is contiguous, because the operator made it. */
    adz_tensor *h = adzi_saved_result(node, 0), *g = adzi_compact(name, dy[0]);
    if (h == NULL || g == NULL) {
        return adzi_status(NULL);
    }
    args.dy = g->data;
    args.df = grad[F]->data;
    args.dz = grad[Z]->data;
    args.dh0 = adzi_is_none(grad[H0]) ? NULL : grad[H0]->data;
    const int64_t slices = adzi_recurrence_slices(&args.slices, in, h, at->dim);
    adzi_launch(KERNEL_FOR(forget_mult_backward, h->dtype), adzi_forget_mult_args, &args, slices,
        adzi_slices_grain(args.slices.n));
    for (int i = 0; i < INPUTS; ++i) {
        dx[i] = adzi_needs(node, i) ? grad[i] : NULL;
    }
    return ADZ_OK;
}

/* The forward as an expression: a linear recurrence with a = 1 - f and b = f z. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    const forget_attr *at = attr;
    adz_tensor *kept = adz_add_number(adz_neg(in[F]), 1);
    y[0] = adzi_unrolled_recurrence(kept, adz_mul(in[F], in[Z]), in[H0], at->dim, at->reverse);
    return adzi_status(y[0]);
}

static const adz_field fields[] = { ADZI_FIELD(forget_attr, dim),
    ADZI_FIELD_NAMED(forget_attr, reverse, "backward_in_time"),
    ADZI_FIELD_HIDDEN(forget_attr, started) };

/* The first input is called x by the public function and z by the paper. Time is dimension 0, or 1
 * with batch_first. */
static adz_status shape_rule(adz_result *h, adz_tensor *const *in, void *block)
{
    const adzi_recurrence_inputs call = { name, { "x", "f", "h0" }, in };
    const forget_attr *at = block;
    (void)h;
    if (in[Z]->rank != 3) {
        return adzi_error(name, ADZ_ERR_SHAPE, "x%s must have shape %s", adzi_text_shape(in[Z]),
            at->dim == 1 ? "[batch, time, features]" : "[time, batch, features]");
    }
    return adzi_form_status(adzi_check_recurrence(&call, at->dim));
}

/* Units of the launch are slices: the T steps of one sample and feature depend on each other, other
 * slices do not. */
static void launch(adz_tensor *const *h, adz_tensor *const *in, const void *block)
{
    const forget_attr *at = block;
    adzi_forget_mult_args args = { .slices = { .reverse = at->reverse } };
    const int64_t slices = adzi_recurrence_slices(&args.slices, in, h[0], at->dim);
    adzi_launch(KERNEL_FOR(forget_mult, h[0]->dtype), adzi_forget_mult_args, &args, slices,
        adzi_slices_grain(args.slices.n));
}

const adzi_op adzi_op_forget_mult = { .name = name,
    .backward = backward,
    .fused = fused,
    ADZI_ATTRIBUTES(forget_attr, fields),
    .expression = expression,
    .shape_rule = shape_rule,
    .dtypes = ADZ_DTYPES_FLOATS,
    .optional_inputs = ADZI_OPTIONAL(H0),
    .saved_inputs = 1U << Z | 1U << F | 1U << H0,
    .saved_results = 1 };

static const adz_field options_fields[] = {
    ADZ_FIELD(adz_forget_mult_options, batch_first, .value = false),
    ADZ_FIELD(adz_forget_mult_options, backward, .value = false),
};
ADZ_OPTIONS_TABLE(adz_forget_mult_options, ADZ_FORGET_MULT_OPTIONS, options_fields)

adz_tensor *adz_forget_mult(
    adz_tensor *x, adz_tensor *f, adz_tensor *h0, const adz_forget_mult_options *options)
{
    adz_forget_mult_options o;
    if (!ADZI_OPTIONS_TAKE(name, adz_forget_mult_options, ADZ_FORGET_MULT_OPTIONS, &o, options)) {
        return NULL;
    }
    return ADZI_RUN(forget_mult, launch,
        (&(forget_attr){ o.batch_first ? 1 : 0, o.backward, h0 != ADZ_NONE }), x, f, h0);
}
