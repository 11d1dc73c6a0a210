/* What a trace does with the reports of its thread. */
#include <string.h>

#include "export/trace.h"

/* ---- calls ---------------------------------------------------------------------------------- */

enum { MOST_TWICE = 8, MOST_KEPT = 8 }; /* results of a call that is traced twice; values kept */

/* The operator's expression, or NULL, as for a program that knows an older header. */
static adz_expression_function expression_of(const adz_operator *op)
{
    return op->size == 0 || op->size >= offsetof(adz_operator, kernels) ? op->expression : NULL;
}

/* Whether the writer prints the call itself. It knows operators by their names, and an operator of
 * the program may have the name of one of the library's. */
static bool is_printed(const adzi_trace *trace, const adzi_report *r)
{
    return trace->prints == NULL || (r->op->size == 0 && trace->prints(r->op)) ||
           (trace->texts && adzi_takes_c_element(r));
}

/* The version of the storage of result k once the call has ended. */
static uint32_t version_after(const adzi_report *r, int k)
{
    return r->results[k]->storage->version + (r->inplace && k == 0 ? 1 : 0);
}

/* Gives result k of the operator the graph of result k of its expression, so that a backward goes
 * through the expression and computes nothing again. */
static bool share_graph(adz_tensor *result, adz_tensor *made)
{
    if (made->node == NULL && adzi_requires_grad(made)) { /* an input, which is a leaf */
        made = adz_expand(made, adz_shape_of(made->rank, made->sizes));
    }
    if (made != NULL && made->node != NULL) {
        adzi_refs_take(&made->node->refs);
        result->node = made->node;
        result->result = made->result;
        result->history = result->storage->history;
    }
    return made != NULL;
}

/* Computes the expression of the operator, whose calls are reported, and makes the results of the
 * operator hold the values of its results. */
static bool trace_expression(adzi_trace *trace, const adzi_report *r)
{
    adzi_thread *thread = adzi_self();
    size_t bytes = ((size_t)r->n_results + MOST_KEPT) * sizeof(adz_tensor *);
    adz_tensor **made = adzi_alloc_zero(bytes);
    if (made == NULL) {
        return adzi_trace_refuse_memory(trace, bytes);
    }
    const bool records = thread->grad_enabled;
    const bool graph = trace->step && r->records && r->op->backward == NULL;
    thread->grad_enabled = graph;
    bool good = expression_of(r->op)(made, r->in, r->attr) == ADZ_OK;
    for (int k = 0; k < r->n_results && good; ++k) {
        made[k] = made[k] != NULL ? adzi_trace_with_layout(made[k], r->results[k]) : NULL;
        good = made[k] != NULL || adzi_pending() == ADZ_OK;
    }
    thread->grad_enabled = records;
    for (int k = 0; k < r->n_results && good; ++k) {
        int value = made[k] != NULL ? adzi_trace_value_of(trace, made[k]) : -1;
        if (made[k] != NULL &&
            (!adzi_same_sizes(made[k], r->results[k]) || made[k]->dtype != r->results[k]->dtype)) {
            adzi_error(r->op->name, ADZ_ERR_SHAPE,
                "result %d is %s %s, but the operator's expression gives %s %s", k,
                adz_dtype_name((adz_dtype)r->results[k]->dtype), adzi_text_shape(r->results[k]),
                adz_dtype_name((adz_dtype)made[k]->dtype), adzi_text_shape(made[k]));
            value = -1;
        }
        good = value >= 0 && adzi_trace_hold(trace, r->results[k], value, version_after(r, k));
        if (good && graph) {
            thread->grad_enabled = true;
            good = share_graph(r->results[k], made[k]);
            thread->grad_enabled = records;
        }
    }
    adzi_free(made, bytes);
    trace->failed = trace->failed || !good;
    return good || adzi_status(NULL) == ADZ_OK;
}

/* Copies the elements of a value that an in-place call is about to overwrite, unless a call made
 * it: others see them again after the trace. */
static bool keep_contents(adzi_trace *trace, int value, adz_tensor *t)
{
    adzi_traced_value *v = &trace->values[value];
    if (v->kind == ADZI_VALUE_RESULT || v->contents != NULL) {
        return true;
    }
    v->contents = adzi_tensor_new(adzi_self(), trace->op, (adz_dtype)t->dtype, t->rank, t->sizes);
    if (v->contents == NULL) {
        trace->failed = true;
        return false;
    }
    v->version = t->storage->version;
    adzi_copy(v->contents, t);
    return true;
}

/* Allocates what a call owns. */
static bool fill_call(const adzi_trace *trace, adzi_traced_call *call, const adzi_report *r)
{
    const bool text = trace->texts && adzi_takes_c_element(r);
    char path[2048];
    adzi_calls_path(path, sizeof path);
    *call = (adzi_traced_call){ .op = r->op,
        .row = adzi_row_of(r->op->name),
        .attr_size = r->attr_size,
        .n_in = r->n_in,
        .n_out = r->n_results,
        .inplace = r->inplace };
    call->path = adzi_string_copy(path);
    call->in = adzi_alloc(((size_t)r->n_in + (size_t)r->n_results) * sizeof *call->in);
    call->attr = r->attr_size > 0 ? adzi_alloc(r->attr_size) : NULL;
    call->own_row = text ? adzi_alloc(sizeof *call->own_row) : NULL;
    if (call->path == NULL || (text && call->own_row == NULL) || call->in == NULL ||
        (r->attr_size > 0 && call->attr == NULL)) {
        adzi_traced_call_end(call);
        return false;
    }
    call->out = call->in + r->n_in;
    if (text) {
        *call->own_row = adzi_row_of_element(r->op);
        call->row = call->own_row;
    }
    if (r->attr_size > 0) {
        adzi_attr_copy(r->op, call->attr, r->attr, r->attr_size);
    }
    return true;
}

void adzi_traced_call_end(adzi_traced_call *call)
{
    adzi_string_free(call->path);
    adzi_free(call->own_row, sizeof *call->own_row);
    if (call->in != NULL) {
        adzi_free(call->in, ((size_t)call->n_in + (size_t)call->n_out) * sizeof *call->in);
    }
    if (call->attr != NULL) {
        adzi_free(call->attr, call->attr_size);
    }
}

/* Finds the values of the inputs and makes those of the results. */
static bool connect(adzi_trace *trace, adzi_traced_call *call, const adzi_report *r)
{
    for (int i = 0; i < r->n_in; ++i) {
        call->in[i] = adzi_is_none(r->in[i]) ? -1 : adzi_trace_value_of(trace, r->in[i]);
        if (call->in[i] < 0 && !adzi_is_none(r->in[i])) {
            return false;
        }
    }
    if (r->inplace && (!adzi_trace_may_change(trace, r->in[0], call->in[0], r->op->name) ||
                          !keep_contents(trace, call->in[0], r->in[0]))) {
        return false;
    }
    for (int k = 0; k < r->n_results; ++k) {
        const int value = adzi_trace_append(trace, ADZI_VALUE_RESULT, r->results[k], NULL);
        bool (*hold)(adzi_trace *, adz_tensor *, int, uint32_t) =
            adzi_region_begins(adzi_trace_region_of(call)) ? adzi_trace_renew : adzi_trace_hold;
        if (value < 0 || !hold(trace, r->results[k], value, version_after(r, k))) {
            return false;
        }
        trace->values[value].call = (int)trace->n_calls;
        trace->values[value].result = k;
        call->out[k] = value;
    }
    return true;
}

static bool trace_printed(adzi_trace *trace, const adzi_report *r)
{
    if (!adzi_grow(
            &trace->calls, &trace->calls_capacity, trace->n_calls + 1, sizeof *trace->calls)) {
        return adzi_trace_refuse_memory(trace, sizeof *trace->calls);
    }
    adzi_traced_call call;
    if (!fill_call(trace, &call, r)) {
        return adzi_trace_refuse_memory(trace, sizeof call);
    }
    if (!connect(trace, &call, r)) {
        adzi_traced_call_end(&call);
        return false;
    }
    trace->calls[trace->n_calls++] = call;
    return adzi_trace_note_region(trace, trace->n_calls - 1);
}

/* Whether a backward reads what the operator's expression computes, which costs as much as the call
 * itself. */
static bool is_decomposed(const adzi_trace *trace, const adzi_report *r)
{
    const adzi_row *row = r->op->size == 0 ? adzi_row_of(r->op->name) : NULL;
    return trace->step && r->records && r->op->backward == NULL && row != NULL && row->decomposed &&
           r->n_results <= MOST_TWICE;
}

/* Traces the expression, whose graph the results get, and the call itself. It is not known yet
 * whether a backward follows: adzi_trace_choose leaves one of them without use. */
static bool trace_both(adzi_trace *trace, const adzi_report *r)
{
    int made[MOST_TWICE];
    bool good = trace_expression(trace, r) && !trace->failed;
    for (int k = 0; k < r->n_results && good; ++k) {
        made[k] = adzi_trace_value_of(trace, r->results[k]);
        good = made[k] >= 0;
    }
    good = good && trace_printed(trace, r);
    for (int k = 0; k < r->n_results && good; ++k) {
        trace->values[trace->calls[trace->n_calls - 1].out[k]].instead = made[k];
    }
    return good;
}

static bool trace_call(adzi_trace *trace, const adzi_report *r)
{
    const adz_status before = adzi_pending();
    const bool printed = is_printed(trace, r);
    if (before == ADZ_OK && adzi_pending() != ADZ_OK) { /* the operator's text is wrong */
        trace->failed = true;
        return false;
    }
    if (expression_of(r->op) != NULL && !printed) {
        return trace_expression(trace, r);
    }
    if (!printed && trace->prints(r->op)) {
        trace->failed = true;
        adzi_error(r->op->name, ADZ_ERR_UNSUPPORTED,
            "an operator of the program with the name of one of adze's cannot be exported without an expression; set .expression of its adz_operator");
        return false;
    }
    return is_decomposed(trace, r) ? trace_both(trace, r) : trace_printed(trace, r);
}

/* After the report, launches belong to the call. A view computes nothing. */
static bool report_call(adzi_tracer *tracer, const adzi_report *r)
{
    tracer->open = true;
    const bool good = trace_call((adzi_trace *)(void *)tracer, r);
    bool view = !r->inplace && r->n_in > 0;
    for (int k = 0; k < r->n_results && view; ++k) {
        view = r->results[k]->storage == r->in[0]->storage;
    }
    tracer->open = !view;
    return good;
}

/* ---- other reports -------------------------------------------------------------------------- */

/* The program may read what does not depend on the inputs, and write to tensors that no call has
 * used yet. */
static bool report_host(adzi_tracer *tracer, const adz_tensor *t, const char *function)
{
    adzi_trace *trace = (adzi_trace *)(void *)tracer;
    bool shares;
    const size_t position = adzi_trace_find(trace, t, &shares);
    int value = position != ADZI_NOWHERE ? trace->tensors[position].value : -1;
    if (value < 0 && !shares && trace->step && adzi_trace_is_older(trace, t)) {
        value = adzi_trace_value_of(trace, (adz_tensor *)(uintptr_t)t);
    }
    const adzi_value_kind kind = value >= 0 ? trace->values[value].kind : ADZI_VALUE_CONSTANT;
    if (!shares && kind != ADZI_VALUE_INPUT && kind != ADZI_VALUE_RESULT) {
        adzi_trace_note_constant(tracer, t);
        if (value >= 0) {
            trace->values[value].reader = function;
        }
        return true;
    }
    trace->failed = true;
    adzi_error(trace->op, ADZ_ERR_UNSUPPORTED,
        "%s accesses elements of %s%s by the program itself, which an export cannot repeat; use adze's operators, or an operator of your own with an expression (adz_operator_call)",
        function,
        kind != ADZI_VALUE_RESULT || value < 0 ? "an input "
                                               : trace->calls[trace->values[value].call].op->name,
        adzi_text_shape(t));
    return false;
}

static bool report_change(adzi_tracer *tracer, adz_tensor *t, const char *op)
{
    adzi_trace *trace = (adzi_trace *)(void *)tracer;
    if (trace->step) {
        trace->failed = true;
        adzi_error(op, ADZ_ERR_UNSUPPORTED,
            "changes %s, which no traced call computes, so an exported step would not; batch norm needs a fixed momentum, or evaluation (adz_module_eval)",
            adzi_text_shape(t));
        return false;
    }
    const int value = adzi_trace_value_of(trace, t);
    const bool open = adzi_trace_open(true);
    const bool good = value >= 0 && keep_contents(trace, value, t);
    adzi_trace_open(open);
    return good;
}

static bool report_unrepeatable(adzi_tracer *tracer, const char *function)
{
    adzi_trace *trace = (adzi_trace *)(void *)tracer;
    trace->failed = true;
    adzi_error(trace->op, ADZ_ERR_UNSUPPORTED,
        "%s draws random numbers, which an export would turn into constants; call adz_module_eval, or draw outside and pass them as an input",
        function);
    return false;
}

const adzi_tracer adzi_trace_reports = { .call = report_call,
    .host = report_host,
    .change = report_change,
    .entered = adzi_trace_note_entered,
    .moves_statistics = adzi_trace_note_moves,
    .unrepeatable = report_unrepeatable,
    .backward = adzi_trace_note_backward,
    .step = adzi_trace_note_step,
    .gradient = adzi_trace_note_gradient,
    .updates = adzi_trace_note_update,
    .refuse = adzi_trace_note_refused,
    .abandoned = adzi_trace_abandon,
    .launched = adzi_trace_note_launch,
    .made = adzi_trace_note_made,
    .constant = adzi_trace_note_constant,
    .begun = adzi_trace_begun,
    .repeat = adzi_trace_repeat,
    .captured = adzi_trace_captured };
