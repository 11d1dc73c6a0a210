/* Fewer copies. A clone becomes another name of what it copies if neither is changed while the
 * other is needed. A result that is copied into a variable, such as a new weight, is computed there
 * if nothing needs the variable's old elements any more.
 *
 * Both let two values share one memory, and then leave the call out. */
#include <string.h>

#include "export/c99/program.h"

/* ---- who uses a memory ----------------------------------------------------------------------- */

static int memory_of(const adzi_c99 *c, int value)
{
    return value >= 0 ? c->values[value].memory : -1;
}

static bool reads(const adzi_c99 *c, const adzi_c99_call *call, int memory)
{
    const bool overwrites = call->inplace && call->row != NULL && call->row->overwrites;
    bool found = false;
    for (int i = overwrites ? 1 : 0; i < call->n_in && !found; ++i) {
        found = memory_of(c, call->in[i]) == memory;
    }
    return found;
}

static bool writes(const adzi_c99 *c, const adzi_c99_call *call, int memory)
{
    bool found = false;
    for (int k = 0; k < call->n_out && !found; ++k) {
        found = memory_of(c, call->out[k]) == memory;
    }
    return found;
}

/* What happens when the calls are over: the results are read, and variables get their new
 * elements. */
bool adzi_c99_is_read_last(const adzi_c99 *c, const adzi_trace *trace, int memory)
{
    bool found = false;
    for (size_t k = 0; k < c->n_outputs && !found; ++k) {
        found = memory_of(c, c->outputs[k]) == memory;
    }
    for (size_t i = 0; i < trace->n_values && !found; ++i) {
        const int to = trace->values[i].becomes;
        found = to != (int)i && memory_of(c, to) == memory && memory_of(c, (int)i) != memory;
    }
    return found;
}

static bool is_written_last(const adzi_c99 *c, const adzi_trace *trace, int memory)
{
    bool found = false;
    for (size_t i = 0; i < trace->n_values && !found; ++i) {
        const int to = trace->values[i].becomes;
        found = to != (int)i && memory_of(c, (int)i) == memory && memory_of(c, to) != memory;
    }
    return found;
}

/* The first call from `from` on that writes to a memory. n_calls if only the end of the function
 * does, and n_calls + 1 if nothing does. */
static size_t next_write(const adzi_c99 *c, const adzi_trace *trace, size_t from, int memory)
{
    size_t i = from;
    while (i < c->n_calls && !writes(c, &c->calls[i], memory)) {
        ++i;
    }
    return i < c->n_calls || is_written_last(c, trace, memory) ? i : c->n_calls + 1;
}

/* Whether a call from `from` to below `below`, or the end of the function, uses a memory. */
static bool is_used(
    const adzi_c99 *c, const adzi_trace *trace, size_t from, size_t below, int memory)
{
    bool used = below > c->n_calls && from <= c->n_calls &&
                (adzi_c99_is_read_last(c, trace, memory) || is_written_last(c, trace, memory));
    for (size_t i = from; i < below && i < c->n_calls && !used; ++i) {
        used = reads(c, &c->calls[i], memory) || writes(c, &c->calls[i], memory);
    }
    return used;
}

/* ---- layouts --------------------------------------------------------------------------------- */

static bool same_layout(const adzi_c99_value *a, const adzi_c99_value *b)
{
    bool same = a->rank == b->rank && a->dtype == b->dtype;
    for (int d = 0; d < a->rank && same; ++d) {
        same = a->sizes[d] == b->sizes[d] && (a->sizes[d] <= 1 || a->strides[d] == b->strides[d]);
    }
    return same;
}

/* Whether a value is all of a buffer that some call fills. */
static bool is_all(const adzi_c99 *c, const adzi_c99_value *v)
{
    const adzi_c99_memory *m = &c->memories[v->memory];
    return m->kind == ADZI_C99_BUFFER && m->start < 0 && v->offset == 0 && m->count == v->numel;
}

/* Lets all values of a memory be values of another one. */
static void share(adzi_c99 *c, int memory, const adzi_c99_value *with)
{
    const adzi_c99_value to = *with;
    for (size_t i = 0; i < c->n_values; ++i) {
        if (c->values[i].memory == memory) {
            c->values[i].memory = to.memory;
            c->values[i].offset += to.offset;
        }
    }
}

static void leave_out(adzi_c99 *c, size_t call)
{
    memmove(c->calls + call, c->calls + call + 1, (--c->n_calls - call) * sizeof *c->calls);
}

/* ---- clones ---------------------------------------------------------------------------------- */

static bool is_needless(const adzi_c99 *c, const adzi_trace *trace, size_t at)
{
    const adzi_c99_call *call = &c->calls[at];
    const adzi_c99_value *x = adzi_c99_in(c, call, call->n_in - 1), *y = adzi_c99_out(c, call, 0);
    if (call->inplace || x == NULL || !same_layout(x, y) || !is_all(c, y) ||
        x->memory == y->memory) {
        return false;
    }
    const size_t end = c->n_calls + 1;
    if (next_write(c, trace, at + 1, y->memory) < end) {
        return c->memories[x->memory].kind == ADZI_C99_BUFFER &&
               !is_used(c, trace, at + 1, end, x->memory);
    }
    const size_t changed = next_write(c, trace, at + 1, x->memory);
    return changed == end || !is_used(c, trace, changed, end, y->memory);
}

/* ---- results that are copied into variables -------------------------------------------------- */

bool adzi_c99_reads_in_place(
    const adzi_c99 *c, const adzi_c99_call *call, const adzi_c99_value *variable)
{
    const adzi_c99_value *y = adzi_c99_out(c, call, 0);
    bool good = true;
    for (int i = 0; i < call->n_in && good; ++i) {
        const adzi_c99_value *x = adzi_c99_in(c, call, i);
        const bool reads_it = x != NULL && x->memory == variable->memory;
        good = !reads_it || (call->row != NULL && call->row->c.print == adzi_c99_elementwise &&
                                same_layout(x, y) && x->offset == variable->offset);
    }
    return good;
}

static bool goes_into(const adzi_c99 *c, const adzi_trace *trace, size_t at)
{
    const adzi_c99_call *call = &c->calls[at];
    const adzi_c99_value *x = adzi_c99_in(c, call, call->n_in - 1), *to = adzi_c99_out(c, call, 0);
    if (!call->inplace || x == NULL || !same_layout(x, to) || !is_all(c, x) ||
        x->memory == to->memory) {
        return false;
    }
    const size_t made = next_write(c, trace, 0, x->memory), end = c->n_calls + 1;
    if (made >= at || c->calls[made].inplace ||
        adzi_c99_region_of(&c->calls[made]) != ADZI_NO_REGION ||
        !adzi_c99_reads_in_place(c, &c->calls[made], to) ||
        writes(c, &c->calls[made], to->memory) || is_used(c, trace, made + 1, at, to->memory)) {
        return false;
    }
    const bool stays = next_write(c, trace, at + 1, to->memory) == end &&
                       next_write(c, trace, at + 1, x->memory) == end;
    return stays || !is_used(c, trace, at + 1, end, x->memory);
}

/* A copy in a body stays: what seems to be read for the last time is read again in the next step.
 */
void adzi_c99_reuse(adzi_c99 *c, const adzi_trace *trace)
{
    int depth = 0;
    for (size_t i = 0; i < c->n_calls;) {
        const adzi_c99_call *call = &c->calls[i];
        const adzi_region region = adzi_c99_region_of(call);
        depth += adzi_region_begins(region) ? 1 : 0;
        depth -= adzi_region_ends(region) ? 1 : 0;
        const bool copies = depth == 0 && call->row != NULL && call->row->copies;
        if (copies && is_needless(c, trace, i)) {
            share(c, adzi_c99_out(c, call, 0)->memory, adzi_c99_in(c, call, call->n_in - 1));
            leave_out(c, i);
        } else if (copies && goes_into(c, trace, i)) {
            share(c, adzi_c99_in(c, call, call->n_in - 1)->memory, adzi_c99_out(c, call, 0));
            leave_out(c, i);
        } else {
            ++i;
        }
    }
}
