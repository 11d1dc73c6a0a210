/* Calls of programs' operators that their expressions compute. */
#include <string.h>

#include "autograd/operator_call.h"
#include "autograd/operators.h"
#include "base/door.h"

bool adzi_call_expression(
    const adz_operator *op, adz_tensor **results, adz_tensor *const *in, const void *attributes)
{
    const adz_status status = op->expression(results, in, attributes);
    return !adzi_callback_failed(op->name, status, "the expression failed");
}

/* Whether a tensor can be a result of the node: the scope got it after it had `mark` tensors, and
 * nothing else has its elements. */
static bool is_new(const adzi_operator_call *c, const adz_tensor *t, int k, size_t mark)
{
    const adzi_thread *thread = c->call.thread;
    bool ours = false;
    for (size_t i = mark; i < thread->n_temporaries && !ours; ++i) {
        ours = thread->temporaries[i] == t;
    }
    for (int i = 0; i < k && ours; ++i) {
        ours = c->out[i]->storage != t->storage;
    }
    return ours && !t->is_view && !adzi_requires_grad(t) && adzi_is_contiguous(t) &&
           t->data == t->storage->data;
}

/* Computes the values without a graph, and makes them results of the call. A trace gets the calls
 * of the expression. */
static bool call_expression(const adzi_operator_call *c, adz_tensor **made)
{
    if (!adzi_call_expression(
            &c->op, made, c->in, c->op.attributes_size > 0 ? c->attributes : NULL)) {
        return false;
    }
    for (int k = 0; k < adzi_form_made(&c->op); ++k) {
        const adz_result *r = &c->results[k];
        const adz_tensor *t = made[k];
        if (!adzi_check_tensor(c->op.name, "a result of the expression", t)) {
            return false;
        }
        if (t->dtype != r->dtype || t->rank != r->shape.rank ||
            memcmp(t->sizes, r->shape.sizes, (size_t)t->rank * sizeof *t->sizes) != 0) {
            adzi_error(c->op.name, ADZ_ERR_SHAPE,
                "result %d is %s%s by the operator's shape rule, but %s%s by its expression", k,
                adz_dtype_name(r->dtype), adzi_text_sizes(r->shape.rank, r->shape.sizes),
                adz_dtype_name((adz_dtype)t->dtype), adzi_text_shape(t));
            return false;
        }
    }
    return true;
}

static bool compute_values(void *state)
{
    adzi_operator_call *c = state;
    adz_tensor *made[ADZI_OPERATOR_RESULTS] = { NULL };
    const size_t mark = c->call.thread->n_temporaries;
    if (!call_expression(c, made)) {
        return false;
    }
    for (int k = 0; k < adzi_form_made(&c->op); ++k) {
        c->out[k] = is_new(c, made[k], k, mark) ? made[k] : adz_clone(made[k]);
        if (c->out[k] == NULL) {
            return false;
        }
    }
    return true;
}

/* In the trace of a training step: the results have the graph of the expression, so that a backward
 * computes nothing again. */
static bool compute_with_graph(adzi_operator_call *c)
{
    adz_tensor *made[ADZI_OPERATOR_RESULTS] = { NULL };
    bool good = call_expression(c, made);
    for (int k = 0; k < c->n_out && good; ++k) {
        c->out[k] = adz_clone(made[k]); /* it may be an input, or a result twice */
        good = c->out[k] != NULL;
    }
    return good;
}

bool adzi_compute_by_expression(adzi_operator_call *c)
{
    const adzi_door door = { .op = c->op.name, .mode = ADZI_DOOR_RECORDS_NOTHING };
    adzi_settle(c->call.thread);
    const bool derived = c->call.record && c->op.backward == NULL && adzi_trace_is_step();
    if (derived || adzi_is_traced_without_kept(c)) {
        return compute_with_graph(c);
    }
    if (!adzi_through_door(&door, compute_values, c)) {
        return false;
    }
    adzi_thread *thread = c->call.thread;
    adzi_tracer *tracer = thread->tracer;
    thread->tracer = NULL; /* it has the calls of the expression instead of this one */
    const bool good = adzi_record_operator(c);
    thread->tracer = tracer;
    return good;
}
