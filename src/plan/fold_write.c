/* Writing the launches of a folded call: Note [Loops of launches] in fold.c. */
#include <string.h>

#include "base/alloc.h"
#include "plan/fold.h"

static size_t rounded(size_t bytes)
{
    return (bytes + ADZI_ALIGNMENT - 1) / ADZI_ALIGNMENT * ADZI_ALIGNMENT;
}

static int64_t n_members(const adzi_fold_family *of)
{
    return of->high >= of->low ? of->high - of->low + 1 : 0;
}

/* Makes a block of each family to which loops refer. */
static bool make_blocks(adzi_folding *f)
{
    adzi_plan_blocks *blocks = &f->c->blocks;
    for (size_t i = 0; i < f->n_families; ++i) {
        adzi_fold_family *of = &f->families[i];
        if (n_members(of) == 0) {
            continue;
        }
        if (!adzi_grow(&blocks->all, &blocks->capacity, blocks->count + 1, sizeof *blocks->all)) {
            return false;
        }
        of->block = blocks->count;
        blocks->all[blocks->count++] =
            (adzi_plan_block){ .bytes = (size_t)of->positions * rounded(of->bytes),
                .stored = true,
                .freed = true,
                .within_step = !of->lasts,
                .number = -2 - (int64_t)i,
                .first = -1,
                .host = ADZI_PLAN_MEMORY };
    }
    return true;
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* What moves an address from its value in one step to that in the next. */
static adzi_plan_patch patch_of(
    const adzi_folding *f, const adzi_fold_value *v, const adzi_fold_value *next)
{
    adzi_plan_patch patch = { .step = next->where - v->where };
    if (v->kind != ADZI_FOLD_IN_FAMILY) {
        return patch;
    }
    const adzi_fold_family *of = &f->families[v->of];
    const uintptr_t bytes = rounded(of->bytes);
    if (of->positions == n_members(of)) {
        patch.step += (uintptr_t)(next->member - v->member) * bytes;
    } else if (of->positions > 1) {
        patch.step = bytes;
        patch.ring = of->positions;
        patch.begin = (v->member - of->low) % of->positions;
    }
    return patch;
}

/* Adds the loop of a run, whose launches are written from `first` on. */
static bool add_loop(adzi_folding *f, const adzi_fold_run *r, size_t first)
{
    adzi_captured_call *c = f->c;
    adzi_plan_loop loop = {
        .first = first, .length = r->period, .times = r->high - r->low, .first_patch = c->n_patches
    };
    for (size_t k = 0; k < r->period; ++k) {
        const adzi_plan_launch *l = adzi_fold_launch(f, r, r->low, k), *m = l + r->period;
        adzi_fold_walk walk = adzi_fold_begin(c, l), other = adzi_fold_begin(c, m);
        const adzi_plan_reference *here, *there = NULL;
        c->launches[l - c->launches].step_moves = m->step - l->step;
        for (size_t at; adzi_fold_next(&walk, &at, &here);) {
            adzi_fold_next(&other, &at, &there);
            const adzi_fold_value v = adzi_fold_value_of(f, l, at, here);
            const adzi_fold_value next = adzi_fold_value_of(f, m, at, there);
            adzi_plan_patch patch = patch_of(f, &v, &next);
            if (patch.step == 0) {
                continue;
            }
            patch.launch = first + k;
            patch.at = at;
            if (!adzi_grow(
                    &c->patches, &c->patches_capacity, c->n_patches + 1, sizeof *c->patches)) {
                return false;
            }
            c->patches[c->n_patches++] = patch;
        }
    }
    loop.n_patches = c->n_patches - loop.first_patch;
    if (!adzi_grow(&c->loops, &c->loops_capacity, c->n_loops + 1, sizeof *c->loops)) {
        return false;
    }
    c->loops[c->n_loops++] = loop;
    return true;
}

/* ---- launches -------------------------------------------------------------------------------- */

/* How much has been written, all of it over what was read before. */
typedef struct written {
    size_t launches, references, args;
    size_t *moved; /* where each launch went; those of a loop that are left out went to the one that
                      stands for them */
} written;

/* A reference to a member of a family becomes one to the block of the family. */
static adzi_plan_reference renamed(const adzi_folding *f, adzi_plan_reference reference)
{
    const size_t i = f->family_of[reference.block];
    const adzi_fold_family *of = i != SIZE_MAX ? &f->families[i] : NULL;
    const int64_t member = f->member_of[reference.block];
    if (of == NULL || of->uneven || member < of->low || member > of->high) {
        return reference;
    }
    const int64_t position = (member - of->low) % of->positions;
    reference.block = of->block;
    reference.offset += (size_t)position * rounded(of->bytes);
    return reference;
}

static void write_launch(adzi_folding *f, written *w, size_t i)
{
    adzi_captured_call *c = f->c;
    adzi_plan_launch l = c->launches[i];
    const size_t args_at = rounded(w->args);
    memmove(c->args + args_at, c->args + l.args_at, l.size);
    for (size_t k = 0; k < l.n_references; ++k) {
        c->references[w->references + k] = renamed(f, c->references[l.first_reference + k]);
    }
    l.args_at = args_at;
    l.first_reference = w->references;
    w->references += l.n_references;
    w->args = args_at + l.size;
    w->moved[i] = w->launches;
    c->launches[w->launches++] = l;
}

static bool write_run(adzi_folding *f, written *w, const adzi_fold_run *r)
{
    size_t loop = 0;
    for (int64_t t = 0; t < r->times; ++t) {
        if (t == r->low && r->high > r->low) {
            loop = w->launches;
            if (!add_loop(f, r, loop)) {
                return false;
            }
        }
        for (size_t k = 0; k < r->period && !adzi_fold_is_left_out(r, t); ++k) {
            const size_t i = (size_t)(adzi_fold_launch(f, r, t, k) - f->c->launches);
            if (t > r->low && t < r->high) {
                w->moved[i] = loop + k;
            } else {
                write_launch(f, w, i);
            }
        }
    }
    return true;
}

static bool write_launches(adzi_folding *f, written *w)
{
    const adzi_fold_run *r = f->runs, *end = f->runs + f->n_runs;
    for (size_t i = 0; i < f->c->n_launches;) {
        if (r < end && r->begin == i) {
            if (!write_run(f, w, r)) {
                return false;
            }
            i += adzi_fold_length(r);
            ++r;
        } else {
            write_launch(f, w, i++);
        }
    }
    return true;
}

/* ---- what else refers to launches and blocks ------------------------------------------------- */

/* Updates whose launches are in a loop stay where they are. */
static void move_updates(adzi_captured_call *c, const written *w)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->n_updates; ++i) {
        adzi_plan_update u = c->updates[i];
        bool whole = u.launches > 0;
        for (size_t k = 0; k < u.launches && whole; ++k) {
            const size_t to = w->moved[u.first + k];
            whole = to == w->moved[u.first] + k && adzi_plan_loop_at(c, to) == NULL;
        }
        if (whole) {
            u.first = w->moved[u.first];
            c->updates[kept++] = u;
        }
    }
    c->n_updates = kept;
}

/* Drops the blocks to which nothing refers. */
static bool drop_blocks(adzi_captured_call *c)
{
    adzi_plan_blocks *blocks = &c->blocks;
    const size_t bytes = blocks->count * sizeof(size_t);
    size_t *to = adzi_alloc_zero(bytes), kept = 0;
    if (to == NULL) {
        return false;
    }
    for (size_t i = 0; i < c->n_references; ++i) {
        to[c->references[i].block] = 1;
    }
    for (size_t i = 0; i < blocks->count; ++i) {
        if (to[i] != 0) {
            to[i] = kept;
            blocks->all[kept++] = blocks->all[i];
        } else {
            to[i] = SIZE_MAX;
        }
    }
    for (size_t i = 0; i < c->n_references; ++i) {
        c->references[i].block = to[c->references[i].block];
    }
    for (size_t i = 0; i < c->n_updates; ++i) {
        for (size_t k = 0; k < c->updates[i].count; ++k) {
            size_t *block = &c->updates[i].tensors[k].block;
            *block = *block != SIZE_MAX ? to[*block] : SIZE_MAX;
        }
    }
    blocks->count = kept;
    adzi_plan_blocks_forget_living(blocks);
    adzi_free(to, bytes);
    return true;
}

/* Moves a list to memory of its size. Keeps the list where it is if memory was refused. */
static void shrink(void *list, size_t *capacity, size_t count, size_t element)
{
    void *before, *after = count > 0 ? adzi_alloc(count * element) : NULL;
    memcpy(&before, list, sizeof before);
    if (after == NULL) {
        return;
    }
    memcpy(after, before, count * element);
    adzi_free(before, *capacity * element);
    memcpy(list, &after, sizeof after);
    *capacity = count;
}

static bool finish(adzi_folding *f, const written *w)
{
    adzi_captured_call *c = f->c;
    for (size_t i = 0; i < c->n_numbers; ++i) {
        size_t *launch = &c->numbers[i].launch;
        *launch = *launch < c->n_launches ? w->moved[*launch] : w->launches;
    }
    move_updates(c, w);
    c->n_launches = c->n_sited = w->launches;
    c->n_references = w->references;
    c->args_bytes = w->args;
    if (!drop_blocks(c)) {
        return false;
    }
    shrink(&c->launches, &c->launches_capacity, c->n_launches, sizeof *c->launches);
    shrink(&c->references, &c->references_capacity, c->n_references, sizeof *c->references);
    shrink(&c->args, &c->args_capacity, c->args_bytes, 1);
    shrink(&c->blocks.all, &c->blocks.capacity, c->blocks.count, sizeof *c->blocks.all);
    return true;
}

bool adzi_fold_write(adzi_folding *f)
{
    const size_t bytes = f->c->n_launches * sizeof(size_t);
    written w = { .moved = adzi_alloc(bytes) };
    if (w.moved == NULL) {
        return false;
    }
    const bool good = make_blocks(f) && write_launches(f, &w) && finish(f, &w);
    adzi_free(w.moved, bytes);
    return good;
}
