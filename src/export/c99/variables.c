/* Memories that all functions of a file share: weights, buffers of modules, states of optimizers,
 * gradients to which steps add, and constants. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "export/c99/program.h"

/* ---- contents -------------------------------------------------------------------------------- */

double adzi_c99_contents(const adzi_c99_memory *m, int64_t i)
{
    switch (m->stored) {
    case ADZ_F64:
        return ((const double *)m->data)[i];
    case ADZ_I64:
        return (double)((const int64_t *)m->data)[i];
    case ADZ_I32:
        return (double)((const int32_t *)m->data)[i];
    case ADZ_BOOL:
    case ADZ_U8:
        return (double)((const uint8_t *)m->data)[i];
    case ADZ_F16: /* a file in C has no such values, and an error says so later */
    case ADZ_BF16:
        return 0;
    default:
        return (double)((const float *)m->data)[i];
    }
}

/* Bytes are not printed as one number: a comparison of a byte with a number may have only one
 * outcome, of which compilers warn. A NaN differs from itself. */
bool adzi_c99_all_equal(const adzi_c99_memory *m)
{
    const double first = m->count > 0 ? adzi_c99_contents(m, 0) : 0;
    bool equal = m->count > 0 && m->dtype != ADZ_U8 && m->dtype != ADZ_BOOL;
    for (int64_t i = 0; i < m->count && equal; ++i) {
        const double x = adzi_c99_contents(m, i);
        equal = x == first && signbit(x) == signbit(first);
    }
    return equal;
}

/* ---- which memory is that of a value --------------------------------------------------------- */

static size_t bytes_of(const adzi_c99_memory *m)
{
    return (size_t)m->count * adz_dtype_size(m->stored);
}

/* True for a constant that the function makes in every call, and not one that it has found. */
static bool is_made(const adzi_trace *trace, const adzi_traced_value *v)
{
    return v->kind == ADZI_VALUE_CONSTANT && !adzi_trace_is_older(trace, v->tensor);
}

/* True if two constants that functions make hold the same elements. */
static bool same_contents(const adzi_c99_memory *m, const adz_tensor *t)
{
    const bool whole = adzi_is_contiguous(t) && m->kind == ADZI_C99_CONSTANT && m->made;
    return whole && m->stored == (adz_dtype)t->dtype && m->count == t->numel && m->count > 0 &&
           memcmp(m->data, t->data, bytes_of(m)) == 0;
}

static bool is_memory_of(
    const adzi_c99_memory *m, const adzi_trace *trace, const adzi_traced_value *v)
{
    if (v->kind == ADZI_VALUE_STATE || v->kind == ADZI_VALUE_GRADIENT) {
        const bool state = v->kind == ADZI_VALUE_STATE;
        return m->leaf == v->leaf && m->optimizer == (state ? v->position.optimizer : NULL) &&
               m->which == (state ? v->which : 0);
    }
    return m->leaf == NULL &&
           (m->tensor == v->tensor || (is_made(trace, v) && same_contents(m, v->tensor)));
}

int adzi_c99_shared_memory(const adzi_c99 *c, const adzi_trace *trace, const adzi_traced_value *v)
{
    for (size_t i = 0; i < c->n_memories; ++i) {
        const adzi_c99_memory *m = &c->memories[i];
        const bool shared = m->kind == ADZI_C99_CONSTANT || m->kind == ADZI_C99_VARIABLE;
        if (shared && m->function < 0 && is_memory_of(m, trace, v)) {
            return (int)i;
        }
    }
    return -1;
}

const char *adzi_c99_base(const adz_tensor *t, int64_t *count)
{
    const int64_t item = (int64_t)adzi_item_size(t);
    const bool contiguous = adzi_is_contiguous(t);
    *count = contiguous ? t->numel : (int64_t)t->storage->bytes / item;
    return contiguous ? t->data : t->storage->data;
}

/* Adds " [2, 3]" to a label. */
static void add_shape(char *label, size_t size, int rank, const int64_t *sizes)
{
    size_t n = strlen(label);
    n += (size_t)snprintf(label + n, size - n, " [");
    for (int d = 0; d < rank && n < size; ++d) {
        n +=
            (size_t)snprintf(label + n, size - n, "%s%lld", d > 0 ? ", " : "", (long long)sizes[d]);
    }
    if (n < size) {
        snprintf(label + n, size - n, "]");
    }
}

void adzi_c99_label(adzi_c99_memory *m, const char *what, const adzi_traced_value *v)
{
    adzi_c99_comment(m->label, sizeof m->label, what);
    add_shape(m->label, sizeof m->label, v->rank, v->sizes);
}

static int add_memory(adzi_c99 *c, const adzi_trace *trace, const adzi_traced_value *v)
{
    const bool constant = v->kind == ADZI_VALUE_CONSTANT;
    int64_t count;
    const char *base = adzi_c99_base(v->tensor, &count);
    const int memory =
        adzi_c99_memory_new(c, constant ? ADZI_C99_CONSTANT : ADZI_C99_VARIABLE, v->dtype, count);
    if (memory < 0) {
        return -1;
    }
    adzi_c99_memory *m = &c->memories[memory];
    m->function = -1;
    m->data = base;
    m->tensor = v->tensor;
    m->leaf = v->leaf;
    m->made = is_made(trace, v);
    if (v->kind == ADZI_VALUE_STATE) {
        m->optimizer = v->position.optimizer;
        m->which = v->which;
    }
    m->uniform = constant && adzi_c99_all_equal(m);
    adzi_c99_label(m, v->name != NULL ? v->name : "constant", v);
    if (v->name != NULL) {
        adzi_c99_identifier(m->name, sizeof m->name, v->leaf != NULL ? "s_" : "w_", v->name);
    } else if (v->leaf != NULL) {
        m->name[0] = 's';
    }
    adzi_c99_make_unique(c, m);
    return memory;
}

/* A gradient that no function reads before it is overwritten is a buffer of each function. */
static bool is_shared(const adzi_traced_value *v)
{
    return v->kind == ADZI_VALUE_GRADIENT
               ? v->used
               : v->kind != ADZI_VALUE_INPUT && v->kind != ADZI_VALUE_RESULT &&
                     v->kind != ADZI_VALUE_NUMBER;
}

bool adzi_c99_add_variables(adzi_c99 *c, const adzi_trace *trace)
{
    for (size_t i = 0; i < trace->n_values; ++i) {
        const adzi_traced_value *v = &trace->values[i];
        if (!is_shared(v)) {
            continue;
        }
        const int known = adzi_c99_shared_memory(c, trace, v);
        if (known < 0 && add_memory(c, trace, v) < 0) {
            return false;
        }
    }
    return true;
}

/* ---- which of them change -------------------------------------------------------------------- */

/* A gradient to which another function adds: this one has dropped it, and the tensor that it makes
 * instead is none of the file's variables. */
static bool is_dropped(const adzi_traced_value *v)
{
    return v->kind == ADZI_VALUE_GRADIENT && !v->used && v->contents == NULL;
}

/* A state into which the first step writes its rate. */
static bool begins_with_rate(const adzi_traced_value *v)
{
    return v->kind == ADZI_VALUE_STATE &&
           v->position.optimizer->type->states[v->which].initial == ADZ_INITIAL_LR;
}

bool adzi_c99_mark_changes(adzi_c99 *c, const adzi_trace *trace)
{
    for (size_t i = 0; i < trace->n_values; ++i) {
        const adzi_traced_value *v = &trace->values[i];
        const bool gradient = v->kind == ADZI_VALUE_GRADIENT;
        const bool stays = v->becomes == (int)i && !gradient && !begins_with_rate(v);
        if (v->kind == ADZI_VALUE_RESULT || stays) {
            continue;
        }
        const int memory = adzi_c99_shared_memory(c, trace, v);
        adzi_c99_memory *m = memory >= 0 ? &c->memories[memory] : NULL;
        if (m != NULL && is_dropped(v)) {
            adzi_c99_fail(c, ADZ_ERR_UNSUPPORTED,
                "a function drops %s, to which another one adds; zero it in place (adz_module_fill_grad_zero)",
                m->label);
            return false;
        }
        if (m != NULL && (v->becomes != (int)i || v->contents != NULL || begins_with_rate(v))) {
            m->kind = ADZI_C99_VARIABLE;
            m->changes = true;
            m->uniform = false;
        }
    }
    return true;
}

static bool overlap(const adzi_c99_memory *a, const adzi_c99_memory *b)
{
    const char *p = a->data, *q = b->data;
    return a != b && b->tensor != NULL && p < q + bytes_of(b) && q < p + bytes_of(a);
}

bool adzi_c99_check_overlaps(adzi_c99 *c)
{
    for (size_t i = 0; i < c->n_memories; ++i) {
        for (size_t k = 0; c->memories[i].changes && k < c->n_memories; ++k) {
            if (overlap(&c->memories[i], &c->memories[k])) {
                adzi_c99_fail(c, ADZ_ERR_UNSUPPORTED,
                    "%s shares memory with %s, which a step changes; make the view inside the function, or a copy (adz_clone) before it",
                    c->memories[k].label, c->memories[i].label);
                return false;
            }
        }
    }
    return true;
}
