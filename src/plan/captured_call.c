/* The functions of a capture, and what a captured call keeps. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "plan/replay.h"
#include "tensor/copy.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

enum { ARGS_ALIGNMENT = ADZI_ALIGNMENT };

/* Notes why the call cannot be replayed, unless there is a reason already. The call itself is right
 * and goes on. */
static void refuse(adzi_captured_call *c, const char *op, const char *why)
{
    if (c->why == NULL) {
        c->why = why;
        c->why_op = op;
    }
}

bool adzi_captured_call_grow(
    adzi_capture *capture, void *list, size_t *capacity, size_t needed, size_t element)
{
    capture->inside = true;
    const bool grown = adzi_grow(list, capacity, needed, element);
    capture->inside = false;
    if (!grown) {
        adzi_plan_of(capture)->current->refused = true;
    }
    return grown;
}

/* ---- launches ------------------------------------------------------------------------------- */

/* Appends a copy of the arguments. Their location is counted from the begin of the buffer, which
 * moves when it grows. */
static bool copy_args(
    adzi_capture *capture, adzi_plan_launch *launch, const void *args, const unsigned char *mask)
{
    adzi_captured_call *c = adzi_plan_of(capture)->current;
    const size_t at = (c->args_bytes + ARGS_ALIGNMENT - 1) / ARGS_ALIGNMENT * ARGS_ALIGNMENT;
    if (!adzi_captured_call_grow(capture, &c->args, &c->args_capacity, at + launch->size, 1)) {
        return false;
    }
    memcpy(c->args + at, args, launch->size);
    for (size_t i = 0; mask != NULL && i < launch->size; ++i) {
        c->args[at + i] = (char)(c->args[at + i] & mask[i]);
    }
    c->masked = c->masked && mask != NULL;
    launch->args_at = at;
    c->args_bytes = at + launch->size;
    return true;
}

/* Finds the addresses among the arguments that lie in living blocks. */
static void find_references(adzi_capture *capture, adzi_plan_launch *launch)
{
    adzi_captured_call *c = adzi_plan_of(capture)->current;
    launch->first_reference = c->n_references;
    size_t at;
    for (adzi_address_cursor all = adzi_addresses_of(launch); adzi_next_address(&all, &at);) {
        const char *address;
        memcpy(&address, c->args + launch->args_at + at, sizeof address);
        const size_t found = adzi_plan_blocks_find(&c->blocks, address);
        if (found == SIZE_MAX) {
            capture->inside = true;
            c->refused = !adzi_plan_blocks_use_by_host(&c->blocks, address) || c->refused;
            capture->inside = false;
            continue;
        }
        if (!ADZI_GROW_CALL(capture, c, references)) {
            return;
        }
        adzi_plan_block *block = &c->blocks.all[found];
        adzi_plan_use(block, (int64_t)c->n_launches);
        block->born = block->born < 0 ? launch->ordinal : block->born;
        ++block->uses;
        c->references[c->n_references++] = (adzi_plan_reference){
            .block = found, .offset = (size_t)(address - block->begin), .at = at
        };
    }
    launch->n_references = c->n_references - launch->first_reference;
}

static void add(adzi_capture *capture, adzi_plan_launch launch, const void *args,
    const adzi_args_layout *layout)
{
    adzi_captured_call *c = adzi_plan_of(capture)->current;
    launch.op = capture->op;
    launch.addresses = layout->addresses;
    launch.ordinal = c->n_made++;
    if (c->n_steps > 0 && c->n_steps <= sizeof c->steps / sizeof *c->steps) {
        launch.loop_op = c->steps[c->n_steps - 1].op;
        launch.step = c->steps[c->n_steps - 1].step;
    }
    launch.n_arguments = c->n_arguments;
    launch.n_numbers = c->n_numbers;
    if (ADZI_GROW_CALL(capture, c, launches) && copy_args(capture, &launch, args, layout->mask)) {
        find_references(capture, &launch);
        c->launches[c->n_launches++] = launch;
        adzi_stretch_launched(capture, c);
    }
}

static void launched(adzi_capture *capture, adzi_kernel kernel, const void *args,
    const adzi_args_layout *layout, size_t size, int64_t units, int64_t grain)
{
    adzi_captured_call *c = adzi_plan_of(capture)->current;
    adzi_plan_launch launch = { .kernel = kernel,
        .size = size,
        .units = units,
        .grain = grain,
        .chain = 1,
        .fills = c->fills };
    memcpy(launch.items, c->items, sizeof launch.items);
    memset(c->items, 0, sizeof c->items);
    c->fills = false;
    add(capture, launch, args, layout);
}

static void elementwise(adzi_capture *capture, const uint8_t *items, bool fills)
{
    adzi_captured_call *c = adzi_plan_of(capture)->current;
    memcpy(c->items, items, ADZI_ELEMENTWISE_OPERANDS);
    c->fills = fills;
}

static void repeated(adzi_capture *capture, adzi_host_function function, const void *args,
    const adzi_args_layout *layout, size_t size)
{
    add(capture,
        (adzi_plan_launch){
            .function = function, .size = size, .chain = 1, .composed = adzi_self()->composed },
        args, layout);
}

static void updates(adzi_capture *capture, adz_tensor *const *tensors, int n)
{
    adzi_captured_call *c = adzi_plan_of(capture)->current;
    adzi_stretch_interrupt(capture, c);
    if (n > 0) {
        adzi_plan_update_begin(c, tensors, n);
    } else if (adzi_plan_update_end(c) && ADZI_GROW_CALL(capture, c, updates)) {
        c->updates[c->n_updates++] = c->update;
    }
}

/* ---- memory --------------------------------------------------------------------------------- */

static void allocated(adzi_capture *capture, char *block, size_t bytes)
{
    adzi_captured_call *c = adzi_plan_of(capture)->current;
    capture->inside = true;
    if (!adzi_plan_blocks_add(&c->blocks, block, bytes)) {
        c->refused = true;
    }
    capture->inside = false;
}

static void stored(adzi_capture *capture, char *data, size_t bytes)
{
    adzi_captured_call *c = adzi_plan_of(capture)->current;
    capture->inside = true;
    c->refused = !adzi_plan_blocks_store(&c->blocks, data, bytes) || c->refused;
    capture->inside = false;
}

static bool lies_in(const void *address, const char *block, size_t bytes)
{
    return (uintptr_t)address - (uintptr_t)block < bytes;
}

/* Forgets the storages and gradients that end with a block. */
static void forget_ended(adzi_captured_call *c, const char *block, size_t bytes)
{
    size_t written = 0, seen = 0, gradients = 0;
    for (size_t i = 0; i < c->n_written; ++i) {
        if (!lies_in(c->written[i], block, bytes)) {
            c->written[written++] = c->written[i];
        }
    }
    for (size_t i = 0; i < c->n_seen; ++i) {
        if (!lies_in(c->seen[i].storage, block, bytes)) {
            c->seen[seen++] = c->seen[i];
        }
    }
    for (size_t i = 0; i < c->n_gradients; ++i) {
        if (!lies_in(c->gradients[i].gradient, block, bytes)) {
            c->gradients[gradients++] = c->gradients[i];
        }
    }
    c->n_written = written;
    c->n_seen = seen;
    c->n_gradients = gradients;
}

static void freed(adzi_capture *capture, char *block, size_t bytes)
{
    adzi_captured_call *c = adzi_plan_of(capture)->current;
    forget_ended(c, block, bytes);
    const size_t i = adzi_plan_blocks_remove(&c->blocks, block);
    if (i != SIZE_MAX && c->blocks.all[i].host_object) {
        refuse(c, capture->op,
            "a kernel uses an object that the function makes and ends; make it outside");
    }
    if (i != SIZE_MAX) {
        adzi_plan_blocks_reuse(&c->blocks, i);
    }
}

/* ---- values of the host --------------------------------------------------------------------- */

static void number(adzi_capture *capture, double value)
{
    adzi_captured_call *c = adzi_plan_of(capture)->current;
    if (ADZI_GROW_CALL(capture, c, numbers)) {
        c->numbers[c->n_numbers++] = (struct adzi_plan_number){ value, capture->op, c->n_launches };
    }
}

static void sited(adzi_capture *capture, const char *file, int line)
{
    adzi_captured_call *c = adzi_plan_of(capture)->current;
    for (; c->n_sited < c->n_launches; ++c->n_sited) {
        c->launches[c->n_sited].file = file;
        c->launches[c->n_sited].line = line;
    }
}

static bool is_constant(const adzi_captured_call *c, const adz_tensor *t)
{
    for (size_t i = 0; i < c->n_constants; ++i) {
        if (c->constants[i]->storage == t->storage) {
            return true;
        }
    }
    return false;
}

static void constant(adzi_capture *capture, adz_tensor *t)
{
    adzi_captured_call *c = adzi_plan_of(capture)->current;
    if (ADZI_GROW_CALL(capture, c, constants)) {
        c->constants[c->n_constants++] = adzi_retain(t);
    }
}

static bool is_written(const adzi_captured_call *c, const adz_tensor *t)
{
    for (size_t i = 0; i < c->n_written; ++i) {
        if (c->written[i] == t->storage) {
            return true;
        }
    }
    return false;
}

static void written(adzi_capture *capture, adz_tensor *t)
{
    adzi_captured_call *c = adzi_plan_of(capture)->current;
    if (is_constant(c, t)) {
        refuse(c, capture->op,
            "it changes elements that the host has written; change a copy (adz_clone)");
    }
    if (!is_written(c, t) && ADZI_GROW_CALL(capture, c, written)) {
        c->written[c->n_written++] = t->storage;
    }
}

static bool host_may_use(adzi_capture *capture, const adz_tensor *t)
{
    adzi_captured_call *c = adzi_plan_of(capture)->current;
    if (is_constant(c, t)) {
        return true;
    }
    const size_t block = adzi_plan_blocks_find(&c->blocks, t->storage->data);
    if (block == SIZE_MAX || c->blocks.all[block].first >= 0) {
        return false;
    }
    constant(capture, (adz_tensor *)(uintptr_t)t);
    return true;
}

static bool host_may_read(adzi_capture *capture, const adz_tensor *t)
{
    adzi_captured_call *c = adzi_plan_of(capture)->current;
    if (host_may_use(capture, t)) {
        return true;
    }
    if (is_written(c, t) || adzi_plan_blocks_find(&c->blocks, t->storage->data) != SIZE_MAX) {
        return false;
    }
    if (ADZI_GROW_CALL(capture, c, seen)) {
        c->seen[c->n_seen++] = (struct adzi_plan_seen){ t->storage, t->storage->version };
    }
    return true;
}

static void gradient(adzi_capture *capture, adzi_gradient *g)
{
    adzi_captured_call *c = adzi_plan_of(capture)->current;
    for (size_t i = 0; i < c->n_gradients; ++i) {
        if (c->gradients[i].gradient == g) {
            return;
        }
    }
    if (ADZI_GROW_CALL(capture, c, gradients)) {
        c->gradients[c->n_gradients++] = (struct adzi_plan_gradient){ .gradient = g };
    }
}

static bool computed(adzi_capture *capture, const adz_tensor *t)
{
    const adzi_captured_call *c = adzi_plan_of(capture)->current;
    const size_t block = adzi_plan_blocks_find(&c->blocks, t->storage->data);
    const bool used = block != SIZE_MAX && c->blocks.all[block].first >= 0;
    return (t->numel == 0 || used) && !is_constant(c, t);
}

/* Keeps the first tensor of a buffer that is replaced several times. */
static void replaced(adzi_capture *capture, adz_module *module, const char *name, adz_tensor *old)
{
    adzi_captured_call *c = adzi_plan_of(capture)->current;
    for (size_t i = 0; i < c->n_carried; ++i) {
        if (c->carried[i].module == module && strcmp(c->carried[i].name, name) == 0) {
            return;
        }
    }
    if (ADZI_GROW_CALL(capture, c, carried)) {
        c->carried[c->n_carried++] =
            (struct adzi_plan_carried){ adz_module_keep(module), name, adzi_retain(old) };
    }
}

static void loop(adzi_capture *capture, const char *op, adzi_loop_mark mark, int64_t step)
{
    adzi_captured_call *c = adzi_plan_of(capture)->current;
    const size_t room = sizeof c->steps / sizeof *c->steps;
    c->repeats = true;
    c->n_steps += mark == ADZI_LOOP_BEGINS;
    if (mark != ADZI_LOOP_ENDS && c->n_steps > 0 && c->n_steps <= room) {
        c->steps[c->n_steps - 1] = (struct adzi_plan_step){ op, step };
    }
    c->n_steps -= mark == ADZI_LOOP_ENDS && c->n_steps > 0;
}

void adzi_capture_init(adzi_capture *capture)
{
    *capture = (adzi_capture){ .launched = launched,
        .elementwise = elementwise,
        .repeated = repeated,
        .updates = updates,
        .allocated = allocated,
        .freed = freed,
        .stored = stored,
        .constant = constant,
        .written = written,
        .entered = adzi_plan_entered,
        .computed = computed,
        .host_may_use = host_may_use,
        .host_may_read = host_may_read,
        .number = number,
        .gradient = gradient,
        .sited = sited,
        .replaced = replaced,
        .loop = loop,
        .uses_modes = adzi_plan_uses_modes };
}

/* ---- captured calls ------------------------------------------------------------------------- */

adzi_captured_call *adzi_captured_call_new(void)
{
    adzi_captured_call *c = adzi_alloc_zero(sizeof *c);
    if (c != NULL) {
        c->masked = true;
    }
    return c;
}

void adzi_captured_call_free(adzi_captured_call *c)
{
    if (c == NULL) {
        return;
    }
    for (size_t i = 0; i < c->n_constants; ++i) {
        adzi_drop(c->constants[i]);
    }
    for (size_t i = 0; i < c->n_carried; ++i) {
        adz_module_release(&c->carried[i].module);
        adzi_drop(c->carried[i].tensor);
    }
    adzi_plan_blocks_free(&c->blocks);
    adzi_stretches_free(&c->stretches);
    adzi_plan_free_replay(c);
    adzi_free(c->updates, c->updates_capacity * sizeof *c->updates);
    adzi_free(c->seen, c->seen_capacity * sizeof *c->seen);
    adzi_free(c->numbers, c->numbers_capacity * sizeof *c->numbers);
    adzi_free(c->gradients, c->gradients_capacity * sizeof *c->gradients);
    adzi_free(c->modes, c->modes_capacity * sizeof *c->modes);
    adzi_free(c->carried, c->carried_capacity * sizeof *c->carried);
    adzi_free(c->loops, c->loops_capacity * sizeof *c->loops);
    adzi_free(c->patches, c->patches_capacity * sizeof *c->patches);
    adzi_free(c->launches, c->launches_capacity * sizeof *c->launches);
    adzi_free(c->references, c->references_capacity * sizeof *c->references);
    adzi_free(c->args, c->args_capacity);
    adzi_free(c->written, c->written_capacity * sizeof *c->written);
    adzi_free(c->constants, c->constants_capacity * sizeof *c->constants);
    adzi_free(c->arguments, c->arguments_capacity * sizeof *c->arguments);
    adzi_free(c, sizeof *c);
}

bool adzi_captured_call_carry(const char *op, adzi_captured_call *c)
{
    for (size_t i = 0; i < c->n_carried; ++i) {
        const struct adzi_plan_carried *b = &c->carried[i];
        adz_tensor *now = adz_module_get_buffer(b->module, b->name);
        if (now == b->tensor || adzi_is_none(now) || now->dtype != b->tensor->dtype ||
            !adzi_same_sizes(now, b->tensor) || !adzi_is_contiguous(b->tensor)) {
            continue;
        }
        adzi_copy(b->tensor, now);
        adzi_written(b->tensor, op);
        if (adz_module_set_buffer(b->module, b->name, b->tensor) == NULL) {
            return false;
        }
    }
    return true;
}

bool adzi_captured_call_close(adzi_captured_call *c)
{
    adzi_plan_close_modes(c);
    adzi_stretch_close(c);
    for (size_t i = 0; i < c->n_gradients; ++i) {
        c->gradients[i].grad = c->gradients[i].gradient->grad;
    }
    size_t used = 0;
    for (size_t i = 0; i < c->n_constants; ++i) {
        const size_t block = adzi_plan_blocks_find(&c->blocks, c->constants[i]->storage->data);
        if (block != SIZE_MAX && c->blocks.all[block].first < 0 && !c->blocks.all[block].returned) {
            adzi_drop(c->constants[i]); /* memory of the host that no kernel uses */
            continue;
        }
        if (block != SIZE_MAX) {
            c->blocks.all[block].tensor = false;
        }
        c->constants[used++] = c->constants[i];
    }
    c->n_constants = used;
    if (c->refused || !adzi_plan_drop_probes(c) || !adzi_plan_fold(c)) {
        return false;
    }
    for (size_t i = 0; i < c->n_launches; ++i) {
        c->launches[i].args = c->args + c->launches[i].args_at;
    }
    if (c->stretches.torn) {
        return true; /* the call is not used any further */
    }
    adzi_plan_move_updates(c);
    return adzi_plan_arrange(c);
}
