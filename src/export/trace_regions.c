/* Note [Regions]
 * A loop or a branch in a trace is a region of its list of calls (autograd/regions.h). Its bodies
 * were called once. Writers repeat their calls, so nothing that they do may depend on the step:
 *
 * - A body changes in place only what it has made in this step.
 * - What it makes is used in its region alone. A body hands over what it returns.
 * - A gradient of a leaf and a step of an optimizer are no part of a body.
 *
 * A carry is needed if its last value is, or if the body reads it for something that is needed. So
 * marking goes through a region until no further carry is found. */
#include <string.h>

#include "autograd/regions.h"
#include "export/trace.h"

/* ---- while the function runs ---------------------------------------------------------------- */

static bool open_region(adzi_trace *trace, size_t call)
{
    if (!adzi_grow(&trace->regions, &trace->regions_capacity, trace->n_regions + 1,
            sizeof *trace->regions)) {
        return adzi_trace_refuse_memory(trace, sizeof *trace->regions);
    }
    trace->regions[trace->n_regions++] = (adzi_traced_region){ call, (int)trace->n_values };
    return true;
}

/* The body that has run has made the values from `first` to below `end`. */
static void leave_body(adzi_trace *trace, int first, int end)
{
    for (int i = first; i < end; ++i) {
        trace->values[i].gone = trace->values[i].kind == ADZI_VALUE_RESULT;
    }
}

bool adzi_trace_note_region(adzi_trace *trace, size_t call)
{
    const adzi_traced_call *c = &trace->calls[call];
    const adzi_region region = adzi_trace_region_of(c);
    if (adzi_region_begins(region)) {
        return open_region(trace, call);
    }
    if (region != ADZI_NO_REGION) {
        adzi_traced_region *open = &trace->regions[trace->n_regions - 1];
        leave_body(trace, open->first, (int)trace->n_values - c->n_out);
        open->first = (int)trace->n_values;
        open->call = call;
        trace->n_regions -= adzi_region_ends(region) ? 1 : 0;
    }
    return true;
}

bool adzi_trace_may_change(adzi_trace *trace, const adz_tensor *t, int value, const char *op)
{
    if (trace->n_regions == 0) {
        return true;
    }
    const int first = trace->regions[trace->n_regions - 1].first;
    const bool own = trace->values[value].kind == ADZI_VALUE_RESULT &&
                     !adzi_trace_shares_before(trace, t, first);
    if (!own) {
        trace->failed = true;
        adzi_error(op, ADZ_ERR_UNSUPPORTED,
            "changes a tensor %s in place that the body of a loop or a branch has not computed in this step, which an export cannot repeat; change a copy of it (adz_clone)",
            adzi_text_shape(t));
    }
    return own;
}

bool adzi_trace_is_outside(adzi_trace *trace, const char *function)
{
    if (trace->n_regions > 0) {
        trace->failed = true;
        adzi_error(trace->op, ADZ_ERR_UNSUPPORTED,
            "the body of a loop or a branch calls %s, which an export cannot repeat in each step; call it outside of the body",
            function);
    }
    return trace->n_regions == 0;
}

/* ---- the calls of a region ------------------------------------------------------------------ */

size_t adzi_trace_region_begin(const adzi_trace *trace, size_t end)
{
    size_t depth = 1, i = end;
    while (depth > 0) {
        const adzi_region region = adzi_trace_region_of(&trace->calls[--i]);
        depth += adzi_region_ends(region) ? 1 : 0;
        depth -= adzi_region_begins(region) ? 1 : 0;
    }
    return i;
}

/* The call that ends the region of call `begin`, or of one that goes on with it. */
static size_t region_end(const adzi_trace *trace, size_t begin)
{
    size_t depth = 1, i = begin;
    while (depth > 0) {
        const adzi_region region = adzi_trace_region_of(&trace->calls[++i]);
        depth += adzi_region_begins(region) ? 1 : 0;
        depth -= adzi_region_ends(region) ? 1 : 0;
    }
    return i;
}

static int carries_of(const adzi_traced_call *c)
{
    return ((const adzi_region_attr *)c->attr)->carries;
}

/* ---- what the outputs need ------------------------------------------------------------------ */

static void use(adzi_trace *trace, int value)
{
    if (value >= 0) {
        trace->values[value].used = true;
    }
}

static bool is_used(const adzi_trace *trace, int value)
{
    return trace->values[value].used;
}

/* The end of a region that is needed: of each result that is needed, what the last body gives for
 * it. Whether the region is needed. */
static bool mark_end(adzi_trace *trace, size_t end)
{
    adzi_traced_call *c = &trace->calls[end];
    const adzi_traced_call *begin = &trace->calls[adzi_trace_region_begin(trace, end)];
    for (int k = 0; k < c->n_out; ++k) {
        c->used = c->used || is_used(trace, c->out[k]);
    }
    for (int k = 0; k < c->n_in && c->used; ++k) {
        const bool carried = k < carries_of(begin) && is_used(trace, begin->out[k]);
        if (carried || is_used(trace, c->out[k])) {
            use(trace, c->in[k]);
        }
    }
    return c->used;
}

/* Between two bodies: the condition of a loop, or the results of the first branch. */
static void mark_middle(adzi_trace *trace, size_t middle)
{
    adzi_traced_call *c = &trace->calls[middle];
    const size_t begin = adzi_trace_region_begin(trace, middle);
    const adzi_traced_call *end = &trace->calls[region_end(trace, begin)];
    c->used = end->used;
    for (int k = 0; k < c->n_in && c->used; ++k) {
        if (adzi_trace_region_of(c) == ADZI_WHILE_TEST || is_used(trace, end->out[k])) {
            use(trace, c->in[k]);
        }
    }
}

/* The begin of a region: a carry needs its first value where its last one or the body needs it.
 * Whether a carry that the body reads has been found, whose new value is not marked yet. */
static bool mark_begin(adzi_trace *trace, size_t begin)
{
    adzi_traced_call *c = &trace->calls[begin];
    const adzi_traced_call *end = &trace->calls[region_end(trace, begin)];
    bool found = false;
    c->used = end->used;
    for (int k = 0; k < c->n_in && c->used; ++k) {
        const bool carried = k < carries_of(c);
        const bool read = k >= c->n_out || is_used(trace, c->out[k]); /* a predicate or a count */
        if (read || (carried && is_used(trace, end->out[k]))) {
            use(trace, c->in[k]);
            found = found || (carried && !is_used(trace, end->in[k]));
        }
    }
    return found;
}

static void mark_call(adzi_trace *trace, adzi_traced_call *c)
{
    for (int k = 0; k < c->n_out && !c->used; ++k) {
        c->used = is_used(trace, c->out[k]);
    }
    for (int k = adzi_trace_overwrites(c) ? 1 : 0; k < c->n_in && c->used; ++k) {
        use(trace, c->in[k]);
    }
}

/* Marks what call `i` needs. The call that comes next is the one before the result. */
static size_t mark(adzi_trace *trace, size_t i)
{
    const adzi_region region = adzi_trace_region_of(&trace->calls[i]);
    if (adzi_region_ends(region)) {
        mark_end(trace, i);
    } else if (adzi_region_begins(region)) {
        return mark_begin(trace, i) ? region_end(trace, i) + 1 : i;
    } else if (region != ADZI_NO_REGION) {
        mark_middle(trace, i);
    } else {
        mark_call(trace, &trace->calls[i]);
    }
    return i;
}

/* A call comes after those that made its inputs, so one pass from the last call suffices, but for
 * carries. */
void adzi_trace_mark_used(adzi_trace *trace)
{
    for (size_t k = 0; k < trace->n_outputs; ++k) {
        use(trace, trace->outputs[k]);
    }
    for (size_t i = 0; i < trace->n_values; ++i) {
        if (trace->values[i].becomes != (int)i) {
            use(trace, trace->values[i].becomes);
        }
    }
    for (size_t i = trace->n_calls; i > 0;) {
        i = mark(trace, i - 1);
    }
}
