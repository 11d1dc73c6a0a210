/* The derivatives of the function that is solved, for all tangents at one point. Either the
 * function's whole Jacobian is formed, by a vjp for each element of the state, or each tangent
 * takes a jvp of the function. */
#include <string.h>

#include "autograd/engine.h"
#include "plan/attempt.h"
#include "solvers/ode_forward.h"

/* Writes the elements of a tensor, or zeros for ADZ_NONE, of which there are n. */
static bool read_elements(const char *op, adz_tensor *t, int64_t n, double *to)
{
    if (adzi_is_none(t)) {
        memset(to, 0, (size_t)n * sizeof *to);
        return true;
    }
    const adz_tensor *from = adzi_compact(op, t);
    for (int64_t i = 0; from != NULL && i < n; ++i) {
        to[i] = adzi_ode_element(from, i);
    }
    return from != NULL;
}

adz_tensor *adzi_tangents_tensor(const char *op, const adz_tensor *like, const double *elements)
{
    adz_tensor *t = adzi_scratch_like(op, like);
    for (int64_t i = 0; t != NULL && i < t->numel; ++i) {
        adzi_encode((adz_dtype)t->dtype, elements[i], t->data + (size_t)i * adzi_item_size(t));
    }
    return t;
}

/* f(t, y) with its graph, which begins in the targets. */
static adz_tensor *recorded_value(adzi_ode_tangents *s, adz_tensor *t, adz_tensor *y)
{
    const bool before = adz_set_grad_enabled(true);
    s->targets[0] = adzi_equation_leaf(y);
    adz_tensor *f = s->targets[0] != NULL ? adzi_ode_slope(&s->ode, t, s->targets[0]) : NULL;
    adz_set_grad_enabled(before);
    return f != NULL &&
                   adzi_ode_knows_leaves(s->ode.e.op, f, s->targets, s->n_targets, s->node, NULL)
               ? f
               : NULL;
}

/* ---- the Jacobian ---------------------------------------------------------------------------- */

/* The gradients of element i as vectors, zeros where there is none. */
static bool take_row(adzi_ode_tangents *s, adz_tensor *f, int64_t i, adz_tensor **parts)
{
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    adz_tensor *unit = adz_reshape(adz_select(s->units, 0, i), adz_tensor_shape(f));
    o.retain_graph = o.allow_unused = true;
    for (size_t k = 0; k < s->n_targets; ++k) {
        s->found[k] = ADZ_NONE;
    }
    if (unit == NULL || (adzi_requires_grad(f) && adz_autograd_grad(&f, &unit, 1, s->targets,
                                                      s->n_targets, &o, s->found) != ADZ_OK)) {
        return false;
    }
    for (size_t k = 0; k < s->n_targets; ++k) {
        const adz_shape vector = ADZ_SHAPE(s->targets[k]->numel);
        parts[k] = adzi_is_none(s->found[k]) ? adz_zeros(vector, (adz_dtype)s->targets[k]->dtype)
                                             : adz_reshape(s->found[k], vector);
        if (parts[k] == NULL) {
            return false;
        }
    }
    return true;
}

/* f at the point in s->at, and the rows of its Jacobian, as one vector. */
static adz_tensor *linear_form(void *user)
{
    adzi_ode_tangents *s = user;
    adz_tensor *f = recorded_value(s, s->at[0], s->at[1]);
    bool good = f != NULL;
    if (good) {
        s->parts[0] = adz_reshape(adz_detach(f), ADZ_SHAPE(s->n));
        good = s->parts[0] != NULL;
    }
    for (int64_t i = 0; i < s->n && good; ++i) {
        good = take_row(s, f, i, s->parts + 1 + (size_t)i * s->n_targets);
    }
    return good ? adz_cat(s->parts, 1 + (size_t)s->n * s->n_targets, 0) : NULL;
}

/* The linear form by a plan, which saves most of the time of a small function. NULL without an
 * error if the function cannot be captured. */
static adz_tensor *replayed_form(adzi_ode_tangents *s)
{
    if (*s->plan == NULL && !s->refused) {
        *s->plan = adzi_plan_attempt(s->ode.e.op, linear_form, s);
        s->refused = *s->plan == NULL;
    } else if (!s->refused) {
        s->refused = adz_plan_run(*s->plan) != ADZ_OK;
    }
    if (s->refused) {
        adz_error_clear(); /* an ordinary call tells whether the function itself has failed */
        return NULL;
    }
    return adz_plan_output(*s->plan);
}

/* Fills `jacobian`. The value of f, or NULL. */
static adz_tensor *form_jacobian(adzi_ode_tangents *s, adz_tensor *t, adz_tensor *y)
{
    adzi_copy(s->at[0], t);
    adzi_copy(s->at[1], y);
    adz_tensor *all = s->plan != NULL ? replayed_form(s) : NULL;
    all = all != NULL ? all : linear_form(s);
    if (all == NULL || !read_elements(s->ode.e.op, adz_narrow(all, 0, s->n, all->numel - s->n),
                           all->numel - s->n, s->jacobian)) {
        return NULL;
    }
    /* `all` has the largest dtype of the state and the targets. */
    adz_tensor *f = adz_to(adz_narrow(all, 0, 0, s->n), (adz_dtype)s->at[1]->dtype);
    return adz_reshape(f, adz_tensor_shape(s->at[1]));
}

static void multiply(const adzi_ode_tangents *s, const double *y, double *slopes)
{
    const int64_t n = s->n, p = s->p;
    for (int64_t j = 0; j < s->m; ++j) {
        const double *w = s->w + j * p;
        for (int64_t i = 0; i < n; ++i) {
            const double *row = s->jacobian + i * (n + p);
            double sum = 0;
            for (int64_t k = 0; k < n; ++k) {
                sum += row[k] * y[j * n + k];
            }
            for (int64_t k = 0; k < p; ++k) {
                sum += w[k] != 0 ? row[n + k] * w[k] : 0;
            }
            slopes[j * n + i] = sum;
        }
    }
}

/* ---- products -------------------------------------------------------------------------------- */

/* The gradients of f for the upstream gradient u, of zeros, by which they are differentiated. */
static bool prepare_products(adzi_ode_tangents *s, adz_tensor *f)
{
    s->u = adz_zeros_like(f);
    if (s->u == NULL) {
        return false;
    }
    s->u->requires_grad = s->u->is_zero = true;
    for (size_t k = 0; k < s->n_targets; ++k) {
        s->found[k] = ADZ_NONE;
    }
    return !adzi_requires_grad(f) || adzi_autograd_grad_forward(&f, &s->u, 1, s->targets,
                                         s->n_targets, s->m, s->found) == ADZ_OK;
}

/* The tangents of the targets, for tangent j. Those that the function does not depend on are left
 * out. Returns how many there are, or -1. */
static int64_t take_tangents(adzi_ode_tangents *s, const double *y, int64_t j, adz_tensor **outputs)
{
    const double *from = s->w + j * s->p;
    int64_t count = 0;
    for (size_t k = 0; k < s->n_targets; ++k) {
        const adz_tensor *target = s->targets[k];
        const double *elements = k == 0 ? y + j * s->n : from;
        from += k == 0 ? 0 : target->numel;
        if (adzi_is_none(s->found[k]) || !adzi_requires_grad(s->found[k])) {
            continue;
        }
        outputs[count] = s->found[k];
        s->tangent[count] = adzi_tangents_tensor(s->ode.e.op, target, elements);
        if (s->tangent[count++] == NULL) {
            return -1;
        }
    }
    return count;
}

static bool compute_product(adzi_ode_tangents *s, const double *y, int64_t j, double *slopes)
{
    adz_tensor **outputs = s->tangent + s->n_targets, *slope = ADZ_NONE;
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.retain_graph = o.allow_unused = true;
    const int64_t count = take_tangents(s, y, j, outputs);
    return count >= 0 &&
           (count == 0 || adz_autograd_grad(outputs, s->tangent, (size_t)count, &s->u, 1, &o,
                              &slope) == ADZ_OK) &&
           read_elements(s->ode.e.op, slope, s->n, slopes + j * s->n);
}

/* ---- both ------------------------------------------------------------------------------------ */

adz_tensor *adzi_tangents_at(adzi_ode_tangents *s, adz_tensor *t, adz_tensor *y)
{
    if (s->dense) {
        return form_jacobian(s, t, y);
    }
    adz_tensor *f = recorded_value(s, t, y);
    return f != NULL && prepare_products(s, f) ? adz_detach(f) : NULL;
}

bool adzi_tangents_slopes(adzi_ode_tangents *s, const double *y, double *slopes)
{
    if (s->dense) {
        multiply(s, y, slopes);
        return true;
    }
    for (int64_t j = 0; j < s->m; ++j) {
        const size_t mark = adzi_self()->n_temporaries;
        if (!compute_product(s, y, j, slopes)) {
            return false;
        }
        adzi_scope_unwind(adzi_self(), mark);
    }
    return true;
}
