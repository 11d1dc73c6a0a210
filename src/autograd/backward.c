/* The calls that start a backward. */
#include <math.h>
#include <string.h>

#include "autograd/delivery.h"
#include "autograd/engine.h"
#include "autograd/leaf.h"
#include "autograd/op.h"
#include "adze/options.h"
#include "base/tracer.h"

/* The gradient from which the backward of a loss starts: 1, with the shape and dtype of the output,
 * which has one element. */
static adz_tensor *one_like(const adz_tensor *y, size_t i)
{
    if (y->numel != 1) {
        return adzi_fail(ADZI_BACKWARD_NAME, ADZ_ERR_SHAPE,
            "output %zu has shape %s; only one element has a gradient of its own: reduce it with adz_sum or adz_mean, or give its gradient to adz_autograd_backward",
            i, adzi_text_shape(y));
    }
    adz_tensor *one = adzi_scratch_like(ADZI_BACKWARD_NAME, y);
    if (one != NULL) {
        adzi_fill_constant(one, 1);
    }
    return one;
}

/* Whether the gradient that the caller gave for output i fits it. */
static bool check_gradient(const adz_tensor *g, const adz_tensor *y, size_t i)
{
    const bool same_sizes = adzi_same_sizes(g, y);
    if (!same_sizes || g->dtype != y->dtype) {
        adzi_error(ADZI_BACKWARD_NAME, same_sizes ? ADZ_ERR_DTYPE : ADZ_ERR_SHAPE,
            "the gradient of output %zu is %s %s, the output %s %s", i,
            adz_dtype_name((adz_dtype)g->dtype), adzi_text_shape(g),
            adz_dtype_name((adz_dtype)y->dtype), adzi_text_shape(y));
        return false;
    }
    return true;
}

/* Delivers the upstream gradient of each output to its node or, for an output that is a leaf, to
 * the slot of the leaf. `gradients` holds one gradient per output, or ADZ_NONE for a 1; NULL means
 * ADZ_NONE for all. */
static bool seed(adzi_run *run, adz_tensor *const *outputs, adz_tensor *const *gradients, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        adz_tensor *y = outputs[i];
        adz_tensor *g = gradients != NULL ? gradients[i] : adz_none();
        if (adzi_is_none(g)) {
            g = one_like(y, i);
        } else if (!check_gradient(g, y, i)) {
            return false;
        }
        if (g == NULL || !adzi_run_deliver_to(run, y, g)) {
            return false;
        }
    }
    return true;
}

static bool check_outputs(adz_tensor *const *outputs, adz_tensor *const *gradients, size_t n)
{
    if (outputs == NULL || n == 0) {
        adzi_error_null(ADZI_BACKWARD_NAME, "outputs");
        return false;
    }
    for (size_t i = 0; i < n; ++i) {
        if (!adzi_check_tensor(ADZI_BACKWARD_NAME, "output", outputs[i]) ||
            (gradients != NULL && gradients[i] == NULL &&
                adzi_error_null(ADZI_BACKWARD_NAME, "gradient") != ADZ_OK) ||
            (gradients != NULL && !adzi_is_none(gradients[i]) &&
                !adzi_check_tensor(ADZI_BACKWARD_NAME, "gradient", gradients[i]))) {
            return false;
        }
        if (!adzi_requires_grad(outputs[i])) {
            adzi_error(ADZI_BACKWARD_NAME, ADZ_ERR_GRAPH,
                "output %zu%s depends on nothing that wants a gradient: call adz_requires_grad_ on a leaf before the forward, and compute it outside ADZ_NO_GRAD",
                i, adzi_text_shape(outputs[i]));
            return false;
        }
        if (outputs[i]->node != NULL && outputs[i]->history != outputs[i]->storage->history) {
            adzi_error(ADZI_BACKWARD_NAME, ADZ_ERR_VERSION,
                "output %zu%s is a view made before %s changed its storage in place; make it again",
                i, adzi_text_shape(outputs[i]), outputs[i]->storage->writer);
            return false;
        }
    }
    return true;
}

void adz_backward_options_init(adz_backward_options *options, size_t size)
{
    adz_backward_options all = ADZ_BACKWARD_OPTIONS;
    adz_options_fill(__func__, options, size, &all, sizeof all);
}

adz_status adz_backward(adz_tensor *loss)
{
    return adz_autograd_backward(&loss, NULL, 1, NULL);
}

/* Limits a run to targets. False with the error recorded if memory was refused. */
static bool set_targets(adzi_run *run, adz_tensor *const *targets, size_t n)
{
    run->targets = targets;
    run->found = adzi_run_alloc(run, n * sizeof *run->found);
    if (run->found != NULL) {
        memset(run->found, 0, n * sizeof *run->found);
        run->n_targets = n;
    }
    return run->found != NULL;
}

/* Marks what leads to the inputs of a backward. An input to which nothing leads is an error, unless
 * it is allowed. */
static bool mark_inputs(
    adzi_run *run, adz_tensor *const *outputs, size_t n, const adz_backward_options *o)
{
    if (!adzi_run_mark_wanted(run, outputs, n)) {
        return false;
    }
    for (size_t i = 0; i < o->n_inputs && !o->allow_unused; ++i) {
        if (adzi_run_slot(run, o->inputs[i])->pending == 0) {
            adzi_error(ADZI_BACKWARD_NAME, ADZ_ERR_GRAPH,
                "the outputs do not depend on input %zu%s; leave it out or set allow_unused", i,
                adzi_text_shape(o->inputs[i]));
            return false;
        }
    }
    return true;
}

static __attribute__((noinline)) adz_status run_backward(adz_tensor *const *outputs,
    adz_tensor *const *gradients, size_t n, const adz_backward_options *o)
{
    adzi_run *run = adzi_run_begin(adzi_self(), ADZI_FLOOR());
    if (run == NULL) {
        return adz_error_code();
    }
    run->keep_graph = o->retain_graph;
    run->commits = true;
    size_t mark = run->thread->n_temporaries;
    bool ok = o->inputs == NULL || set_targets(run, o->inputs, o->n_inputs);
    ok = ok && adzi_run_discover(run, outputs, n) &&
         (o->inputs == NULL || mark_inputs(run, outputs, n, o)) &&
         seed(run, outputs, gradients, n) && adzi_run_nodes(run, outputs, n) &&
         adzi_leaves_commit(run);
    run->done = ok;
    adzi_scope_unwind(run->thread, mark);
    adzi_run_end(run);
    return ok ? ADZ_OK : adzi_status(NULL);
}

/* Checks the leaves to which a backward is limited. */
static bool check_leaves(adz_tensor *const *inputs, size_t n)
{
    if (n == 0) {
        adzi_error(ADZI_BACKWARD_NAME, ADZ_ERR_ARGUMENT,
            "n_inputs is 0: a backward for no leaf computes nothing; set inputs to NULL for all");
        return false;
    }
    for (size_t i = 0; i < n; ++i) {
        if (!adzi_check_tensor(ADZI_BACKWARD_NAME, "input", inputs[i])) {
            return false;
        }
        if (inputs[i]->node != NULL || !adzi_requires_grad(inputs[i])) {
            adzi_error(ADZI_BACKWARD_NAME, ADZ_ERR_GRAPH,
                "input %zu%s %s; adz_autograd_backward writes to leaves, adz_autograd_grad returns the gradient of any tensor",
                i, adzi_text_shape(inputs[i]),
                inputs[i]->node != NULL ? "is the result of an operator" : "wants no gradient");
            return false;
        }
    }
    return true;
}

/* A training whose loss is NaN goes on without an error, and all its parameters become NaN. */
static void warn_of_nan(adz_tensor *const *outputs, size_t n)
{
    const adzi_thread *thread = adzi_self();
    for (size_t i = 0; i < n && thread->tracer == NULL && adzi_capture_of(thread) == NULL; ++i) {
        const adz_tensor *t = outputs[i];
        double value = 0;
        if (t->numel == 1 && t->dtype == ADZ_F32) {
            value = (double)*(const float *)(const void *)t->data;
        } else if (t->numel == 1 && t->dtype == ADZ_F64) {
            value = *(const double *)(const void *)t->data;
        }
        if (!isfinite(value)) {
            adzi_warn(ADZI_BACKWARD_NAME,
                "the loss is %s, so gradients may be NaN or infinite; adz_set_anomaly_enabled(true) names the call that computed the first such number",
                isnan(value) ? "nan" : adzi_text_number(value));
        }
    }
}

adz_status adz_autograd_backward(adz_tensor *const *outputs, adz_tensor *const *gradients, size_t n,
    const adz_backward_options *options)
{
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    if (adzi_refused(ADZI_BACKWARD_NAME) != ADZ_OK ||
        !adz_options_read(ADZI_BACKWARD_NAME, "ADZ_BACKWARD_OPTIONS", &o, sizeof o, options)) {
        return adzi_pending();
    }
    if (o.create_graph) {
        return adzi_error(ADZI_BACKWARD_NAME, ADZ_ERR_ARGUMENT,
            "create_graph would make .grad keep its own graph alive; use adz_autograd_grad");
    }
    if (!check_outputs(outputs, gradients, n) ||
        (o.inputs != NULL && !check_leaves(o.inputs, o.n_inputs))) {
        return adz_error_code();
    }
    adzi_tracer *tracer = adzi_self()->tracer;
    if (tracer != NULL && tracer->backward != NULL && tracer->backward(tracer) != ADZ_OK) {
        return adz_error_code();
    }
    warn_of_nan(outputs, n);
    ADZI_STEP_DOWN();
    return run_backward(outputs, gradients, n, &o);
}

static bool check_inputs(adz_tensor *const *inputs, adz_tensor **results, size_t n)
{
    if (inputs == NULL || results == NULL || n == 0) {
        adzi_error_null("autograd_grad", "inputs or results");
        return false;
    }
    for (size_t i = 0; i < n; ++i) {
        if (!adzi_check_tensor("autograd_grad", "input", inputs[i])) {
            return false;
        }
        if (!adzi_requires_grad(inputs[i])) {
            adzi_error("autograd_grad", ADZ_ERR_GRAPH,
                "input %zu%s wants no gradient: call adz_requires_grad_ on it before the forward",
                i, adzi_text_shape(inputs[i]));
            return false;
        }
    }
    return true;
}

/* Takes the gradients of targets that are leaves from their slots. Those of other targets were
 * captured when their node was visited. */
static bool collect(adzi_run *run, bool allow_unused)
{
    for (size_t i = 0; i < run->n_targets; ++i) {
        adz_tensor *t = run->targets[i];
        if (t->node == NULL && t->gradient->slot->grad != NULL) {
            run->found[i] = adzi_retain(t->gradient->slot->grad);
        }
        if (run->found[i] == NULL && !allow_unused) {
            adzi_error("autograd_grad", ADZ_ERR_GRAPH,
                "the outputs do not depend on input %zu%s; set allow_unused to get ADZ_NONE for it",
                i, adzi_text_shape(t));
            return false;
        }
    }
    if (!adzi_scope_reserve(run->thread, run->n_targets)) {
        adzi_fail_memory("autograd_grad", run->n_targets * sizeof(adz_tensor *));
        return false;
    }
    return true;
}

/* The arguments of adz_autograd_grad. */
typedef struct {
    adz_tensor *const *outputs, *const *gradients;
    size_t n_outputs;
    adz_tensor *const *inputs;
    adz_tensor **results;
    size_t n_inputs;
    int64_t directions;
} wish;

static __attribute__((noinline)) adz_status run_grad(const wish *w, const adz_backward_options *o)
{
    adzi_run *run = adzi_run_begin(adzi_self(), ADZI_FLOOR());
    if (run == NULL) {
        return adz_error_code();
    }
    run->create_graph = o->create_graph;
    run->keep_graph = o->retain_graph || o->create_graph;
    run->directions = w->directions;
    bool ok = set_targets(run, w->inputs, w->n_inputs);
    if (ok) {
        size_t mark = run->thread->n_temporaries;
        ok = adzi_run_discover(run, w->outputs, w->n_outputs) &&
             adzi_run_mark_wanted(run, w->outputs, w->n_outputs) &&
             seed(run, w->outputs, w->gradients, w->n_outputs) &&
             adzi_run_nodes(run, w->outputs, w->n_outputs);
        adzi_scope_unwind(run->thread, mark);
        ok = ok && collect(run, o->allow_unused);
    }
    for (size_t i = 0; ok && i < w->n_inputs; ++i) {
        if (run->found[i] != NULL) {
            adzi_may_be_written(run->found[i]);
        }
        w->results[i] =
            run->found[i] != NULL ? adzi_borrow(run->thread, run->found[i]) : adz_none();
        run->found[i] = NULL;
    }
    adzi_run_end(run);
    return ok ? ADZ_OK : adzi_status(NULL);
}

adz_status adz_autograd_grad(adz_tensor *const *outputs, adz_tensor *const *gradients,
    size_t n_outputs, adz_tensor *const *inputs, size_t n_inputs,
    const adz_backward_options *options, adz_tensor **results)
{
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    if (adzi_refused("autograd_grad") != ADZ_OK ||
        !adz_options_read("autograd_grad", "ADZ_BACKWARD_OPTIONS", &o, sizeof o, options)) {
        return adzi_pending();
    }
    if (o.inputs != NULL) {
        return adzi_error("autograd_grad", ADZ_ERR_ARGUMENT,
            "the inputs of the options are for adz_autograd_backward; the argument inputs says what is wanted here");
    }
    if (!check_outputs(outputs, gradients, n_outputs) || !check_inputs(inputs, results, n_inputs)) {
        return adz_error_code();
    }
    const wish w = { outputs, gradients, n_outputs, inputs, results, n_inputs, 0 };
    ADZI_STEP_DOWN();
    return run_grad(&w, &o);
}

adz_status adzi_autograd_grad_forward(adz_tensor *const *outputs, adz_tensor *const *gradients,
    size_t n_outputs, adz_tensor *const *inputs, size_t n_inputs, int64_t directions,
    adz_tensor **results)
{
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.create_graph = o.allow_unused = true;
    if (!check_outputs(outputs, gradients, n_outputs) || !check_inputs(inputs, results, n_inputs)) {
        return adz_error_code();
    }
    const wish w = { outputs, gradients, n_outputs, inputs, results, n_inputs, directions };
    ADZI_STEP_DOWN();
    return run_grad(&w, &o);
}
