/* Gradient checks. Each element of each input is moved by +eps and -eps, and the central difference
 * (f(x + eps) - f(x - eps)) / (2 eps) of each output is compared with the gradient. All in f64. */
#include <math.h>
#include <string.h>

#include "base/capture.h"
#include "base/door.h"
#include "autograd/gradcheck.h"

#include "autograd/op.h"
#include "autograd/operators.h"
#include "adze/options.h"
#include "adze/random.h"

enum { MAX_OUTPUTS = 16 };

typedef struct {
    const char *op;
    const adz_gradcheck_function *function;
    adz_tensor *const *inputs;
    size_t n;
    adz_gradcheck_options options;
    adz_gradcheck_report report;
    adz_status status;
} check;

static const adz_field fields[] = {
    ADZ_FIELD(adz_gradcheck_options, eps, .value = 1e-6, ADZ_FINITE_ABOVE(0)),
    ADZ_FIELD(adz_gradcheck_options, atol, .value = 1e-5, ADZ_AT_LEAST(0)),
    ADZ_FIELD(adz_gradcheck_options, rtol, .value = 1e-3, ADZ_AT_LEAST(0)),
    ADZ_FIELD(adz_gradcheck_options, f32_tolerance, ADZ_AT_LEAST(0),
        .hint = "1e-4 suits most functions, 0 leaves the f32 run out"),
};

ADZ_OPTIONS_TABLE(adz_gradcheck_options, ADZ_GRADCHECK_OPTIONS, fields)

/* True for an input whose gradient is checked: an f64 tensor that wants a gradient. */
static bool is_checked(const adz_tensor *t)
{
    return !adzi_is_none(t) && t->dtype == ADZ_F64 && adzi_requires_grad(t);
}

/* Calls the user's function. Returns the number of outputs, or 0 with the error recorded. */
static int call(const check *c, adz_tensor **outputs)
{
    int count = c->function->call(c->inputs, c->n, outputs, c->function->user);
    if (count > MAX_OUTPUTS) {
        adzi_error(c->op, ADZ_ERR_ARGUMENT, "the function gave %d outputs; at most %d are checked",
            count, MAX_OUTPUTS);
        return 0;
    }
    if (count <= 0) {
        adzi_status(NULL);
    }
    return count;
}

/* Sets one element of an input to `value`, calls the function, and copies the elements of output k
 * to values[k] unless that is NULL. The element is restored. */
static bool sample_outputs(const check *c, double *element, double value, double **values)
{
    adz_scope *scope = adz_scope_open();
    double before = *element;
    adz_tensor *outputs[MAX_OUTPUTS] = { NULL };
    *element = value;
    bool recording = adz_set_grad_enabled(false);
    int count = scope != NULL ? call(c, outputs) : 0;
    adz_set_grad_enabled(recording);
    for (int k = 0; k < count; ++k) {
        if (values[k] == NULL) {
            continue;
        }
        adz_tensor *flat = adz_contiguous(outputs[k]);
        if (flat == NULL) {
            count = 0;
            break;
        }
        memcpy(values[k], flat->data, (size_t)flat->numel * sizeof(double));
    }
    *element = before; /* after the copy, because an output may be the input itself */
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return count > 0;
}

/* The error divided by the allowed error, atol + rtol |numeric|. A result above 1 is a failure. */
static double excess(const check *c, double error, double numeric)
{
    double allowed = c->options.atol + c->options.rtol * fabs(numeric);
    return error == 0 ? 0 : isnan(error) || !(allowed > 0) ? INFINITY : error / allowed;
}

/* Counts an element that was computed in both ways. The report keeps the worst one. */
static void compare(check *c, adz_gradcheck_report found)
{
    adz_gradcheck_report *r = &c->report;
    const double error = fabs(found.analytic - found.numeric);
    const double worst = r->elements == 0 ? -1 : excess(c, r->error, r->numeric);
    found.error = isnan(error) ? INFINITY : error;
    found.elements = r->elements + 1;
    found.nonzero = r->nonzero + (found.analytic != 0 ? 1 : 0);
    if (excess(c, error, found.numeric) > worst) {
        *r = found;
    }
    r->elements = found.elements;
    r->nonzero = found.nonzero;
}

/* The memory of the check of one input: for each output, its values after a step of +eps and of
 * -eps, and the analytic Jacobian, [numel of the output, numel of the input]. */
typedef struct {
    int count;
    adz_tensor *outputs[MAX_OUTPUTS];
    double *up[MAX_OUTPUTS], *down[MAX_OUTPUTS], *jacobian[MAX_OUTPUTS];
} tables;

static double *table(const check *c, int64_t n)
{
    adz_tensor *t = adzi_scratch(c->op, ADZ_F64, 1, &n);
    return t != NULL ? (double *)(void *)t->data : NULL;
}

/* Fills the Jacobians row by row. Row j is the gradient of element j of the output, from a backward
 * whose upstream gradient is 1 at j and 0 elsewhere. */
static bool analytic_jacobian(const check *c, size_t i, tables *t)
{
    int64_t numel = c->inputs[i]->numel;
    for (int k = 0; k < t->count; ++k) {
        adz_tensor *y = t->outputs[k];
        if (t->jacobian[k] == NULL) {
            continue;
        }
        for (int64_t j = 0; j < y->numel; ++j) {
            adz_scope *scope = adz_scope_open();
            adz_tensor *upstream = scope != NULL ? adz_zeros_like(y) : NULL, *gradient = NULL;
            if (upstream == NULL) {
                return false;
            }
            ((double *)(void *)upstream->data)[j] = 1;
            adz_backward_options o = ADZ_BACKWARD_OPTIONS;
            o.retain_graph = o.allow_unused = true;
            adz_tensor *x = c->inputs[i];
            bool ok = adz_autograd_grad(&y, &upstream, 1, &x, 1, &o, &gradient) == ADZ_OK;
            gradient = ok && !adzi_is_none(gradient) ? adz_contiguous(gradient) : gradient;
            ok = ok && gradient != NULL;
            for (int64_t e = 0; ok && e < numel; ++e) {
                t->jacobian[k][j * numel + e] =
                    adzi_is_none(gradient) ? 0 : ((double *)(void *)gradient->data)[e];
            }
            adz_scope_close(scope);
            if (!ok) {
                return false;
            }
        }
    }
    return true;
}

/* Computes the central differences column by column and compares them with the Jacobians. */
static bool numeric_jacobian(check *c, size_t i, tables *t)
{
    adz_tensor *x = c->inputs[i];
    double *data = (double *)(void *)x->data, eps = c->options.eps;
    for (int64_t e = 0; e < x->numel; ++e) {
        double middle = data[e];
        if (!sample_outputs(c, &data[e], middle + eps, t->up) ||
            !sample_outputs(c, &data[e], middle - eps, t->down)) {
            return false;
        }
        for (int k = 0; k < t->count; ++k) {
            for (int64_t j = 0; t->up[k] != NULL && j < t->outputs[k]->numel; ++j) {
                compare(c, (adz_gradcheck_report){ .input = i,
                               .index = e,
                               .output = (size_t)k,
                               .output_index = j,
                               .analytic = t->jacobian[k][j * x->numel + e],
                               .numeric = (t->up[k][j] - t->down[k][j]) / (2 * eps) });
            }
        }
    }
    return true;
}

static bool check_input(check *c, size_t i)
{
    tables t = { 0 };
    bool recording = adz_set_grad_enabled(true);
    t.count = call(c, t.outputs);
    bool ok = t.count > 0;
    for (int k = 0; k < t.count && ok; ++k) {
        adz_tensor *y = t.outputs[k];
        if (y == NULL || adzi_is_none(y) || y->dtype != ADZ_F64 || !adzi_requires_grad(y)) {
            continue; /* the output is not differentiable, so there is nothing to compare */
        }
        t.up[k] = table(c, y->numel);
        t.down[k] = table(c, y->numel);
        t.jacobian[k] = table(c, y->numel * c->inputs[i]->numel);
        ok = t.up[k] != NULL && t.down[k] != NULL && t.jacobian[k] != NULL;
    }
    ok = ok && analytic_jacobian(c, i, &t) && numeric_jacobian(c, i, &t);
    adz_set_grad_enabled(recording);
    return ok;
}

static adz_status check_inputs(check *c)
{
    bool any = false;
    for (size_t i = 0; i < c->n; ++i) {
        if (!is_checked(c->inputs[i])) {
            continue;
        }
        any = true;
        if (!adzi_is_contiguous(c->inputs[i]) || c->inputs[i]->node != NULL) {
            return adzi_error(c->op, ADZ_ERR_ARGUMENT,
                "input %zu%s is not a contiguous leaf; make views inside the function", i,
                adzi_text_shape(c->inputs[i]));
        }
        adz_scope *scope = adz_scope_open();
        bool ok = scope != NULL && check_input(c, i);
        if (scope != NULL) {
            adz_scope_close(scope);
        }
        if (!ok) {
            return adzi_status(NULL);
        }
    }
    if (!any) {
        return adzi_error(c->op, ADZ_ERR_ARGUMENT,
            "no input is an f64 leaf that wants a gradient; call adz_requires_grad_ on one");
    }
    return ADZ_OK;
}

static bool check_behind_door(void *state)
{
    check *c = state;
    c->status = check_inputs(c);
    return c->status == ADZ_OK;
}

static adz_status check_all(check *c)
{
    const adzi_door door = { .op = c->op };
    c->status = ADZ_ERR_MEMORY; /* unless the door opens */
    return adzi_through_door(&door, check_behind_door, c) ? ADZ_OK : c->status;
}

static adz_status check_report(const check *c)
{
    const adz_gradcheck_report *r = &c->report;
    if (r->elements == 0 || excess(c, r->error, r->numeric) <= 1) {
        return ADZ_OK;
    }
    return adzi_error(c->op, ADZ_ERR_NUMERIC,
        "input %zu, element %lld, against output %zu, element %lld: analytic %s, numeric %s, difference %s",
        r->input, (long long)r->index, r->output, (long long)r->output_index,
        adzi_text_number(r->analytic), adzi_text_number(r->numeric), adzi_text_number(r->error));
}

/* Checks the function and the inputs, and reads the options. */
static bool begin(check *c, const adz_gradcheck_options *options)
{
    if (c->function->call == NULL) {
        adzi_error_null(c->op, "the function's call");
        return false;
    }
    for (size_t i = 0; i < c->n; ++i) {
        if (c->inputs[i] == NULL) {
            adzi_error_null(c->op, "input");
            return false;
        }
    }
    return adz_options_take(c->op, &adz_gradcheck_options_table, &c->options, options);
}

adz_status adz_gradcheck(const adz_gradcheck_function *function, adz_tensor *const *inputs,
    size_t n, const adz_gradcheck_options *options, adz_gradcheck_report *report)
{
    ADZI_NOT_CAPTURED(ADZI_USES_ELEMENTS, ADZ_ERR_STATE);
    if (function == NULL || inputs == NULL || n == 0) {
        return adzi_error_null("gradcheck", function == NULL ? "function" : "inputs");
    }
    check c = { .op = "gradcheck", .function = function, .inputs = inputs, .n = n };
    if (!begin(&c, options)) {
        return adz_error_code();
    }
    adz_status status = check_all(&c);
    status = status == ADZ_OK ? check_report(&c) : status;
    if (status == ADZ_OK && c.options.f32_tolerance > 0) {
        status = adzi_gradcheck_f32(function, inputs, n, c.options.f32_tolerance, &c.report);
    }
    if (report != NULL) {
        *report = c.report;
    }
    return status;
}

/* ---- second order ---------------------------------------------------------------------------- */

/* The gradients of the checked inputs as a function of the inputs and of the upstream gradients.
 * The upstream gradients follow the n inputs in the list of arguments. */
typedef struct {
    const adz_gradcheck_function *function;
    size_t n;
    int n_upstream;
    int which[MAX_OUTPUTS]; /* the output that upstream gradient u belongs to */
} gradient_function;

static int call_gradients(adz_tensor *const *inputs, size_t n, adz_tensor **outputs, void *user)
{
    const gradient_function *g = user;
    (void)n;
    adz_tensor *forward[MAX_OUTPUTS] = { NULL }, *ys[MAX_OUTPUTS], *xs[MAX_OUTPUTS];
    bool recording = adz_set_grad_enabled(true);
    int count = g->function->call(inputs, g->n, forward, g->function->user);
    size_t n_x = 0;
    for (int u = 0; u < g->n_upstream && count > 0; ++u) {
        ys[u] = forward[g->which[u]];
    }
    for (size_t i = 0; i < g->n && n_x < MAX_OUTPUTS; ++i) {
        if (is_checked(inputs[i])) {
            xs[n_x++] = inputs[i];
        }
    }
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.create_graph = o.allow_unused = true;
    bool ok = count > 0 && adz_autograd_grad(ys, inputs + g->n, (size_t)g->n_upstream, xs, n_x, &o,
                               outputs) == ADZ_OK;
    for (size_t i = 0; ok && i < n_x; ++i) {
        if (adzi_is_none(outputs[i])) {
            outputs[i] = adz_zeros_like(xs[i]);
        }
    }
    adz_set_grad_enabled(recording);
    return ok ? (int)n_x : 0;
}

/* Draws an upstream gradient for each differentiable output and checks the derivatives of the
 * gradients as if they were outputs. */
static adz_status second_order(check *c, adz_generator *generator)
{
    adz_tensor *outputs[MAX_OUTPUTS] = { NULL }, *all[2 * MAX_OUTPUTS];
    if (c->n > MAX_OUTPUTS) {
        return adzi_error(c->op, ADZ_ERR_ARGUMENT, "at most %d inputs are checked", MAX_OUTPUTS);
    }
    int count = call(c, outputs);
    gradient_function g = { .function = c->function, .n = c->n };
    memcpy(all, c->inputs, c->n * sizeof *all);
    for (int k = 0; k < count; ++k) {
        adz_tensor *y = outputs[k];
        if (y == NULL || adzi_is_none(y) || y->dtype != ADZ_F64 || !adzi_requires_grad(y)) {
            continue;
        }
        adz_shape shape = adz_shape_of(y->rank, y->sizes);
        adz_tensor *upstream =
            adz_requires_grad_(adz_generator_randn(generator, shape, ADZ_F64), true);
        if (upstream == NULL) {
            return adzi_status(NULL);
        }
        g.which[g.n_upstream] = k;
        all[c->n + (size_t)g.n_upstream++] = upstream;
    }
    if (count <= 0 || g.n_upstream == 0) {
        return count <= 0 ? adzi_status(NULL)
                          : adzi_error(c->op, ADZ_ERR_ARGUMENT, "no output wants a gradient");
    }
    adz_gradcheck_function gradients = { call_gradients, &g };
    check inner = *c;
    inner.function = &gradients;
    inner.inputs = all;
    inner.n = c->n + (size_t)g.n_upstream;
    adz_status status = check_all(&inner);
    c->report = inner.report;
    return status == ADZ_OK ? check_report(&inner) : status;
}

adz_status adz_gradgradcheck(const adz_gradcheck_function *function, adz_tensor *const *inputs,
    size_t n, const adz_gradcheck_options *options, adz_gradcheck_report *report)
{
    ADZI_NOT_CAPTURED(ADZI_USES_ELEMENTS, ADZ_ERR_STATE);
    if (function == NULL || inputs == NULL || n == 0) {
        return adzi_error_null("gradgradcheck", function == NULL ? "function" : "inputs");
    }
    check c = { .op = "gradgradcheck", .function = function, .inputs = inputs, .n = n };
    if (!begin(&c, options)) {
        return adz_error_code();
    }
    adz_scope *scope = adz_scope_open();
    adz_generator *generator = adz_generator_new(c.options.seed);
    adz_status status =
        scope != NULL && generator != NULL ? second_order(&c, generator) : adzi_status(NULL);
    adz_generator_free(&generator);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    if (report != NULL) {
        *report = c.report;
    }
    return status;
}
