/* The Jacobian of residuals. With more residuals than parameters it is computed column by column: a
 * backward u -> J^T u is linear in u, so J^T is its Jacobian, which adz_jacobian computes in one
 * pass per parameter. With fewer residuals each row is one backward. */
#include "solvers/closures/residual_jacobian.h"

#include "adze/functional.h"
#include "adze/ops.h"
#include "adze/scope.h"
#include "autograd/engine.h"
#include "base/error.h"

/* The parameters that want a gradient, and memory for their gradients. */
typedef struct {
    const adzi_search_run *run;
    adz_tensor *r;
    adz_tensor **leaves, **gradients, **parts; /* `room` each; parts: of all parameters */
    size_t n, room;
} passes;

static bool find_leaves(passes *p)
{
    const adzi_group *group = p->run->optimizer->groups[0];
    p->room = group->count;
    p->leaves = adzi_alloc_zero(3 * p->room * sizeof(adz_tensor *));
    if (p->leaves == NULL) {
        adzi_fail_memory(p->run->op, 3 * p->room * sizeof(adz_tensor *));
        return false;
    }
    p->gradients = p->leaves + p->room;
    p->parts = p->gradients + p->room;
    for (size_t i = 0; i < group->count; ++i) {
        if (group->parameters[i]->requires_grad) {
            p->leaves[p->n++] = group->parameters[i];
        }
    }
    return true;
}

/* The gradient of sum(u r) with respect to all parameters, as one vector. With directions above 0,
 * u is zeros by which it will be differentiated (adzi_autograd_grad_forward). */
static adz_tensor *backward_of(passes *p, adz_tensor *u, int64_t directions)
{
    const adzi_group *group = p->run->optimizer->groups[0];
    adz_backward_options options = ADZ_BACKWARD_OPTIONS;
    options.retain_graph = options.allow_unused = true;
    if (u == NULL || (directions > 0 ? adzi_autograd_grad_forward(
                                           &p->r, &u, 1, p->leaves, p->n, directions, p->gradients)
                                     : adz_autograd_grad(&p->r, &u, 1, p->leaves, p->n, &options,
                                           p->gradients)) != ADZ_OK) {
        return NULL;
    }
    for (size_t i = 0, k = 0; i < group->count; ++i) {
        adz_tensor *t = group->parameters[i];
        adz_tensor *dt = t->requires_grad ? p->gradients[k++] : ADZ_NONE;
        dt = adzi_is_none(dt) ? adz_zeros(ADZ_SHAPE(t->numel), p->run->dtype) : dt;
        p->parts[i] = adz_reshape(dt, ADZ_SHAPE(t->numel));
        if (p->parts[i] == NULL) {
            return NULL;
        }
    }
    return adz_cat(p->parts, group->count, 0);
}

static adz_tensor *transposed_map(adz_tensor *u, void *user)
{
    const passes *p = user;
    return backward_of(user, u, p->run->numel);
}

static adz_tensor *by_columns(passes *p)
{
    adz_functional_options options = ADZ_FUNCTIONAL_OPTIONS;
    options.mode = ADZ_JACOBIAN_REVERSE;
    adz_tensor *u = adz_zeros(ADZ_SHAPE(p->r->numel), (adz_dtype)p->r->dtype);
    adz_tensor *transposed = u != NULL ? adz_jacobian(transposed_map, p, u, &options) : NULL;
    return transposed != NULL ? adz_to(adz_transpose(transposed, 0, 1), ADZ_F64) : NULL;
}

/* Row m of the Jacobian is written, in a scope that ends with the pass. */
static bool make_row(passes *p, adz_tensor *jacobian, adz_tensor *identity, int64_t m)
{
    const int64_t n = p->r->numel;
    adz_scope *scope = adz_scope_open();
    if (scope == NULL) {
        return false;
    }
    adz_tensor *row = backward_of(p, adz_narrow(identity, 0, n - 1 - m, n), 0);
    adz_tensor *to = row != NULL ? adz_select(jacobian, 0, m) : NULL;
    const bool good = to != NULL && adz_copy_(to, row) != NULL;
    adz_scope_close(scope);
    return good;
}

static adz_tensor *by_rows(passes *p)
{
    const int64_t n = p->r->numel;
    adz_tensor *jacobian = adz_zeros(ADZ_SHAPE(n, p->run->numel), ADZ_F64);
    /* 2 n - 1 numbers of which the middle one is 1: each unit vector is a slice of it */
    adz_tensor *identity =
        adz_to(adz_eq_number(adz_arange(0, (double)(2 * n - 1), 1, ADZ_I64), (double)(n - 1)),
            (adz_dtype)p->r->dtype);
    bool good = jacobian != NULL && identity != NULL;
    for (int64_t m = 0; m < n && good; ++m) {
        good = make_row(p, jacobian, identity, m);
    }
    return good ? jacobian : NULL;
}

adz_tensor *adzi_residual_jacobian(const adzi_search_run *run, adz_tensor *r)
{
    passes p = { .run = run, .r = r };
    adz_tensor *jacobian = NULL;
    if (!find_leaves(&p)) {
        return NULL;
    }
    if (p.n == 0 || !adzi_requires_grad(r)) {
        adzi_error(run->op, ADZ_ERR_GRAPH,
            p.n == 0
                ? "no parameter wants a gradient; call adz_requires_grad_"
                : "the residuals have no graph; the closure has to compute them from the parameters, and outside of ADZ_NO_GRAD");
    } else if (r->numel > run->numel) {
        jacobian = by_columns(&p);
        if (jacobian == NULL && adz_error_code() == ADZ_ERR_UNSUPPORTED) {
            adz_error_clear(); /* an operator has no second derivative */
            jacobian = by_rows(&p);
        }
    } else {
        jacobian = by_rows(&p);
    }
    adzi_free(p.leaves, 3 * p.room * sizeof(adz_tensor *));
    return jacobian;
}
