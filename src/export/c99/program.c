/* Values and calls of a function of the C program, made from a trace. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "export/c99/program.h"

/* ---- names ----------------------------------------------------------------------------------- */

void adzi_c99_identifier(char *to, size_t size, const char *prefix, const char *name)
{
    size_t n = (size_t)snprintf(to, size, "%s", prefix);
    for (const char *at = name; *at != '\0' && n + 1 < size; ++at) {
        const bool letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
        const bool digit = *at >= '0' && *at <= '9';
        to[n] = letter || (digit && n > 0) ? *at : '_';
        ++n;
    }
    to[n] = '\0';
    if (n == 0) {
        snprintf(to, size, "net");
    }
}

void adzi_c99_comment(char *to, size_t size, const char *name)
{
    static const char fit[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,:;_-+=()[]<>";
    size_t n = 0;
    for (; name[n] != '\0' && n + 1 < size; ++n) {
        to[n] = strchr(fit, name[n]) != NULL ? name[n] : '_';
    }
    to[n] = '\0';
}

static bool is_taken(const adzi_c99 *c, const adzi_c99_memory *m)
{
    for (size_t i = 0; i < c->n_memories; ++i) {
        const adzi_c99_memory *other = &c->memories[i];
        const bool meet = other->function < 0 || m->function < 0 || other->function == m->function;
        if (other != m && meet && strcmp(other->name, m->name) == 0) {
            return true;
        }
    }
    return false;
}

/* A name that is taken gets a number. It gives way to the number if both together are too long. */
void adzi_c99_make_unique(adzi_c99 *c, adzi_c99_memory *m)
{
    const size_t n = strlen(m->name);
    for (int number = (int)c->n_memories; is_taken(c, m); ++number) {
        char ending[16];
        snprintf(ending, sizeof ending, "_%d", number);
        const size_t room = sizeof m->name - strlen(ending) - 1;
        snprintf(m->name + (n < room ? n : room), sizeof ending, "%s", ending);
    }
}

/* ---- memories -------------------------------------------------------------------------------- */

int adzi_c99_memory_new(adzi_c99 *c, adzi_c99_kind kind, adz_dtype dtype, int64_t count)
{
    if (!adzi_grow(&c->memories, &c->memories_capacity, c->n_memories + 1, sizeof *c->memories)) {
        adzi_c99_fail(c, ADZ_ERR_MEMORY, "no memory for the program's values");
        return -1;
    }
    adzi_c99_memory *m = &c->memories[c->n_memories];
    *m = (adzi_c99_memory){ .kind = kind,
        .dtype = adzi_c99_dtype(c, dtype),
        .stored = dtype,
        .count = count,
        .first = -1,
        .last = -1,
        .start = -1,
        .replaces = -1,
        .update = -1,
        .function = c->function };
    const char letter = kind == ADZI_C99_BUFFER ? 'h' : kind == ADZI_C99_NUMBER ? 'n' : 'c';
    snprintf(m->name, sizeof m->name, "%c%d", letter, (int)c->n_memories);
    return (int)c->n_memories++;
}

/* The memory of an input, which only this function knows. */
static int input_memory(adzi_c99 *c, const adzi_traced_value *v)
{
    if (!adzi_is_contiguous(v->tensor)) {
        adzi_c99_fail(c, ADZ_ERR_ARGUMENT,
            "%s%s is not contiguous; make it contiguous with adz_contiguous before the plan is made",
            v->name != NULL ? v->name : "an input", adzi_text_shape(v->tensor));
        return -1;
    }
    const int memory = adzi_c99_memory_new(c, ADZI_C99_INPUT, v->dtype, v->tensor->numel);
    if (memory >= 0) {
        adzi_c99_memory *m = &c->memories[memory];
        adzi_c99_label(m, v->name != NULL ? v->name : "input", v);
        snprintf(m->name, sizeof m->name, "x");
        adzi_c99_make_unique(c, m);
    }
    return memory;
}

/* A buffer for a constant that the function makes and changes, or for a gradient that it overwrites
 * before it reads it. The constant fills it when the function starts. */
static int changed_memory(adzi_c99 *c, const adzi_traced_value *v, int start)
{
    int64_t count;
    adzi_c99_base(v->tensor, &count);
    const int memory = adzi_c99_memory_new(c, ADZI_C99_BUFFER, v->dtype, count);
    if (memory >= 0) {
        c->memories[memory].start = start;
        adzi_c99_label(&c->memories[memory], v->name != NULL ? v->name : "constant", v);
    }
    return memory;
}

/* The memory of a value that no call made. */
static int own_memory(adzi_c99 *c, const adzi_trace *trace, size_t i, int64_t *offset)
{
    const adzi_traced_value *v = &trace->values[i];
    if (v->kind == ADZI_VALUE_INPUT) {
        return input_memory(c, v);
    }
    if (v->kind == ADZI_VALUE_NUMBER) {
        return adzi_c99_number_memory(c, v);
    }
    int64_t count;
    const char *base = adzi_c99_base(v->tensor, &count);
    const int shared = adzi_c99_shared_memory(c, trace, v);
    *offset = (v->tensor->data - base) / (int64_t)adzi_item_size(v->tensor);
    const bool changed = v->contents != NULL && v->becomes == (int)i;
    if (shared < 0 || (changed && c->memories[shared].kind == ADZI_C99_CONSTANT)) {
        return changed_memory(c, v, shared);
    }
    return shared;
}

/* True if some call changes the storage in place. */
static bool is_changed(const adzi_trace *trace, const adzi_storage *storage)
{
    for (size_t i = 0; i < trace->n_calls; ++i) {
        const adzi_traced_call *call = &trace->calls[i];
        if (call->inplace && trace->values[call->out[0]].tensor->storage == storage) {
            return true;
        }
    }
    return false;
}

/* True if the contents of a memory are known while the file is written. */
static bool is_known(const adzi_c99 *c, int value)
{
    const adzi_c99_memory *m = value >= 0 ? &c->memories[c->values[value].memory] : NULL;
    return m == NULL || m->kind == ADZI_C99_CONSTANT ||
           (m->kind == ADZI_C99_VARIABLE && !m->changes);
}

/* The mask of attention's dropout is no input of the call, so such a call is not known. */
static bool all_known(const adzi_c99 *c, const adzi_traced_call *call)
{
    const adzi_c99_call attributes = { .op = call->op, .attr = call->attr };
    if (adzi_c99_attr(&attributes, "drops", 0) != 0) {
        return false;
    }
    for (int i = 0; i < call->n_in; ++i) {
        if (!is_known(c, call->in[i])) {
            return false;
        }
    }
    return true;
}

/* The tensor that held the value when a view `t` of it was made. A value of a fused operator has
 * two tensors: that of the operator and that of its expression. NULL if t is no view of the value.
 */
static const adz_tensor *holder_of(const adzi_trace *trace, int value, const adz_tensor *t)
{
    const adz_tensor *first = trace->values[value].tensor;
    if (first->storage == t->storage) {
        return first;
    }
    for (size_t i = 0; i < trace->n_tensors; ++i) {
        const adz_tensor *other = trace->tensors[i].tensor;
        if (trace->tensors[i].value == value && other->storage == t->storage) {
            return other;
        }
    }
    return NULL;
}

/* The input that a result is a view of; -1 if it is not a view. */
static int viewed(const adzi_trace *trace, const adzi_traced_call *call, const adz_tensor *t)
{
    for (int i = 0; i < call->n_in; ++i) {
        if (call->in[i] >= 0 && holder_of(trace, call->in[i], t) != NULL) {
            return call->in[i];
        }
    }
    return -1;
}

static bool same_layout(const adz_tensor *a, const adz_tensor *b)
{
    bool same = adzi_same_sizes(a, b);
    for (int d = 0; d < a->rank && same; ++d) {
        same = a->sizes[d] <= 1 || a->strides[d] == b->strides[d];
    }
    return same;
}

/* The memory of the value that a result views, from which `holder` is read; -1 if it can't be
 * shared. */
static int view_memory(adzi_c99 *c, const adzi_trace *trace, const adz_tensor *holder, int from,
    const adzi_traced_call *call)
{
    if (!same_layout(holder, trace->values[from].tensor)) {
        adzi_c99_fail(c, ADZ_ERR_STATE,
            "%s: %s views a result whose expression lies otherwise in memory; call adz_clone before it",
            call->path, call->op->name);
        return -1;
    }
    return c->values[from].memory;
}

/* An in-place call may change a buffer, or a variable that is known to change. */
static bool can_change(adzi_c99 *c, int memory, const adzi_traced_call *call)
{
    const adzi_c99_memory *m = &c->memories[memory];
    const bool can = m->kind == ADZI_C99_BUFFER || (m->kind == ADZI_C99_VARIABLE && m->changes);
    if (!can) {
        adzi_c99_fail(c, ADZ_ERR_UNSUPPORTED,
            "%s changes %s in place; a function in C leaves its inputs as they are, and weights if only a part of them is changed",
            call->op->name, m->label);
    }
    return can;
}

/* The memory of a result: that of the tensor it is a view of, a constant if all inputs of the call
 * are known, or else a buffer. */
static int result_memory(adzi_c99 *c, const adzi_trace *trace, const adzi_traced_value *v,
    const adzi_traced_call *call, int64_t *offset)
{
    const adz_tensor *t = v->tensor;
    const int64_t item = (int64_t)adzi_item_size(t);
    if (adzi_trace_region_of(call) != ADZI_NO_REGION) {
        return adzi_c99_region_memory(c, trace, v);
    }
    const int from = viewed(trace, call, t);
    if (from >= 0) {
        const adz_tensor *holder = holder_of(trace, from, t);
        const int viewed_memory = view_memory(c, trace, holder, from, call);
        *offset = c->values[from].offset + (t->data - holder->data) / item;
        const bool good =
            viewed_memory >= 0 && (!call->inplace || can_change(c, viewed_memory, call));
        return good ? viewed_memory : -1;
    }
    const char *base = t->storage->data;
    int64_t count = (t->data - base) / item + (t->numel > 0 ? 1 : 0);
    *offset = (t->data - base) / item;
    for (int d = 0; d < t->rank && t->numel > 0; ++d) {
        count += (t->sizes[d] - 1) * t->strides[d];
    }
    const bool known = all_known(c, call) && !is_changed(trace, t->storage);
    const int memory =
        adzi_c99_memory_new(c, known ? ADZI_C99_CONSTANT : ADZI_C99_BUFFER, v->dtype, count);
    if (memory >= 0) {
        adzi_c99_memory *m = &c->memories[memory];
        m->data = known ? base : NULL;
        m->uniform = known && adzi_is_contiguous(t) && adzi_c99_all_equal(m);
        char label[ADZI_C99_LABEL];
        snprintf(label, sizeof label, "%s%s%s", call->path, call->path[0] != '\0' ? ": " : "",
            call->op->name);
        adzi_c99_label(m, label, v);
    }
    return memory;
}

/* ---- the program ----------------------------------------------------------------------------- */

static bool add_value(adzi_c99 *c, const adzi_trace *trace, size_t i)
{
    const adzi_traced_value *v = &trace->values[i];
    adzi_c99_value value = { .rank = v->rank,
        .numel = v->tensor->numel,
        .dtype = adzi_c99_dtype(c, v->dtype),
        .used = v->used };
    memcpy(value.sizes, v->sizes, sizeof value.sizes);
    memcpy(value.strides, v->strides, sizeof value.strides);
    value.memory = v->kind == ADZI_VALUE_RESULT
                       ? result_memory(c, trace, v, &trace->calls[v->call], &value.offset)
                       : own_memory(c, trace, i, &value.offset);
    if (value.memory < 0) {
        return false;
    }
    if (v->used && (v->dtype == ADZ_F16 || v->dtype == ADZ_BF16)) {
        adzi_c99_fail(c, ADZ_ERR_DTYPE,
            "%s is %s; convert the module and its inputs to float32 first",
            c->memories[value.memory].label, adz_dtype_name(v->dtype));
    }
    if (v->tensor->numel >= INT32_MAX) {
        adzi_c99_fail(c, ADZ_ERR_SHAPE, "a tensor has %lld elements, more than an int can count",
            (long long)v->tensor->numel);
    }
    if (!adzi_grow(&c->values, &c->values_capacity, c->n_values + 1, sizeof *c->values)) {
        adzi_c99_fail(c, ADZ_ERR_MEMORY, "no memory for the program's values");
        return false;
    }
    c->values[c->n_values++] = value;
    return true;
}

/* A call prints nothing if its results are views or constants. */
static bool is_printed(const adzi_c99 *c, const adzi_trace *trace, const adzi_traced_call *call)
{
    if (call->inplace || adzi_trace_region_of(call) != ADZI_NO_REGION) {
        return true;
    }
    for (int k = 0; k < call->n_out; ++k) {
        const adzi_traced_value *v = &trace->values[call->out[k]];
        if (viewed(trace, call, v->tensor) < 0 &&
            c->memories[c->values[call->out[k]].memory].kind == ADZI_C99_BUFFER) {
            return true;
        }
    }
    return false;
}

static bool add_call(adzi_c99 *c, const adzi_trace *trace, const adzi_traced_call *call)
{
    if (!call->used || !is_printed(c, trace, call)) {
        return true;
    }
    if (!adzi_grow(&c->calls, &c->calls_capacity, c->n_calls + 1, sizeof *c->calls)) {
        adzi_c99_fail(c, ADZ_ERR_MEMORY, "no memory for the program's calls");
        return false;
    }
    c->calls[c->n_calls++] = (adzi_c99_call){ .op = call->op,
        .row = call->row,
        .attr = call->attr,
        .path = call->path,
        .in = call->in,
        .out = call->out,
        .n_in = call->n_in,
        .n_out = call->n_out,
        .inplace = call->inplace };
    return true;
}

static void name_inputs(adzi_c99 *c)
{
    for (size_t i = 0; c->n_inputs > 1 && i < c->n_inputs; ++i) {
        adzi_c99_memory *m = &c->memories[c->values[i].memory];
        snprintf(m->name, sizeof m->name, "x%d", (int)i);
    }
}

bool adzi_c99_program(adzi_c99 *c, const adzi_trace *trace)
{
    c->n_values = c->n_calls = 0;
    c->n_inputs = (size_t)trace->n_inputs;
    c->outputs = trace->outputs;
    c->n_outputs = trace->n_outputs;
    for (size_t i = 0; i < trace->n_values; ++i) {
        if (!add_value(c, trace, i) || c->failed) {
            return false;
        }
    }
    adzi_c99_fold_constants(c);
    name_inputs(c);
    for (size_t i = 0; i < trace->n_calls; ++i) {
        if (!add_call(c, trace, &trace->calls[i])) {
            return false;
        }
    }
    return !c->failed;
}

void adzi_c99_free(adzi_c99 *c)
{
    adzi_free(c->memories, c->memories_capacity * sizeof *c->memories);
    adzi_free(c->values, c->values_capacity * sizeof *c->values);
    adzi_free(c->calls, c->calls_capacity * sizeof *c->calls);
    adzi_free(c->stepped, c->stepped_capacity * sizeof *c->stepped);
    adzi_free(c->steps, c->steps_capacity * sizeof *c->steps);
    adzi_free(c->updates, c->updates_capacity * sizeof *c->updates);
    adzi_free(c->results, c->results_capacity * sizeof *c->results);
    adzi_free(c->texts, c->texts_capacity * sizeof *c->texts);
    adzi_text_free(&c->body);
}
