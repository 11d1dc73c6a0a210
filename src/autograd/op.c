/* What every operator's call does: checking inputs, promoting dtypes, making results, in-place
 * changes, recording, leaving. op.h documents the functions. */
#include "autograd/op.h"

#include <math.h>
#include <string.h>

/* ---- starting a call ---------------------------------------------------------------------------
 */

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

bool adzi_enter(adzi_call *call, const adzi_op *op, const char *names, adz_tensor **in, int n_in,
    unsigned optional)
{
    adzi_thread *thread = adzi_self();
    call->thread = thread;
    call->op = op;
    call->in = n_in <= ADZI_CALL_INPUTS ? call->inputs : in;
    call->n_in = n_in;
    call->inplace = false;
    call->node = NULL;
    call->old = NULL;
    call->places = NULL;
    adzi_trace_enter(thread->tracer, op->name);
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
                    "input %d%s is a view made before %s changed its storage in place; make the "
                    "view "
                    "anew",
                    i, adzi_text_shape(t), t->storage->writer);
                return false;
            }
        }
    }
    if (record && !thread->grad_enabled) {
        adzi_settle(thread);
    }
    call->record = record && thread->grad_enabled;
    adzi_recorder *recorder = adzi_recorder_of(thread);
    call->told = recorder != NULL || thread->tracer != NULL;
    if (recorder != NULL) {
        recorder->entered(recorder, op->name, call->in, n_in);
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
    if (t->dtype != ADZ_F16 && t->dtype != ADZ_BF16) {
        return true;
    }
    adzi_error(call->op->name, ADZ_ERR_DTYPE,
        "input %d%s is %s, which is for storage only; convert it with adz_to(x, ADZ_F32)", i,
        adzi_text_shape(t), adz_dtype_name((adz_dtype)t->dtype));
    return false;
}

/* ---- dtypes ------------------------------------------------------------------------------------
 */

/* PyTorch's order of kinds: bool below integers below floating point. */
static int category(adz_dtype dtype)
{
    return dtype == ADZ_BOOL ? 0 : dtype == ADZ_I32 || dtype == ADZ_I64 || dtype == ADZ_U8 ? 1 : 2;
}

adz_dtype adzi_number_result_type(adz_dtype tensor, adz_dtype number)
{
    return category(number) > category(tensor) ? adz_promote_types(tensor, number) : tensor;
}

adz_dtype adzi_result_type(const adz_tensor *a, const adz_tensor *b)
{
    adz_dtype ta = (adz_dtype)a->dtype, tb = (adz_dtype)b->dtype;
    if ((a->rank == 0) == (b->rank == 0)) {
        return adz_promote_types(ta, tb);
    }
    return a->rank == 0 ? adzi_number_result_type(tb, ta) : adzi_number_result_type(ta, tb);
}

bool adzi_convert(adzi_call *call, int i, adz_dtype dtype)
{
    if (call->in[i]->dtype == dtype) {
        return true;
    }
    call->in[i] = adz_to(call->in[i], dtype);
    adzi_trace_open(true); /* this operator goes on */
    return call->in[i] != NULL;
}

bool adzi_promote(adzi_call *call, int i, int j)
{
    if (call->in[i]->dtype == call->in[j]->dtype) {
        return adzi_want_computable(call, i);
    }
    if (!adzi_want_computable(call, i) || !adzi_want_computable(call, j)) {
        return false;
    }
    adz_dtype dtype = adzi_result_type(call->in[i], call->in[j]);
    if (call->inplace && dtype != call->in[0]->dtype) {
        adzi_error(call->op->name, ADZ_ERR_DTYPE,
            "the result is %s and cannot be written to %s in place", adz_dtype_name(dtype),
            adz_dtype_name((adz_dtype)call->in[0]->dtype));
        return false;
    }
    return adzi_convert(call, i, dtype) && adzi_convert(call, j, dtype);
}

/* ---- results -----------------------------------------------------------------------------------
 */

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
    return ours ? dy : adzi_scratch_like(op, like);
}

adz_tensor *adzi_compact_copy(const char *op, adz_tensor *t)
{
    adz_tensor *copy = adzi_scratch_like(op, t);
    adzi_tracer *tracer = adzi_self()->tracer;
    const adzi_report report = {
        .op = &adzi_op_clone, .in = &t, .n_in = 1, .results = &copy, .n_results = 1
    };
    if (copy == NULL || (tracer != NULL && !tracer->call(tracer, &report))) {
        return NULL;
    }
    adzi_copy(copy, t);
    return copy;
}

/* ---- in place ----------------------------------------------------------------------------------
 */

/* The range of bytes, [low, high), in which the elements of a tensor with elements are. */
static void extent(const adz_tensor *t, const char **low, const char **high)
{
    int64_t down = 0, up = 0;
    for (int i = 0; i < t->rank; ++i) {
        int64_t reach = (t->sizes[i] - 1) * t->strides[i];
        up += reach > 0 ? reach : 0;
        down += reach < 0 ? reach : 0;
    }
    int64_t item = (int64_t)adzi_item_size(t);
    *low = t->data + down * item;
    *high = t->data + (up + 1) * item;
}

/* True if the memory of two tensors overlaps and they are not the same view. An in-place kernel may
 * read element i of the same view before it writes it, but not other elements. */
static bool overlaps_otherwise(const adz_tensor *a, const adz_tensor *b)
{
    if (a->storage != b->storage || a->numel == 0 || b->numel == 0) {
        return false;
    }
    const char *a0, *a1, *b0, *b1;
    extent(a, &a0, &a1);
    extent(b, &b0, &b1);
    bool apart = a1 <= b0 || b1 <= a0;
    bool same = a->data == b->data && adzi_same_sizes(a, b);
    for (int i = 0; i < a->rank && same; ++i) {
        same = a->sizes[i] <= 1 || a->strides[i] == b->strides[i];
    }
    return !apart && !same;
}

bool adzi_begin_inplace(adzi_call *call, bool needs_old)
{
    adz_tensor *x = call->in[0];
    const char *op = call->op->name;
    call->inplace = true;
    if (call->record && x->node == NULL && x->requires_grad) {
        adzi_error(op, ADZ_ERR_INPLACE,
            "%s_ would change x%s, a leaf that wants a gradient; use adz_%s, which returns a new "
            "tensor, or ADZ_NO_GRAD for an update that is no part of the graph",
            op, adzi_text_shape(x), op);
        return false;
    }
    if (call->record && x->is_view) {
        adzi_error(op, ADZ_ERR_INPLACE,
            "%s_ would change x%s, a view inside a graph; use adz_%s, which returns a new tensor",
            op, adzi_text_shape(x), op);
        return false;
    }
    if (!adzi_is_dense(x)) {
        adzi_error(op, ADZ_ERR_INPLACE,
            "%s_ would write several elements of x%s to one place (it was expanded); use "
            "adz_contiguous first",
            op, adzi_text_shape(x));
        return false;
    }
    for (int i = 1; i < call->n_in; ++i) {
        adz_tensor *t = call->in[i];
        if (!adzi_is_none(t) && overlaps_otherwise(x, t)) {
            call->in[i] = adz_clone(t);
            adzi_trace_open(true);
            if (call->in[i] == NULL) {
                return false;
            }
        }
    }
    if (call->record && needs_old) {
        call->old = adzi_compact_copy(op, x);
        if (call->old == NULL) {
            return false;
        }
        if (x->node != NULL) { /* for second derivatives, which go on through the old value */
            adzi_refs_take(&x->node->refs);
            call->old->node = x->node;
            call->old->result = x->result;
            call->old->history = call->old->storage->history;
        }
    }
    return true;
}

/* ---- recording and leaving ---------------------------------------------------------------------
 */

/* Reports the call to the trace of the thread. The places of a maximum are a result for a trace,
 * although the node does not have them. */
static bool report(
    const adzi_call *call, int n_results, adz_tensor **results, const void *attr, size_t attr_size)
{
    adz_tensor *both[2] = { results[0], call->places };
    const bool two = call->places != NULL;
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

/* Tells a recorder of the attributes that are numbers. */
static void tell_recorder(adzi_recorder *recorder, const adz_operator *op, const void *attr)
{
    size_t n;
    const adz_field *fields = adzi_attr_fields(op, &n);
    for (size_t i = 0; i < n; ++i) {
        if (fields[i].hidden || fields[i].count > 0) {
            continue;
        }
        recorder->number(recorder, fields[i].kind == ADZ_FIELD_F64
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
    adzi_recorder *recorder = adzi_recorder_of(call->thread);
    if (recorder != NULL && attr != NULL) {
        tell_recorder(recorder, call->op, attr);
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

/* Raises the version of x and, if the call is recorded, makes x the result of the new node in place
 * of the old one. */
static void commit_inplace(adzi_call *call, adz_tensor *x, bool saves_result)
{
    adzi_written(x, call->op->name);
    if (call->node == NULL) {
        return;
    }
    ++x->storage->history;
    adzi_node *before = x->node;
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

/* Ends a call. In anomaly mode, fails if y has NaN or infinity although the inputs were finite. */
static adz_tensor *leave(adzi_call *call, adz_tensor *y, bool saves_result)
{
    adzi_trace_leave(call->thread->tracer);
    if (call->inplace) {
        commit_inplace(call, y, saves_result);
    }
    if (!call->thread->anomaly || !adzi_has_nonfinite(y)) {
        return y;
    }
    for (int i = 0; i < call->n_in; ++i) {
        const adz_tensor *t = call->inplace && i == 0 ? NULL : call->in[i];
        if (t != NULL && !adzi_is_none(t) && adzi_has_nonfinite(t)) {
            return y; /* an argument was not finite already */
        }
    }
    return adzi_fail(call->op->name, ADZ_ERR_NUMERIC,
        "NaN or infinity in the result %s, from finite arguments", adzi_text_shape(y));
}

adz_tensor *adzi_leave(adzi_call *call, adz_tensor *y)
{
    return leave(call, y, false);
}

adz_tensor *adzi_leave_saving(adzi_call *call, adz_tensor *y)
{
    return leave(call, y, true);
}

adz_tensor *adzi_sum_to(adz_tensor *t, adz_shape shape)
{
    int lead = t->rank - shape.rank, dims[ADZ_MAX_RANK], n = 0;
    for (int i = 0; i < t->rank; ++i) {
        if (i < lead || (shape.sizes[i - lead] == 1 && t->sizes[i] != 1)) {
            dims[n++] = i;
        }
    }
    if (n > 0) {
        t = adz_sum(t, adz_dims_of(n, dims), ADZ_KEEPDIM);
    }
    return lead > 0 ? adz_reshape(t, shape) : t;
}
