/* What every operator's call does: checking inputs, making results, recording, leaving. op.h
 * documents the functions. What calls operators for this lies above: ops/promote.c, ops/inplace.c.
 */
#include "autograd/op.h"
#include "autograd/listener.h"

#include <stdio.h>
#include <string.h>

/* ---- starting a call ------------------------------------------------------------------------- */

/* Copies name i of the list that ADZI_ENTER made from its arguments: name 1 of "a, b" is "b". */
static const char *argument_name(const char *names, int i, char *buffer, size_t size)
{
    for (; i > 0 && strchr(names, ',') != NULL; --i) {
        names = strchr(names, ',') + 1;
    }
    while (*names == ' ') {
        ++names;
    }
    size_t n = strcspn(names, ",");
    n = n < size ? n : size - 1;
    memcpy(buffer, names, n);
    buffer[n] = '\0';
    return buffer;
}

/* Records the error of input i, which is NULL, stale or ADZ_NONE. */
static bool refuse(const adzi_op *op, const char *names, adz_tensor *t, int i)
{
    char name[48];
    return adzi_refuse_tensor(op->name, argument_name(names, i, name, sizeof name), t);
}

__thread adzi_listener *adzi_listener_current __attribute__((tls_model("initial-exec")));

/* Settles the modes of the thread, and tells its listener of the inputs. */
static void attend(const adzi_call *call)
{
    adzi_settle(call->thread);
    adzi_listener *listener = adzi_listener_current;
    if (listener != NULL) {
        listener->hear(listener, call->in, call->n_in);
    }
}

bool adzi_enter(adzi_call *call, const adzi_op *op, const char *names, adz_tensor **in, int n_in,
    unsigned optional)
{
    adzi_thread *thread = adzi_self();
    call->thread = thread;
    call->op = op;
    call->in = n_in <= ADZI_CALL_INPUTS ? call->inputs : in;
    call->n_in = n_in;
    call->names = names;
    call->inplace = false;
    call->node = NULL;
    call->old = NULL;
    call->second = NULL;
    bool record = false;
    for (int i = 0; i < n_in; ++i) {
        adz_tensor *t = in[i];
        call->in[i] = t;
        if (t == NULL || t->alive != ADZI_ALIVE) {
            return refuse(op, names, t, i);
        }
        if (adzi_is_none(t)) {
            if (i >= 32 || !(optional & (1u << i))) {
                return refuse(op, names, t, i);
            }
            continue;
        }
        if (adzi_requires_grad(t)) {
            record = true;
            if (t->node != NULL && t->history != t->storage->history) {
                adzi_error(op->name, ADZ_ERR_VERSION,
                    "input %d%s is a view made before %s changed its storage in place; make the view again",
                    i, adzi_text_shape(t), t->storage->writer);
                return false;
            }
        }
    }
    if (record && (!thread->grad_enabled || adzi_listener_current != NULL)) {
        attend(call);
    }
    call->record = record && thread->grad_enabled;
    adzi_trace_enter(thread->tracer, op->name, call->in, n_in);
    adzi_capture *capture = adzi_capture_of(thread);
    call->reported = capture != NULL || thread->tracer != NULL;
    if (capture != NULL) {
        capture->entered(capture, op->name, call->in, n_in);
    }
    return true;
}

bool adzi_want_float(adzi_call *call, int i)
{
    const adz_tensor *t = call->in[i];
    if (adzi_is_none(t) || adzi_is_float((adz_dtype)t->dtype)) {
        return true;
    }
    adzi_error(call->op->name, ADZ_ERR_DTYPE,
        "input %d%s is %s; float32 or float64 is needed, convert it with adz_to", i,
        adzi_text_shape(t), adz_dtype_name((adz_dtype)t->dtype));
    return false;
}

bool adzi_want_index(adzi_call *call, int i)
{
    const adz_tensor *t = call->in[i];
    if (t->dtype == ADZ_I64 || t->dtype == ADZ_I32) {
        return true;
    }
    adzi_error(call->op->name, ADZ_ERR_DTYPE, "input %d%s is %s; int64 or int32 is needed", i,
        adzi_text_shape(t), adz_dtype_name((adz_dtype)t->dtype));
    return false;
}

bool adzi_want_computable(adzi_call *call, int i)
{
    const adz_tensor *t = call->in[i];
    if (!adzi_is_half((adz_dtype)t->dtype)) {
        return true;
    }
    adzi_error(call->op->name, ADZ_ERR_DTYPE,
        "input %d%s is %s, which is for storage only; convert it with adz_to(x, ADZ_F32)", i,
        adzi_text_shape(t), adz_dtype_name((adz_dtype)t->dtype));
    return false;
}

const char *adzi_text_dtypes(adzi_text *text, uint32_t dtypes, const char *between)
{
    for (int d = 0; d < ADZ_KERNEL_DTYPES; ++d) {
        if (dtypes >> d & 1) {
            adzi_text_format(text, "%s%s", adzi_text_get(text)[0] != '\0' ? between : "",
                adz_dtype_name((adz_dtype)d));
        }
    }
    return adzi_text_get(text);
}

bool adzi_refuse_dtype(adzi_call *call, int i, uint32_t dtypes)
{
    const adz_tensor *t = call->in[i];
    const bool floats = dtypes == ADZ_DTYPES_FLOATS;
    if (floats || (adzi_is_half((adz_dtype)t->dtype) && dtypes & ADZ_DTYPE_BIT(ADZ_F32))) {
        return floats ? adzi_want_float(call, i) : adzi_want_computable(call, i);
    }
    adzi_text names = { 0 };
    adzi_error(call->op->name, ADZ_ERR_DTYPE,
        "input %d%s is %s; %s is needed, convert it with adz_to", i, adzi_text_shape(t),
        adz_dtype_name((adz_dtype)t->dtype), adzi_text_dtypes(&names, dtypes, " or "));
    adzi_text_free(&names);
    return false;
}

/* ---- results --------------------------------------------------------------------------------- */

/* in[0] as the result of an in-place call, if it has the result's sizes and dtype. */
static adz_tensor *inplace_target(adzi_call *call, adz_dtype dtype, int rank, const int64_t *sizes)
{
    adz_tensor *x = call->in[0];
    bool same = x->rank == rank;
    for (int i = 0; i < rank && same; ++i) {
        same = x->sizes[i] == sizes[i];
    }
    if (!same) {
        return adzi_fail(call->op->name, ADZ_ERR_SHAPE,
            "the result has shape %s and cannot be written to x%s in place",
            adzi_text_sizes(rank, sizes), adzi_text_shape(x));
    }
    if (x->dtype != dtype) {
        return adzi_fail(call->op->name, ADZ_ERR_DTYPE,
            "the result is %s and cannot be written to %s in place", adz_dtype_name(dtype),
            adz_dtype_name((adz_dtype)x->dtype));
    }
    return x;
}

adz_tensor *adzi_new(adzi_call *call, adz_dtype dtype, int rank, const int64_t *sizes)
{
    return call->inplace ? inplace_target(call, dtype, rank, sizes)
                         : adzi_tensor_borrowed(call->thread, call->op->name, dtype, rank, sizes);
}

adz_tensor *adzi_new_view(adzi_call *call, adz_tensor *base, int rank, const int64_t *sizes,
    const int64_t *strides, int64_t offset)
{
    if (!adzi_scope_reserve(call->thread, 1)) {
        return adzi_fail_memory(call->op->name, sizeof(adz_tensor *));
    }
    char *data = base->data + offset * (int64_t)adzi_item_size(base);
    adz_tensor *t =
        adzi_tensor_view(call->thread, call->op->name, base, rank, sizes, strides, data);
    return t != NULL ? adzi_borrow(call->thread, t) : NULL;
}

adz_tensor *adzi_scratch_over(const char *op, adz_tensor *dy, const adz_tensor *like)
{
    bool ours = dy->dtype == like->dtype && adzi_is_exclusive(dy) && dy->storage->deleter == NULL &&
                adzi_same_sizes(dy, like) && adzi_is_contiguous(dy);
    dy->is_zero = dy->is_zero && !ours; /* the caller writes to it */
    return ours ? dy : adzi_scratch_like(op, like);
}

/* ---- recording and leaving ------------------------------------------------------------------- */

/* Reports the call to the trace of the thread. The indices of a maximum are a result for a
 * trace, although the node does not have them. */
static bool report(
    const adzi_call *call, int n_results, adz_tensor **results, const void *attr, size_t attr_size)
{
    adz_tensor *both[2] = { results[0], call->second };
    const bool two = call->second != NULL;
    const adzi_report r = { .op = call->op,
        .in = call->in,
        .n_in = call->n_in,
        .results = two ? both : results,
        .n_results = two ? 2 : n_results,
        .attr = attr,
        .attr_size = attr_size,
        .inplace = call->inplace,
        .records = call->record };
    return call->thread->tracer->call(call->thread->tracer, &r);
}

/* Tells a capture of the attributes that are numbers. */
static void tell_capture(adzi_capture *capture, const adz_operator *op, const void *attr)
{
    size_t n;
    const adz_field *fields = adzi_attr_fields(op, &n);
    for (size_t i = 0; i < n; ++i) {
        if (fields[i].shown == ADZ_SHOWN_NEVER || fields[i].count > 0) {
            continue;
        }
        capture->number(capture, fields[i].kind == ADZ_FIELD_F64
                                     ? adzi_attr_number(op, attr, fields[i].name)
                                     : (double)adzi_attr_whole(op, attr, fields[i].name));
    }
}

/* Whether a trace has given the results the graph of the operator's expression. */
static bool has_graph(const adzi_call *call, int n_results, adz_tensor *const *results)
{
    bool graph = false;
    for (int k = 0; k < n_results && call->thread->tracer != NULL && !call->inplace; ++k) {
        graph = graph || results[k]->node != NULL;
    }
    return graph;
}

bool adzi_record_extra(adzi_call *call, int n_results, adz_tensor **results, int n_extras,
    const void *attr, size_t attr_size)
{
    adzi_capture *capture = adzi_capture_of(call->thread);
    if (capture != NULL && attr != NULL) {
        tell_capture(capture, call->op, attr);
    }
    if (capture != NULL && capture->changes != NULL && call->inplace) {
        capture->changes(capture, call->in[0]);
    }
    if (call->thread->tracer != NULL && !report(call, n_results, results, attr, attr_size)) {
        return false;
    }
    if (!call->record || has_graph(call, n_results, results)) {
        call->record = false;
        return true;
    }
    adzi_node *node = adzi_node_new(
        call->thread, call->op, call->in, call->n_in, n_results, n_extras, attr, attr_size);
    if (node == NULL) {
        return false;
    }
    call->node = node;
    if (call->inplace) {
        return true; /* adzi_leave attaches the node after the change */
    }
    for (int k = 0; k < n_results; ++k) {
        if (adzi_is_float((adz_dtype)results[k]->dtype)) {
            adzi_node_attach(node, k, results[k]);
        }
    }
    adzi_refs_add_unshared(&node->refs, -1); /* now only the results have references to the node */
    return true;
}

/* Raises the version of x and, if the call is recorded, makes x the result of the new node instead
 * of the old one. */
static void commit_inplace(adzi_call *call, adz_tensor *x, bool saves_result)
{
    adzi_written(x, call->op->name);
    if (call->node == NULL) {
        return;
    }
    ++x->storage->history;
    adzi_node *before = x->node;
    x->recomputable = false; /* the earlier node keeps the storage, whose version has risen */
    if (before != NULL && before->results[x->result].retains == x) {
        before->results[x->result].retains = NULL;
    }
    adzi_node_attach(call->node, 0, x);
    if (saves_result) {
        adzi_node_save_result(call->node, 0, x);
    }
    adzi_refs_add_unshared(&call->node->refs, -1);
    if (before != NULL) {
        adzi_node_release(call->thread, before);
    }
}

/* Anomaly mode. The first input, except the one that the call has overwritten, with an element that
 * is NaN or, unless `nan_only`, infinite; -1 for none. */
static int first_nonfinite(const adzi_call *call, bool nan_only, int64_t *index)
{
    for (int i = call->inplace ? 1 : 0; i < call->n_in; ++i) {
        const adz_tensor *t = call->in[i];
        if (t != NULL && !adzi_is_none(t) &&
            adzi_find_nonfinite(t, nan_only, index) != ADZI_FINITE) {
            return i;
        }
    }
    return -1;
}

/* Anomaly mode, at the end of a call. NaN enters a computation by an input that no call has
 * computed, or is made of numbers or of infinities. Infinities may pass, because masks consist of
 * them. A view does not come here: it passes everything on, so that programs may look for NaN
 * themselves. */
static bool check_result(const adzi_call *call, const adz_tensor *y)
{
    int64_t at[ADZ_MAX_RANK], from[ADZ_MAX_RANK];
    adzi_nonfinite kind = adzi_find_nonfinite(y, true, at);
    const bool nan = kind == ADZI_NAN;
    kind = nan ? kind : adzi_find_nonfinite(y, false, at);
    if (kind == ADZI_FINITE) {
        return true;
    }
    char name[48], result[160];
    snprintf(result, sizeof result, "%s at %s of the result %s", adzi_nonfinite_text(kind),
        adzi_text_sizes(y->rank, at), adzi_text_shape(y));
    int i = first_nonfinite(call, true, from);
    if (i >= 0) {
        const adz_tensor *t = call->in[i];
        adzi_error(call->op->name, ADZ_ERR_NUMERIC,
            "NaN enters by input %d, %s%s, which has it at %s", i,
            argument_name(call->names, i, name, sizeof name), adzi_text_shape(t),
            adzi_text_sizes(t->rank, from));
        return false;
    }
    i = first_nonfinite(call, false, from);
    if (i >= 0 && !nan) {
        return true;
    }
    if (i >= 0) {
        const adz_tensor *t = call->in[i];
        adzi_error(call->op->name, ADZ_ERR_NUMERIC,
            "%s, from input %d, %s%s, which is infinite at %s", result, i,
            argument_name(call->names, i, name, sizeof name), adzi_text_shape(t),
            adzi_text_sizes(t->rank, from));
    } else {
        adzi_error(call->op->name, ADZ_ERR_NUMERIC,
            call->inplace ? "%s, which was changed in place" : "%s, from finite arguments", result);
    }
    return false;
}

/* Ends a call. In anomaly mode, fails if NaN or infinity enters by it. */
static adz_tensor *leave(adzi_call *call, adz_tensor *y, bool saves_result)
{
    adzi_trace_leave(call->thread->tracer);
    if (call->inplace) {
        commit_inplace(call, y, saves_result);
    }
    return !call->thread->anomaly || check_result(call, y) ? y : NULL;
}

adz_tensor *adzi_leave(adzi_call *call, adz_tensor *y)
{
    return leave(call, y, false);
}

adz_tensor *adzi_leave_saving(adzi_call *call, adz_tensor *y)
{
    return leave(call, y, true);
}
