/* Folding repeated launches of a captured call into loops: Note [Loops of launches] in fold.c. */
#ifndef ADZI_PLAN_FOLD_H
#define ADZI_PLAN_FOLD_H

#include "plan/plan.h"

/** How often launches repeat themselves in a run, at least. */
enum { ADZI_FOLD_LEAST_TIMES = 4 };

/** Launches that repeat themselves: launch `begin + t * period + k` is equal to `begin + k` in all
 * but its addresses. */
typedef struct adzi_fold_run {
    size_t begin, period;
    int64_t times;
    size_t unit;       /* the shortest period */
    int64_t units;     /* how often it is repeated */
    int64_t low, high; /* the times low .. high-1 become a loop; none if they are equal */
    size_t first_slot; /* each address of the launches of one time is a slot, and slots are counted
                          through all runs */
    size_t n_slots;
    size_t stretch;           /* counted from 1; 0 for none */
    int64_t before, left_out; /* of the stretch */
} adzi_fold_run;

/** Whether launches of a time are not held. */
static inline bool adzi_fold_is_left_out(const adzi_fold_run *r, int64_t t)
{
    return t >= r->before && t < r->before + r->left_out;
}

/** How many launches of a run are held. */
static inline size_t adzi_fold_length(const adzi_fold_run *r)
{
    return (size_t)(r->times - r->left_out) * r->period;
}

/** Whether two launches of a call differ in addresses alone. */
bool adzi_fold_are_equal(
    const adzi_captured_call *call, const adzi_plan_launch *a, const adzi_plan_launch *b);

/** Finds the runs among the launches of a call from `from` on, in order, those of stretches with
 * the others. They do not overlap. The caller frees the list, of the length `capacity`. False if
 * memory was refused. */
bool adzi_fold_find_runs(
    const adzi_captured_call *call, size_t from, adzi_fold_run **runs, size_t *n, size_t *capacity);

/** The addresses of a launch in order, each with the reference there. */
typedef struct adzi_fold_walk {
    adzi_address_cursor all;
    const adzi_plan_reference *next, *end;
} adzi_fold_walk;

static inline adzi_fold_walk adzi_fold_begin(
    const adzi_captured_call *call, const adzi_plan_launch *launch)
{
    const adzi_plan_reference *first = call->references + launch->first_reference;
    return (adzi_fold_walk){ adzi_addresses_of(launch), first, first + launch->n_references };
}

/** The next address: the offset of its word, and the reference or NULL. False if there is none. */
static inline bool adzi_fold_next(
    adzi_fold_walk *walk, size_t *at, const adzi_plan_reference **reference)
{
    *reference = NULL;
    if (!adzi_next_address(&walk->all, at)) {
        return false;
    }
    const bool refers = walk->next < walk->end && walk->next->at == *at;
    *reference = refers ? walk->next++ : NULL;
    return true;
}

/** A family of blocks: those born in one slot. */
typedef struct adzi_fold_family {
    size_t bytes; /* of each; 0 if there is none */
    size_t run;
    bool uneven;       /* they differ in size, so they count as single blocks */
    bool lasts;        /* it is used outside of its loop, or by a later time */
    bool whole;        /* some loop goes through it in another way than the one that makes it */
    int64_t low, high; /* the members that loops refer to: low .. high; none if low > high */
    int64_t positions; /* of its block */
    size_t block;      /* an index in `all` of the call's blocks */
} adzi_fold_family;

typedef struct adzi_folding {
    adzi_captured_call *c;
    adzi_fold_run *runs;
    size_t n_runs, runs_capacity;
    adzi_fold_family *families; /* one for each slot */
    size_t n_families;
    size_t *family_of;  /* of each block; SIZE_MAX for none */
    int64_t *member_of; /* which member of it the block is */
    size_t n_blocks;
    bool captures;     /* the call has not ended, so blocks that are alive may be members */
    size_t first_slot; /* the slots before belong to stretches: see adzi_stretch */
} adzi_folding;

/** What is in a slot at one time. */
typedef struct adzi_fold_value {
    enum { ADZI_FOLD_OUTSIDE, ADZI_FOLD_IN_BLOCK, ADZI_FOLD_IN_FAMILY } kind;
    size_t of;       /* the block or the family */
    int64_t member;  /* of the family; else 0 */
    uintptr_t where; /* the offset in the block; outside the address */
} adzi_fold_value;

/** The difference of two values. */
typedef struct adzi_fold_difference {
    bool exists;
    int64_t member;
    uintptr_t where;
} adzi_fold_difference;

static inline adzi_fold_difference adzi_fold_difference_of(
    const adzi_fold_value *a, const adzi_fold_value *b)
{
    return (adzi_fold_difference){ a->kind == b->kind && a->of == b->of, b->member - a->member,
        b->where - a->where };
}

static inline bool adzi_fold_same_difference(
    const adzi_fold_difference *a, const adzi_fold_difference *b)
{
    return a->exists && b->exists && a->member == b->member && a->where == b->where;
}

enum { ADZI_FOLD_MOST_TURNS = 4 }; /* tensors that take turns in a carry */

/** Makes the period of a run `factor` times the shortest one, if it has enough times. */
bool adzi_fold_widen(adzi_fold_run *run, int64_t factor);

/** Makes room for families and members. False if memory was refused. */
bool adzi_fold_begin_families(adzi_folding *folding);

void adzi_fold_end_families(adzi_folding *folding);

/** Finds families and loops with the periods that the runs have. False if memory was refused. */
bool adzi_fold_look(adzi_folding *folding);

/** Writes the launches of the call again, with those of a loop once, and frees what is not used any
 * more. False if memory was refused. */
bool adzi_fold_write(adzi_folding *folding);

/** Launch k of a run at time t, which is not left out. */
static inline const adzi_plan_launch *adzi_fold_launch(
    const adzi_folding *f, const adzi_fold_run *r, int64_t t, size_t k)
{
    t -= t >= r->before ? r->left_out : 0;
    return &f->c->launches[r->begin + (size_t)t * r->period + k];
}

/** What is at an offset of the arguments of a launch. */
static inline adzi_fold_value adzi_fold_value_of(const adzi_folding *f, const adzi_plan_launch *l,
    size_t at, const adzi_plan_reference *reference)
{
    adzi_fold_value v = { ADZI_FOLD_OUTSIDE, 0, 0, 0 };
    if (reference == NULL) {
        memcpy(&v.where, f->c->args + l->args_at + at, sizeof v.where);
        return v;
    }
    v.where = reference->offset;
    v.of = f->family_of[reference->block];
    v.kind =
        v.of != SIZE_MAX && !f->families[v.of].uneven ? ADZI_FOLD_IN_FAMILY : ADZI_FOLD_IN_BLOCK;
    if (v.kind == ADZI_FOLD_IN_FAMILY) {
        v.member = f->member_of[reference->block];
    } else {
        v.of = reference->block;
    }
    return v;
}

#endif
