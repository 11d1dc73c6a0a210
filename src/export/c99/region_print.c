/* The text of loops and branches: a `for`, an endless loop with two ends, an `if`. */
#include <stdio.h>
#include <string.h>

#include "autograd/regions.h"
#include "base/alloc.h"
#include "export/c99/program.h"

static const adzi_region_attr *attr_of(const adzi_c99_call *call)
{
    return call->attr;
}

/* ---- open regions ---------------------------------------------------------------------------- */

/* Notes that the region which begins is printed next. NULL with the error recorded if too many are
 * open. */
static adzi_c99_region *push(adzi_c99 *c, const adzi_c99_call *begin)
{
    if (c->n_regions == ADZI_C99_REGIONS) {
        adzi_c99_fail(c, ADZ_ERR_UNSUPPORTED,
            "more than %d loops and branches lie inside each other, which a file in C cannot have",
            ADZI_C99_REGIONS);
        return NULL;
    }
    adzi_c99_region *region = &c->regions[c->n_regions++];
    *region = (adzi_c99_region){ .begin = begin, .step = c->step };
    return region;
}

/* The innermost region, which a call goes on with or ends; NULL after an error. */
static adzi_c99_region *innermost(adzi_c99 *c)
{
    return c->failed || c->n_regions == 0 ? NULL : &c->regions[c->n_regions - 1];
}

/* What the loop uses and is older than it is needed until its last step ends. */
static void pop_loop(adzi_c99 *c, const adzi_c99_region *region)
{
    for (size_t i = 0; i < c->n_memories; ++i) {
        adzi_c99_memory *m = &c->memories[i];
        if (m->first >= 0 && m->first <= region->step && m->last >= region->step) {
            m->last = c->step;
        }
    }
    --c->n_regions;
}

/* The memory is used from this call on. */
static void touch(adzi_c99 *c, int memory)
{
    adzi_c99_memory *m = &c->memories[memory];
    m->first = m->first < 0 ? c->step : m->first;
    m->last = m->last < c->step ? c->step : m->last;
}

/* ---- carries --------------------------------------------------------------------------------- */

static void begin_carries(adzi_c99 *c, const adzi_c99_call *begin, const adzi_c99_call *end)
{
    for (int k = 0; k < attr_of(begin)->carries; ++k) {
        if (adzi_c99_is_carried(c, begin, end, k)) {
            adzi_c99_map(c, &c->values[begin->out[k]], "= $a", &c->values[begin->in[k]]);
        }
    }
}

/* Whether two values are the same elements in the same order. */
static bool is_same(const adzi_c99_value *a, const adzi_c99_value *b)
{
    bool same = a->memory == b->memory && a->offset == b->offset;
    for (int d = 0; d < a->rank && same; ++d) {
        same = a->sizes[d] == 1 || a->strides[d] == b->strides[d];
    }
    return same;
}

/* Whether a value lies in a carry. Then it is a view of the old carry, or of another one, and a
 * copy into that carry may overwrite elements before they are read. */
static bool lies_in_carry(
    const adzi_c99 *c, const adzi_c99_call *begin, const adzi_c99_value *value)
{
    bool found = false;
    for (int i = 0; i < attr_of(begin)->carries && !found; ++i) {
        found = c->values[begin->out[i]].memory == value->memory;
    }
    return found;
}

/* Copies the new carries that lie in carries to scratch memory, but for those that need no copy.
 * news[k] is where that of carry k lies then. */
static void find_news(
    adzi_c99 *c, const adzi_c99_call *begin, const adzi_c99_call *end, adzi_c99_value *news)
{
    for (int k = 0; k < attr_of(begin)->carries && !c->failed; ++k) {
        const adzi_c99_value next = c->values[end->in[k]];
        news[k] = next;
        if (adzi_c99_is_carried(c, begin, end, k) && !is_same(&next, &c->values[begin->out[k]]) &&
            lies_in_carry(c, begin, &next)) {
            news[k] = adzi_c99_scratch(c, next.dtype, next.rank, next.sizes);
            adzi_c99_map(c, &news[k], "= $a", &next);
        }
    }
}

/* The new carries become the carries. */
static void renew_carries(adzi_c99 *c, const adzi_c99_call *begin, const adzi_c99_call *end)
{
    const int n = attr_of(begin)->carries;
    adzi_c99_value *news = adzi_alloc((size_t)(n + 1) * sizeof *news);
    if (news == NULL) {
        adzi_c99_fail(c, ADZ_ERR_MEMORY, "no memory for the carries of a loop");
        return;
    }
    find_news(c, begin, end, news);
    for (int k = 0; k < n && !c->failed; ++k) {
        const adzi_c99_value *to = &c->values[begin->out[k]];
        if (adzi_c99_is_carried(c, begin, end, k) && !is_same(&news[k], to)) {
            adzi_c99_map(c, to, "= $a", &news[k]);
        }
    }
    adzi_free(news, (size_t)(n + 1) * sizeof *news);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Adds the declaration of a pointer to the elements of one step: dimension 0 of `all` is that of
 * the steps. */
static void add_pointer(
    adzi_c99 *c, const char *variable, const adzi_c99_value *all, int memory, bool constant)
{
    const adzi_c99_memory *m = &c->memories[memory];
    char index[ADZI_C99_INDEX] = "", address[ADZI_C99_TEXT];
    if (all->offset != 0) {
        snprintf(index, sizeof index, "%lld", (long long)all->offset);
    }
    adzi_c99_index(index, sizeof index, variable, all->strides[0]);
    adzi_c99_address(c, all->memory, index, address, sizeof address);
    adzi_c99_line(c, "%s%s *const %s = %s; /* %s */", constant ? "const " : "",
        adzi_c99_type(m->dtype), m->name, address, m->label);
}

/* A new name for a step of `all`. Its value has the strides of the other dimensions. */
static adzi_c99_value step_of(adzi_c99 *c, const adzi_c99_value *all, const char *label)
{
    adzi_c99_value step = adzi_c99_without(all, 0);
    step.memory = adzi_c99_memory_new(c, ADZI_C99_INPUT, all->dtype, step.numel);
    step.offset = 0;
    if (step.memory >= 0) {
        adzi_c99_memory *m = &c->memories[step.memory];
        snprintf(m->name, sizeof m->name, "step%d", step.memory);
        snprintf(m->label, sizeof m->label, "%s", label);
    } else {
        step.memory = 0;
    }
    return step;
}

/* Copies the inputs of a step that cannot be read where they lie. */
static void copy_inputs(adzi_c99 *c, const adzi_c99_call *begin, const char *variable)
{
    for (int k = attr_of(begin)->carries; k < begin->n_out && !c->failed; ++k) {
        const adzi_c99_value x = c->values[begin->out[k]], all = c->values[begin->in[k]];
        if (x.used && c->memories[x.memory].kind == ADZI_C99_BUFFER) {
            const adzi_c99_value from = step_of(c, &all, "the inputs of this step");
            add_pointer(c, variable, &all, from.memory, true);
            adzi_c99_map(c, &x, "= $a", &from);
        }
    }
}

/* Copies the results of a step that are not computed where they belong. */
static void copy_results(adzi_c99 *c, const adzi_c99_region *region, const adzi_c99_call *end)
{
    for (int k = attr_of(end)->carries; k < end->n_in && !c->failed; ++k) {
        const adzi_c99_value y = c->values[end->in[k]], all = c->values[end->out[k]];
        if (!all.used || c->memories[y.memory].placed == end) {
            continue;
        }
        const adzi_c99_value to = step_of(c, &all, "the results of this step");
        add_pointer(c, region->variable, &all, to.memory, false);
        adzi_c99_map(c, &to, "= $a", &y);
    }
}

/* Declares the pointers that the body mentions, before its text. */
static void declare_pointers(adzi_c99 *c, const adzi_c99_region *region, const adzi_c99_call *end)
{
    const adzi_c99_call *begin = region->begin;
    adzi_text body = { 0 };
    adzi_text_add(&body, adzi_text_get(&c->body) + region->head);
    adzi_text_cut(&c->body, region->head);
    const int carries = attr_of(begin)->carries,
              n = begin->n_out > end->n_in ? begin->n_out : end->n_in;
    for (int k = carries; k < n && !c->failed; ++k) {
        const int x = k < begin->n_out ? c->values[begin->out[k]].memory : -1;
        const int y = k < end->n_in ? c->values[end->in[k]].memory : -1;
        if (x >= 0 && adzi_c99_mentions(adzi_text_get(&body), c->memories[x].name) &&
            c->memories[x].kind == ADZI_C99_INPUT) {
            add_pointer(c, region->variable, &c->values[begin->in[k]], x, true);
        }
        if (y >= 0 && c->values[end->out[k]].used && c->memories[y].placed == end) {
            add_pointer(c, region->variable, &c->values[end->out[k]], y, false);
        }
    }
    if (body.failed) {
        adzi_c99_fail(c, ADZ_ERR_MEMORY, "no memory for the text of the C file");
    }
    adzi_text_add(&c->body, adzi_text_get(&body));
    adzi_text_free(&body);
}

/* ---- scan ------------------------------------------------------------------------------------ */

/* The only element of a value, as text. */
static void only_element(adzi_c99 *c, int value, char text[ADZI_C99_TEXT])
{
    char index[ADZI_C99_INDEX];
    snprintf(index, sizeof index, "%lld", (long long)c->values[value].offset);
    adzi_c99_element(c, c->values[value].memory, index, text, ADZI_C99_TEXT);
}

/* The number of steps of a scan, and that of the last one. */
static void name_steps(adzi_c99 *c, const adzi_c99_call *call, char below[32], char last[40])
{
    if (call->n_in == call->n_out) {
        snprintf(below, 32, "%lld", (long long)attr_of(call)->steps);
        snprintf(last, 40, "%lld", (long long)attr_of(call)->steps - 1);
        return;
    }
    char count[ADZI_C99_TEXT];
    only_element(c, call->in[call->n_in - 1], count);
    snprintf(below, 32, "steps%d", c->step);
    snprintf(last, 40, "%s - 1", below);
    adzi_c99_line(c, "const int %s = %s;", below, count);
}

void adzi_c99_scan(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_call *end = adzi_c99_region_end(c, call);
    const adzi_region_attr *at = attr_of(call);
    adzi_c99_region *region = push(c, call);
    char variable[4];
    if (region == NULL) {
        return;
    }
    begin_carries(c, call, end);
    for (int k = at->carries; k < end->n_out; ++k) {
        if (c->values[end->out[k]].used) {
            touch(c, c->values[end->out[k]].memory);
        }
    }
    for (int k = at->carries; k < call->n_out; ++k) {
        if (c->values[call->out[k]].used) {
            touch(c, c->values[call->in[k]].memory);
        }
    }
    char below[32], last[40];
    name_steps(c, call, below, last);
    adzi_c99_range(c, "0", below, 1, variable);
    if (at->reverse) {
        snprintf(region->variable, sizeof region->variable, "(%s - %s)", last, variable);
    } else {
        snprintf(region->variable, sizeof region->variable, "%s", variable);
    }
    region->head = c->body.length;
    copy_inputs(c, call, region->variable);
}

void adzi_c99_scan_end(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_region *region = innermost(c);
    if (region == NULL) {
        return;
    }
    copy_results(c, region, call);
    renew_carries(c, region->begin, call);
    declare_pointers(c, region, call);
    adzi_c99_end(c);
    pop_loop(c, region);
}

/* ---- while ----------------------------------------------------------------------------------- */

void adzi_c99_while(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_call *end = adzi_c99_region_end(c, call);
    adzi_c99_region *region = push(c, call);
    if (region == NULL) {
        return;
    }
    begin_carries(c, call, end);
    for (int k = attr_of(call)->carries; k < end->n_out; ++k) {
        if (c->values[end->out[k]].used) {
            touch(c, c->values[end->out[k]].memory);
        }
    }
    snprintf(region->variable, sizeof region->variable, "turns%d", c->step);
    adzi_c99_line(c, "int %s = 0;", region->variable);
    adzi_c99_open(c, "for (;; ++%s) {", region->variable);
}

void adzi_c99_while_test(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_region *region = innermost(c);
    if (region == NULL) {
        return;
    }
    const adzi_c99_call *end = adzi_c99_region_end(c, call);
    const int ended = end->n_in + 1;
    char holds[ADZI_C99_TEXT], text[ADZI_C99_TEXT];
    only_element(c, call->in[0], holds);
    if (c->values[end->out[ended]].used) {
        only_element(c, end->out[ended], text);
        adzi_c99_line(c, "%s = %s == 0;", text, holds);
    }
    adzi_c99_open(c, "if (%s == 0 || %s == %lld) {", holds, region->variable,
        (long long)attr_of(region->begin)->steps);
    adzi_c99_line(c, "break;");
    adzi_c99_close(c);
}

void adzi_c99_while_end(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_region *region = innermost(c);
    if (region == NULL) {
        return;
    }
    const int count = call->out[call->n_in];
    char text[ADZI_C99_TEXT];
    copy_results(c, region, call);
    renew_carries(c, region->begin, call);
    adzi_c99_close(c);
    if (c->values[count].used) {
        only_element(c, count, text);
        adzi_c99_line(c, "%s = %s;", text, region->variable);
    }
    pop_loop(c, region);
}

/* ---- branch ---------------------------------------------------------------------------------- */

void adzi_c99_branch(adzi_c99 *c, const adzi_c99_call *call)
{
    char holds[ADZI_C99_TEXT];
    if (push(c, call) != NULL) {
        only_element(c, call->in[0], holds);
        adzi_c99_open(c, "if (%s != 0) {", holds);
    }
}

/* The results of a body become those of the branch. */
static void give_results(adzi_c99 *c, const adzi_c99_call *body, const adzi_c99_call *end)
{
    for (int k = 0; k < end->n_out; ++k) {
        if (c->values[end->out[k]].used) {
            adzi_c99_map(c, &c->values[end->out[k]], "= $a", &c->values[body->in[k]]);
        }
    }
}

void adzi_c99_branch_else(adzi_c99 *c, const adzi_c99_call *call)
{
    if (innermost(c) != NULL) {
        give_results(c, call, adzi_c99_region_end(c, call));
        --c->depth;
        adzi_c99_open(c, "} else {");
    }
}

void adzi_c99_branch_end(adzi_c99 *c, const adzi_c99_call *call)
{
    if (innermost(c) != NULL) {
        give_results(c, call, call);
        adzi_c99_close(c);
        --c->n_regions;
    }
}
