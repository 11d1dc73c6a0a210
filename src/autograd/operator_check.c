/* adz_operator_check: compares what a user says twice of an operator. The kernel is compared with
 * the expression, and the backward with the derivative of the expression. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "autograd/op.h"
#include "autograd/operators.h"
#include "autograd/operator.h"

enum { MOST_INPUTS = 32, MOST_RESULTS = 8 };

/* The results of a call, and the gradients of its inputs. */
typedef struct {
    adz_tensor *results[MOST_RESULTS], *gradients[MOST_INPUTS];
} outcome;

typedef struct {
    const char *name;
    const adz_operator *op; /* the user's */
    adz_backward_function backward, fused;
    const void *attributes;
    adz_tensor *in[MOST_INPUTS];     /* copies, of which those that want a gradient are leaves */
    adz_tensor *wanted[MOST_INPUTS]; /* these leaves */
    int positions[MOST_INPUTS];      /* leaf i is input positions[i] */
    size_t n_in, n_results, n_wanted;
    double tolerance;
} comparison;

/* ---- both sides ------------------------------------------------------------------------------ */

/* Upstream gradients for the float results, which differ from element to element. */
static size_t make_upstream(
    const comparison *c, const outcome *o, adz_tensor **outputs, adz_tensor **upstream)
{
    size_t n = 0;
    for (size_t k = 0; k < c->n_results; ++k) {
        adz_tensor *y = o->results[k];
        if (!adzi_requires_grad(y)) {
            continue;
        }
        adz_tensor *g = adz_cos(adz_arange(1, (double)y->numel + 1, 1, ADZ_F64));
        outputs[n] = y;
        upstream[n] = adz_reshape(adz_to(g, (adz_dtype)y->dtype), adz_tensor_shape(y));
        n += upstream[n] != NULL;
    }
    return n;
}

/* Calls an operator and differentiates it. With a graph, `backward` computes the gradients, and
 * without one `fused` if there is one. */
static bool compute(const comparison *c, const adz_operator *op, bool graph, outcome *o)
{
    adz_tensor *outputs[MOST_RESULTS], *upstream[MOST_RESULTS];
    o->results[0] = adz_operator_call(op, c->in, c->n_in, c->attributes, o->results + 1);
    if (o->results[0] == NULL) {
        return false;
    }
    const size_t n = c->n_wanted > 0 ? make_upstream(c, o, outputs, upstream) : 0;
    adz_backward_options options = ADZ_BACKWARD_OPTIONS;
    options.create_graph = graph;
    options.allow_unused = true;
    if (n > 0 && adz_autograd_grad(outputs, upstream, n, (adz_tensor *const *)c->wanted,
                     c->n_wanted, &options, o->gradients) != ADZ_OK) {
        return false;
    }
    for (size_t i = 0; i < c->n_wanted; ++i) {
        if (n == 0 || adzi_is_none(o->gradients[i])) {
            o->gradients[i] = adz_zeros_like(c->wanted[i]);
        }
    }
    return true;
}

/* ---- comparing ------------------------------------------------------------------------------ */

/* Compares element by element. `what` names the tensor, `ours` and `theirs` are computed by the
 * operator's `member` and by its expression. */
static bool agree(
    const comparison *c, const char *what, const char *member, adz_tensor *ours, adz_tensor *theirs)
{
    const adz_tensor *a = adz_contiguous(adz_to(adz_detach(ours), ADZ_F64));
    const adz_tensor *b = adz_contiguous(adz_to(adz_detach(theirs), ADZ_F64));
    if (a == NULL || b == NULL) {
        return false;
    }
    const double *x = (const double *)(const void *)a->data,
                 *y = (const double *)(const void *)b->data;
    for (int64_t i = 0; i < a->numel; ++i) {
        const double difference = fabs(x[i] - y[i]), allowed = c->tolerance * fmax(1, fabs(y[i]));
        if (x[i] != y[i] && !(isnan(x[i]) && isnan(y[i])) &&
            !(isfinite(y[i]) && difference <= allowed)) {
            adzi_error(c->name, ADZ_ERR_NUMERIC,
                "%s%s, element %lld in row-major order, is %s by the operator's %s, but %s by its expression",
                what, adzi_text_shape(a), (long long)i, adzi_text_number(x[i]), member,
                adzi_text_number(y[i]));
            return false;
        }
    }
    return true;
}

static bool compare_gradients(
    const comparison *c, const char *member, const outcome *ours, const outcome *theirs)
{
    bool good = true;
    for (size_t i = 0; i < c->n_wanted && good; ++i) {
        char what[48];
        snprintf(what, sizeof what, "the gradient of input %d", c->positions[i]);
        good = agree(c, what, member, ours->gradients[i], theirs->gradients[i]);
    }
    return good;
}

/* `expressed` is the operator with nothing but its expression. */
static bool compare(const comparison *c, const adz_operator *expressed)
{
    outcome theirs, ours;
    if (!compute(c, expressed, false, &theirs) || !compute(c, c->op, false, &ours)) {
        return false;
    }
    for (size_t k = 0; k < c->n_results; ++k) {
        char what[32];
        snprintf(what, sizeof what, "result %zu", k);
        if (!agree(c, what, "kernel", ours.results[k], theirs.results[k])) {
            return false;
        }
    }
    const bool fused = c->fused != NULL;
    return compare_gradients(c, fused ? "fused backward" : "backward", &ours, &theirs) &&
           (!fused || c->backward == NULL ||
               (compute(c, c->op, true, &ours) &&
                   compare_gradients(c, "backward", &ours, &theirs)));
}

/* ---- the check ------------------------------------------------------------------------------ */

/* Whether the host may read what the check computes: not while a plan captures, and not while a
 * function is traced on whose tensors an input depends. */
static bool check_readable(adz_tensor *const *inputs, size_t n)
{
    static const char function[] = "adz_operator_check";
    bool readable = !adzi_is_captured(function, "it reads elements on the host");
    for (size_t i = 0; i < n && readable; ++i) {
        const adz_tensor *t = inputs[i];
        readable =
            t == NULL || t->alive != ADZI_ALIVE || adzi_is_none(t) || adzi_host_may(t, function);
    }
    return readable;
}

/* Copies the inputs, so that a graph which they belong to has no part in the check. */
static bool copy_inputs(comparison *c, adz_tensor *const *inputs)
{
    for (size_t i = 0; i < c->n_in; ++i) {
        adz_tensor *t = c->in[i] = inputs[i];
        if (t == NULL || t->alive != ADZI_ALIVE || adzi_is_none(t)) {
            continue; /* the call says what is wrong, unless the input is optional */
        }
        c->in[i] = adz_detach(t);
        if (c->in[i] == NULL) {
            return false;
        }
        if (adzi_requires_grad(t)) {
            c->in[i]->requires_grad = true;
            c->positions[c->n_wanted] = (int)i;
            c->wanted[c->n_wanted++] = c->in[i];
        }
    }
    return true;
}

adz_status adz_operator_check(const adz_operator *op, adz_tensor *const *inputs, size_t n_inputs,
    const void *attributes, double tolerance)
{
    adz_operator expressed;
    comparison c = { .op = op, .attributes = attributes, .n_in = n_inputs, .tolerance = tolerance };
    if (!adzi_read_operator("operator_check", op, &expressed)) {
        return adz_error_code();
    }
    c.name = op->name;
    if (expressed.expression == NULL) {
        return adzi_error(op->name, ADZ_ERR_ARGUMENT,
            "the operator has no expression with which its kernels could be compared");
    }
    if (!(tolerance >= 0)) {
        return adzi_error(op->name, ADZ_ERR_ARGUMENT, "tolerance is %s; it has to be 0 or more",
            adzi_text_number(tolerance));
    }
    if (inputs == NULL || n_inputs > MOST_INPUTS) {
        return inputs == NULL ? adzi_error_null(op->name, "inputs")
                              : adzi_error(op->name, ADZ_ERR_ARGUMENT,
                                    "%zu inputs; there can be %d", n_inputs, (int)MOST_INPUTS);
    }
    if (!check_readable(inputs, n_inputs)) {
        return adz_error_code();
    }
    c.n_results = expressed.n_results > 0 ? expressed.n_results : 1;
    expressed.size = sizeof expressed;
    c.backward = expressed.backward;
    c.fused = expressed.fused;
    expressed.backward = expressed.fused = NULL;
    memset(expressed.kernels, 0, sizeof expressed.kernels);
    adz_scope *scope = adz_scope_open();
    if (scope == NULL) {
        return adz_error_code();
    }
    const bool recording = adz_set_grad_enabled(true);
    const bool good = copy_inputs(&c, inputs) && compare(&c, &expressed);
    adz_set_grad_enabled(recording);
    adz_scope_close(scope);
    return good ? ADZ_OK : adzi_status(NULL);
}
