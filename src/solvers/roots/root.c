/* The public functions for roots, their checks, and what the methods share. */
#include "solvers/roots/root.h"

#include <math.h>

#include "adze/options.h"

enum { DENSE_UNKNOWNS = 2048, MOST_DIMENSION = 100, MOST_FIXED = 10000 };

#define HOST_DOTS                                                                              \
    "GMRES of ADZ_ROOT_KRYLOV, which ADZ_ROOT_AUTO takes for more than 2048 unknowns without " \
    "rows, reads dot products on the host; use ADZ_ROOT_NEWTON"

static const char *const methods[] = { "auto", "Newton", "Krylov", "Anderson", NULL };

static const adz_field fields[] = {
    ADZ_FIELD_AS(adz_root_options, method, "method", ADZ_FIELD_ENUM, .values = methods),
    ADZ_FIELD(adz_root_options, tolerance, .value = 1e-10, ADZ_FINITE_ABOVE(0),
        .hint = "rounding keeps a residual from being 0; the default is 1e-10"),
    ADZ_FIELD(adz_root_options, max_iterations, .value = 200, ADZ_AT_LEAST(1)),
    ADZ_FIELD(adz_root_options, fixed_iterations, .value = 0, ADZ_CLOSED(0, MOST_FIXED)),
    ADZ_FIELD(adz_root_options, history, .value = 0, ADZ_CLOSED(0, MOST_DIMENSION),
        .hint = "0 is for the default"),
};

ADZ_OPTIONS_TABLE(adz_root_options, ADZ_ROOT_OPTIONS, fields)

bool adzi_root_is_dense(const adz_root_options *o, int64_t unknowns)
{
    return o->method == ADZ_ROOT_NEWTON || (o->rows && o->method != ADZ_ROOT_KRYLOV) ||
           (o->method != ADZ_ROOT_KRYLOV &&
               (unknowns <= DENSE_UNKNOWNS || adzi_capture_of(adzi_self()) != NULL));
}

/* ---- one value of the function --------------------------------------------------------------- */

static int call_equation(adz_tensor *const *inputs, size_t n, adz_tensor **results, void *root)
{
    const adzi_root *r = root;
    results[0] = adzi_equation_call(&r->e, inputs, n);
    return results[0] != NULL;
}

bool adzi_root_evaluate(adzi_root *r, adz_tensor *x, bool (*work)(adzi_functional *))
{
    const adz_tensor_function function = { call_equation, r };
    adz_tensor *out[ADZI_ROOT_STATES + 2 * ADZI_ROOT_HISTORY];
    r->f = (adzi_functional){ .op = r->e.op,
        .function = &function,
        .inputs = &x,
        .n = 1,
        .n_results = 1,
        .rows = r->by_rows };
    ++r->found.iterations;
    return adzi_functional_run(&r->f, NULL, work, out) == ADZ_OK;
}

bool adzi_root_keep(adzi_functional *f, const adzi_root_state *s)
{
    adzi_root *r = (adzi_root *)f;
    adz_tensor *const all[] = { s->x, s->norm, s->step, s->scale, s->good, s->failed, s->why };
    r->state = *s;
    f->n_found = r->looped ? ADZI_ROOT_STATES : ADZI_ROOT_STATES - 1;
    for (size_t i = 0; i < f->n_found; ++i) {
        f->found[i] = all[i];
        if (all[i] == NULL) {
            return false;
        }
    }
    return true;
}

bool adzi_root_values(adzi_root *r, const adzi_root_parts *parts)
{
    const int n = r->fixed ? r->o.fixed_iterations : r->o.max_iterations;
    const size_t mark = adzi_self()->n_temporaries;
    while (!r->over && r->found.iterations < n) {
        r->last = r->found.iterations == n - 1;
        if (!parts->value(r) || !adzi_survive(r->e.op, mark, r->f.found, r->f.n_found)) {
            return false;
        }
    }
    return true;
}

adz_tensor *adzi_root_norm(const adzi_root *r, adz_tensor *y)
{
    adz_tensor *size = adz_abs(y);
    return r->by_rows ? adz_amax(size, ADZ_DIMS(1), ADZ_KEEPDIM)
                      : adz_amax(size, ADZ_ALL_DIMS, ADZ_DROPDIM);
}

bool adzi_root_check_rows(adzi_root *r, const adzi_root_state *s)
{
    if (r->fixed || r->looped) {
        return true;
    }
    adz_tensor *done = adz_logical_or(s->good, s->failed);
    adz_tensor *left = adz_sum(adz_to(adz_logical_not(done), ADZ_F32), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_tensor *bad = adz_sum(adz_to(adz_logical_not(s->good), ADZ_F32), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_tensor *worst = adz_max(s->norm);
    if (left == NULL || bad == NULL || worst == NULL) {
        return false;
    }
    r->over = adz_item(left) == 0;
    r->found.rows_left = (int64_t)adz_item(bad);
    r->found.residual = adz_item(worst);
    r->found.reason = r->found.rows_left == 0 ? ADZ_ROOT_CONVERGED
                      : r->over               ? r->failure
                                              : ADZ_ROOT_ITERATIONS;
    return true;
}

bool adzi_root_note_leaves(adzi_root *r)
{
    return !r->wants || !(r->over || r->last || r->looped) ||
           adzi_leaves_add(&r->leaves, r->e.op, r->f.values[0], r->f.x, 1);
}

adz_tensor *adzi_root_jacobian(adzi_functional *f, bool rows)
{
    if (!adzi_functional_jacobian(f)) {
        return NULL;
    }
    const int64_t n = f->x[0]->numel;
    return rows ? f->found[0] : adz_reshape(f->found[0], ADZ_SHAPE(1, n, n));
}

/* ---- a search -------------------------------------------------------------------------------- */

static bool check_history(const char *op, const adz_root_options *o)
{
    const bool good = o->method != ADZ_ROOT_ANDERSON || o->history <= ADZI_ROOT_HISTORY;
    if (!good) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "history is %d, but must be in [0, %d] for ADZ_ROOT_ANDERSON; 0 is for the default",
            o->history, (int)ADZI_ROOT_HISTORY);
    }
    return good;
}

static bool check_form(const adzi_root *r, const adz_tensor *x0)
{
    const char *op = r->e.op;
    if (r->o.rows && x0->rank != 2) {
        adzi_error(op, ADZ_ERR_SHAPE,
            "x0 is %s; with rows it must be a matrix [N, D], of which each row is a system",
            adzi_text_shape(x0));
        return false;
    }
    if (r->o.method == ADZ_ROOT_KRYLOV && r->fixed) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "fixed_iterations with ADZ_ROOT_KRYLOV, whose GMRES reads dot products on the host; use ADZ_ROOT_NEWTON or ADZ_ROOT_ANDERSON");
        return false;
    }
    if (r->o.method == ADZ_ROOT_KRYLOV && adzi_self()->tracer != NULL) {
        adzi_error(op, ADZ_ERR_UNSUPPORTED, "cannot be exported, because " HOST_DOTS);
        return false;
    }
    return r->o.method != ADZ_ROOT_KRYLOV || !adzi_is_captured(op, HOST_DOTS);
}

adz_status adzi_root_fail(
    const char *op, const adz_root_report *found, adz_shape shape, double tolerance)
{
    static const char *const whys[] = { "", "max_iterations were not enough",
        "no step along the direction of the search makes the residual smaller",
        "the Jacobian is singular or not finite", "the function is not finite at x0", "" };
    return adzi_error(op, ADZ_ERR_NUMERIC,
        "the search from x%s did not converge: %s. After %d evaluations of the function the residual is %s, above the tolerance %s%s. Begin nearer to the root, raise tolerance or max_iterations, or set accept_unconverged",
        adzi_text_sizes(shape.rank, shape.sizes), whys[found->reason], found->iterations,
        adzi_text_number(found->residual), adzi_text_number(tolerance),
        found->rows_left > 1 ? " in several rows" : "");
}

/* Fails if the host has seen that the search did not converge and this is not accepted. */
static bool check_converged(const adzi_root *r)
{
    return r->found.reason == ADZ_ROOT_CONVERGED || r->fixed || r->looped ||
           r->o.accept_unconverged ||
           adzi_root_fail(r->e.op, &r->found, r->shape, r->o.tolerance) == ADZ_OK;
}

static adz_tensor *search(adzi_root *r, adz_tensor *x0)
{
    adz_tensor *x = adz_clone(adz_detach(x0));
    if (x == NULL || !adzi_equation_detach(&r->e)) {
        return NULL;
    }
    if (x->numel == 0) {
        r->found = (adz_root_report){ .reason = ADZ_ROOT_CONVERGED };
        return x;
    }
    r->state.x = x;
    const bool good = r->looped                          ? adzi_root_while(r)
                      : r->o.method == ADZ_ROOT_ANDERSON ? adzi_root_anderson(r)
                                                         : adzi_root_newton(r);
    if (!good || !check_converged(r)) {
        return NULL;
    }
    return adz_clone(r->state.x); /* a contiguous tensor that nobody else has */
}

/* Whether a plan captures, and keeps on doing so. */
static bool is_captured(void)
{
    return adzi_capture_of(adzi_self()) != NULL && !adzi_capture_gives_up();
}

/* Searches, and records the root. `r` has the function; the other fields are set here. */
static adz_tensor *run(
    adzi_root *r, adz_tensor *x0, const adz_root_options *options, adz_root_report *report)
{
    const char *op = r->e.op;
    adzi_thread *thread = adzi_self();
    adz_tensor *arguments[ADZ_SOLVER_ARGUMENTS];
    if (!adz_options_take(op, &adz_root_options_table, &r->o, options) ||
        !check_history(op, &r->o) || !adzi_equation_check_state(op, "x0", x0)) {
        return NULL;
    }
    r->fixed = r->o.fixed_iterations > 0;
    r->looped = !r->fixed && (thread->tracer != NULL || is_captured());
    r->shape = adz_tensor_shape(x0);
    if (r->o.method == ADZ_ROOT_AUTO && !r->o.rows && x0->numel > DENSE_UNKNOWNS && !r->fixed) {
        r->o.method = ADZ_ROOT_KRYLOV; /* also in a plan, which refuses it */
    }
    if (!check_form(r, x0)) {
        return NULL;
    }
    r->by_rows = r->o.rows && r->o.method != ADZ_ROOT_KRYLOV;
    r->wants = thread->grad_enabled;
    r->found = (adz_root_report){ 0, NAN, -1, ADZ_ROOT_UNCHECKED };
    for (size_t i = 0; i < r->e.n; ++i) {
        arguments[i] = r->e.arguments[i];
    }
    const size_t mark = thread->n_temporaries;
    adz_tensor *x = search(r, x0);
    if (report != NULL) {
        *report = r->found;
    }
    for (size_t i = 0; i < r->e.n; ++i) {
        r->e.arguments[i] = arguments[i];
    }
    if (x == NULL) {
        adzi_scope_unwind(thread, mark);
    } else {
        x = adzi_survive(op, mark, &x, 1) ? adzi_root_record(r, x) : NULL;
    }
    adzi_leaves_free(&r->leaves);
    return x;
}

adz_tensor *adz_root(adz_tensor_map function, void *user, adz_tensor *x0,
    const adz_root_options *options, adz_root_report *report)
{
    adzi_root r = { .e = { .op = "adz_root", .map = function, .user = user } };
    return adzi_single_check("adz_root", function) ? run(&r, x0, options, report) : NULL;
}

adz_tensor *adz_root_many(const adz_tensor_function *function, adz_tensor *x0,
    adz_tensor *const *arguments, size_t n, const adz_root_options *options,
    adz_root_report *report)
{
    adzi_root r = { .e = { .op = "adz_root_many" } };
    return adzi_equation_take(&r.e, function, arguments, n) ? run(&r, x0, options, report) : NULL;
}
