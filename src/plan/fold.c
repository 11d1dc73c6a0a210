/* Loops of launches.
 *
 * Note [Loops of launches]
 * A captured function that has told of a loop (adzi_capture_loop) makes the launches of a step many
 * times. fold_runs.c finds these runs, in the loop itself, in its backward, and wherever else
 * launches repeat themselves. Here the launches of one time become a loop of the plan, with a list
 * of what each step adds to their addresses.
 *
 * A launch of a run has slots, its addresses. What is in a slot has to follow a straight line from
 * time to time:
 *
 * - an address outside of all blocks, or a position in one block of the call, moves by equal steps;
 * - blocks that are born at equal positions of a run are a family. The slot goes through the
 *   members of one family by equal steps: those of the same time, those of the time before (a
 *   carry), or those of an earlier run in the opposite order (what a backward reads).
 *
 * The longest stretch of times for which this holds in all slots becomes the loop. The others, such
 * as the first one, whose carry is no member of the family, stay launches by themselves. So nothing
 * is assumed of the program: every address of every time has been compared.
 *
 * Launches count as equal if all their bytes are. A compiler that cannot clear padding leaves bytes
 * without meaning there. They are mostly equal in each step, because they come from the same calls;
 * where they are not, launches stay by themselves.
 *
 * The members of a family that a loop refers to become one block, with a position for each member
 * that must live at the same time: one if a time reads its own member only, two for a carry, and as
 * many as there are members if another loop reads them. */
#include "plan/fold.h"

#include <string.h>

#include "base/alloc.h"

/* ---- families -------------------------------------------------------------------------------- */

/* Gives each run its slots. */
static void count_slots(adzi_folding *f)
{
    for (size_t i = 0; i < f->n_runs; ++i) {
        adzi_fold_run *r = &f->runs[i];
        r->first_slot = f->n_families;
        for (size_t k = 0; k < r->period; ++k) {
            size_t at;
            adzi_address_cursor all = adzi_addresses_of(adzi_fold_launch(f, r, 0, k));
            while (adzi_next_address(&all, &at)) {
                ++f->n_families;
            }
        }
        r->n_slots = f->n_families - r->first_slot;
    }
}

/* The blocks that are born in launch `l` are members t of the families of its slots, of which
 * `slot` is the first. Returns the slot behind them. */
static size_t find_births(
    adzi_folding *f, size_t run, const adzi_plan_launch *l, int64_t t, size_t slot)
{
    adzi_fold_walk walk = adzi_fold_begin(f->c, l);
    const adzi_plan_reference *reference;
    for (size_t at; adzi_fold_next(&walk, &at, &reference); ++slot) {
        const adzi_plan_block *b = reference != NULL ? &f->c->blocks.all[reference->block] : NULL;
        if (b == NULL || b->born != l->ordinal || (!b->freed && !f->captures) ||
            f->family_of[reference->block] != SIZE_MAX) {
            continue;
        }
        adzi_fold_family *of = &f->families[slot];
        if (f->runs[run].stretch != 0 && of->bytes != b->bytes) {
            continue; /* the stretch has members of one size */
        }
        of->uneven = of->uneven || (of->bytes != 0 && of->bytes != b->bytes);
        of->bytes = b->bytes;
        of->run = run;
        f->family_of[reference->block] = slot;
        f->member_of[reference->block] = t;
    }
    return slot;
}

/* The slot of a run that is a slot of a stretch; SIZE_MAX if no run has the stretch. */
static size_t slot_of_stretch(const adzi_folding *f, size_t slot, size_t *run)
{
    for (size_t i = 0; i < f->n_runs; ++i) {
        const size_t k = f->runs[i].stretch;
        const adzi_stretch *s = k != 0 ? &f->c->stretches.all[k - 1] : NULL;
        if (s != NULL && slot - s->first_slot < s->n_slots) {
            *run = i;
            return f->runs[i].first_slot + (slot - s->first_slot);
        }
    }
    return SIZE_MAX;
}

/* Blocks that were made in stretches are members already. While the call is captured, the families
 * of stretches are those with their numbers. */
static void find_members(adzi_folding *f)
{
    for (size_t i = 0; i < f->n_blocks; ++i) {
        const adzi_plan_block *b = &f->c->blocks.all[i];
        size_t run = 0;
        size_t slot = b->slot == 0  ? SIZE_MAX
                      : f->captures ? b->slot - 1
                                    : slot_of_stretch(f, b->slot - 1, &run);
        if (slot == SIZE_MAX) {
            continue;
        }
        if (!b->freed && !f->captures) {
            f->c->stretches.torn =
                f->c->stretches.torn || adzi_fold_is_left_out(&f->runs[run], b->member);
            continue;
        }
        f->family_of[i] = slot;
        f->member_of[i] = b->member;
        f->families[slot].bytes = b->bytes;
        f->families[slot].run = run;
    }
}

static void find_families(adzi_folding *f)
{
    for (size_t i = 0; i < f->n_families; ++i) {
        f->families[i] = (adzi_fold_family){ .low = INT64_MAX, .high = -1, .positions = 1 };
    }
    find_members(f);
    for (size_t i = 0; i < f->n_runs; ++i) {
        const adzi_fold_run *r = &f->runs[i];
        for (int64_t t = 0; t < r->times; ++t) {
            size_t slot = r->first_slot;
            for (size_t k = 0; k < r->period && !adzi_fold_is_left_out(r, t); ++k) {
                slot = find_births(f, i, adzi_fold_launch(f, r, t, k), t, slot);
            }
        }
    }
}

/* ---- loops ----------------------------------------------------------------------------------- */

/* What the slots of a run had in them at the time before, and the differences to the time before
 * that. */
typedef struct history {
    adzi_fold_value *values;
    adzi_fold_difference *differences;
} history;

/* Goes on to time t. Whether all slots follow a straight line from time t - 2 on. */
static bool is_straight(const adzi_folding *f, const adzi_fold_run *r, int64_t t, history *h)
{
    bool straight = t >= 2;
    size_t slot = 0;
    for (size_t k = 0; k < r->period; ++k) {
        const adzi_plan_launch *l = adzi_fold_launch(f, r, t, k);
        adzi_fold_walk walk = adzi_fold_begin(f->c, l);
        const adzi_plan_reference *reference;
        for (size_t at; adzi_fold_next(&walk, &at, &reference); ++slot) {
            const adzi_fold_value v = adzi_fold_value_of(f, l, at, reference);
            const adzi_fold_difference d = adzi_fold_difference_of(&h->values[slot], &v);
            straight = straight && adzi_fold_same_difference(&d, &h->differences[slot]);
            h->values[slot] = v;
            h->differences[slot] = d;
        }
    }
    return straight;
}

/* Goes on over the times that are left out, in which all slots follow straight lines. */
static void go_over(const adzi_fold_run *r, history *h)
{
    for (size_t slot = 0; slot < r->n_slots; ++slot) {
        h->values[slot].member += r->left_out * h->differences[slot].member;
        h->values[slot].where += (uintptr_t)r->left_out * h->differences[slot].where;
    }
}

/* Finds the longest stretch of times whose slots follow straight lines. */
static void find_stretch(const adzi_folding *f, adzi_fold_run *r, history *h)
{
    int64_t length = 0, most = 0;
    memset(h->values, 0, r->n_slots * sizeof *h->values);
    memset(h->differences, 0, r->n_slots * sizeof *h->differences);
    r->low = r->high = 0;
    for (int64_t t = 0; t < r->times; ++t) {
        if (r->left_out > 0 && t == r->before) {
            go_over(r, h);
            length += r->left_out; /* the line begins at the two times before them */
            t += r->left_out;
            if (t == r->times) {
                break;
            }
        }
        length = is_straight(f, r, t, h) ? length + 1 : 0;
        if (length > most) {
            most = length;
            r->low = t - length - 1;
            r->high = t + 1;
        }
    }
}

static bool find_loops(adzi_folding *f)
{
    size_t most = 1;
    for (size_t i = 0; i < f->n_runs; ++i) {
        most = f->runs[i].n_slots > most ? f->runs[i].n_slots : most;
    }
    const size_t bytes = most * (sizeof(adzi_fold_value) + sizeof(adzi_fold_difference));
    history h = { .values = adzi_alloc(bytes) };
    if (h.values == NULL) {
        return false;
    }
    h.differences = (adzi_fold_difference *)(void *)(h.values + most);
    for (size_t i = 0; i < f->n_runs; ++i) {
        find_stretch(f, &f->runs[i], &h);
    }
    adzi_free(h.values, bytes);
    return true;
}

/* ---- the members of families that live at one time ------------------------------------------- */

/* Calls `use` for each slot of a launch, with the values at that launch and at its twin: the launch
 * itself, or the same launch of a later time. */
typedef void (*slot_use)(adzi_folding *f, const adzi_fold_run *r, int64_t t,
    const adzi_fold_value *v, const adzi_fold_value *twin);

static void for_slots(adzi_folding *f, const adzi_fold_run *r, int64_t t, const adzi_plan_launch *l,
    const adzi_plan_launch *twin, slot_use use)
{
    adzi_fold_walk walk = adzi_fold_begin(f->c, l), other = adzi_fold_begin(f->c, twin);
    const adzi_plan_reference *reference, *twins = NULL;
    for (size_t at; adzi_fold_next(&walk, &at, &reference);) {
        adzi_fold_next(&other, &at, &twins);
        const adzi_fold_value v = adzi_fold_value_of(f, l, at, reference),
                              w = adzi_fold_value_of(f, twin, at, twins);
        use(f, r, t, &v, &w);
    }
}

static void note_member(adzi_folding *f, const adzi_fold_run *r, int64_t t,
    const adzi_fold_value *v, const adzi_fold_value *last)
{
    (void)r;
    (void)t;
    for (int side = 0; side < 2 && v->kind == ADZI_FOLD_IN_FAMILY; ++side) {
        adzi_fold_family *of = &f->families[v->of];
        const int64_t member = side == 0 ? v->member : last->member;
        of->low = member < of->low ? member : of->low;
        of->high = member > of->high ? member : of->high;
    }
}

static void need_positions(adzi_fold_family *of, int64_t needed)
{
    of->positions = needed > of->positions ? needed : of->positions;
}

/* A launch of a loop, at its first time t, and at its last one. */
static void use_in_loop(adzi_folding *f, const adzi_fold_run *r, int64_t t,
    const adzi_fold_value *v, const adzi_fold_value *last)
{
    if (v->kind != ADZI_FOLD_IN_FAMILY) {
        return;
    }
    adzi_fold_family *of = &f->families[v->of];
    const int64_t times = r->high - r->low;
    if (&f->runs[of->run] != r) {
        const int64_t oldest = v->member < last->member ? v->member : last->member;
        of->lasts = of->whole = true;
        need_positions(of, of->high - oldest + 1);
        return;
    }
    need_positions(of, t - v->member + 1);
    need_positions(of, t + times - 1 - last->member + 1);
    of->whole = of->whole || last->member - v->member != times - 1 || last->where != v->where;
}

/* A launch outside of loops. `t` is its time in the run `r`, which is NULL outside of runs. */
static void use_alone(adzi_folding *f, const adzi_fold_run *r, int64_t t, const adzi_fold_value *v,
    const adzi_fold_value *same)
{
    (void)same;
    if (v->kind != ADZI_FOLD_IN_FAMILY) {
        return;
    }
    adzi_fold_family *of = &f->families[v->of];
    if (v->member < of->low || v->member > of->high) {
        return;
    }
    const int64_t born = r == &f->runs[of->run] && t < of->high ? t : of->high;
    of->lasts = true;
    need_positions(of, born - v->member + 1);
}

static void use_run(adzi_folding *f, const adzi_fold_run *r, bool only_members)
{
    for (int64_t t = 0; t < r->times; ++t) {
        const bool inside = t >= r->low && t < r->high;
        if ((t > r->low && inside) || adzi_fold_is_left_out(r, t)) {
            continue; /* the loop has been looked at as a whole */
        }
        for (size_t k = 0; k < r->period && (inside || !only_members); ++k) {
            const adzi_plan_launch *l = adzi_fold_launch(f, r, t, k);
            for_slots(f, r, t, l, inside ? adzi_fold_launch(f, r, r->high - 1, k) : l,
                only_members ? note_member
                : inside     ? use_in_loop
                             : use_alone);
        }
    }
}

/* Finds which members loops refer to, and then how many positions each family needs. */
static void find_positions(adzi_folding *f)
{
    for (size_t i = 0; i < f->n_runs; ++i) {
        use_run(f, &f->runs[i], true);
    }
    size_t next = 0;
    for (size_t i = 0; i < f->c->n_launches;) {
        const adzi_fold_run *r = next < f->n_runs ? &f->runs[next] : NULL;
        if (r != NULL && r->begin == i) {
            use_run(f, r, false);
            i += adzi_fold_length(r);
            ++next;
        } else {
            for_slots(f, NULL, 0, &f->c->launches[i], &f->c->launches[i], use_alone);
            ++i;
        }
    }
    for (size_t i = 0; i < f->n_families; ++i) {
        adzi_fold_family *of = &f->families[i];
        const int64_t n = of->high - of->low + 1;
        of->lasts = of->lasts || of->positions > 1;
        of->positions = (of->whole && of->positions > 1) || of->positions > n ? n : of->positions;
    }
}

/* ---- folding --------------------------------------------------------------------------------- */

static bool has_loop(const adzi_fold_run *r)
{
    return r->high > r->low;
}

static bool has_loops(const adzi_folding *f)
{
    bool some = false;
    for (size_t i = 0; i < f->n_runs; ++i) {
        some = some || has_loop(&f->runs[i]);
    }
    return some;
}

bool adzi_fold_widen(adzi_fold_run *r, int64_t factor)
{
    const bool wide = r->units / factor >= ADZI_FOLD_LEAST_TIMES;
    r->period = r->unit * (size_t)(wide ? factor : 1);
    r->times = wide ? r->units / factor : r->units;
    return wide;
}

/* The addresses of a run without a loop may follow straight lines in each second, third or further
 * time, as if two tensors take turns. Makes the periods of these runs `factor` times the shortest
 * ones. Returns whether there are any. */
static bool widen(const adzi_folding *f, int64_t factor)
{
    bool some = false;
    for (size_t i = 0; i < f->n_runs; ++i) {
        adzi_fold_run *r = &f->runs[i];
        if (!has_loop(r) && r->stretch == 0) {
            some = adzi_fold_widen(r, factor) || some;
        }
    }
    return some;
}

bool adzi_fold_look(adzi_folding *f)
{
    adzi_free(f->families, f->n_families * sizeof *f->families);
    f->n_families = f->first_slot;
    count_slots(f);
    f->families = adzi_alloc(f->n_families * sizeof *f->families);
    if (f->families == NULL) {
        f->n_families = 0;
        return false;
    }
    memset(f->family_of, 0xff, f->n_blocks * sizeof *f->family_of);
    find_families(f);
    return find_loops(f);
}

bool adzi_fold_begin_families(adzi_folding *f)
{
    f->n_blocks = f->c->blocks.count;
    f->family_of = adzi_alloc_zero(f->n_blocks * (sizeof *f->family_of + sizeof *f->member_of));
    f->member_of = (int64_t *)(void *)(f->family_of != NULL ? f->family_of + f->n_blocks : NULL);
    return f->family_of != NULL;
}

void adzi_fold_end_families(adzi_folding *f)
{
    adzi_free(f->families, f->n_families * sizeof *f->families);
    adzi_free(f->family_of, f->n_blocks * (sizeof *f->family_of + sizeof *f->member_of));
}

/* Whether the loops contain all times that were left out. */
static bool are_whole(const adzi_folding *f)
{
    bool whole = !f->c->stretches.torn;
    for (size_t i = 0; i < f->n_runs; ++i) {
        const adzi_fold_run *r = &f->runs[i];
        whole = whole && (r->left_out == 0 || (has_loop(r) && r->low + 2 <= r->before &&
                                                  r->high > r->before + r->left_out));
    }
    return whole;
}

static bool fold(adzi_folding *f)
{
    bool good = adzi_fold_begin_families(f) && adzi_fold_look(f);
    for (int64_t factor = 2; factor <= ADZI_FOLD_MOST_TURNS && good && widen(f, factor); ++factor) {
        good = adzi_fold_look(f);
    }
    f->c->stretches.torn = good && !are_whole(f);
    if (good && has_loops(f) && !f->c->stretches.torn) {
        find_positions(f);
        good = adzi_fold_write(f);
    }
    adzi_fold_end_families(f);
    return good;
}

bool adzi_plan_fold(adzi_captured_call *c)
{
    adzi_folding f = { .c = c };
    if (!c->repeats || (c->stretches.off && !c->masked)) {
        return true;
    }
    bool good = adzi_fold_find_runs(c, 0, &f.runs, &f.n_runs, &f.runs_capacity);
    if (good && f.n_runs > 0) {
        good = fold(&f);
    }
    adzi_free(f.runs, f.runs_capacity * sizeof *f.runs);
    return good;
}
