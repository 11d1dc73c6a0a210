/* The values of a trace, and which value a tensor holds. */
#include <string.h>

#include "export/trace.h"

/* ---- values --------------------------------------------------------------------------------- */

bool adzi_trace_refuse_memory(adzi_trace *trace, size_t bytes)
{
    trace->failed = true;
    adzi_fail_memory(trace->op, bytes);
    return false;
}

static bool is_tensor(const void *list, size_t position, const void *key, size_t size)
{
    const adzi_traced_tensor *tensors = list;
    (void)size;
    return memcmp(&tensors[position].tensor, key, sizeof(adz_tensor *)) == 0;
}

static size_t position_of(const adzi_trace *trace, const adz_tensor *t)
{
    return adzi_index_find(&trace->by_tensor, &t, sizeof t, is_tensor, trace->tensors);
}

static bool is_storage(const void *list, size_t position, const void *key, size_t size)
{
    const adzi_trace *trace = list;
    const adzi_storage *storage = trace->tensors[trace->storages[position]].tensor->storage;
    (void)size;
    return memcmp(&storage, key, sizeof storage) == 0;
}

/* The position among the storages, or ADZI_NOWHERE. */
static size_t storage_of(const adzi_trace *trace, const adz_tensor *t)
{
    return adzi_index_find(&trace->by_storage, &t->storage, sizeof t->storage, is_storage, trace);
}

/* Makes room for one more tensor in all lists, so that entering it cannot fail. */
static bool reserve(adzi_trace *trace)
{
    return (adzi_grow(&trace->tensors, &trace->tensors_capacity, trace->n_tensors + 1,
                sizeof *trace->tensors) &&
               adzi_grow(&trace->storages, &trace->storages_capacity, trace->n_storages + 1,
                   sizeof *trace->storages) &&
               adzi_index_reserve(&trace->by_tensor, 1) &&
               adzi_index_reserve(&trace->by_storage, 1)) ||
           adzi_trace_refuse_memory(trace, sizeof *trace->tensors);
}

bool adzi_trace_hold(adzi_trace *trace, adz_tensor *t, int value, uint32_t version)
{
    const size_t known = position_of(trace, t);
    if (known != ADZI_NOWHERE) {
        trace->tensors[known].value = value;
        trace->tensors[known].version = version;
        return true;
    }
    if (!reserve(trace)) {
        return false;
    }
    const size_t storage = storage_of(trace, t), position = trace->n_tensors++;
    trace->tensors[position] = (adzi_traced_tensor){ adzi_retain(t), value, value, version,
        storage == ADZI_NOWHERE ? ADZI_NOWHERE : trace->storages[storage] };
    adzi_index_enter(&trace->by_tensor, &t, sizeof t, position);
    if (storage == ADZI_NOWHERE) {
        trace->storages[trace->n_storages] = position;
        adzi_index_enter(&trace->by_storage, &t->storage, sizeof t->storage, trace->n_storages++);
    } else {
        trace->storages[storage] = position;
    }
    return true;
}

int adzi_trace_append(adzi_trace *trace, adzi_value_kind kind, adz_tensor *t, const char *name)
{
    char *copy = name != NULL ? adzi_string_copy(name) : NULL;
    if ((name != NULL && copy == NULL) || trace->n_values >= INT32_MAX ||
        !adzi_grow(
            &trace->values, &trace->values_capacity, trace->n_values + 1, sizeof *trace->values)) {
        adzi_string_free(copy);
        adzi_trace_refuse_memory(trace, sizeof *trace->values);
        return -1;
    }
    adzi_traced_value v = { .kind = kind,
        .dtype = (adz_dtype)t->dtype,
        .rank = t->rank,
        .name = copy,
        .tensor = t,
        .call = -1,
        .result = -1,
        .again = (int)trace->n_values,
        .instead = -1,
        .becomes = (int)trace->n_values };
    memcpy(v.sizes, t->sizes, sizeof v.sizes);
    memcpy(v.strides, t->strides, sizeof v.strides);
    trace->values[trace->n_values] = v;
    return (int)trace->n_values++;
}

bool adzi_trace_renew(adzi_trace *trace, adz_tensor *t, int value, uint32_t version)
{
    const size_t known = position_of(trace, t);
    const int before = known != ADZI_NOWHERE ? trace->tensors[known].value : -1;
    for (size_t i = 0; i < trace->n_tensors && before >= 0; ++i) {
        if (trace->tensors[i].value == before) {
            trace->tensors[i].value = value;
        }
    }
    return adzi_trace_hold(trace, t, value, version);
}

bool adzi_trace_knows(const adzi_trace *trace, const adz_tensor *t)
{
    return position_of(trace, t) != ADZI_NOWHERE;
}

int adzi_trace_first_value(const adzi_trace *trace, const adz_tensor *t)
{
    const size_t position = position_of(trace, t);
    return position != ADZI_NOWHERE ? trace->tensors[position].first : -1;
}

const char *adzi_trace_name_of(const adzi_trace *trace, const adz_tensor *t)
{
    const int value = adzi_trace_first_value(trace, t);
    return value >= 0 ? trace->values[value].name : NULL;
}

int adzi_trace_add_value(adzi_trace *trace, adzi_value_kind kind, adz_tensor *t, const char *name)
{
    const int value = adzi_trace_append(trace, kind, t, name);
    return value >= 0 && adzi_trace_hold(trace, t, value, t->storage->version) ? value : -1;
}

/* ---- which value a tensor holds ------------------------------------------------------------- */

/* Whether two tensors are the same elements in the same order. */
static bool is_same_view(const adz_tensor *a, const adz_tensor *b)
{
    bool same = a->storage == b->storage && a->data == b->data && a->dtype == b->dtype &&
                adzi_same_sizes(a, b);
    for (int i = 0; i < a->rank && same; ++i) {
        same = a->sizes[i] <= 1 || a->strides[i] == b->strides[i];
    }
    return same;
}

size_t adzi_trace_find(const adzi_trace *trace, const adz_tensor *t, bool *shares)
{
    const size_t own = position_of(trace, t), storage = storage_of(trace, t);
    size_t position =
        own == ADZI_NOWHERE && storage != ADZI_NOWHERE ? trace->storages[storage] : own;
    *shares = false;
    while (position != ADZI_NOWHERE && position != own &&
           !is_same_view(trace->tensors[position].tensor, t)) {
        const adzi_value_kind kind = trace->values[trace->tensors[position].value].kind;
        *shares = *shares || kind == ADZI_VALUE_INPUT || kind == ADZI_VALUE_RESULT;
        position = trace->tensors[position].before;
    }
    return position;
}

int adzi_trace_value_of(adzi_trace *trace, adz_tensor *t)
{
    bool shares;
    const size_t position = adzi_trace_find(trace, t, &shares);
    if (position == ADZI_NOWHERE && shares) {
        trace->failed = true;
        adzi_error(trace->op, ADZ_ERR_UNSUPPORTED,
            "a tensor %s shares memory with a computed one, but no operator made it; use views that adze's operators make",
            adzi_text_shape(t));
        return -1;
    }
    if (position == ADZI_NOWHERE) {
        return adzi_trace_is_constant(trace, t)
                   ? adzi_trace_add_value(trace, ADZI_VALUE_CONSTANT, t, NULL)
                   : -1;
    }
    if (trace->tensors[position].version != t->storage->version) {
        trace->failed = true;
        adzi_error(trace->op, ADZ_ERR_UNSUPPORTED,
            "a tensor %s is read after %s changed its memory in another way than through this tensor; compute a new tensor there (adz_cat and adz_stack join parts)",
            adzi_text_shape(t), t->storage->writer != NULL ? t->storage->writer : "a write");
        return -1;
    }
    const int value = trace->tensors[position].value;
    if (trace->values[value].gone) {
        trace->failed = true;
        adzi_error(trace->op, ADZ_ERR_UNSUPPORTED,
            "the body of a loop or a branch has made a tensor %s that is used outside of it; return it as a result of the body",
            adzi_text_shape(t));
        return -1;
    }
    return value;
}

bool adzi_trace_shares_before(const adzi_trace *trace, const adz_tensor *t, int first)
{
    const size_t storage = storage_of(trace, t);
    size_t position = storage != ADZI_NOWHERE ? trace->storages[storage] : ADZI_NOWHERE;
    while (position != ADZI_NOWHERE && trace->tensors[position].first >= first) {
        position = trace->tensors[position].before;
    }
    return position != ADZI_NOWHERE;
}
