/* Loops and branches: the memory of what they carry, and where the inputs and results of single
 * steps lie.
 *
 * A carry is a buffer that holds the first value before the loop, the value of a step in it, and
 * the last one behind it. A step copies its new carries there, unless they are computed there. An
 * input of a step is a pointer into the inputs of all steps, and so is a result. */
#include <stdio.h>
#include <string.h>

#include "autograd/regions.h"
#include "export/c99/program.h"

/* ---- which calls ----------------------------------------------------------------------------- */

const adzi_c99_call *adzi_c99_region_end(const adzi_c99 *c, const adzi_c99_call *call)
{
    int depth = 1;
    (void)c;
    while (depth > 0) {
        const adzi_region region = adzi_c99_region_of(++call);
        depth += adzi_region_begins(region) ? 1 : 0;
        depth -= adzi_region_ends(region) ? 1 : 0;
    }
    return call;
}

bool adzi_c99_is_carried(
    const adzi_c99 *c, const adzi_c99_call *begin, const adzi_c99_call *end, int k)
{
    return c->values[begin->out[k]].used || c->values[end->out[k]].used;
}

int adzi_c99_loop_step(const adzi_c99 *c)
{
    int step = -1;
    for (int i = 0; i < c->n_regions; ++i) {
        step = adzi_c99_region_of(c->regions[i].begin) != ADZI_BRANCH ? c->regions[i].step : step;
    }
    return step;
}

/* ---- memories -------------------------------------------------------------------------------- */

static bool is_loop_end(adzi_region region)
{
    return region == ADZI_SCAN_END || region == ADZI_WHILE_END;
}

int adzi_c99_region_memory(adzi_c99 *c, const adzi_trace *trace, const adzi_traced_value *v)
{
    const adzi_traced_call *call = &trace->calls[v->call];
    const int carries = ((const adzi_region_attr *)call->attr)->carries;
    if (is_loop_end(adzi_trace_region_of(call)) && v->result < carries) {
        const size_t begin = adzi_trace_region_begin(trace, (size_t)v->call);
        return c->values[trace->calls[begin].out[v->result]].memory;
    }
    const int memory = adzi_c99_memory_new(c, ADZI_C99_BUFFER, v->dtype, v->tensor->numel);
    if (memory >= 0) {
        char label[ADZI_C99_LABEL];
        snprintf(label, sizeof label, "%s%s%s", call->path, call->path[0] != '\0' ? ": " : "",
            call->op->name);
        adzi_c99_label(&c->memories[memory], label, v);
    }
    return memory;
}

/* Whether dimensions from `from` on lie in row-major order without gaps. */
static bool is_row_major(const adzi_c99_value *v, int from)
{
    int64_t stride = 1;
    bool good = true;
    for (int d = v->rank - 1; d >= from && good; --d) {
        good = v->sizes[d] == 1 || v->strides[d] == stride;
        stride *= v->sizes[d];
    }
    return good;
}

bool adzi_c99_is_whole(const adzi_c99 *c, const adzi_c99_value *v)
{
    const adzi_c99_memory *m = &c->memories[v->memory];
    return m->kind == ADZI_C99_BUFFER && m->start < 0 && v->offset == 0 && m->count == v->numel &&
           is_row_major(v, 0);
}

/* ---- uses ------------------------------------------------------------------------------------ */

static bool takes(const adzi_c99 *c, const adzi_c99_call *call, int memory)
{
    bool found = false;
    for (int i = 0; i < call->n_in && !found; ++i) {
        found = call->in[i] >= 0 && c->values[call->in[i]].memory == memory;
    }
    return found;
}

static bool gives(const adzi_c99 *c, const adzi_c99_call *call, int memory)
{
    bool found = false;
    for (int k = 0; k < call->n_out && !found; ++k) {
        found = c->values[call->out[k]].memory == memory;
    }
    return found;
}

/* How many of the values that the end of a loop takes lie in a memory. */
static int times_taken(const adzi_c99 *c, const adzi_c99_call *end, int memory)
{
    const int carries = ((const adzi_region_attr *)end->attr)->carries;
    int n = 0;
    for (int i = 0; i < end->n_in; ++i) {
        n += c->values[end->in[i]].memory == memory && (i < carries || c->values[end->out[i]].used);
    }
    return n;
}

/* The first call from `call` to before `end` that gives a memory its elements; `end` if there is
 * none. */
static const adzi_c99_call *maker(
    const adzi_c99 *c, const adzi_c99_call *call, const adzi_c99_call *end, int memory)
{
    while (call < end && !gives(c, call, memory)) {
        ++call;
    }
    return call;
}

/* ---- placing --------------------------------------------------------------------------------- */

/* Lets all values of a memory be values of another one, of which it is all. */
static void share(adzi_c99 *c, int memory, int with)
{
    for (size_t i = 0; i < c->n_values; ++i) {
        if (c->values[i].memory == memory) {
            c->values[i].memory = with;
        }
    }
}

/* Whether the call that computes the new carry may write it over the old one: nothing reads the old
 * one later, and the call reads it at the same positions. */
static bool can_overwrite(const adzi_c99 *c, const adzi_c99_call *begin, const adzi_c99_call *end,
    const adzi_c99_value *old, const adzi_c99_value *next)
{
    const adzi_c99_call *made = maker(c, begin + 1, end, next->memory);
    bool good = next->memory != old->memory && adzi_c99_is_whole(c, next) &&
                maker(c, c->calls, made, next->memory) == made && made < end && !made->inplace &&
                adzi_c99_region_of(made) == ADZI_NO_REGION && next->dtype == old->dtype &&
                adzi_c99_reads_in_place(c, made, old) && !gives(c, made, old->memory) &&
                times_taken(c, end, old->memory) == 0;
    for (const adzi_c99_call *call = made + 1; call < end && good; ++call) {
        good = !takes(c, call, old->memory) && !gives(c, call, old->memory);
    }
    return good;
}

static void place_carries(adzi_c99 *c, const adzi_c99_call *begin, const adzi_c99_call *end)
{
    const int n = ((const adzi_region_attr *)begin->attr)->carries;
    for (int k = 0; k < n; ++k) {
        const adzi_c99_value *old = &c->values[begin->out[k]], *next = &c->values[end->in[k]];
        if (adzi_c99_is_carried(c, begin, end, k) && can_overwrite(c, begin, end, old, next)) {
            share(c, next->memory, old->memory);
        }
    }
}

/* Inputs of a step that lie in row-major order need no copy. */
static void place_inputs(adzi_c99 *c, const adzi_c99_call *begin)
{
    const int n = ((const adzi_region_attr *)begin->attr)->carries;
    for (int k = n; k < begin->n_out; ++k) {
        adzi_c99_memory *m = &c->memories[c->values[begin->out[k]].memory];
        m->kind = is_row_major(&c->values[begin->in[k]], 1) ? ADZI_C99_INPUT : m->kind;
    }
}

/* A result of a step is computed among the results of all steps if the body makes it as a whole. A
 * loop inside the body that also hands it over copies it: it lies among the results of this loop
 * alone. */
static void place_results(adzi_c99 *c, const adzi_c99_call *begin, const adzi_c99_call *end)
{
    const int n = ((const adzi_region_attr *)begin->attr)->carries;
    for (int k = n; k < end->n_in; ++k) {
        const adzi_c99_value *y = &c->values[end->in[k]];
        const adzi_c99_call *made = maker(c, begin + 1, end, y->memory);
        if (c->values[end->out[k]].used && made < end && adzi_c99_is_whole(c, y) &&
            maker(c, c->calls, made, y->memory) == made && !made->inplace &&
            times_taken(c, end, y->memory) == 1) {
            c->memories[y->memory].kind = ADZI_C99_INPUT;
            c->memories[y->memory].placed = end;
        }
    }
}

void adzi_c99_place_steps(adzi_c99 *c)
{
    for (size_t i = 0; i < c->n_calls; ++i) {
        const adzi_c99_call *begin = &c->calls[i];
        const adzi_region region = adzi_c99_region_of(begin);
        if (region == ADZI_SCAN || region == ADZI_WHILE) {
            place_carries(c, begin, adzi_c99_region_end(c, begin));
        }
        if (region == ADZI_SCAN) {
            place_inputs(c, begin);
            place_results(c, begin, adzi_c99_region_end(c, begin));
        }
    }
}
