/* Recordings of a call: the functions of the recorder. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "plan/plan.h"
#include "tensor/copy.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

enum { ARGS_ALIGNMENT = ADZI_ALIGNMENT };

/* The plan to which a recorder belongs. */
static adz_plan *plan_of(adzi_recorder *recorder)
{
    return (adz_plan *)(void *)recorder;
}

/* Notes why the call cannot be replayed, unless there is a reason already. The call itself is right
 * and goes on. */
static void refuse(adzi_recording *r, const char *op, const char *why)
{
    if (r->why == NULL) {
        r->why = why;
        r->why_op = op;
    }
}

/* adzi_grow for a list of the recording. This memory is no part of the call. */
static bool grow(
    adzi_recorder *recorder, void *list, size_t *capacity, size_t needed, size_t element)
{
    recorder->inside = true;
    const bool grown = adzi_grow(list, capacity, needed, element);
    recorder->inside = false;
    if (!grown) {
        plan_of(recorder)->current->refused = true;
    }
    return grown;
}

/* Makes room for one more element of a list of the recording. */
#define GROW(recorder, r, list) \
    grow((recorder), &(r)->list, &(r)->list##_capacity, (r)->n_##list + 1, sizeof *(r)->list)

/* ---- launches ------------------------------------------------------------------------------- */

/* Appends a copy of the arguments. Their location is counted from the begin of the buffer, which
 * moves when it grows. */
static bool copy_args(
    adzi_recorder *recorder, adzi_plan_launch *launch, const void *args, const unsigned char *mask)
{
    adzi_recording *r = plan_of(recorder)->current;
    const size_t at = (r->args_bytes + ARGS_ALIGNMENT - 1) / ARGS_ALIGNMENT * ARGS_ALIGNMENT;
    if (!grow(recorder, &r->args, &r->args_capacity, at + launch->size, 1)) {
        return false;
    }
    memcpy(r->args + at, args, launch->size);
    for (size_t i = 0; mask != NULL && i < launch->size; ++i) {
        r->args[at + i] = (char)(r->args[at + i] & mask[i]);
    }
    r->masked = r->masked && mask != NULL;
    launch->args_at = at;
    r->args_bytes = at + launch->size;
    return true;
}

/* Finds the words of the arguments that are addresses in living blocks. If undefined bytes are not
 * known, a word may look like an address and be a small field. Such a word must not be changed, so
 * the block that it seems to refer to stays where it is. */
static void find_references(adzi_recorder *recorder, adzi_plan_launch *launch)
{
    adzi_recording *r = plan_of(recorder)->current;
    launch->first_reference = r->n_references;
    for (size_t at = 0; at + sizeof(uintptr_t) <= launch->size; at += sizeof(uintptr_t)) {
        uintptr_t word;
        memcpy(&word, r->args + launch->args_at + at, sizeof word);
        const size_t found = adzi_plan_blocks_find(&r->blocks, (const char *)word);
        if (found == SIZE_MAX) {
            if (r->masked) {
                adzi_plan_blocks_use_by_host(&r->blocks, (const char *)word);
            }
            continue;
        }
        if (!GROW(recorder, r, references)) {
            return;
        }
        adzi_plan_block *block = &r->blocks.all[found];
        adzi_plan_use(block, (int64_t)r->n_launches);
        block->fixed = block->fixed || (!r->masked && adzi_may_be_padded(word));
        r->references[r->n_references++] = (adzi_plan_reference){
            .block = found, .offset = word - (uintptr_t)block->begin, .at = at
        };
    }
    launch->n_references = r->n_references - launch->first_reference;
}

static void add(
    adzi_recorder *recorder, adzi_plan_launch launch, const void *args, const void *mask)
{
    adzi_recording *r = plan_of(recorder)->current;
    launch.op = recorder->op;
    if (GROW(recorder, r, launches) && copy_args(recorder, &launch, args, mask)) {
        find_references(recorder, &launch);
        r->launches[r->n_launches++] = launch;
    }
}

static void launched(adzi_recorder *recorder, adzi_kernel kernel, const void *args,
    const void *mask, size_t size, int64_t units, int64_t grain)
{
    const adzi_plan_launch launch = {
        .kernel = kernel, .size = size, .units = units, .grain = grain
    };
    add(recorder, launch, args, mask);
}

static void repeated(adzi_recorder *recorder, adzi_host_function function, const void *args,
    const void *mask, size_t size)
{
    add(recorder, (adzi_plan_launch){ .function = function, .size = size }, args, mask);
}

static void updates(adzi_recorder *recorder, adz_tensor *const *tensors, int n)
{
    adzi_recording *r = plan_of(recorder)->current;
    if (n > 0) {
        adzi_plan_update_begin(r, tensors, n);
    } else if (adzi_plan_update_end(r) && GROW(recorder, r, updates)) {
        r->updates[r->n_updates++] = r->update;
    }
}

/* ---- memory --------------------------------------------------------------------------------- */

static void allocated(adzi_recorder *recorder, char *block, size_t bytes)
{
    adzi_recording *r = plan_of(recorder)->current;
    recorder->inside = true;
    if (!adzi_plan_blocks_add(&r->blocks, block, bytes)) {
        r->refused = true;
    }
    recorder->inside = false;
}

static void stored(adzi_recorder *recorder, char *data, size_t bytes)
{
    adzi_recording *r = plan_of(recorder)->current;
    adzi_plan_blocks_store(&r->blocks, data, bytes);
}

static bool lies_in(const void *address, const char *block, size_t bytes)
{
    return (uintptr_t)address - (uintptr_t)block < bytes;
}

/* Forgets the storages and gradients that end with a block. */
static void forget_ended(adzi_recording *r, const char *block, size_t bytes)
{
    size_t written = 0, seen = 0, gradients = 0;
    for (size_t i = 0; i < r->n_written; ++i) {
        if (!lies_in(r->written[i], block, bytes)) {
            r->written[written++] = r->written[i];
        }
    }
    for (size_t i = 0; i < r->n_seen; ++i) {
        if (!lies_in(r->seen[i].storage, block, bytes)) {
            r->seen[seen++] = r->seen[i];
        }
    }
    for (size_t i = 0; i < r->n_gradients; ++i) {
        if (!lies_in(r->gradients[i].gradient, block, bytes)) {
            r->gradients[gradients++] = r->gradients[i];
        }
    }
    r->n_written = written;
    r->n_seen = seen;
    r->n_gradients = gradients;
}

static bool freed(adzi_recorder *recorder, char *block, size_t bytes)
{
    adzi_recording *r = plan_of(recorder)->current;
    forget_ended(r, block, bytes);
    const size_t i = adzi_plan_blocks_remove(&r->blocks, block);
    if (i != SIZE_MAX && r->blocks.all[i].host_object) {
        refuse(r, recorder->op,
            "a kernel uses an object that the function makes and ends; make it outside");
    }
    const bool kept = i != SIZE_MAX && r->blocks.all[i].fixed && GROW(recorder, r, kept);
    if (kept) {
        r->kept[r->n_kept++] = (struct adzi_plan_range){ block, bytes };
    }
    return kept;
}

static uint64_t mixed(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * 0x9e3779b97f4a7c15u;
}

/* A number that follows from the dtype, the sizes and the strides of a tensor. */
static uint64_t layout_of(const adz_tensor *t, uint64_t offset)
{
    uint64_t hash = mixed(mixed(mixed(offset, t->dtype), t->rank), 0);
    for (int i = 0; i < t->rank; ++i) {
        hash = mixed(mixed(hash, (uint64_t)t->sizes[i]), (uint64_t)t->strides[i]);
    }
    return hash;
}

/* What an argument of an operator is: the number of a block that the call has made, or an address
 * outside. Numbers are odd, and addresses of elements even. */
static adzi_plan_argument argument_of(const adzi_recording *r, const char *op, const adz_tensor *t)
{
    const size_t i = adzi_plan_blocks_find(&r->blocks, t->storage->data);
    if (i == SIZE_MAX) {
        return (adzi_plan_argument){ (uintptr_t)t->data & ~(uintptr_t)1, layout_of(t, 0), op };
    }
    const adzi_plan_block *block = &r->blocks.all[i];
    return (adzi_plan_argument){ (uintptr_t)block->number * 2 + 1,
        layout_of(t, (uint64_t)(t->data - block->begin)), op };
}

static void entered(adzi_recorder *recorder, const char *op, adz_tensor *const *in, int n)
{
    adzi_recording *r = plan_of(recorder)->current;
    recorder->op = op;
    for (int i = 0; i < n; ++i) {
        if (!adzi_is_none(in[i]) && GROW(recorder, r, arguments)) {
            r->arguments[r->n_arguments++] = argument_of(r, op, in[i]);
        }
    }
}

/* ---- values of the host --------------------------------------------------------------------- */

static void number(adzi_recorder *recorder, double value)
{
    adzi_recording *r = plan_of(recorder)->current;
    if (GROW(recorder, r, numbers)) {
        r->numbers[r->n_numbers++] =
            (struct adzi_plan_number){ value, recorder->op, r->n_launches };
    }
}

static void sited(adzi_recorder *recorder, const char *file, int line)
{
    adzi_recording *r = plan_of(recorder)->current;
    for (; r->n_sited < r->n_launches; ++r->n_sited) {
        r->launches[r->n_sited].file = file;
        r->launches[r->n_sited].line = line;
    }
}

static bool is_constant(const adzi_recording *r, const adz_tensor *t)
{
    for (size_t i = 0; i < r->n_constants; ++i) {
        if (r->constants[i]->storage == t->storage) {
            return true;
        }
    }
    return false;
}

static void constant(adzi_recorder *recorder, adz_tensor *t)
{
    adzi_recording *r = plan_of(recorder)->current;
    if (GROW(recorder, r, constants)) {
        r->constants[r->n_constants++] = adzi_retain(t);
    }
}

static bool is_written(const adzi_recording *r, const adz_tensor *t)
{
    for (size_t i = 0; i < r->n_written; ++i) {
        if (r->written[i] == t->storage) {
            return true;
        }
    }
    return false;
}

static void written(adzi_recorder *recorder, adz_tensor *t)
{
    adzi_recording *r = plan_of(recorder)->current;
    if (is_constant(r, t)) {
        refuse(r, recorder->op,
            "it changes elements that the host has written; change a copy (adz_clone)");
    }
    if (!is_written(r, t) && GROW(recorder, r, written)) {
        r->written[r->n_written++] = t->storage;
    }
}

static bool host_may_use(adzi_recorder *recorder, const adz_tensor *t)
{
    adzi_recording *r = plan_of(recorder)->current;
    if (is_constant(r, t)) {
        return true;
    }
    const size_t block = adzi_plan_blocks_find(&r->blocks, t->storage->data);
    if (block == SIZE_MAX || r->blocks.all[block].first >= 0) {
        return false;
    }
    constant(recorder, (adz_tensor *)(uintptr_t)t);
    return true;
}

static bool host_may_read(adzi_recorder *recorder, const adz_tensor *t)
{
    adzi_recording *r = plan_of(recorder)->current;
    if (host_may_use(recorder, t)) {
        return true;
    }
    if (is_written(r, t) || adzi_plan_blocks_find(&r->blocks, t->storage->data) != SIZE_MAX) {
        return false;
    }
    if (GROW(recorder, r, seen)) {
        r->seen[r->n_seen++] = (struct adzi_plan_seen){ t->storage, t->storage->version };
    }
    return true;
}

static void gradient(adzi_recorder *recorder, adzi_gradient *g)
{
    adzi_recording *r = plan_of(recorder)->current;
    for (size_t i = 0; i < r->n_gradients; ++i) {
        if (r->gradients[i].gradient == g) {
            return;
        }
    }
    if (GROW(recorder, r, gradients)) {
        r->gradients[r->n_gradients++] = (struct adzi_plan_gradient){ .gradient = g };
    }
}

static bool computed(adzi_recorder *recorder, const adz_tensor *t)
{
    const adzi_recording *r = plan_of(recorder)->current;
    const size_t block = adzi_plan_blocks_find(&r->blocks, t->storage->data);
    const bool used = block != SIZE_MAX && r->blocks.all[block].first >= 0;
    return (t->numel == 0 || used) && !is_constant(r, t);
}

/* Keeps the first tensor of a buffer that is replaced several times. */
static void replaced(adzi_recorder *recorder, adz_module *module, const char *name, adz_tensor *old)
{
    adzi_recording *r = plan_of(recorder)->current;
    for (size_t i = 0; i < r->n_carried; ++i) {
        if (r->carried[i].module == module && strcmp(r->carried[i].name, name) == 0) {
            return;
        }
    }
    if (GROW(recorder, r, carried)) {
        r->carried[r->n_carried++] =
            (struct adzi_plan_carried){ adz_module_keep(module), name, adzi_retain(old) };
    }
}

void adzi_recorder_init(adzi_recorder *recorder)
{
    *recorder = (adzi_recorder){ .launched = launched,
        .repeated = repeated,
        .updates = updates,
        .allocated = allocated,
        .freed = freed,
        .stored = stored,
        .constant = constant,
        .written = written,
        .entered = entered,
        .computed = computed,
        .host_may_use = host_may_use,
        .host_may_read = host_may_read,
        .number = number,
        .gradient = gradient,
        .sited = sited,
        .replaced = replaced };
}

/* ---- recordings ----------------------------------------------------------------------------- */

adzi_recording *adzi_recording_new(void)
{
    adzi_recording *r = adzi_alloc_zero(sizeof *r);
    if (r != NULL) {
        r->masked = true;
    }
    return r;
}

void adzi_recording_free(adzi_recording *r)
{
    if (r == NULL) {
        return;
    }
    for (size_t i = 0; i < r->n_constants; ++i) {
        adzi_drop(r->constants[i]);
    }
    for (size_t i = 0; i < r->n_kept; ++i) {
        adzi_free(r->kept[i].block, r->kept[i].bytes);
    }
    for (size_t i = 0; i < r->n_carried; ++i) {
        adz_module_free(&r->carried[i].module);
        adzi_drop(r->carried[i].tensor);
    }
    adzi_plan_blocks_free(&r->blocks);
    adzi_free(r->updates, r->updates_capacity * sizeof *r->updates);
    adzi_free(r->seen, r->seen_capacity * sizeof *r->seen);
    adzi_free(r->numbers, r->numbers_capacity * sizeof *r->numbers);
    adzi_free(r->gradients, r->gradients_capacity * sizeof *r->gradients);
    adzi_free(r->carried, r->carried_capacity * sizeof *r->carried);
    adzi_free(r->kept, r->kept_capacity * sizeof *r->kept);
    adzi_free(r->launches, r->launches_capacity * sizeof *r->launches);
    adzi_free(r->references, r->references_capacity * sizeof *r->references);
    adzi_free(r->args, r->args_capacity);
    adzi_free(r->written, r->written_capacity * sizeof *r->written);
    adzi_free(r->constants, r->constants_capacity * sizeof *r->constants);
    adzi_free(r->arguments, r->arguments_capacity * sizeof *r->arguments);
    adzi_free(r, sizeof *r);
}

bool adzi_recording_carry(const char *op, adzi_recording *r)
{
    for (size_t i = 0; i < r->n_carried; ++i) {
        const struct adzi_plan_carried *c = &r->carried[i];
        adz_tensor *now = adz_module_buffer(c->module, c->name);
        if (now == c->tensor || adzi_is_none(now) || now->dtype != c->tensor->dtype ||
            !adzi_same_sizes(now, c->tensor) || !adzi_is_contiguous(c->tensor)) {
            continue;
        }
        adzi_copy(c->tensor, now);
        adzi_written(c->tensor, op);
        if (adz_module_set_buffer(c->module, c->name, c->tensor) == NULL) {
            return false;
        }
    }
    return true;
}

bool adzi_recording_close(adzi_recording *r)
{
    for (size_t i = 0; i < r->n_gradients; ++i) {
        r->gradients[i].grad = r->gradients[i].gradient->grad;
    }
    for (size_t i = 0; i < r->n_launches; ++i) {
        r->launches[i].args = r->args + r->launches[i].args_at;
    }
    size_t used = 0;
    for (size_t i = 0; i < r->n_constants; ++i) {
        const size_t block = adzi_plan_blocks_find(&r->blocks, r->constants[i]->storage->data);
        if (block != SIZE_MAX && r->blocks.all[block].first < 0 && !r->blocks.all[block].returned) {
            adzi_drop(r->constants[i]); /* memory of the host that no kernel uses */
            continue;
        }
        if (block != SIZE_MAX) {
            r->blocks.all[block].tensor = false;
        }
        r->constants[used++] = r->constants[i];
    }
    r->n_constants = used;
    if (r->refused) {
        return false;
    }
    adzi_plan_move_updates(r);
    return adzi_plan_arrange(r);
}
