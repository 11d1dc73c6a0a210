/* Moving an optimizer's updates to where their gradients are complete.
 *
 * Note [When a parameter is updated]
 * A step updates its parameters after the whole backward. A replay need not wait so long: the
 * update of a parameter may run as soon as its gradient is complete and its old value is read no
 * more. Gradients that end within the call then need not all be in memory at one time. Other
 * updates stay where they are, because moving them makes a step neither smaller nor faster.
 *
 * An update says which tensors its launches use: the parameter, the gradient, the states. Its
 * launches move to an earlier location, up to the last launch that refers to one of these tensors.
 * They never move before host code, because host code can fail, and nothing may be updated then.
 * Every launch that was passed uses other memory, so all launches compute the same numbers from the
 * same numbers, and no bit changes.
 *
 * A launch refers to a tensor if one of its addresses lies in the tensor's memory. This is also how
 * launches are moved to other memory. Of memory that the library has not allocated, one storage may
 * be a part of another one (adz_flat_parameters), and an address does not say which is used.
 * Updates of such tensors stay where they are. */
#include <string.h>

#include "plan/plan.h"
#include "tensor/tensor.h"

void adzi_plan_update_begin(adzi_captured_call *c, adz_tensor *const *tensors, int n)
{
    adzi_plan_update *u = &c->update;
    *u = (adzi_plan_update){ .first = c->n_launches };
    for (int i = 0; i < n; ++i) {
        const adzi_storage *storage = tensors[i]->storage;
        if (storage->deleter != NULL || u->count == ADZI_PLAN_UPDATE_TENSORS) {
            u->count = 0;
            return;
        }
        u->tensors[u->count++] = (struct adzi_plan_used){
            .begin = storage->data,
            .end = (const char *)storage->data + storage->bytes,
            .block = adzi_plan_blocks_find(&c->blocks, storage->data),
        };
    }
}

bool adzi_plan_update_end(adzi_captured_call *c)
{
    adzi_plan_update *u = &c->update;
    u->launches = c->n_launches - u->first;
    return u->count > 0 && u->launches <= ADZI_PLAN_UPDATE_LAUNCHES;
}

/* Whether an address lies in a tensor of an update. `block` is the block of the call in which it
 * lies, or SIZE_MAX. */
static bool uses(const adzi_plan_update *u, size_t block, uintptr_t address)
{
    for (size_t i = 0; i < u->count; ++i) {
        const struct adzi_plan_used *t = &u->tensors[i];
        const bool within = address >= (uintptr_t)t->begin && address < (uintptr_t)t->end;
        if (t->block == block && (block != SIZE_MAX || within)) {
            return true;
        }
    }
    return false;
}

/* Whether an update must not run before a launch. What refers to a block of the call may have the
 * address of a tensor that was made later, so it counts as that block alone. */
static bool must_follow(
    const adzi_captured_call *c, const adzi_plan_update *u, const adzi_plan_launch *launch)
{
    if (launch->kernel == NULL) {
        return true;
    }
    size_t at;
    for (adzi_address_cursor all = adzi_addresses_of(launch); adzi_next_address(&all, &at);) {
        const adzi_plan_reference *reference = adzi_reference_at(c, launch, at);
        uintptr_t address;
        memcpy(&address, launch->args + at, sizeof address);
        if (uses(u, reference != NULL ? reference->block : SIZE_MAX, address)) {
            return true;
        }
    }
    return false;
}

/* Whether an update must not run before launch `i`: it never moves into a loop. */
static bool is_barrier(const adzi_captured_call *c, const adzi_plan_update *u, size_t i)
{
    return adzi_plan_loop_at(c, i) != NULL || must_follow(c, u, &c->launches[i]);
}

void adzi_plan_find_uses(adzi_captured_call *c)
{
    for (size_t i = 0; i < c->blocks.count; ++i) {
        c->blocks.all[i].first = -1;
    }
    for (size_t i = 0; i < c->n_launches; ++i) {
        const adzi_plan_launch *launch = &c->launches[i];
        for (size_t k = 0; k < launch->n_references; ++k) {
            adzi_plan_use(
                &c->blocks.all[c->references[launch->first_reference + k].block], (int64_t)i);
        }
    }
}

void adzi_plan_move_updates(adzi_captured_call *c)
{
    adzi_plan_launch moved[ADZI_PLAN_UPDATE_LAUNCHES];
    for (size_t i = 0; i < c->n_updates; ++i) {
        const adzi_plan_update *u = &c->updates[i];
        const size_t gradient = u->tensors[1].block;
        size_t to = u->first;
        if (gradient == SIZE_MAX || !c->blocks.all[gradient].freed) {
            continue;
        }
        while (to > 0 && !is_barrier(c, u, to - 1)) {
            --to;
        }
        adzi_plan_launch *begin = c->launches + to;
        memcpy(moved, c->launches + u->first, u->launches * sizeof *moved);
        memmove(begin + u->launches, begin, (u->first - to) * sizeof *moved);
        memcpy(begin, moved, u->launches * sizeof *moved);
    }
    adzi_plan_find_uses(c);
    adzi_plan_extend_over_loops(c);
}
