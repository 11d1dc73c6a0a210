/* The derivatives of the function that is solved, for all tangents at one point. Either the
 * function's whole Jacobian is formed, by a vjp for each element of the state, or each tangent
 * takes a jvp of the function. */
#include <string.h>

#include "autograd/engine.h"
#include "solvers/ode_forward.h"

static double element(const adz_tensor *t, int64_t i)
{
    return t->dtype == ADZ_F64 ? ((const double *)(const void *)t->data)[i]
                               : (double)((const float *)(const void *)t->data)[i];
}

/* Writes the elements of a tensor, or zeros for ADZ_NONE, of which there are n. */
static bool read_elements(const char *op, adz_tensor *t, int64_t n, double *to)
{
    if (adzi_is_none(t)) {
        memset(to, 0, (size_t)n * sizeof *to);
        return true;
    }
    const adz_tensor *from = adzi_compact(op, t);
    for (int64_t i = 0; from != NULL && i < n; ++i) {
        to[i] = element(from, i);
    }
    return from != NULL;
}

/* A tensor like `like` of these elements. */
static adz_tensor *tensor_of(const char *op, const adz_tensor *like, const double *elements)
{
    adz_tensor *t = adzi_scratch_like(op, like);
    for (int64_t i = 0; t != NULL && i < t->numel; ++i) {
        if (t->dtype == ADZ_F64) {
            ((double *)(void *)t->data)[i] = elements[i];
        } else {
            ((float *)(void *)t->data)[i] = (float)elements[i];
        }
    }
    return t;
}

/* ---- the Jacobian ---------------------------------------------------------------------------- */

/* Row i of the Jacobian is the gradient of element i. */
static bool form_jacobian(adzi_ode_tangents *s, adz_tensor *f)
{
    const char *op = s->ode.e.op;
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.retain_graph = o.allow_unused = true;
    const int64_t width = s->n + s->p;
    if (!adzi_requires_grad(f)) {
        memset(s->jacobian, 0, (size_t)(s->n * width) * sizeof(double));
        return true;
    }
    for (int64_t i = 0; i < s->n; ++i) {
        adz_tensor *unit = adzi_scratch_like(op, f);
        double *to = s->jacobian + i * width;
        if (unit == NULL) {
            return false;
        }
        memset(unit->data, 0, (size_t)unit->numel * adzi_item_size(unit));
        adzi_encode((adz_dtype)unit->dtype, 1, unit->data + (size_t)i * adzi_item_size(unit));
        if (adz_autograd_grad(&f, &unit, 1, s->targets, s->n_targets, &o, s->found) != ADZ_OK) {
            return false;
        }
        for (size_t k = 0; k < s->n_targets; ++k) {
            const int64_t n = s->targets[k]->numel;
            if (!read_elements(op, s->found[k], n, to)) {
                return false;
            }
            to += n;
        }
    }
    return true;
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
        s->tangent[count] = tensor_of(s->ode.e.op, target, elements);
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
    const bool before = adz_set_grad_enabled(true);
    s->targets[0] = adzi_equation_leaf(y);
    adz_tensor *f = s->targets[0] != NULL ? adzi_ode_slope(&s->ode, t, s->targets[0]) : NULL;
    adz_set_grad_enabled(before);
    const bool good =
        f != NULL &&
        adzi_ode_knows_leaves(s->ode.e.op, f, s->targets, s->n_targets, s->node, NULL) &&
        (s->dense ? form_jacobian : prepare_products)(s, f);
    return good ? adz_detach(f) : NULL;
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
