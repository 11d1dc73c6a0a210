/* Running statistics and carried values of a module that trains with micro-batches. */
#include "nn/micro_state.h"

#include <math.h>
#include <string.h>

#include "ops/norm/batch_norm.h"
#include "base/error.h"
#include "nn/batch_norm.h"
#include "nn/parametrize.h"
#include "tensor/copy.h"

/* A module that was collected: a batch norm with running statistics, or one that carries values. */
typedef struct adzi_micro_module {
    adzi_micro_state *state;
    adz_module *module;           /* kept */
    bool is_norm;                 /* it has running statistics */
    adzi_running_buffers running; /* of a batch norm, retained */
    size_t first, count;          /* its numbers if is_norm, else its carried buffers */
} micro_module;

/* A carried buffer. */
typedef struct carried {
    adz_module *module; /* kept by its micro_module */
    size_t index;       /* among the module's buffers */
    char *name;         /* with the path of the module */
} carried;

struct adzi_micro_state {
    adz_module *root; /* kept */
    int micro_batches, first, count;
    bool running;    /* a micro-batch is computed now */
    int local_index; /* its index among the micro-batches of this rank */
    micro_module *modules;
    carried *carried;
    size_t n_modules, modules_capacity, n_carried, carried_capacity;
    adz_tensor **values; /* [count][n_carried], each with a reference */
    double *numbers;     /* [n_numbers], of the micro-batch that is computed now */
    size_t n_numbers;
};

/* ---- positions of tensors -------------------------------------------------------------------- */

/* The position of carried buffer i of a micro-batch, given by its index among this rank's. */
static adz_tensor **value_at(const adzi_micro_state *state, int index, size_t i)
{
    return &state->values[(size_t)index * state->n_carried + i];
}

static adz_tensor *now(const carried *c)
{
    return c->module->buffers[c->index].tensor;
}

static adz_tensor *retain(adz_tensor *t)
{
    return adzi_is_none(t) ? t : adzi_retain(t);
}

/* *position = t. The position owns a reference. */
static void put(adz_tensor **position, adz_tensor *t)
{
    adz_tensor *old = *position;
    *position = retain(t);
    adzi_drop(old);
}

/* Makes the module carry t. */
static void put_now(const carried *c, adz_tensor *t)
{
    if (now(c) != t) {
        put(&c->module->buffers[c->index].tensor, t);
        adzi_module_buffer_replaced(c->module);
    }
}

/* ---- which modules -------------------------------------------------------------------------- */

/* How many values a module carries: its buffers that are no part of the state dict. */
static size_t count_carried(const adz_module *module)
{
    size_t n = 0;
    if (module->type.reset != NULL || module->type.select_hidden != NULL) {
        for (size_t i = 0; i < module->n_buffers; ++i) {
            n += !module->buffers[i].persistent;
        }
    }
    return n;
}

/* Whether a module has to be collected. Fills `m` except for `state` and `first`, and keeps
 * nothing. */
static bool describe(adz_module *module, micro_module *m)
{
    *m = (micro_module){ .module = module };
    m->is_norm = adzi_batch_norm_running(module, &m->running);
    m->count = m->is_norm ? adzi_batch_norm_numbers(m->running.mean->numel) : count_carried(module);
    return m->count > 0;
}

static bool is_collected(const adzi_micro_state *state, const adz_module *module)
{
    for (size_t i = 0; i < state->n_modules; ++i) {
        if (state->modules[i].module == module) {
            return true;
        }
    }
    return false;
}

static bool fail_memory(const char *op, size_t bytes)
{
    adzi_fail_memory(op, bytes);
    return false;
}

/* Appends the module's carried buffers. `path` ends in a dot or is empty. */
static bool add_carried(
    const char *op, adzi_micro_state *state, adz_module *module, adzi_text *path)
{
    const size_t length = path->length;
    for (size_t i = 0; i < module->n_buffers; ++i) {
        if (module->buffers[i].persistent) {
            continue;
        }
        if (!adzi_grow(&state->carried, &state->carried_capacity, state->n_carried + 1,
                sizeof *state->carried)) {
            return fail_memory(op, sizeof *state->carried);
        }
        adzi_text_add(path, module->buffers[i].name);
        char *name = path->failed ? NULL : adzi_string_copy(adzi_text_get(path));
        adzi_text_cut(path, length);
        if (name == NULL) {
            return fail_memory(op, strlen(module->buffers[i].name));
        }
        state->carried[state->n_carried++] = (carried){ module, i, name };
    }
    return true;
}

/* Appends a module if it has to be collected. */
static bool add_module(const char *op, adzi_micro_state *state, adz_module *module, adzi_text *path)
{
    micro_module m;
    if (adzi_is_spectral_norm(module)) {
        adzi_error(op, ADZ_ERR_UNSUPPORTED,
            "%s \"%s\": the vectors of a spectral norm would differ between ranks; call adz_module_remove_parametrizations first",
            module->type.name, adzi_text_get(path));
        return false;
    }
    if (is_collected(state, module) || !describe(module, &m)) {
        return true;
    }
    if (module->micro != NULL) {
        adzi_error(op, ADZ_ERR_STATE,
            "%s \"%s\" is trained in parallel already; end that with adz_data_parallel_free first",
            module->type.name, adzi_text_get(path));
        return false;
    }
    if (!adzi_grow(&state->modules, &state->modules_capacity, state->n_modules + 1,
            sizeof *state->modules)) {
        return fail_memory(op, sizeof *state->modules);
    }
    m.state = state;
    m.first = m.is_norm ? state->n_numbers : state->n_carried;
    adz_module_keep(module);
    if (m.is_norm) {
        state->n_numbers += m.count;
        adzi_retain(m.running.mean);
        adzi_retain(m.running.var);
        adzi_retain(m.running.count);
    }
    state->modules[state->n_modules++] = m;
    return m.is_norm || add_carried(op, state, module, path);
}

/* Appends what has to be collected of a tree, parents first. */
static bool collect(const char *op, adzi_micro_state *state, adz_module *module, adzi_text *path)
{
    const size_t length = path->length;
    bool good = add_module(op, state, module, path);
    for (size_t i = 0; i < module->n_children && good; ++i) {
        adzi_text_add(path, module->children[i].name);
        adzi_text_add(path, ".");
        good = path->failed ? fail_memory(op, length)
                            : collect(op, state, module->children[i].module, path);
        adzi_text_cut(path, length);
    }
    return good;
}

static size_t n_values(const adzi_micro_state *state)
{
    return (size_t)state->count * state->n_carried;
}

/* Makes what the collected modules need for their micro-batches. The blocks have room for one more
 * entry, so that they are never empty. */
static bool make_positions(const char *op, adzi_micro_state *state)
{
    const size_t n = n_values(state);
    adz_tensor **values = adzi_alloc((n + 1) * sizeof *values);
    state->numbers = adzi_alloc((state->n_numbers + 1) * sizeof(double));
    if (values == NULL || state->numbers == NULL) {
        adzi_free(values, (n + 1) * sizeof *values);
        return fail_memory(op, n * sizeof *values + state->n_numbers * sizeof(double));
    }
    for (size_t i = 0; i < n; ++i) {
        values[i] = retain(now(&state->carried[i % state->n_carried]));
    }
    state->values = values;
    return true;
}

adzi_micro_state *adzi_micro_state_new(
    const char *op, adz_module *module, int micro_batches, int first, int count)
{
    adzi_micro_state *state = adzi_alloc_zero(sizeof *state);
    if (state == NULL) {
        return adzi_fail_memory(op, sizeof *state);
    }
    state->root = adz_module_keep(module);
    state->micro_batches = micro_batches;
    state->first = first;
    state->count = count;
    adzi_text path = { 0 };
    bool good = collect(op, state, module, &path) && make_positions(op, state);
    adzi_text_free(&path);
    if (!good) {
        adzi_micro_state_free(&state);
        return NULL;
    }
    for (size_t i = 0; i < state->n_modules; ++i) {
        state->modules[i].module->micro = &state->modules[i];
    }
    return state;
}

static void release_module(micro_module *m)
{
    if (m->module->micro == m) {
        m->module->micro = NULL;
    }
    if (m->is_norm) {
        adzi_drop(m->running.mean);
        adzi_drop(m->running.var);
        adzi_drop(m->running.count);
    }
    adz_module_release(&m->module);
}

void adzi_micro_state_free(adzi_micro_state **address)
{
    adzi_micro_state *state = *address;
    if (state == NULL) {
        return;
    }
    *address = NULL;
    adzi_micro_state_leave(state, NULL);
    for (size_t i = 0; state->values != NULL && i < state->n_carried; ++i) {
        put_now(&state->carried[i], *value_at(state, 0, i));
    }
    for (size_t i = 0; state->values != NULL && i < n_values(state); ++i) {
        adzi_drop(state->values[i]);
    }
    for (size_t i = 0; i < state->n_carried; ++i) {
        adzi_string_free(state->carried[i].name);
    }
    for (size_t i = 0; i < state->n_modules; ++i) {
        release_module(&state->modules[i]);
    }
    adzi_free(state->values, (n_values(state) + 1) * sizeof *state->values);
    adzi_free(state->numbers, (state->n_numbers + 1) * sizeof *state->numbers);
    adzi_free(state->carried, state->carried_capacity * sizeof *state->carried);
    adzi_free(state->modules, state->modules_capacity * sizeof *state->modules);
    adz_module_release(&state->root);
    adzi_free(state, sizeof *state);
}

/* ---- a micro-batch -------------------------------------------------------------------------- */

static bool same_running(const adzi_running_buffers *a, const adzi_running_buffers *b)
{
    return a->mean == b->mean && a->var == b->var && a->count == b->count;
}

static adz_status fail_changed(const char *op, const adz_module *module)
{
    return adzi_error(op, ADZ_ERR_STATE,
        "a %s was added, removed or given other buffers since adz_data_parallel_new; call adz_data_parallel_free and make a new one",
        module->type.name);
}

/* Compares a tree with what was collected of it. *next counts the collected modules that were found
 * so far. A module that occurs again was collected before. */
static adz_status compare(
    const char *op, const adzi_micro_state *state, adz_module *module, size_t *next)
{
    micro_module m;
    if (describe(module, &m)) {
        const micro_module *known = module->micro;
        const bool ours = known != NULL && known->state == state;
        const size_t position = ours ? (size_t)(known - state->modules) : SIZE_MAX;
        if (position > *next || m.count != known->count ||
            (m.is_norm && !same_running(&m.running, &known->running))) {
            return fail_changed(op, module);
        }
        *next += position == *next;
    }
    adz_status status = ADZ_OK;
    for (size_t i = 0; i < module->n_children && status == ADZ_OK; ++i) {
        status = compare(op, state, module->children[i].module, next);
    }
    return status;
}

/* Whether another micro-batch of this rank has the same tensor at position i. A tensor with one
 * owner, as all but those of the first micro-batch usually are, is found without a search. */
static bool is_shared(const adzi_micro_state *state, int index, size_t i)
{
    const adz_tensor *t = *value_at(state, index, i);
    bool shared = false;
    if (!adzi_is_none(t) && !adzi_is_exclusive(t)) {
        for (int k = 0; k < state->count && !shared; ++k) {
            shared = k != index && *value_at(state, k, i) == t;
        }
    }
    return shared;
}

/* Gives a micro-batch a copy of each value that it shares with another one of this rank. A user's
 * module may write to a carried buffer in place. */
static adz_status own_values(const char *op, const adzi_micro_state *state, int index)
{
    for (size_t i = 0; i < state->n_carried; ++i) {
        if (is_shared(state, index, i)) {
            adz_tensor **position = value_at(state, index, i), *t = *position;
            adz_tensor *copy =
                adzi_tensor_new(adzi_self(), op, (adz_dtype)t->dtype, t->rank, t->sizes);
            if (copy == NULL) {
                return adz_error_code();
            }
            adzi_copy(copy, t);
            adzi_drop(t);
            *position = copy;
        }
    }
    return ADZ_OK;
}

adz_status adzi_micro_state_enter(const char *op, adzi_micro_state *state, int micro)
{
    const int index = micro - state->first;
    if (index < 0 || index >= state->count) {
        return adzi_error(op, ADZ_ERR_ARGUMENT,
            "micro-batch %d is not one of this rank's, %d to %d", micro, state->first,
            state->first + state->count - 1);
    }
    size_t found = 0;
    adz_status status = compare(op, state, state->root, &found);
    if (status == ADZ_OK && found < state->n_modules) {
        status = fail_changed(op, state->modules[found].module);
    }
    status = status == ADZ_OK ? own_values(op, state, index) : status;
    if (status != ADZ_OK) {
        return status;
    }
    adzi_micro_state_leave(state, NULL);
    for (size_t i = 0; i < state->n_carried; ++i) {
        put_now(&state->carried[i], *value_at(state, index, i));
    }
    for (size_t i = 0; i < state->n_numbers; ++i) {
        state->numbers[i] = (double)NAN;
    }
    state->running = true;
    state->local_index = index;
    return ADZ_OK;
}

void adzi_micro_state_leave(adzi_micro_state *state, double *numbers)
{
    if (!state->running) {
        return;
    }
    for (size_t i = 0; i < state->n_carried; ++i) {
        const carried *c = &state->carried[i];
        put(value_at(state, state->local_index, i), now(c));
        put_now(c, *value_at(state, 0, i));
    }
    if (numbers != NULL) {
        memcpy(numbers, state->numbers, state->n_numbers * sizeof *numbers);
    }
    state->running = false;
}

size_t adzi_micro_state_numbers(const adzi_micro_state *state)
{
    return state->n_numbers;
}

void adzi_micro_state_apply(adzi_micro_state *state, const double *numbers)
{
    for (size_t i = 0; i < state->n_modules; ++i) {
        const micro_module *m = &state->modules[i];
        if (m->is_norm) {
            const adzi_running_buffers *r = &m->running;
            const adzi_handed_out batches = { numbers + m->first, state->n_numbers,
                state->micro_batches };
            adzi_batch_norm_move(r->mean, r->var, r->count, r->momentum, batches);
        }
    }
}

/* ---- checkpoints ---------------------------------------------------------------------------- */

size_t adzi_micro_state_carried(const adzi_micro_state *state)
{
    return state->n_carried;
}

const char *adzi_micro_state_name(const adzi_micro_state *state, size_t i)
{
    return state->carried[i].name;
}

adz_tensor *adzi_micro_state_get(const adzi_micro_state *state, int micro, size_t i)
{
    const int index = micro - state->first;
    return state->running && index == state->local_index ? now(&state->carried[i])
                                                         : *value_at(state, index, i);
}

void adzi_micro_state_set(adzi_micro_state *state, int micro, size_t i, adz_tensor *t)
{
    const int index = micro - state->first;
    put(value_at(state, index, i), t);
    if (index == (state->running ? state->local_index : 0)) { /* the module itself carries it now */
        put_now(&state->carried[i], t);
    }
}

/* ---- what modules call ---------------------------------------------------------------------- */

double *adzi_micro_state_batch(const adz_module *module)
{
    const micro_module *m = module->micro;
    adzi_running_buffers running;
    return m->state->running && adzi_batch_norm_running(module, &running) &&
                   same_running(&running, &m->running)
               ? m->state->numbers + m->first
               : NULL;
}

/* Whether the calling thread is inside the forward of a module. */
static bool inside_call(const adzi_thread *thread)
{
    for (size_t i = 0; i < thread->n_frames; ++i) {
        if (thread->frames[i].owner != NULL) {
            return true;
        }
    }
    return false;
}

void adzi_micro_state_was_reset(const adz_module *module)
{
    const micro_module *m = module->micro;
    if (m == NULL || m->is_norm || m->state->running || inside_call(adzi_self())) {
        return;
    }
    for (int index = 0; index < m->state->count; ++index) {
        for (size_t i = m->first; i < m->first + m->count; ++i) {
            put(value_at(m->state, index, i), now(&m->state->carried[i]));
        }
    }
}
