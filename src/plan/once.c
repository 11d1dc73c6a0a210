/* Launches that depend on weights alone, a part of adz_plan_options.pack_weights.
 *
 * Note [Work on weights alone]
 * Some launches read nothing but weights. A recurrent layer packs a matrix for its steps, and a
 * network from a file may join parts of a weight in another order. They write the same in every
 * run. So they run once, when the launches are taken into use, into memory of their own, and no
 * replay has them.
 *
 * A launch is of this kind if each of its addresses is that of a parameter that it only reads and
 * that no launch of the run writes, or lies in a block that is kept. A block of the run is kept if
 * launches of this kind alone write it, and other launches read it only after the last of these.
 * Both are found by exclusion: all are candidates, and what breaks a rule is taken out until
 * nothing does. What follows from no weight, such as a tensor of zeros, is left as it was, and so
 * are calls with loops and branches.
 *
 * What an address is read for is known from its type: see base/threads/addresses.h. The captured
 * call notes the version of each weight, as for packed products. */
#include "plan/once.h"

#include <string.h>

#include "base/alloc.h"
#include "tensor/tensor.h"

/* What is found out about a captured call. */
typedef struct work {
    adzi_captured_call *c;
    adz_tensor_list parameters;
    bool *once;    /* of each launch: it is a candidate */
    bool *kept;    /* of each block: it is a candidate */
    bool *weighed; /* of each block: a weight is among what it follows from */
    size_t *last;  /* of each block: one more than the last candidate that writes it */
} work;

/* An address of a launch. */
typedef struct operand {
    const char *address;
    bool reads;   /* the launch does not write there */
    size_t block; /* an index among the blocks, or SIZE_MAX for memory that the call has not made */
} operand;

/* The next address that is not NULL. False if there is none. */
static bool next_operand(const adzi_captured_call *c, const adzi_plan_launch *launch,
    adzi_address_cursor *all, operand *p)
{
    for (size_t at; adzi_next_address(all, &at);) {
        const adzi_plan_reference *reference = adzi_reference_at(c, launch, at);
        memcpy(&p->address, launch->args + at, sizeof p->address);
        p->reads = all->table->reads != 0;
        p->block = reference != NULL ? reference->block : SIZE_MAX;
        if (p->address != NULL) {
            return true;
        }
    }
    return false;
}

/* The parameter in which an address lies, if the run does not write it; else NULL. */
static adzi_storage *weight_at(const work *f, const operand *p)
{
    adzi_storage *storage =
        p->block == SIZE_MAX && p->reads ? adzi_plan_storage_at(f->parameters, p->address) : NULL;
    return storage != NULL && !adzi_plan_writes(f->c, storage) ? storage : NULL;
}

/* Whether all addresses of a launch allow that it runs once. */
static bool may_run_once(const work *f, const adzi_plan_launch *launch)
{
    operand p;
    adzi_address_cursor all = adzi_addresses_of(launch);
    while (launch->kernel != NULL && next_operand(f->c, launch, &all, &p)) {
        if (p.block != SIZE_MAX ? !f->kept[p.block] : weight_at(f, &p) == NULL) {
            return false;
        }
    }
    return launch->kernel != NULL;
}

/* Takes out the blocks that a launch, which is replayed, writes or reads too early. */
static bool take_out_blocks(const work *f, size_t launch)
{
    operand p;
    bool changed = false;
    adzi_address_cursor all = adzi_addresses_of(&f->c->launches[launch]);
    while (next_operand(f->c, &f->c->launches[launch], &all, &p)) {
        if (p.block != SIZE_MAX && f->kept[p.block] && (!p.reads || launch < f->last[p.block])) {
            f->kept[p.block] = false;
            changed = true;
        }
    }
    return changed;
}

/* Notes which candidate writes each block last. */
static void find_last(const work *f)
{
    memset(f->last, 0, f->c->blocks.count * sizeof *f->last);
    for (size_t i = 0; i < f->c->n_launches; ++i) {
        operand p;
        adzi_address_cursor all = adzi_addresses_of(&f->c->launches[i]);
        while (f->once[i] && next_operand(f->c, &f->c->launches[i], &all, &p)) {
            if (p.block != SIZE_MAX && !p.reads) {
                f->last[p.block] = i + 1;
            }
        }
    }
}

/* Takes out launches and blocks until all others follow the rules. */
static void exclude(const work *f)
{
    for (bool changed = true; changed;) {
        changed = false;
        find_last(f);
        for (size_t i = 0; i < f->c->n_launches; ++i) {
            if (f->once[i] && !may_run_once(f, &f->c->launches[i])) {
                f->once[i] = false;
                changed = true;
            }
            changed = (!f->once[i] && take_out_blocks(f, i)) || changed;
        }
    }
}

/* Takes out blocks that follow from no weight. Returns whether there are some. */
static bool exclude_weightless(const work *f)
{
    const adzi_captured_call *c = f->c;
    for (size_t i = 0; i < c->n_launches; ++i) {
        operand p;
        bool weighed = false;
        adzi_address_cursor all = adzi_addresses_of(&c->launches[i]), again = all;
        while (f->once[i] && next_operand(c, &c->launches[i], &all, &p)) {
            weighed = weighed || p.block == SIZE_MAX || f->weighed[p.block];
        }
        while (weighed && next_operand(c, &c->launches[i], &again, &p)) {
            if (p.block != SIZE_MAX && !p.reads) {
                f->weighed[p.block] = true;
            }
        }
    }
    bool found = false;
    for (size_t b = 0; b < c->blocks.count; ++b) {
        found = found || (f->kept[b] && !f->weighed[b]);
        f->kept[b] = f->kept[b] && f->weighed[b];
    }
    return found;
}

/* Gives the kept blocks memory that lives as long as the launches do. */
static bool keep_blocks(adz_plan *plan, const work *f)
{
    adzi_captured_call *c = f->c;
    for (size_t b = 0; b < c->blocks.count; ++b) {
        if (f->kept[b]) {
            adzi_plan_block *block = &c->blocks.all[b];
            block->begin = adzi_plan_keep(plan, block->bytes);
            block->freed = false; /* it belongs to no single run */
            if (block->begin == NULL) {
                return false;
            }
        }
    }
    for (size_t i = 0; i < c->n_launches; ++i) {
        for (size_t k = 0; k < c->launches[i].n_references; ++k) {
            const adzi_plan_reference *r = &c->references[c->launches[i].first_reference + k];
            if (f->kept[r->block]) {
                const char *address = c->blocks.all[r->block].begin + r->offset;
                memcpy(c->launches[i].args + r->at, &address, sizeof address);
            }
        }
    }
    return true;
}

/* Notes the versions of the weights that a launch reads. */
static bool note_weights(const work *f, const adzi_plan_launch *launch)
{
    operand p;
    bool noted = true;
    adzi_address_cursor all = adzi_addresses_of(launch);
    while (noted && next_operand(f->c, launch, &all, &p)) {
        adzi_storage *storage = weight_at(f, &p);
        noted = storage == NULL || adzi_plan_note_weight(f->c, storage);
    }
    return noted;
}

/* Runs the launches of the kind and leaves the others. */
static bool run_once(const work *f)
{
    adzi_captured_call *c = f->c;
    size_t left = 0;
    for (size_t i = 0; i < c->n_launches; ++i) {
        const adzi_plan_launch launch = c->launches[i];
        if (!f->once[i]) {
            c->launches[left++] = launch;
            continue;
        }
        if (!note_weights(f, &launch)) {
            return false;
        }
        adzi_launch_sized(launch.kernel, launch.args, launch.size, launch.units, launch.grain);
    }
    c->n_launches = left;
    return true;
}

/* Whether some launches of a call run several times, with other addresses, or not always. */
static bool goes_back_or_skips(const adzi_captured_call *c)
{
    bool found = c->n_loops > 0;
    for (size_t i = 0; i < c->n_launches; ++i) {
        found = found || adzi_plan_mark_of(&c->launches[i]) != ADZI_MARK_NONE;
    }
    return found;
}

bool adzi_plan_do_once(adz_plan *plan)
{
    adzi_captured_call *c = plan->last;
    if (goes_back_or_skips(c)) {
        return true;
    }
    const size_t blocks = c->blocks.count;
    const size_t bytes = blocks * sizeof(size_t) + (2 * blocks + c->n_launches) * sizeof(bool);
    char *room = adzi_alloc_zero(bytes + 1);
    if (room == NULL) {
        return false;
    }
    work f = { .c = c,
        .parameters = adz_module_parameters(plan->module),
        .last = (size_t *)(void *)room,
        .kept = (bool *)(room + blocks * sizeof(size_t)) };
    f.weighed = f.kept + blocks;
    f.once = f.weighed + blocks;
    memset(f.once, true, c->n_launches);
    for (size_t b = 0; b < blocks; ++b) {
        f.kept[b] = c->blocks.all[b].freed && c->blocks.all[b].first >= 0;
    }
    do {
        exclude(&f);
    } while (exclude_weightless(&f));
    const bool good = keep_blocks(plan, &f) && run_once(&f);
    adzi_free(room, bytes + 1);
    return good;
}
