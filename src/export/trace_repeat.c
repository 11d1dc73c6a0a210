/* Note [Repeated calls]
 * The backward of a loop or a branch computes its bodies again. The body is not called for that: it
 * may be gone. Its calls are repeated in the region of the backward, with new values. A tensor that
 * the body has made then holds the value of the repeated call, so a backward that reads what the
 * tape has saved uses the values of its own step. */
#include <string.h>

#include "export/trace.h"

size_t adzi_trace_begun(const adzi_tracer *tracer)
{
    const adzi_trace *trace = (const adzi_trace *)(const void *)tracer;
    return trace->regions[trace->n_regions - 1].call;
}

static int newest(const adzi_trace *trace, int value)
{
    while (value >= 0 && trace->values[value].again != value) {
        value = trace->values[value].again;
    }
    return value;
}

/* A copy of a call with the newest values of its inputs, and without results. */
static bool copy_call(const adzi_trace *trace, size_t from, adzi_traced_call *call)
{
    const adzi_traced_call *old = &trace->calls[from];
    const size_t n = (size_t)old->n_in + (size_t)old->n_out;
    *call = *old;
    call->used = false;
    call->path = adzi_string_copy(old->path);
    call->in = adzi_alloc((n > 0 ? n : 1) * sizeof *call->in);
    call->attr = old->attr_size > 0 ? adzi_alloc(old->attr_size) : NULL;
    call->own_row = old->own_row != NULL ? adzi_alloc(sizeof *call->own_row) : NULL;
    if (call->path == NULL || call->in == NULL || (old->attr_size > 0 && call->attr == NULL) ||
        (old->own_row != NULL && call->own_row == NULL)) {
        adzi_traced_call_end(call);
        return false;
    }
    call->out = call->in + call->n_in;
    for (int k = 0; k < call->n_in; ++k) {
        call->in[k] = newest(trace, old->in[k]);
    }
    if (old->own_row != NULL) {
        *call->own_row = *old->own_row;
        call->row = call->own_row;
    }
    if (old->attr_size > 0) {
        adzi_attr_copy(old->op, call->attr, old->attr, old->attr_size);
    }
    return true;
}

/* A new value for each result of call `from`, which its tensor holds from now on. */
static bool give_results(adzi_trace *trace, size_t from, adzi_traced_call *call)
{
    for (int k = 0; k < call->n_out; ++k) {
        const int old = trace->calls[from].out[k];
        adz_tensor *t = trace->values[old].tensor;
        const int value = adzi_trace_append(trace, ADZI_VALUE_RESULT, t, NULL);
        if (value < 0 || !adzi_trace_renew(trace, t, value, t->storage->version)) {
            return false;
        }
        trace->values[value].call = (int)trace->n_calls;
        trace->values[value].result = k;
        trace->values[value].instead = newest(trace, trace->values[old].instead);
        trace->values[old].again = value;
        call->out[k] = value;
    }
    return true;
}

static bool repeat_call(adzi_trace *trace, size_t from)
{
    adzi_traced_call call;
    if (!adzi_grow(
            &trace->calls, &trace->calls_capacity, trace->n_calls + 1, sizeof *trace->calls) ||
        !copy_call(trace, from, &call)) {
        return adzi_trace_refuse_memory(trace, sizeof call);
    }
    if (!give_results(trace, from, &call)) {
        adzi_traced_call_end(&call);
        return false;
    }
    trace->calls[trace->n_calls++] = call;
    return adzi_trace_note_region(trace, trace->n_calls - 1);
}

/* The call that began the region of a body. */
static size_t region_of_body(const adzi_trace *trace, size_t body)
{
    return adzi_region_begins(adzi_trace_region_of(&trace->calls[body]))
               ? body
               : adzi_trace_region_begin(trace, body);
}

/* The call behind a body, which goes on with its region or ends it. */
static size_t end_of_body(const adzi_trace *trace, size_t body)
{
    size_t depth = 0, i = body + 1;
    for (;; ++i) {
        const adzi_region region = adzi_trace_region_of(&trace->calls[i]);
        if (depth == 0 && region != ADZI_NO_REGION && !adzi_region_begins(region)) {
            return i;
        }
        depth += adzi_region_begins(region) ? 1 : 0;
        depth -= adzi_region_ends(region) ? 1 : 0;
    }
}

bool adzi_trace_repeat(adzi_tracer *tracer, size_t body)
{
    adzi_trace *trace = (adzi_trace *)(void *)tracer;
    const size_t begin = region_of_body(trace, body), end = end_of_body(trace, body);
    for (int k = 0; k < trace->calls[begin].n_out; ++k) {
        const int old = trace->calls[begin].out[k];
        const int value = adzi_trace_value_of(trace, trace->values[old].tensor);
        if (value < 0) {
            return false;
        }
        trace->values[old].again = value;
    }
    bool good = true;
    for (size_t i = body + 1; i < end && good; ++i) {
        good = repeat_call(trace, i);
    }
    return good;
}

/* Whether a tensor is in a list, or another header of one that is. */
static bool is_listed(adz_tensor *const *list, size_t n, const adz_tensor *t)
{
    bool found = false;
    for (size_t i = 0; i < n && !found; ++i) {
        found = list[i] == t ||
                (t->node != NULL && list[i]->node == t->node && list[i]->result == t->result);
    }
    return found;
}

size_t adzi_trace_captured(const adzi_tracer *tracer, size_t body, adz_tensor **found, size_t room)
{
    const adzi_trace *trace = (const adzi_trace *)(const void *)tracer;
    const size_t begin = region_of_body(trace, body);
    size_t n = 0;
    for (size_t i = body + 1; i < trace->n_calls; ++i) {
        const adzi_traced_call *c = &trace->calls[i];
        for (int k = 0; k < c->n_in; ++k) {
            const adzi_traced_value *v = c->in[k] >= 0 ? &trace->values[c->in[k]] : NULL;
            const bool outside = v != NULL && v->call < (int)begin;
            if (outside && adzi_requires_grad(v->tensor) &&
                !is_listed(found, n < room ? n : room, v->tensor)) {
                if (n < room) {
                    found[n] = v->tensor;
                }
                ++n;
            }
        }
    }
    return n;
}
