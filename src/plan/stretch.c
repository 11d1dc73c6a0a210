/* Leaving launches out while a call is captured.
 *
 * Note [Stretches]
 * A loop of ten thousand steps makes ten thousand times the launches of a step. fold.c makes a loop
 * of the plan from them, and would need the memory of all of them. So launches that repeat
 * themselves are left out as they come, once they are known to follow straight lines (Note [Loops
 * of launches]).
 *
 * When some launches have come in which no stretch is known, they are searched for a run that has
 * not ended. If all its addresses follow straight lines, a stretch begins: each launch that comes
 * is compared with the one that the lines predict. A time whose launches are all as predicted is
 * superfluous. It stays for a while, because the last times of a loop may make what outlives the
 * call, and then it is left out. The first launch that is not as predicted ends the stretch.
 *
 * A stretch remembers the times before those that are left out, of which the last two give the
 * lines, and how many times are left out. For fold.c these times exist. Of their blocks, those that
 * are alive know the slot and the number of the time, and the others are forgotten.
 *
 * What a later part of the call does may show that the times cannot become one loop: something that
 * was made in the middle of them outlives the call. Then the call is torn. It becomes no plan, and
 * further calls leave nothing out. */
#include "plan/stretch.h"

#include <string.h>

#include "base/alloc.h"
#include "plan/fold.h"

enum {
    FIRST_LOOK = 512, /* launches in which the first run is looked for */
    MOST_LOOK = 1 << 22,
    WINDOW = 4 /* times that stay at the end of a stretch; up to twice as many are held */
};

typedef struct adzi_stretch_slot {
    adzi_fold_value value; /* at the time before */
    adzi_fold_difference difference;
    size_t bytes; /* of the block that each time makes there; 0 for none */
} slot;

/* The first launch behind those that are left out. */
static size_t behind(const adzi_stretch *s)
{
    return s->begin + (size_t)s->before * s->period;
}

static adzi_stretch *last(const adzi_stretches *all)
{
    return &all->all[all->count - 1];
}

/* ---- leaving launches out -------------------------------------------------------------------- */

static uint64_t mixed(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

/* The number of arguments, numbers and references before a launch, or of all of them. */
typedef struct extent {
    size_t arguments, numbers, references, args;
} extent;

static extent extent_of(const adzi_captured_call *c, size_t i)
{
    if (i == c->n_launches) {
        return (extent){ c->n_arguments, c->n_numbers, c->n_references, c->args_bytes };
    }
    const adzi_plan_launch *l = &c->launches[i];
    return (extent){ l->n_arguments, l->n_numbers, l->first_reference, l->args_at };
}

/* Leaves arguments out, but for addresses that are other ones in the next time: the plan watches
 * them. Returns how many went. */
static size_t drop_arguments(adzi_captured_call *c, size_t from, size_t to, size_t each)
{
    size_t kept = from;
    for (size_t i = from; i < to; ++i) {
        const adzi_plan_argument a = c->arguments[i];
        c->stretches.arguments = mixed(mixed(c->stretches.arguments, a.what), a.layout);
        const bool again = i + each < c->n_arguments && c->arguments[i + each].what == a.what;
        if (a.what % 2 == 0 && !again) {
            c->arguments[kept++] = a;
        }
    }
    memmove(c->arguments + kept, c->arguments + to, (c->n_arguments - to) * sizeof *c->arguments);
    c->n_arguments -= to - kept;
    return to - kept;
}

static void drop_numbers(adzi_captured_call *c, size_t from, size_t to, size_t launches)
{
    for (size_t i = from; i < to; ++i) {
        uint64_t word;
        memcpy(&word, &c->numbers[i].value, sizeof word);
        c->stretches.numbers = mixed(c->stretches.numbers, word);
    }
    memmove(c->numbers + from, c->numbers + to, (c->n_numbers - to) * sizeof *c->numbers);
    c->n_numbers -= to - from;
    for (size_t i = from; i < c->n_numbers; ++i) {
        c->numbers[i].launch -= launches;
    }
}

static void drop_references(adzi_captured_call *c, size_t from, size_t to)
{
    for (size_t i = from; i < to; ++i) {
        adzi_plan_block *b = &c->blocks.all[c->references[i].block];
        if (--b->uses == 0) {
            adzi_plan_blocks_reuse(&c->blocks, c->references[i].block);
        }
    }
    memmove(
        c->references + from, c->references + to, (c->n_references - to) * sizeof *c->references);
    c->n_references -= to - from;
}

/* Leaves `times` times of the last stretch out, the first ones behind those that are left out. */
static void leave_out(adzi_captured_call *c, int64_t times)
{
    adzi_stretch *s = last(&c->stretches);
    const size_t from = behind(s), n = (size_t)times * s->period, to = from + n;
    const extent a = extent_of(c, from), b = extent_of(c, to);
    const size_t each = (b.arguments - a.arguments) / (size_t)times;
    const size_t arguments = drop_arguments(c, a.arguments, b.arguments, each);
    drop_numbers(c, a.numbers, b.numbers, n);
    drop_references(c, a.references, b.references);
    /* Arguments of launches lie at multiples of the alignment; the last ones end anywhere. */
    const size_t args = to == c->n_launches ? 0 : b.args - a.args;
    memmove(c->args + a.args, c->args + b.args, c->args_bytes - b.args);
    c->args_bytes = to == c->n_launches ? a.args : c->args_bytes - args;
    memmove(c->launches + from, c->launches + to, (c->n_launches - to) * sizeof *c->launches);
    c->n_launches -= n;
    c->n_sited = c->n_sited > to ? c->n_sited - n : from;
    for (size_t i = from; i < c->n_launches; ++i) {
        adzi_plan_launch *l = &c->launches[i];
        l->n_arguments -= arguments;
        l->n_numbers -= b.numbers - a.numbers;
        l->first_reference -= b.references - a.references;
        l->args_at -= args;
    }
    s->left_out += times;
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* What is at an address while the call is captured. */
static adzi_fold_value value_of(
    const adzi_captured_call *c, const adzi_plan_launch *l, size_t at, const adzi_plan_reference *r)
{
    adzi_fold_value v = { ADZI_FOLD_OUTSIDE, 0, 0, 0 };
    if (r == NULL) {
        memcpy(&v.where, c->args + l->args_at + at, sizeof v.where);
        return v;
    }
    const adzi_plan_block *b = &c->blocks.all[r->block];
    v.kind = b->slot != 0 ? ADZI_FOLD_IN_FAMILY : ADZI_FOLD_IN_BLOCK;
    v.of = b->slot != 0 ? b->slot - 1 : r->block;
    v.member = b->slot != 0 ? b->member : 0;
    v.where = r->offset;
    return v;
}

/* Whether what is in a slot is as predicted. A block that the launch makes becomes a member. */
static bool is_predicted(adzi_captured_call *c, const adzi_plan_launch *l, size_t at,
    const adzi_plan_reference *r, size_t i)
{
    slot *in = &c->stretches.slots[i];
    adzi_plan_block *b = r != NULL ? &c->blocks.all[r->block] : NULL;
    if (b != NULL && b->born == l->ordinal && b->slot == 0) {
        if (in->bytes != b->bytes) {
            return false;
        }
        b->slot = last(&c->stretches)->first_slot + i + 1;
        b->member = c->stretches.times;
    }
    const adzi_fold_value v = value_of(c, l, at, r);
    const adzi_fold_difference d = adzi_fold_difference_of(&in->value, &v);
    in->value = v;
    return adzi_fold_same_difference(&d, &in->difference);
}

/* Whether launch i is as the last stretch predicts. */
static bool is_next(adzi_captured_call *c, size_t i)
{
    adzi_stretches *all = &c->stretches;
    const adzi_stretch *s = last(all);
    const adzi_plan_launch *l = &c->launches[i];
    if (!adzi_fold_are_equal(c, &c->launches[behind(s) - s->period + all->launch], l)) {
        return false;
    }
    bool same = true;
    const adzi_plan_reference *reference;
    adzi_fold_walk walk = adzi_fold_begin(c, l);
    for (size_t at; same && adzi_fold_next(&walk, &at, &reference);) {
        same = is_predicted(c, l, at, reference, all->slot++);
    }
    return same;
}

/* Blocks that the last launches from `from` on have made are no members. */
static void expel(adzi_captured_call *c, size_t from)
{
    const adzi_stretches *all = &c->stretches;
    for (size_t i = extent_of(c, from).references; i < c->n_references; ++i) {
        adzi_plan_block *b = &c->blocks.all[c->references[i].block];
        if (b->slot > last(all)->first_slot && b->member == all->times) {
            b->slot = 0;
        }
    }
}

/* Ends the stretch that goes on. Runs are then looked for in what follows its last time. */
static void end(adzi_captured_call *c)
{
    adzi_stretches *all = &c->stretches;
    if (all->goes_on) {
        const adzi_stretch *s = last(all);
        all->tail = behind(s) + (size_t)(all->times - s->before - s->left_out) * s->period;
        expel(c, all->tail);
        all->next_look = c->n_launches + FIRST_LOOK;
        all->goes_on = false;
        adzi_free(all->slots, all->slots_bytes);
        all->slots = NULL;
        all->slots_bytes = 0;
    }
}

/* Compares launch i with the stretch that goes on, which it continues or ends. */
static void go_on(adzi_captured_call *c, size_t i)
{
    adzi_stretches *all = &c->stretches;
    if (!is_next(c, i)) {
        end(c);
        return;
    }
    const adzi_stretch *s = last(all);
    if (++all->launch == s->period) {
        all->launch = all->slot = 0;
        ++all->times;
        if (i + 1 == c->n_launches && all->times - s->before - s->left_out == 2 * WINDOW) {
            leave_out(c, WINDOW);
        }
    }
}

/* ---- looking for stretches ------------------------------------------------------------------- */

/* The run among those found that has not ended; NULL for none. */
static adzi_fold_run *open_run(const adzi_folding *f)
{
    for (size_t i = 0; i < f->n_runs; ++i) {
        adzi_fold_run *r = &f->runs[i];
        if (r->begin + ((size_t)r->times + 1) * r->period > f->c->n_launches) {
            return r;
        }
    }
    return NULL;
}

/* Whether all slots of the run follow straight lines up to its end, and long enough. */
static bool is_long(const adzi_fold_run *r)
{
    return r->high == r->times && r->high - r->low >= 2 + WINDOW && r->high > 0;
}

/* Notes the values of the last time, and how they differ from those of the time before. */
static void fill_slots(const adzi_folding *f, const adzi_fold_run *r)
{
    slot *in = f->c->stretches.slots;
    for (size_t k = 0; k < r->period; ++k) {
        const adzi_plan_launch *l = adzi_fold_launch(f, r, r->times - 1, k), *m = l - r->period;
        adzi_fold_walk walk = adzi_fold_begin(f->c, l), other = adzi_fold_begin(f->c, m);
        const adzi_plan_reference *here, *there = NULL;
        for (size_t at; adzi_fold_next(&walk, &at, &here); ++in) {
            adzi_fold_next(&other, &at, &there);
            const adzi_fold_value before = adzi_fold_value_of(f, m, at, there);
            in->value = adzi_fold_value_of(f, l, at, here);
            in->difference = adzi_fold_difference_of(&before, &in->value);
            in->bytes = f->families[r->first_slot + (size_t)(in - f->c->stretches.slots)].bytes;
        }
    }
}

/* The blocks that the run has made remember it. */
static void note_members(const adzi_folding *f, const adzi_fold_run *r)
{
    for (size_t i = 0; i < f->n_blocks; ++i) {
        adzi_plan_block *b = &f->c->blocks.all[i];
        if (b->slot == 0 && f->family_of[i] != SIZE_MAX && f->family_of[i] >= r->first_slot) {
            b->slot = f->family_of[i] + 1;
            b->member = f->member_of[i];
        }
    }
}

static bool has_uneven(const adzi_folding *f, const adzi_fold_run *r)
{
    bool some = false;
    for (size_t i = 0; i < r->n_slots; ++i) {
        some = some || f->families[r->first_slot + i].uneven;
    }
    return some;
}

/* Begins a stretch with a run. False if memory was refused. */
static bool begin(const adzi_folding *f, const adzi_fold_run *r)
{
    adzi_captured_call *c = f->c;
    adzi_stretches *all = &c->stretches;
    const size_t bytes = r->n_slots * sizeof(slot);
    if (!adzi_grow(&all->all, &all->capacity, all->count + 1, sizeof *all->all) ||
        (all->slots = adzi_alloc(bytes)) == NULL) {
        return false;
    }
    all->slots_bytes = bytes;
    fill_slots(f, r);
    note_members(f, r);
    all->all[all->count++] = (adzi_stretch){ .begin = r->begin,
        .period = r->period,
        .unit = r->unit,
        .before = r->low + 2,
        .first_slot = r->first_slot,
        .n_slots = r->n_slots };
    all->n_slots = r->first_slot + r->n_slots;
    all->times = r->times;
    all->launch = all->slot = 0;
    all->goes_on = true;
    c->blocks.reuses = true;
    const int64_t spare = r->times - (r->low + 2) - WINDOW;
    if (spare > 0) {
        leave_out(c, spare);
    }
    const adzi_stretch *s = last(all);
    size_t i = behind(s) + (size_t)(all->times - s->before - s->left_out) * s->period;
    for (; i < c->n_launches && all->goes_on; ++i) {
        go_on(c, i);
    }
    return true;
}

/* Looks for a run whose addresses follow straight lines, with its period or with a multiple of it.
 * False if memory was refused. */
static bool look(adzi_captured_call *c)
{
    adzi_folding f = { .c = c, .captures = true, .first_slot = c->stretches.n_slots };
    adzi_fold_run *all;
    size_t n, capacity;
    if (!adzi_fold_find_runs(c, c->stretches.tail, &all, &n, &capacity)) {
        adzi_free(all, capacity * sizeof *all);
        return false;
    }
    f.runs = all;
    f.n_runs = n;
    f.runs = open_run(&f);
    f.n_runs = 1;
    bool good = f.runs == NULL || adzi_fold_begin_families(&f), found = false;
    for (int64_t turns = 1; turns <= ADZI_FOLD_MOST_TURNS && good && f.runs != NULL && !found;
         ++turns) {
        if (!adzi_fold_widen(f.runs, turns)) {
            break;
        }
        good = adzi_fold_look(&f);
        found = good && is_long(f.runs) && !has_uneven(&f, f.runs);
    }
    good = good && (!found || begin(&f, f.runs));
    adzi_fold_end_families(&f);
    adzi_free(all, capacity * sizeof *all);
    return good;
}

void adzi_stretch_launched(adzi_capture *capture, adzi_captured_call *c)
{
    adzi_stretches *all = &c->stretches;
    if (!c->repeats || all->off || all->held != 0 || c->refused) {
        return;
    }
    capture->inside = true;
    if (all->goes_on) {
        go_on(c, c->n_launches - 1);
    } else if (c->n_launches >= all->next_look && c->n_launches - all->tail >= FIRST_LOOK) {
        const size_t n = c->n_launches - all->tail;
        all->next_look = c->n_launches + (n < MOST_LOOK ? n : MOST_LOOK);
        c->refused = !look(c) || c->refused;
    }
    capture->inside = false;
}

void adzi_stretch_interrupt(adzi_capture *capture, adzi_captured_call *c)
{
    capture->inside = true;
    end(c);
    c->stretches.tail = c->n_launches;
    c->stretches.next_look = c->n_launches + FIRST_LOOK;
    capture->inside = false;
}

void adzi_stretch_close(adzi_captured_call *c)
{
    end(c);
}

void adzi_stretches_free(adzi_stretches *all)
{
    adzi_free(all->slots, all->slots_bytes);
    adzi_free(all->all, all->capacity * sizeof *all->all);
}
